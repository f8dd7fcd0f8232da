"""How a user ends a session: one signal cancels at a safe point, a second one at once.

A signal handler may run between any two bytecodes, inside a service call as well as inside a write. So the first
signal only leaves a note, which the runner reads at points where nothing is half done; if no such point comes soon, or
the user insists, the interrupt is raised wherever the program stands.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Interrupted", "Stop", "Watch"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
JOURNAL_NODE = "benchmark"
"""Name of the process that keeps the journal."""

GRACE_S = 1.5
"""How long after the first signal a safe point may take to come [s]."""


class Interrupted(KeyboardInterrupt):
    """The user, the system or a closed terminal asked to stop."""


class Stop:
    """Takes signals for as long as it is entered; main thread only.

    Use `check` wherever it is safe to stop. It raises once; what runs afterwards to end cleanly is left in peace.
    """

    def __init__(self) -> None:
        self.signum: int | None = None
        """The signal that asked to stop; None while nobody did."""
        self._raised = False
        self._finishing = False
        self._patience_s = 0.0
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether somebody asked to stop."""
        return self.signum is not None

    @property
    def name(self) -> str:
        """Name of the signal, e.g. ``SIGINT``; empty while there is none."""
        return signal.Signals(self.signum).name if self.signum is not None else ""

    def __enter__(self) -> Stop:
        for signum in (*SIGNALS, signal.SIGALRM):
            self._before[signum] = signal.signal(signum, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for signum, handler in self._before.items():
            signal.signal(signum, handler)

    def check(self) -> None:
        """Raise `Interrupted` if somebody asked to stop and it was not raised yet."""
        if self.signum is not None and not self._raised and not self._finishing:
            self._raise()

    @contextmanager
    def finishing(self, seconds: float) -> Iterator[None]:
        """Let the block come to its end although somebody asked to stop: it takes a moment, and ends all there is.

        Whoever insists, or ``seconds`` since the request, still ends it with `Interrupted`.
        """
        self._finishing, self._patience_s = True, seconds
        if self.signum is not None and not self._raised:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
            if self.signum is not None:
                self._raised = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            self._finishing = False

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Raise `Interrupted` inside the block when it takes longer than ``seconds``."""
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _on_signal(self, signum: int, _frame: FrameType | None) -> None:
        if signum == signal.SIGALRM:
            self._raise()
        first = self.signum is None
        if first:
            self.signum = signum
            signal.setitimer(signal.ITIMER_REAL, self._patience_s if self._finishing else GRACE_S)
        elif self.signum != signum and signum != signal.SIGINT:
            return  # a closing terminal sends several kinds; only a person insists
        else:
            self._raise()

    def _raise(self) -> None:
        self._raised = True
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        raise Interrupted(f"interrupted by {self.name or 'a deadline'}")


class Watch:
    """What a wait on the graph looks at besides its deadline: the user, and the processes of the graph.

    Args:
        stop: Takes the user's signals.
        dead: Names a process of the graph that died; None looks at none.
    """

    def __init__(self, stop: Stop, dead: Callable[[], str | None] | None = None) -> None:
        self.stop = stop
        self._dead = dead
        self._closing = False

    def __call__(self) -> str | None:
        """Return a sentence about a process that died, while that must end a wait.

        Raises:
            Interrupted: The user asked to stop.
        """
        self.stop.check()
        text = self.dead()
        # A trial is finished by the benchmark node, whichever other process died.
        return None if text and self._closing and not text.startswith(JOURNAL_NODE) else text

    def dead(self) -> str | None:
        """Return a sentence about a process that died, or None."""
        return self._dead() if self._dead is not None else None

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Wait in spite of dead processes inside the block, except for the one that keeps the journal."""
        before, self._closing = self._closing, True
        try:
            yield
        finally:
            self._closing = before
