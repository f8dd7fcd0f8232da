"""The states of a trial as one table, so that what may happen when can be read, tested and replayed without ROS.

A trial has ten states (those of ``assay_msgs/TrialState``). Some states have parts that only the machine needs to
tell apart: whether world and operator have answered in ARRANGE, and whether a verdict stands in JUDGE. Those parts are
`Phase`; `TRANSITIONS` maps a phase and an event to the next phase, and a pair that is not in it is illegal.

Three rules are worth knowing. A verdict that stands decides: once it is there, neither a fault nor an interruption nor
an error of the policy makes the trial invalid, so nobody can undo a failure by breaking something afterwards. A
safety stop always ends in HALTED. A failing policy ends in DONE, because its trial counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum

from assay_core.errors import AssayError

__all__ = ["TERMINAL", "TRANSITIONS", "Event", "Phase", "State", "Trial", "TrialStateError"]


class TrialStateError(AssayError):
    """The trial's state does not allow the event."""


class State(IntEnum):
    """State of a trial; numbers as in ``assay_msgs/TrialState``."""

    IDLE = 1
    ARRANGE = 2
    READY = 3
    RUNNING = 4
    PARKING = 5
    JUDGE = 6
    DONE = 7
    SKIPPED = 8
    INVALID = 9
    HALTED = 10


TERMINAL = frozenset({State.DONE, State.SKIPPED, State.INVALID, State.HALTED})


class Phase(Enum):
    """A state, split where the machine must remember more."""

    IDLE = "idle"
    ARRANGE = "arrange"
    """Waits for the world and for the operator."""
    ARRANGE_WORLD = "arrange, operator ready"
    """Waits for the world only."""
    ARRANGE_OPERATOR = "arrange, world ready"
    """Waits for the operator only."""
    READY = "ready"
    RUNNING = "running"
    PARKING = "parking"
    JUDGE = "judge"
    """Waits for a verdict."""
    JUDGED = "judge, verdict in force"
    JUDGED_INVALID = "judge, invalid by verdict"
    DONE = "done"
    SKIPPED = "skipped"
    INVALID = "invalid"
    HALTED = "halted"

    @property
    def state(self) -> State:
        """The state that others see."""
        return _STATE_OF.get(self) or State[self.name]


_STATE_OF = {
    Phase.ARRANGE_WORLD: State.ARRANGE,
    Phase.ARRANGE_OPERATOR: State.ARRANGE,
    Phase.JUDGED: State.JUDGE,
    Phase.JUDGED_INVALID: State.JUDGE,
}


class Event(Enum):
    """What can happen to a trial."""

    START = "start"
    START_WITHOUT_WORLD = "start, no world to reset"
    WORLD_READY = "world ready"
    OPERATOR_READY = "operator ready"
    ADVANCE_RUNNING = "advance to RUNNING"
    ADVANCE_PARKING = "advance to PARKING"
    ADVANCE_JUDGE = "advance to JUDGE"
    VERDICT = "verdict success or failure"
    VERDICT_INVALID = "verdict invalid"
    FINISH_COMPLETED = "finish: completed"
    FINISH_POLICY_ERROR = "finish: policy error"
    FINISH_RIG_FAULT = "finish: rig fault"
    FINISH_SAFETY = "finish: safety"
    FINISH_CANCELLED = "finish: cancelled"
    SKIP = "skip"
    ABORT_EARLY_STOP = "abort: early stop"
    ABORT_UNSAFE = "abort: unsafe"
    ABORT_RIG_FAULT = "abort: rig fault"
    ABORT_OTHER = "abort: other"
    WORLD_FAILED = "world failed"
    DEADLINE = "deadline of the state passed"
    RUNNER_SILENT = "runner silent"
    """Pauses the trial; the state stays."""
    RUNNER_BACK = "runner back"
    INTERRUPTED = "interrupted"
    """The runner or the benchmark node died and the trial cannot go on."""


_ARRANGING = (Phase.ARRANGE, Phase.ARRANGE_WORLD, Phase.ARRANGE_OPERATOR)
_UNJUDGED = (*_ARRANGING, Phase.READY, Phase.RUNNING, Phase.PARKING, Phase.JUDGE)
_JUDGED = (Phase.JUDGED, Phase.JUDGED_INVALID)
_ENDED = (Phase.DONE, Phase.SKIPPED, Phase.INVALID, Phase.HALTED)
_VOIDING = (
    Event.FINISH_RIG_FAULT,
    Event.FINISH_CANCELLED,
    Event.ABORT_RIG_FAULT,
    Event.ABORT_OTHER,
    Event.DEADLINE,
    Event.INTERRUPTED,
)
_CLOSING = (
    Event.FINISH_COMPLETED,
    Event.FINISH_POLICY_ERROR,
    Event.FINISH_RIG_FAULT,
    Event.FINISH_CANCELLED,
    Event.INTERRUPTED,
)


