"""World time in lockstep: which command makes a step, which asks for a repeat, and which is refused.

ROS-free, so that the rules of ARCHITECTURE.md ("Lockstep") are tested as a table. The node only carries what
`Lockstep` decides.
"""

from __future__ import annotations

import re
from enum import Enum

import numpy as np
import numpy.typing as npt

from assay_core.rig import ACTION_DIM, ARM_DIM, ARMS

__all__ = ["FIRST_STAMP_NS", "TRIAL_STRETCH_NS", "Answer", "Lockstep", "trial_epoch_ns"]

Array = npt.NDArray[np.float64]

FIRST_STAMP_NS = 1_000_000_000
"""World time at the start of the first trial [ns]."""

TRIAL_STRETCH_NS = 10_000 * 1_000_000_000
"""World time kept for each plan entry [ns]."""

ATTEMPT_STRETCH_NS = 1_000 * 1_000_000_000
"""World time kept for each attempt at a plan entry [ns]."""

_TRIAL_ID = re.compile(r"(\d{6})-(\d+)")
_LAST_STAMP_NS = (2**31 - 1) * 1_000_000_000


class Answer(Enum):
    """What to do about a command."""

    WAIT = "wait"
    """Taken; the other arm's command for the same stamp is missing."""
    STEP = "step"
    """Taken; both are there: make a step and publish it."""
    REPEAT = "repeat"
    """The step was made already: publish it again."""
    COVERED = "covered"
    """The step was made already and published again for the other arm's repeat: nothing to do."""
    OLD = "old"
    """Refused: the stamp lies before the step that was made last."""
    AHEAD = "ahead"
    """Refused: the stamp lies after world time."""
    NO_TRIAL = "no trial"
    """Refused: the world has not been reset yet."""


def trial_epoch_ns(trial_id: str) -> int:
    """Return the earliest world time of a trial [ns], from its id ``<plan index>-<attempt>``; 0 for other ids.

    Each trial has a stretch of world time of its own. So stamps never decrease within a session although the world
    was restarted, and a resumed session has the stamps of an uninterrupted one.
    """
    match = _TRIAL_ID.fullmatch(trial_id)
    if match is None:
        return 0
    stamp = FIRST_STAMP_NS + int(match[1]) * TRIAL_STRETCH_NS + int(match[2]) * ATTEMPT_STRETCH_NS
    return stamp if stamp < _LAST_STAMP_NS else 0


class Lockstep:
    """Pairs the commands of both arms by stamp.

    Args:
        period_ns: Control period [ns].
    """

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self.now_ns = FIRST_STAMP_NS - period_ns
        """World time [ns]."""
        self.command: Array = np.zeros(ACTION_DIM)
        """Targets of the pair that is complete or under way, shape (14,) [rad, gripper 0..1]."""
        self.refused = 0
        """Commands refused for their stamp since the start."""
        self._running = False
        self._stepped = False
        self._pending: set[int] = set()
        self._covered: set[int] = set()

    def start(self, trial_id: str) -> int:
        """Begin a trial and return the stamp of its first frame set [ns], later than every earlier stamp."""
        self.now_ns = max(self.now_ns + self.period_ns, trial_epoch_ns(trial_id), FIRST_STAMP_NS)
        self._running, self._stepped = True, False
        self._pending.clear()
        self._covered.clear()
        return self.now_ns

    def stop(self) -> None:
        """End the trial: commands are refused until the next one."""
        self._running = False

    def offer(self, arm: int, stamp_ns: int, targets: Array) -> Answer:
        """Take one arm's command.

        Args:
            arm: Index in `assay_core.rig.ARMS`.
            stamp_ns: World time that the command acts on [ns].
            targets: Shape (7,) [rad, gripper 0..1].

        Returns:
            On ``STEP`` the caller steps with `command`, calls `advance` and publishes.
        """
        if not self._running:
            self.refused += 1
            return Answer.NO_TRIAL
        if stamp_ns == self.now_ns:
            self.command[arm * ARM_DIM : (arm + 1) * ARM_DIM] = targets
            self._pending.add(arm)
            return Answer.STEP if len(self._pending) == len(ARMS) else Answer.WAIT
        if self._stepped and stamp_ns == self.now_ns - self.period_ns:
            return self._repeat(arm)
        self.refused += 1
        return Answer.OLD if stamp_ns < self.now_ns else Answer.AHEAD

    def _repeat(self, arm: int) -> Answer:
        # A client sends both arms' commands again; one publication answers the pair.
        if arm in self._covered:
            self._covered.discard(arm)
            return Answer.COVERED
        self._covered = set(range(len(ARMS))) - {arm}
        return Answer.REPEAT

    def advance(self) -> int:
        """Move world time on by one period and return it [ns]."""
        self.now_ns += self.period_ns
        self._stepped = True
        self._pending.clear()
        self._covered.clear()
        return self.now_ns
