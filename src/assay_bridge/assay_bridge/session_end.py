"""How a session ends, and how each attempt at a trial does: the values that the runner and its callers decide by."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay_bridge.trial_runner import Ending
from assay_msgs.msg import TrialState

if TYPE_CHECKING:
    from assay_bridge.derived import Derived

__all__ = ["AttemptEnd", "SessionEnd", "Stopped", "Verdict"]


class Verdict(enum.Enum):
    """What a whole session came to."""

    DONE = "done"
    """Every entry has its final result."""
    STOPPED = "stopped"
    """The rig or a process failed; resume after repair."""
    REFUSED = "refused"
    """Something is configured in a way that cannot work."""
    HALTED = "halted"
    """Stopped for safety."""
    INTERRUPTED = "interrupted"
    """A user asked to stop."""


@dataclass(frozen=True)
class SessionEnd:
    """How a session ended."""

    verdict: Verdict
    reason: str = ""
    """Why, when it is not done."""
    root_hash: str = ""
    """SHA-256, hex, of the seal; empty when not sealed."""
    derived: Derived | None = None
    """Logs and summary that the seal covers; None when not sealed."""
    warnings: tuple[str, ...] = ()
    """What went wrong beside the results, e.g. a picture that could not be written."""


@dataclass
class AttemptEnd:
    """How one attempt ended."""

    state: int
    """Terminal state, a `TrialState` constant."""
    ending: Ending
    success: bool = False
    reason: str = ""
    error: BaseException | None = None

    @property
    def final(self) -> bool:
        """Whether the entry has its result, whatever it is."""
        return self.state != TrialState.INVALID


class Stopped(Exception):
    """The session cannot go on."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        super().__init__(reason)
        self.verdict = verdict
