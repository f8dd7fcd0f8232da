"""What the policy node's log says of a policy that failed: its traceback once in full, then one line each time.

The caller gets one line, which ends up in journal and logs. A policy that fails does so in every trial, at the same
place most of the time.
"""

from __future__ import annotations

from collections.abc import Callable

from assay_core.errors import bounded
from assay_core.tracebacks import Place, place_of, stack_of_thread, strangers_traceback

__all__ = ["FailureLog", "sayable"]

MOST_TRACEBACKS = 50
"""Tracebacks that are written in full by one node; a policy that fails somewhere else each time fills no disk."""


def sayable(text: str) -> str:
    """Return a stranger's text without what no message and no log can carry."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


class FailureLog:
    """Tells each failure of a policy.

    Args:
        write: Takes one entry of the log, of one or more lines.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._counts: dict[Place, int] = {}

    def raised(self, what: str, words: str, error: BaseException) -> None:
        """Tell what was raised.

        Args:
            what: The job in words, e.g. ``inference of trial 000000-0 at step 3``.
            words: What the caller is told.
            error: What was raised, or an error of ours that was raised from it.
        """
        self._tell(f"{what} failed: {words}", place_of(error), strangers_traceback(error))

    def hangs(self, what: str, ident: int | None) -> None:
        """Tell where a policy is that does not come back.

        Args:
            what: The job in words, and for how long it has been running.
            ident: Of the thread that it runs on.
        """
        place, stack = stack_of_thread(ident)
        self._tell(f"{what}, and is here now (innermost call last)", ("hangs", *place), stack)

    def _tell(self, words: str, place: Place, trace: str) -> None:
        words = bounded(words)
        if not trace:
            self._write(sayable(words))
            return
        times = self._counts.get(place, 0) + 1
        if times > 1:
            words += f" ({times} times now at the same place: see the first one above)"
        elif len(self._counts) >= MOST_TRACEBACKS:
            self._write(sayable(f"{words} (traceback left out: {MOST_TRACEBACKS} others are above)"))
            return
        else:
            words += f"\n{trace}"
        self._counts[place] = times
        self._write(sayable(words))
