"""Kills the process at a named instant, so that tests can hit the moments that chance rarely hits.

For tests only: set ``ASSAY_TEST_KILL_AT`` to ``POINT:KIND`` or ``POINT:KIND:TRIAL_ID`` in the node's environment.
POINT is ``before_commit`` (events are in the open transaction) or ``after_commit`` (they are on disk, but no answer or
receipt has left); KIND is a kind of journal event. The process then ends as by ``kill -9``.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping

__all__ = ["VARIABLE", "crash_probe"]

VARIABLE = "ASSAY_TEST_KILL_AT"
POINTS = ("before_commit", "after_commit")


def crash_probe(environment: Mapping[str, str]) -> Callable[[str, str, str], None] | None:
    """Return the journal's probe that the environment asks for, or None.

    Raises:
        ValueError: The variable is set but malformed: a test that would silently test nothing.
    """
    text = environment.get(VARIABLE, "")
    if not text:
        return None
    point, _, rest = text.partition(":")
    kind, _, trial = rest.partition(":")
    if point not in POINTS or not kind:
        raise ValueError(f"{VARIABLE}: expected POINT:KIND[:TRIAL_ID] with POINT one of {POINTS}, got {text!r}")

    def probe(now: str, event: str, trial_id: str) -> None:
        if now == point and event == kind and trial in ("", trial_id):
            os.kill(os.getpid(), signal.SIGKILL)

    return probe
