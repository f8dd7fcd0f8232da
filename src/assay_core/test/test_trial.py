"""The trial state machine, tested as a table: every pair of phase and event is either in it or refused."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from assay_core.trial import TERMINAL, TRANSITIONS, Event, Phase, State, Trial, TrialStateError

UNJUDGED = ["ARRANGE", "ARRANGE_WORLD", "ARRANGE_OPERATOR", "READY", "RUNNING", "PARKING", "JUDGE"]
JUDGED = ["JUDGED", "JUDGED_INVALID"]
ENDED = ["DONE", "SKIPPED", "INVALID", "HALTED"]

# Written out by hand, one line per rule of docs/journal.md, so that a slip in the table's construction shows.
EXPECTED: dict[tuple[str, str], str] = {
    **{(p, "START"): "ARRANGE" for p in ["IDLE", *ENDED]},
    **{(p, "START_WITHOUT_WORLD"): "ARRANGE_OPERATOR" for p in ["IDLE", *ENDED]},
    ("ARRANGE", "WORLD_READY"): "ARRANGE_OPERATOR",
    ("ARRANGE", "OPERATOR_READY"): "ARRANGE_WORLD",
    ("ARRANGE_WORLD", "WORLD_READY"): "READY",
    ("ARRANGE_OPERATOR", "OPERATOR_READY"): "READY",
    ("ARRANGE", "WORLD_FAILED"): "INVALID",
    ("ARRANGE_WORLD", "WORLD_FAILED"): "INVALID",
    **{(p, "SKIP"): "SKIPPED" for p in UNJUDGED[:4]},
    ("READY", "ADVANCE_RUNNING"): "RUNNING",
    ("RUNNING", "ADVANCE_PARKING"): "PARKING",
    ("RUNNING", "ABORT_EARLY_STOP"): "PARKING",
    ("RUNNING", "ADVANCE_JUDGE"): "JUDGE",
    ("PARKING", "ADVANCE_JUDGE"): "JUDGE",
    **{(p, "VERDICT"): "JUDGED" for p in ["JUDGE", *JUDGED]},
    **{(p, "VERDICT_INVALID"): "JUDGED_INVALID" for p in ["JUDGE", *JUDGED]},
    **{(p, "FINISH_POLICY_ERROR"): "DONE" for p in UNJUDGED},
    **{(p, "FINISH_RIG_FAULT"): "INVALID" for p in UNJUDGED},
    **{(p, "FINISH_CANCELLED"): "INVALID" for p in UNJUDGED},
    **{(p, "ABORT_RIG_FAULT"): "INVALID" for p in UNJUDGED},
    **{(p, "ABORT_OTHER"): "INVALID" for p in UNJUDGED},
    **{(p, "DEADLINE"): "INVALID" for p in UNJUDGED},
    **{(p, "INTERRUPTED"): "INVALID" for p in UNJUDGED},
    **{
        ("JUDGED", e): "DONE"
        for e in ["FINISH_COMPLETED", "FINISH_POLICY_ERROR", "FINISH_RIG_FAULT", "FINISH_CANCELLED", "INTERRUPTED"]
    },
    **{
        ("JUDGED_INVALID", e): "INVALID"
        for e in ["FINISH_COMPLETED", "FINISH_POLICY_ERROR", "FINISH_RIG_FAULT", "FINISH_CANCELLED", "INTERRUPTED"]
    },
    **{(p, "FINISH_SAFETY"): "HALTED" for p in UNJUDGED + JUDGED},
    **{(p, "ABORT_UNSAFE"): "HALTED" for p in UNJUDGED + JUDGED},
    **{(p, "RUNNER_SILENT"): p for p in UNJUDGED + JUDGED},
    **{(p, "RUNNER_BACK"): p for p in UNJUDGED + JUDGED},
}


@pytest.mark.parametrize(("phase", "event"), list(itertools.product(Phase, Event)), ids=lambda x: x.name)
def test_every_pair(phase: Phase, event: Event) -> None:
    trial = Trial(phase)
    trial.paused = event is Event.RUNNER_BACK
    target = EXPECTED.get((phase.name, event.name))
    if target is None:
        with pytest.raises(TrialStateError, match=r"expected one of .*got .*fix:"):
            trial.apply(event)
        assert trial.phase is phase, "a refused event must change nothing"
    else:
        trial.apply(event)
        assert trial.phase.name == target
    assert (target is not None) == ((phase, event) in TRANSITIONS)


def test_a_whole_trial_as_the_protocol_draws_it() -> None:
    trial = Trial()
    seen = [
        trial.apply(event)
        for event in (
            Event.START,
            Event.WORLD_READY,
            Event.OPERATOR_READY,
            Event.ADVANCE_RUNNING,
            Event.ADVANCE_PARKING,
            Event.ADVANCE_JUDGE,
            Event.VERDICT,
            Event.FINISH_COMPLETED,
        )
    ]
    names = " ".join(state.name for state in seen)
    assert names == "ARRANGE ARRANGE READY RUNNING PARKING JUDGE JUDGE DONE"


def test_who_is_waited_for() -> None:
    waits = {phase: Trial(phase).waiting_for for phase in Phase}
    assert waits[Phase.ARRANGE] == ("operator", "world")
    assert waits[Phase.ARRANGE_WORLD] == ("world",)
    assert waits[Phase.ARRANGE_OPERATOR] == ("operator",)
    assert waits[Phase.JUDGE] == ("grader",)
    assert {waits[p] for p in (Phase.READY, Phase.RUNNING, Phase.PARKING, Phase.JUDGED)} == {("runner",)}
    assert waits[Phase.IDLE] == waits[Phase.DONE] == ()


def test_silence_pauses_once_and_the_next_trial_starts_unpaused() -> None:
    trial = Trial(Phase.RUNNING)
    trial.apply(Event.RUNNER_SILENT)
    assert trial.paused
    with pytest.raises(TrialStateError, match="paused"):
        trial.apply(Event.RUNNER_SILENT)
    trial.apply(Event.RUNNER_BACK)
    assert not trial.paused
    with pytest.raises(TrialStateError):
        trial.apply(Event.RUNNER_BACK)
    trial.apply(Event.RUNNER_SILENT)
    trial.apply(Event.INTERRUPTED)
    trial.apply(Event.START)
    assert not trial.paused


class AnyHistory(RuleBasedStateMachine):
    """Throws any event at the machine, in any order, and checks what must hold after every history."""

    def __init__(self) -> None:
        super().__init__()
        self.trial = Trial()
        self.judged = False
        self.moved = False

    @rule(event=st.sampled_from(Event))
    def happen(self, event: Event) -> None:
        before = self.trial.state
        try:
            after = self.trial.apply(event)
        except TrialStateError:
            assert self.trial.state is before
            return
        if after is State.ARRANGE and before is not State.ARRANGE:
            self.judged = self.moved = False
        if event in (Event.VERDICT, Event.VERDICT_INVALID):
            self.judged = True
        self.moved |= after in (State.RUNNING, State.PARKING, State.JUDGE)
        if before is not after and before in TERMINAL:
            assert event in (Event.START, Event.START_WITHOUT_WORLD), "an ended trial is never taken up again"
        if after is State.INVALID and self.judged:
            assert before is State.JUDGE
            assert self.last_verdict is Event.VERDICT_INVALID, "a verdict that stands is never voided"
        if after is State.SKIPPED:
            assert not self.moved, "nothing is skipped after motion"
        if event in (Event.ABORT_UNSAFE, Event.FINISH_SAFETY):
            assert after is State.HALTED
        if event in (Event.VERDICT, Event.VERDICT_INVALID):
            self.last_verdict = event

    @invariant()
    def consistent(self) -> None:
        assert self.trial.in_progress == bool(self.trial.waiting_for)
        assert not (self.trial.paused and not self.trial.in_progress)


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
