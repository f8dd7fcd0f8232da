"""What happens without anybody asking: the world's answer, a silent runner, deadlines, and taking up after a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import RUNNER, Harness

from assay_core.journal import JournalReader, comparable
from assay_core.trial import State
from assay_msgs.msg import Heartbeat, ResultCode, TrialState, Verdict


def beat(bench: Harness, runner: str = RUNNER, session: str = "s1") -> None:
    if bench.watch.heard(Heartbeat(session_id=session, runner_id=runner)):
        bench.run(bench.watch.back())


def tick(bench: Harness, seconds: float) -> None:
    bench.now_s += seconds
    if bench.watch.due():
        bench.run(bench.watch.tick())


# -- world -----------------------------------------------------------------------------------------------------------


def test_ready_needs_world_and_operator(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "s", world=True).opened(1)
    bench.run(bench.start())
    assert [r.trial_id for r in bench.resets] == ["000000-0"]
    assert list(bench.trials[-1].waiting_for) == ["operator", "world"]
    bench.run(bench.watch.world_answered("000000-0", ResultCode.OK, "", 1_500_000_000))
    assert list(bench.trials[-1].waiting_for) == ["operator"]
    bench.ready()
    assert bench.state is State.READY
    stamp = bench.trials[-1].world_stamp
    assert (stamp.sec, stamp.nanosec) == (1, 500_000_000)


def test_the_journal_does_not_depend_on_who_was_faster(tmp_path: Path) -> None:
    journals = []
    for order in ("world first", "operator first"):
        bench = Harness(tmp_path / order, world=True).opened(1)
        bench.run(bench.start())
        if order == "operator first":
            assert bench.ready() is None, "its receipt comes when the world is ready"
            assert bench.receipts == []
        bench.run(bench.watch.world_answered("000000-0", ResultCode.OK, "", 7))
        if order == "world first":
            bench.ready()
        assert [r.accepted for r in bench.receipts] == [True]
        assert bench.state is State.READY
        journals.append(comparable(JournalReader(bench.directory).events()))
    assert journals[0] == journals[1]


def test_a_ready_sent_twice_before_the_world_is_journaled_once(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "s", world=True).opened(1)
    bench.run(bench.start())
    uuid = "9f0c2b3e-0000-4000-8000-000000000001"
    for _ in range(3):
        assert bench.ready(uuid=uuid) is None
    bench.run(bench.watch.world_answered("000000-0", ResultCode.OK, "", 7))
    assert bench.kinds().count("operator_ready") == 1
    assert bench.ready(uuid=uuid) == bench.receipts[0]


def test_a_world_that_fails_makes_the_trial_invalid(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "s", world=True).opened(1)
    bench.run(bench.start())
    bench.ready()
    bench.run(bench.watch.world_answered("000000-0", ResultCode.REALIZATION_MISMATCH, "hash differs", 0))
    message = bench.trials[-1]
    assert (State(message.state), message.code) == (State.INVALID, ResultCode.WORLD_RESET_FAILED)
    assert "hash differs" in message.message
    assert [r.code for r in bench.receipts] == [ResultCode.TRIAL_STATE], "the operator who waited is answered"
    assert bench.code(bench.start(0, 1)) == "OK"


def test_a_late_answer_of_the_world_is_ignored(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "s", world=True).opened(1)
    bench.run(bench.start())
    bench.abort()
    count = len(bench.kinds())
    bench.run(bench.watch.world_answered("000000-0", ResultCode.OK, "", 7))
    bench.run(bench.watch.world_answered("000042-0", ResultCode.OK, "", 7))
    assert len(bench.kinds()) == count


# -- silence ---------------------------------------------------------------------------------------------------------


def test_a_silent_runner_pauses_the_trial_and_a_heartbeat_ends_the_pause(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "s", heartbeat_timeout_s=5.0, runner_lost_s=60.0).opened(1)
    bench.to(State.RUNNING)
    tick(bench, 4.0)
    assert not bench.trials[-1].paused
    tick(bench, 2.0)
    assert bench.trials[-1].paused
    assert bench.trials[-1].state == State.RUNNING
    assert f"runner '{RUNNER}' has been silent for 6 s in RUNNING" in bench.trials[-1].message
    beat(bench, runner="stranger-1-x")
    beat(bench, session="other")
    assert bench.trials[-1].paused
    beat(bench)
    assert (bench.trials[-1].paused, bench.trials[-1].message) == (False, "")
    assert bench.kinds()[-2:] == ["runner_silent", "runner_back"]


def test_a_call_of_the_runner_ends_the_pause_too(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "s").opened(1)
    bench.to(State.RUNNING)
    tick(bench, 6.0)
    assert bench.trials[-1].paused
    assert bench.code(bench.advance(State.PARKING)) == "OK"
    assert not bench.trials[-1].paused


def test_a_lost_runner_makes_the_trial_invalid(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "s", runner_lost_s=60.0).opened(1)
    bench.to(State.RUNNING)
    tick(bench, 6.0)
    tick(bench, 50.0)
    assert bench.state is State.RUNNING
    tick(bench, 10.0)
    assert (bench.state, bench.trials[-1].code) == (State.INVALID, ResultCode.RUNNER_SILENT)
    assert RUNNER in bench.trials[-1].message
    tick(bench, 100.0)
    assert bench.kinds().count("trial_ended") == 1


def test_a_verdict_during_the_pause_completes_the_trial(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "s", runner_lost_s=60.0).opened(1)
    bench.to(State.JUDGE)
    tick(bench, 6.0)
    assert bench.verdict().accepted
    tick(bench, 100.0)
    assert bench.state is State.DONE
    assert JournalReader(bench.directory).results()[0].outcome == "success"


# -- deadlines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [State.ARRANGE, State.READY, State.RUNNING, State.PARKING, State.JUDGE])
def test_each_state_may_have_a_deadline(tmp_path: Path, state: State) -> None:
    bench = Harness(tmp_path / "s", **{f"{state.name.lower()}_deadline_s": 30.0}).opened(1)
    bench.to(state)
    assert bench.trials[-1].time_left_s == 30.0
    assert bench.trials[-1].state_deadline.sec == 1030
    for _ in range(10):
        beat(bench)
        tick(bench, 2.9)
    assert bench.state is state
    beat(bench)
    tick(bench, 2.0)
    assert (bench.state, bench.trials[-1].code) == (State.INVALID, ResultCode.DEADLINE_EXCEEDED)
    assert state.name in bench.trials[-1].message


def test_a_judged_trial_has_no_deadline(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "s", judge_deadline_s=30.0, heartbeat_timeout_s=1000.0).opened(1)
    bench.to(State.JUDGE)
    bench.verdict()
    tick(bench, 100.0)
    assert bench.state is State.JUDGE


# -- after a crash ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [State.ARRANGE, State.READY, State.RUNNING, State.PARKING, State.JUDGE])
def test_a_trial_that_was_in_motion_is_kept_as_invalid_and_repeated(tmp_path: Path, state: State) -> None:
    bench = Harness(tmp_path / "s").opened(2)
    bench.to(State.DONE, 0)
    bench.to(state, 1)
    revision = bench.trials[-1].revision
    again = bench.crash()
    assert again.run(again.open(resume=True)).next_plan_index == 1
    assert again.trials[-1].revision > revision, "revisions must grow across a restart"
    assert again.trials[-1].finished == 1
    assert again.code(again.advance(State.RUNNING, "000001-0")) == "TRIAL_NOT_CURRENT"
    assert again.code(again.start(1, 0)) == "TRIAL_STATE"
    again.to(State.DONE, 1, 1)
    assert again.code(again.close()) == "OK"
    reader = JournalReader(again.directory)
    assert [result.trial_id for result in reader.results()] == ["000000-0", "000001-1"]
    kept = next(attempt for attempt in reader.attempts() if attempt.trial_id == "000001-0")
    assert (kept.state, kept.code) == (State.INVALID, "CANCELLED")
    assert state.name in kept.message


@pytest.mark.parametrize(
    ("outcome", "state", "pending"),
    [(Verdict.OUTCOME_FAILURE, State.DONE, 1), (Verdict.OUTCOME_INVALID, State.INVALID, 0)],
)
def test_an_acknowledged_verdict_survives_a_runner_that_died_before_finish(
    tmp_path: Path, outcome: int, state: State, pending: int
) -> None:
    bench = Harness(tmp_path / "s").opened(2)
    bench.to(State.JUDGE)
    reason = Verdict.INVALID_OTHER if outcome == Verdict.OUTCOME_INVALID else Verdict.INVALID_NONE
    assert bench.verdict(outcome=outcome, invalid_reason=reason).accepted
    again = bench.crash()
    assert again.run(again.open(resume=True)).next_plan_index == pending
    attempt = JournalReader(again.directory).attempts()[0]
    assert attempt.state is state
    assert attempt.record == {"steps": 20, "timing": {"started_ns": 1}}, "the record came with JUDGE"


def test_a_crash_before_the_first_event_can_be_resumed(tmp_path: Path) -> None:
    from assay_core.journal import JournalWriter

    bench = Harness(tmp_path / "s")
    bench.write_plan(1)
    JournalWriter.create(bench.directory).close()
    assert bench.run(bench.open(resume=True)).next_plan_index == 0
    assert bench.kinds() == ["plan", "session_opened"]


def test_the_states_are_those_of_the_message() -> None:
    for state in State:
        assert getattr(TrialState, state.name) == state
