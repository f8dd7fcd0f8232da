"""The open session and the trial in progress, as held in memory; the journal is the truth behind both."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from assay_bench.intake import Intake
from assay_bench.receipts import ReceiptBook
from assay_core.journal import JournalWriter, SessionFold
from assay_core.journal_events import VerdictContent
from assay_core.plan import Plan, PlanEntry
from assay_core.trial import State, Trial
from assay_msgs.msg import Realization, ResultCode, TrialState
from assay_msgs.srv import FinishTrial, OpenSession
from assay_ros.convert import from_ns, verdict_to_msg

__all__ = ["CurrentTrial", "Session", "trial_message"]

REVISION_STEP = 64
"""Revisions reserved per journal event, so that they grow across a restart too."""


@dataclass
class CurrentTrial:
    """The trial in progress, or the last one."""

    trial: Trial
    id: str
    entry: PlanEntry
    attempt: int
    realization: Realization
    """As published."""
    world_stamp_ns: int = 0
    verdict: VerdictContent | None = None
    """The verdict in force."""
    reached: set[State] = field(default_factory=set)
    code: int = ResultCode.OK
    message: str = ""
    deadline_ns: int = 0
    """Wall time at which the state's stay ends [ns since 1970]; 0 for none."""
    deadline_mono: float = math.inf
    """The same on the monotonic clock [s]."""
    held: dict[str, Intake] = field(default_factory=dict)
    """Ready messages that came before the world was ready, by UUID; taken up in that order afterwards, so that the
    journal does not depend on who was faster."""
    finish: FinishTrial.Response | None = None
    """Answer to the first `finish_trial`."""


@dataclass
class Session:
    """One open session."""

    id: str
    directory: Path
    plan: Plan
    plan_hash: str
    writer: JournalWriter
    fold: SessionFold
    receipts: ReceiptBook
    runner_id: str
    opened: OpenSession.Response
    """Answer to `open_session`."""
    revision: int
    runner_seen: float
    """When the runner was last heard [s, monotonic]."""
    current: CurrentTrial | None = None
    trouble: str = ""
    """Why the last commit failed; empty when it did not."""
    halted: str = ""
    """Why no further trial starts; empty when one may."""
    finished: set[int] = field(default_factory=set)
    """Plan indices that have a final result."""
    close_journaled: bool = False
    """The close is on disk, and sealing may have to be tried again."""
    prior: int = int(State.IDLE)
    """State that was published last."""


def trial_message(session: Session, now_ns: int, now_mono: float, policy_label: str) -> TrialState:
    """Return the next ``benchmark/trial`` message of a session; counts its revision up."""
    session.revision += 1
    current = session.current
    message = TrialState(
        session_id=session.id,
        revision=session.revision,
        state=int(State.IDLE),
        previous_state=session.prior,
        plan_length=len(session.fold.entries()),
        finished=len(session.finished),
        time_left_s=math.nan,
        policy_label=policy_label,
        code=ResultCode.OK,
    )
    message.header.stamp = from_ns(now_ns)
    if current is not None:
        message.trial_id = current.id
        message.state = int(current.trial.state)
        message.paused = current.trial.paused
        message.attempt = current.attempt
        message.plan_index = current.entry.index
        message.waiting_for = list(current.trial.waiting_for)
        message.world_stamp = from_ns(current.world_stamp_ns)
        if current.verdict is not None:
            # Who waits for the outcome reads it here: the grader's own message is sent once, and may be anybody's.
            message.has_verdict = True
            message.verdict = verdict_to_msg(current.verdict, session.id, current.id)
        message.code = current.code
        message.message = current.message
        if current.deadline_ns and current.trial.in_progress:
            message.time_left_s = max(0.0, current.deadline_mono - now_mono)
            message.state_deadline = from_ns(current.deadline_ns)
    session.prior = int(message.state)
    return message
