"""What the benchmark node answers a runner: a whole session, every refusal, and the same answer to a repeat."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from harness import RECORD, RUNNER, Harness

from assay_bench.refusal import Refusal
from assay_core.journal import JournalReader
from assay_core.plan import PLAN_FILE
from assay_core.seal import verify_seal
from assay_core.testing import example_entry
from assay_core.trial import State
from assay_msgs.msg import TrialState, Verdict
from assay_msgs.srv import FinishTrial

DONE, INCOMPLETE, HALTED = 1, 2, 3


def test_a_disk_that_does_not_answer_does_not_hold_up_the_end(bench: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay_bench.bench.FILES_S", 0.05)
    answers = threading.Event()
    bench.bench.opening = bench.bench.offload(lambda: answers.wait(60))
    try:
        [problem] = bench.bench.stop()
    finally:
        answers.set()
    assert problem == "files of a session are still at work after 0.05 s: see whether its disk answers"


def test_a_whole_session(bench: Harness) -> None:
    bench.opened(2)
    for index in range(2):
        bench.to(State.DONE, index)
    answer = bench.run(bench.close())
    assert len(answer.root_hash) == 64
    assert verify_seal(bench.directory) == []
    reader = JournalReader(bench.directory)
    assert [result.outcome for result in reader.results()] == ["success", "success"]
    trial = ["trial_started", "operator_ready", *["trial_advanced"] * 3, "verdict", "trial_ended"]
    assert bench.kinds() == ["plan", "session_opened", *trial, *trial, "session_closed"]
    states = [State(message.state).name for message in bench.trials]
    one = ["ARRANGE", "READY", "RUNNING", "PARKING", "JUDGE", "JUDGE", "DONE"]
    assert states == ["IDLE", *one, *one, "IDLE"]
    assert [m.revision for m in bench.trials] == list(range(bench.trials[0].revision, bench.trials[0].revision + 16))
    assert [m.finished for m in bench.trials if m.state == TrialState.DONE] == [1, 2]
    assert all(m.plan_length == 2 for m in bench.trials)


def test_trial_messages_say_who_is_waited_for(bench: Harness) -> None:
    bench.opened()
    waits = []
    bench.to(State.JUDGE)
    waits = [(State(m.state).name, list(m.waiting_for)) for m in bench.trials[1:]]
    assert waits == [
        ("ARRANGE", ["operator"]),
        ("READY", ["runner"]),
        ("RUNNING", ["runner"]),
        ("PARKING", ["runner"]),
        ("JUDGE", ["grader"]),
    ]
    receipt = bench.verdict()
    assert bench.trials[-1].has_verdict
    assert bench.trials[-1].verdict.uuid == receipt.uuid
    assert list(bench.trials[-1].waiting_for) == ["runner"]
    assert [m.previous_state for m in bench.trials[1:]] == [1, 2, 3, 4, 5, 6]


def test_the_realization_is_published_with_its_trial(bench: Harness) -> None:
    bench.opened()
    answer = bench.run(bench.start())
    assert bench.realizations[-1].trial_id == answer.realization.trial_id == "000000-0"
    assert answer.realization.instruction == "pour the pasta into the bowl"
    assert list(JournalReader(bench.directory).events())[-1].body["content_hash"] == answer.realization.content_hash


# -- repeats ---------------------------------------------------------------------------------------------------------


def test_repeats_get_the_first_answer_and_journal_nothing(bench: Harness) -> None:
    bench.opened(1)
    first = bench.run(bench.open())
    assert bench.run(bench.open()) == first
    started = bench.run(bench.start())
    assert bench.run(bench.start()) == started
    bench.ready()
    for state in (State.RUNNING, State.PARKING, State.JUDGE):
        answer = bench.run(bench.advance(state))
        assert bench.run(bench.advance(state)) == answer
    assert bench.run(bench.advance(State.RUNNING)).state == State.JUDGE, "a late repeat learns the state in force"
    bench.verdict()
    finished = bench.run(bench.finish())
    count = len(bench.kinds())
    assert bench.run(bench.finish()) == finished
    assert bench.run(bench.finish(status=FinishTrial.Request.STATUS_RIG_FAULT)) == finished
    assert len(bench.kinds()) == count
    assert finished.state == State.DONE
    assert finished.journal_index == count - 1
    closed = bench.run(bench.close())
    assert bench.run(bench.close()) == closed


# -- opening ---------------------------------------------------------------------------------------------------------


def message_of(bench: Harness, operation: object) -> str:
    with pytest.raises(Refusal) as caught:
        bench.run(operation)  # type: ignore[arg-type]
    return str(caught.value)


def test_open_checks_what_it_is_given(bench: Harness, tmp_path: Path) -> None:
    assert bench.code(bench.open()) == "INVALID_ARGUMENT", "a directory that does not exist"
    bench.directory.mkdir()
    assert bench.code(bench.open()) == "PLAN_MISMATCH", "no plan"
    bench.write_plan()
    assert bench.code(bench.open(runner=" ")) == "INVALID_ARGUMENT"
    assert bench.code(bench.open(directory="session")) == "INVALID_ARGUMENT", "a relative path"
    assert bench.code(bench.open(plan_hash="0" * 64)) == "PLAN_MISMATCH"
    assert bench.code(bench.open(session="s2")) == "PLAN_MISMATCH"
    assert bench.code(bench.open(resume=True)) == "JOURNAL_FAILED", "nothing to resume"
    assert not (bench.directory / "journal.sqlite").exists()
    text = (bench.directory / PLAN_FILE).read_text()
    (bench.directory / PLAN_FILE).write_text(text.replace("mode:", "moed:"))
    assert "plan.yaml:" in message_of(bench, bench.open())
    assert bench.trials == []


def test_a_new_session_refuses_an_old_journal_and_the_other_way_round(bench: Harness) -> None:
    again = bench.opened().crash()
    assert "existing journal" in message_of(again, again.open())
    assert again.code(again.open(resume=True)) == "OK"


def test_no_journal_is_begun_anew_or_taken_up_where_events_were_lost(bench: Harness) -> None:
    again = bench.opened().crash()
    (bench.directory / "trials" / "000007-0").mkdir(parents=True)
    (bench.directory / "trials" / "000007-0" / "final_top_cam.jpg").write_bytes(b"picture")
    assert "without trial 000007-0" in message_of(again, again.open(resume=True))
    for file in bench.directory.glob("journal.sqlite*"):
        file.unlink()
    assert "got none, beside trials" in message_of(again, again.open())
    assert again.code(again.open()) == "JOURNAL_FAILED"


def test_a_changed_plan_is_refused_on_resume(bench: Harness) -> None:
    again = bench.opened().crash()
    again.write_plan(2, seed=99)
    assert again.code(again.open(resume=True)) == "PLAN_MISMATCH"
    again.write_plan(2)
    assert again.code(again.open(resume=True)) == "OK", "a refused resume must not keep the journal locked"


def test_a_foreign_journal_is_refused_by_name(bench: Harness) -> None:
    bench.write_plan()
    (bench.directory / "journal.sqlite").write_bytes(b"not a journal" * 20)
    assert str(bench.directory / "journal.sqlite") in message_of(bench, bench.open(resume=True))


def test_a_second_runner_is_refused_by_name_while_the_first_is_alive(bench: Harness, tmp_path: Path) -> None:
    bench.opened()
    bench.now_s += 3.0
    text = message_of(bench, bench.open(runner="other-2-def", resume=True))
    assert "session 's1'" in text
    assert f"runner '{RUNNER}'" in text
    assert bench.code(bench.open(runner="other-2-def", session="s2")) == "SESSION_OTHER_OPEN"
    bench.now_s += 3.0
    assert bench.code(bench.open(runner="other-2-def", resume=True)) == "OK", "the first is silent"
    assert bench.code(bench.open(runner=RUNNER, resume=True)) == "SESSION_OTHER_OPEN"


def test_a_runner_whose_process_is_gone_may_be_replaced_at_once(bench: Harness) -> None:
    import socket

    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(timeout=30)
    bench.write_plan()
    dead = f"{socket.gethostname()}-{process.pid}-abc"
    assert bench.code(bench.open(runner=dead)) == "OK"
    assert bench.code(bench.open(runner="b-1-c", resume=True)) == "SESSION_OTHER_OPEN", "it was heard just now"
    bench.now_s += 2.0
    assert bench.code(bench.open(runner=f"{socket.gethostname()}-{os.getpid()}-x", resume=True)) == "OK"
    bench.now_s += 2.0
    assert bench.code(bench.open(runner="b-1-c", resume=True)) == "SESSION_OTHER_OPEN", "this process lives"


def test_another_node_on_the_same_session_is_refused(bench: Harness) -> None:
    bench.opened()
    other = Harness(bench.directory)
    assert f"process {os.getpid()}" in message_of(other, other.open(resume=True))


def test_another_session_takes_over_a_rig_whose_runner_is_silent(bench: Harness, tmp_path: Path) -> None:
    bench.opened()
    bench.to(State.RUNNING)
    first = bench.directory
    bench.now_s += 10
    bench.directory = tmp_path / "other"
    bench.write_plan(1, session_id="s2")
    assert bench.code(bench.open(session="s2", runner="b-1-c")) == "OK"
    assert bench.code(bench.advance(State.PARKING)) == "SESSION_UNKNOWN"
    again = Harness(first)
    assert again.code(again.open(resume=True)) == "OK", "the first session can be resumed elsewhere"


# -- starting --------------------------------------------------------------------------------------------------------


def test_start_refuses_what_the_plan_does_not_hold(bench: Harness) -> None:
    assert bench.code(bench.start()) == "SESSION_UNKNOWN"
    bench.opened(2)
    assert bench.code(bench.start(trial_id="x")) == "INVALID_ARGUMENT"
    assert bench.code(bench.start(7)) == "PLAN_MISMATCH"
    assert bench.code(bench.start(entry_json=example_entry(0).to_json())) == "PLAN_MISMATCH"
    assert bench.code(bench.start(0, 1)) == "INVALID_ARGUMENT", "the first attempt is number 0"
    assert bench.code(bench.start(session_id="s2")) == "SESSION_UNKNOWN"
    bench.to(State.RUNNING, 1)
    assert bench.code(bench.start(0)) == "TRIAL_STATE", "one trial at a time"
    assert bench.kinds().count("trial_started") == 1


def test_results_are_final_and_repeats_are_bounded(bench: Harness) -> None:
    bench.opened(2, max_repeats=1)
    bench.to(State.DONE, 0)
    assert bench.code(bench.start(0, 1)) == "TRIAL_STATE", "no second try after a result"
    trial = bench.to(State.RUNNING, 1, 0)
    assert bench.run(bench.finish(trial, FinishTrial.Request.STATUS_RIG_FAULT, error="arm")).state == State.INVALID
    assert bench.trials[-1].message == "arm"
    assert bench.trials[-1].finished == 1
    assert bench.code(bench.close()) == "PLAN_MISMATCH", "an attempt is still due"
    assert bench.code(bench.start(1, 0)) == "OK", "a repeat of the current trial's request"
    trial = bench.to(State.RUNNING, 1, 1)
    bench.run(bench.finish(trial, FinishTrial.Request.STATUS_RIG_FAULT, error="arm"))
    assert bench.code(bench.start(1, 2)) == "TRIAL_STATE"
    assert bench.trials[-1].finished == 2
    assert bench.code(bench.close()) == "OK"


@pytest.mark.parametrize(
    ("status", "state", "outcome"),
    [
        (FinishTrial.Request.STATUS_POLICY_ERROR, State.DONE, "failure"),
        (FinishTrial.Request.STATUS_RIG_FAULT, State.INVALID, None),
        (FinishTrial.Request.STATUS_SAFETY, State.HALTED, "halted"),
        (FinishTrial.Request.STATUS_CANCELLED, State.INVALID, None),
    ],
)
@pytest.mark.parametrize("when", [State.ARRANGE, State.READY, State.RUNNING, State.JUDGE])
def test_how_a_trial_without_verdict_ends(
    bench: Harness, status: int, state: State, outcome: str | None, when: State
) -> None:
    bench.opened(1)
    bench.to(when)
    assert bench.run(bench.finish(status=status, error="why")).state == state
    results = JournalReader(bench.directory).results()
    assert [result.outcome for result in results] == ([outcome] if outcome else [])
    if outcome == "failure":
        assert results[0].reason == "why"
        assert results[0].counted


def test_completed_needs_a_verdict(bench: Harness) -> None:
    bench.opened(1)
    bench.to(State.RUNNING)
    assert bench.code(bench.finish()) == "TRIAL_STATE"
    bench.run(bench.advance(State.JUDGE))
    assert "verdict" in message_of(bench, bench.finish())
    bench.verdict()
    assert bench.code(bench.finish()) == "OK"


def test_a_fault_reported_after_the_verdict_does_not_undo_it(bench: Harness) -> None:
    bench.opened(1)
    bench.to(State.JUDGE)
    bench.verdict(outcome=Verdict.OUTCOME_FAILURE)
    assert bench.run(bench.finish(status=FinishTrial.Request.STATUS_RIG_FAULT, error="x")).state == State.DONE
    (result,) = JournalReader(bench.directory).results()
    assert (result.outcome, result.counted) == ("failure", True), "breaking the rig must not earn a retry"


def test_an_invalid_verdict_ends_in_invalid_and_is_repeated(bench: Harness) -> None:
    bench.opened(1)
    bench.to(State.JUDGE)
    bench.verdict(outcome=Verdict.OUTCOME_INVALID, invalid_reason=Verdict.INVALID_SCENE_WRONG, note="bowl missing")
    assert bench.run(bench.finish()).state == State.INVALID
    assert "bowl missing" in bench.trials[-1].message
    assert bench.code(bench.start(0, 1)) == "OK"


def test_after_a_halt_nothing_starts_until_resume(bench: Harness) -> None:
    bench.opened(2)
    bench.to(State.RUNNING)
    bench.run(bench.finish(status=FinishTrial.Request.STATUS_SAFETY, error="arm outside its limits"))
    assert "arm outside its limits" in message_of(bench, bench.start(1))
    assert bench.code(bench.close(HALTED)) == "OK"
    again = Harness(bench.directory)
    assert again.run(again.open(resume=True)).next_plan_index == 1
    assert again.code(again.start(1)) == "OK"


def test_advance_refuses_what_is_out_of_order_or_malformed(bench: Harness) -> None:
    bench.opened(1)
    bench.to(State.ARRANGE)
    assert bench.code(bench.advance(State.RUNNING)) == "TRIAL_STATE"
    bench.ready()
    assert bench.code(bench.advance(State.PARKING)) == "TRIAL_STATE"
    assert bench.code(bench.advance(State.DONE)) == "INVALID_ARGUMENT"
    assert bench.code(bench.advance(State.RUNNING, "000000-1")) == "TRIAL_UNKNOWN"
    assert bench.code(bench.advance(State.RUNNING, record_json=RECORD)) == "INVALID_ARGUMENT"
    bench.run(bench.advance(State.RUNNING))
    for text in ("", "[1]", "{", '{"x": NaN}', '"\\ud800"', "[" * 100_000):
        assert bench.code(bench.advance(State.JUDGE, record_json=text)) == "INVALID_ARGUMENT", text[:10]
    assert bench.code(bench.advance(State.JUDGE)) == "OK"
    assert bench.kinds().count("trial_advanced") == 2


def test_a_lone_surrogate_in_a_record_is_refused(bench: Harness) -> None:
    bench.opened(1)
    bench.to(State.RUNNING)
    assert bench.code(bench.advance(State.JUDGE, record_json='{"x": "\\ud800"}')) == "INVALID_ARGUMENT"
    assert bench.code(bench.advance(State.JUDGE)) == "OK"


def test_the_record_of_an_aborted_trial_is_kept(bench: Harness) -> None:
    bench.opened(1)
    bench.to(State.RUNNING)
    assert bench.abort().accepted
    answer = bench.run(bench.finish(status=FinishTrial.Request.STATUS_CANCELLED, error="aborted"))
    assert answer.state == State.INVALID
    assert bench.kinds()[-1] == "trial_recorded"
    assert JournalReader(bench.directory).attempts()[0].record == json.loads(RECORD)
    assert bench.run(bench.finish()) == answer


def test_an_open_plan_takes_entries_as_they_come(bench: Harness) -> None:
    bench.write_plan(0, open=True, max_repeats=0)
    bench.run(bench.open())
    assert bench.code(bench.start(0)) == "INVALID_ARGUMENT", "no entry"
    assert bench.code(bench.start(1, entry_json=example_entry(1).to_json())) == "PLAN_MISMATCH", "a gap"
    assert bench.code(bench.start(0, entry_json=example_entry(1).to_json())) == "PLAN_MISMATCH"
    for index in range(2):
        assert bench.code(bench.start(index, entry_json=example_entry(index).to_json())) == "OK"
        bench.ready(f"00000{index}-0")
        bench.run(bench.finish(f"00000{index}-0", FinishTrial.Request.STATUS_POLICY_ERROR))
    assert bench.trials[-1].plan_length == 2
    assert bench.code(bench.close()) == "OK"
    assert len(JournalReader(bench.directory).results()) == 2
