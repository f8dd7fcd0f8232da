"""Kills the process at a named instant, so that tests can hit the moments that chance rarely hits.

For tests only: set ``ASSAY_TEST_KILL_AT`` to ``POINT:KIND[/STATE][:TRIAL_ID]`` in the node's environment, for example
``before_commit:trial_advanced/PARKING:000003-0``. The process then ends as by ``kill -9``.

- POINT is ``before_commit`` (events are in the open transaction) or ``after_commit`` (they are on disk, but no answer
  or receipt has left).
- KIND is a kind of journal event.
- STATE is a trial state that the event carries: for ``trial_advanced`` the one reached (RUNNING, PARKING or JUDGE), for
  other kinds the one in which it happened. Without it, any.
- TRIAL_ID is the trial of the event. Without it, any.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Mapping

from assay_core.journal import KINDS, Entry
from assay_core.trial import State

__all__ = ["VARIABLE", "crash_probe"]

VARIABLE = "ASSAY_TEST_KILL_AT"
POINTS = ("before_commit", "after_commit")
_FORM = re.compile(r"(?P<point>\w+):(?P<kind>\w+)(?:/(?P<state>\w+))?(?::(?P<trial>.+))?")


def crash_probe(environment: Mapping[str, str]) -> Callable[[str, Entry], None] | None:
    """Return the journal's probe that the environment asks for, or None.

    Raises:
        ValueError: The variable is set but malformed: a test that would silently test nothing.
    """
    text = environment.get(VARIABLE, "")
    if not text:
        return None
    match = _FORM.fullmatch(text)
    states = [None, *(state.name for state in State)]
    if match is None or match["point"] not in POINTS or match["kind"] not in KINDS or match["state"] not in states:
        raise ValueError(
            f"{VARIABLE}: expected POINT:KIND[/STATE][:TRIAL_ID] with POINT one of {POINTS}, a KIND of journal event"
            f" and a trial STATE, got {text!r}"
        )
    point, kind, state, trial = match.group("point", "kind", "state", "trial")

    def probe(now: str, entry: Entry) -> None:
        if (now, entry.kind) != (point, kind) or trial not in (None, entry.trial_id):
            return
        if state in (None, entry.body.get("state")):
            os.kill(os.getpid(), signal.SIGKILL)

    return probe