def _table() -> dict[tuple[Phase, Event], Phase]:
    table: dict[tuple[Phase, Event], Phase] = {}
    for phase in (Phase.IDLE, *_ENDED):
        table[phase, Event.START] = Phase.ARRANGE
        table[phase, Event.START_WITHOUT_WORLD] = Phase.ARRANGE_OPERATOR
    table[Phase.ARRANGE, Event.WORLD_READY] = Phase.ARRANGE_OPERATOR
    table[Phase.ARRANGE, Event.OPERATOR_READY] = Phase.ARRANGE_WORLD
    table[Phase.ARRANGE_WORLD, Event.WORLD_READY] = Phase.READY
    table[Phase.ARRANGE_OPERATOR, Event.OPERATOR_READY] = Phase.READY
    for phase in (Phase.ARRANGE, Phase.ARRANGE_WORLD):
        table[phase, Event.WORLD_FAILED] = Phase.INVALID
    for phase in (*_ARRANGING, Phase.READY):
        table[phase, Event.SKIP] = Phase.SKIPPED
    table[Phase.READY, Event.ADVANCE_RUNNING] = Phase.RUNNING
    table[Phase.RUNNING, Event.ADVANCE_PARKING] = Phase.PARKING
    table[Phase.RUNNING, Event.ABORT_EARLY_STOP] = Phase.PARKING
    table[Phase.RUNNING, Event.ADVANCE_JUDGE] = Phase.JUDGE
    table[Phase.PARKING, Event.ADVANCE_JUDGE] = Phase.JUDGE
    for phase in (Phase.JUDGE, *_JUDGED):
        table[phase, Event.VERDICT] = Phase.JUDGED
        table[phase, Event.VERDICT_INVALID] = Phase.JUDGED_INVALID
    for phase in _UNJUDGED:
        table[phase, Event.FINISH_POLICY_ERROR] = Phase.DONE
        for event in _VOIDING:
            table[phase, event] = Phase.INVALID
    for event in _CLOSING:
        table[Phase.JUDGED, event] = Phase.DONE
        table[Phase.JUDGED_INVALID, event] = Phase.INVALID
    for phase in (*_UNJUDGED, *_JUDGED):
        table[phase, Event.ABORT_UNSAFE] = Phase.HALTED
        table[phase, Event.FINISH_SAFETY] = Phase.HALTED
        table[phase, Event.RUNNER_SILENT] = phase
        table[phase, Event.RUNNER_BACK] = phase
    return table


TRANSITIONS: Mapping[tuple[Phase, Event], Phase] = _table()
"""Every legal pair of phase and event, with the next phase."""

_WAITS = {
    Phase.ARRANGE: ("operator", "world"),
    Phase.ARRANGE_WORLD: ("world",),
    Phase.ARRANGE_OPERATOR: ("operator",),
    Phase.JUDGE: ("grader",),
}


class Trial:
    """The trial in progress, or the last one.

    ``check`` tells whether an event is legal without making it happen, because the caller journals an event before it
    counts, and an event that is refused must leave no trace.
    """

    def __init__(self, phase: Phase = Phase.IDLE) -> None:
        self.phase = phase
        self.paused = False
        """The runner is silent."""

    @property
    def state(self) -> State:
        """The state in force."""
        return self.phase.state

    @property
    def in_progress(self) -> bool:
        """Whether a trial was started and has not ended."""
        return self.phase is not Phase.IDLE and self.state not in TERMINAL

    @property
    def waiting_for(self) -> tuple[str, ...]:
        """Who must act next: operator, world, runner, grader; empty when no trial is in progress."""
        if not self.in_progress:
            return ()
        return _WAITS.get(self.phase, ("runner",))

    def check(self, event: Event) -> Phase:
        """Return the phase that ``event`` would lead to.

        Raises:
            TrialStateError: The event is illegal now.
        """
        target = TRANSITIONS.get((self.phase, event))
        refused_by_pause = {Event.RUNNER_SILENT: self.paused, Event.RUNNER_BACK: not self.paused}.get(event, False)
        if target is not None and not refused_by_pause:
            return target
        legal = [e.value for e in Event if (self.phase, e) in TRANSITIONS]
        raise TrialStateError(
            f"trial in {self.state.name}" + (" (paused)" if self.paused else ""),
            expected="one of " + "; ".join(legal),
            got=event.value,
            fix="follow benchmark/trial and act in the state that allows it",
        )

    def apply(self, event: Event) -> State:
        """Make ``event`` happen and return the state in force.

        Raises:
            TrialStateError: The event is illegal now; nothing changed.
        """
        target = self.check(event)
        if event is Event.RUNNER_SILENT:
            self.paused = True
        elif event is Event.RUNNER_BACK or target.state in TERMINAL or target.state is State.ARRANGE:
            self.paused = False
        self.phase = target
        return self.state
