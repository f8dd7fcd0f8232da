"""What operators and graders are answered: receipts after the commit, the same one for a resend, reasons for a no."""

from __future__ import annotations

import uuid
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from harness import Harness
from sensor_msgs.msg import CompressedImage

from assay_core.errors import DataError
from assay_core.journal import JournalEvent, JournalReader, JournalWriter
from assay_core.trial import State
from assay_msgs.msg import Abort, Ready, Receipt, ResultCode, Skip, Verdict
from assay_msgs.srv import FinishTrial
from assay_ros.names import code_name

U1, U2, U3 = (str(uuid.uuid5(uuid.NAMESPACE_DNS, name)) for name in "abc")


@pytest.fixture
def bench(tmp_path: Path) -> Harness:
    return Harness(tmp_path / "session").opened(2)


def name(receipt: Receipt) -> str:
    return code_name(receipt.code)


def test_a_receipt_tells_what_was_journaled(bench: Harness) -> None:
    bench.to(State.JUDGE)
    receipt = bench.verdict(uuid=U1, has_stage=True, stage=3, note="spilled a little", source="checker")
    event = list(JournalReader(bench.directory).events())[receipt.journal_index]
    assert (receipt.accepted, name(receipt), receipt.kind) == (True, "OK", Receipt.KIND_VERDICT)
    assert (receipt.session_id, receipt.trial_id, receipt.uuid) == ("s1", "000000-0", U1)
    assert event.kind == "verdict"
    assert event.body["stage"] == 3
    assert event.body["note"] == "spilled a little"
    assert event.time_ns == receipt.header.stamp.sec * 10**9 + receipt.header.stamp.nanosec


def test_the_receipt_leaves_after_the_commit(bench: Harness, tmp_path: Path) -> None:
    seen: list[int] = []
    harness: Harness
    harness = Harness(tmp_path / "other", probe=lambda *_: seen.append(len(harness.receipts)))
    harness.opened(1)
    harness.to(State.ARRANGE)
    seen.clear()
    harness.ready()
    assert seen == [0, 0], "a receipt left before its commit"
    assert len(harness.receipts) == 1


@pytest.mark.parametrize("named", ["s0", ""])
@pytest.mark.parametrize("kind", ["ready", "verdict", "skip", "abort"])
def test_a_message_about_a_trial_of_another_session_is_refused(bench: Harness, kind: str, named: str) -> None:
    """Trials of all sessions have the same ids, and consoles send again what was not answered."""
    bench.to({"ready": State.ARRANGE, "skip": State.ARRANGE, "abort": State.RUNNING, "verdict": State.JUDGE}[kind])
    before = bench.state
    receipt = getattr(bench, kind)(session_id=named)
    assert (receipt.accepted, name(receipt), receipt.journal_index) == (False, "SESSION_UNKNOWN", -1)
    assert "expected the open session 's1', got " in receipt.message
    assert bench.state == before
    assert getattr(bench, kind)().accepted


def test_anybody_may_stop_what_is_unsafe_whatever_session_they_name(bench: Harness) -> None:
    bench.to(State.RUNNING)
    assert bench.abort(session_id="", reason=Abort.REASON_UNSAFE).accepted
    assert bench.state is State.HALTED


@pytest.mark.parametrize("restart", [False, True])
def test_a_resend_gets_the_first_receipt_again(bench: Harness, restart: bool) -> None:
    picture = CompressedImage(format="jpeg", data=b"\xff\xd8picture")
    bench.run(bench.start())
    sent: dict[str, dict[str, Any]] = {"ready": {"uuid": U1, "picture": picture, "note": "ok"}}
    first = {"ready": bench.ready(**sent["ready"])}
    for state in (State.RUNNING, State.JUDGE):
        bench.run(bench.advance(state))
    sent["verdict"] = {"uuid": U2, "note": "fine"}
    first["verdict"] = bench.verdict(**sent["verdict"])
    bench.run(bench.finish())
    bench.run(bench.start(1))
    sent["skip"] = {"uuid": U3, "trial": "000001-0"}
    first["skip"] = bench.skip(**sent["skip"])
    sent["abort"] = {"uuid": str(uuid.uuid4()), "trial": "", "scope": Abort.SCOPE_SESSION}
    first["abort"] = bench.abort(**sent["abort"])
    assert all(receipt.accepted for receipt in first.values()), first
    if restart:
        bench = bench.crash()
        bench.run(bench.open(resume=True))
    count = len(bench.kinds())
    for kind, values in sent.items():
        bench.now_s += 100.0
        assert getattr(bench, kind)(**values) == first[kind], kind
    assert len(bench.kinds()) == count, "a resend was journaled again"


def test_a_uuid_with_other_content_is_refused(bench: Harness) -> None:
    bench.to(State.JUDGE)
    assert bench.verdict(uuid=U1).accepted
    assert name(bench.verdict(uuid=U1, outcome=Verdict.OUTCOME_FAILURE)) == "UUID_REUSED"
    assert name(bench.ready(uuid=U1)) == "UUID_REUSED"
    assert bench.verdict(uuid=U1).accepted, "the first content is still answered"


def test_a_refusal_is_repeated_too_and_never_journaled(bench: Harness) -> None:
    count = len(bench.kinds())
    first = bench.ready("000007-0", uuid=U1)
    assert name(first) == "TRIAL_UNKNOWN"
    bench.now_s += 5
    assert bench.ready("000007-0", uuid=U1) == first
    assert len(bench.kinds()) == count


def test_a_second_different_verdict_is_refused_without_supersedes(bench: Harness) -> None:
    bench.to(State.JUDGE)
    bench.verdict(uuid=U1)
    receipt = bench.verdict(uuid=U2, outcome=Verdict.OUTCOME_FAILURE)
    assert (name(receipt), receipt.conflicts_with) == ("VERDICT_CONFLICT", U1)
    assert receipt.journal_index == -1
    assert U1 in receipt.message
    again = bench.verdict(uuid=U3)
    assert again.accepted, "the same judgement by the same grader is no conflict"
    assert U1 in again.message
    assert bench.kinds().count("verdict") == 1


def test_corrections_name_the_verdict_in_force(bench: Harness) -> None:
    bench.to(State.JUDGE)
    assert name(bench.verdict(supersedes=U3)) == "INVALID_ARGUMENT", "nothing to supersede yet"
    bench.verdict(uuid=U1)
    assert name(bench.verdict(supersedes=U3, outcome=Verdict.OUTCOME_FAILURE)) == "VERDICT_CONFLICT"
    assert bench.verdict(uuid=U2, supersedes=U1, outcome=Verdict.OUTCOME_FAILURE).accepted
    assert (bench.trials[-1].verdict.uuid, bench.trials[-1].verdict.supersedes) == (U2, U1)
    assert bench.trials[-1].verdict.outcome == Verdict.OUTCOME_FAILURE, "who reads benchmark/trial would go on with U1"
    stale = bench.verdict(supersedes=U1, outcome=Verdict.OUTCOME_SUCCESS)
    assert (name(stale), stale.conflicts_with) == ("VERDICT_CONFLICT", U2)
    bench.run(bench.finish())
    assert bench.verdict(uuid=U3, supersedes=U2, outcome=Verdict.OUTCOME_SUCCESS).accepted, "after DONE"
    bench.to(State.RUNNING, 1)
    late = bench.verdict("000000-0", supersedes=U3, outcome=Verdict.OUTCOME_FAILURE)
    assert late.accepted, "while another trial runs"
    assert bench.trials[-1].state == State.RUNNING
    assert JournalReader(bench.directory).results()[0].outcome == "failure"
    assert name(bench.verdict("000000-0", outcome=Verdict.OUTCOME_SUCCESS)) == "TRIAL_NOT_CURRENT"


def test_a_correction_to_invalid_makes_the_entry_due_again(bench: Harness) -> None:
    bench.to(State.DONE)
    assert bench.trials[-1].finished == 1
    uuid_of = bench.trials[-1].verdict.uuid
    values = {"outcome": Verdict.OUTCOME_INVALID, "invalid_reason": Verdict.INVALID_OPERATOR_ERROR}
    assert bench.verdict(supersedes=uuid_of, **values).accepted
    assert bench.trials[-1].finished == 0
    assert bench.code(bench.start(0, 1)) == "OK"


def test_verdicts_wait_for_judge_and_for_a_known_grader(bench: Harness) -> None:
    bench.to(State.RUNNING)
    assert name(bench.verdict()) == "TRIAL_STATE"
    bench.run(bench.advance(State.JUDGE))
    assert name(bench.verdict(grader_id="stranger")) == "GRADER_UNKNOWN"
    assert name(bench.verdict("000001-0")) == "TRIAL_UNKNOWN"
    assert bench.verdict().accepted


def test_a_trial_that_was_never_judged_is_not_judged_afterwards(bench: Harness) -> None:
    bench.to(State.RUNNING)
    bench.run(bench.finish(status=FinishTrial.Request.STATUS_RIG_FAULT, error="x"))
    assert name(bench.verdict()) == "TRIAL_STATE"


MALFORMED: list[tuple[str, dict[str, Any]]] = [
    ("verdict", {"outcome": Verdict.OUTCOME_UNKNOWN}),
    ("verdict", {"outcome": 77}),
    ("verdict", {"outcome": Verdict.OUTCOME_INVALID, "invalid_reason": Verdict.INVALID_NONE}),
    ("verdict", {"outcome": Verdict.OUTCOME_INVALID, "invalid_reason": Verdict.INVALID_UNKNOWN}),
    ("verdict", {"invalid_reason": Verdict.INVALID_OTHER}),
    ("verdict", {"has_stage": True, "stage": 5}),
    ("verdict", {"uuid": ""}),
    ("verdict", {"uuid": "not a uuid"}),
    ("verdict", {"uuid": str(uuid.UUID(int=0))}),
    ("verdict", {"uuid": "{" + U1 + "}"}),
    ("verdict", {"supersedes": "x"}),
    ("verdict", {"grader_id": ""}),
    ("verdict", {"note": "x" * 30_000}),
    ("ready", {"uuid": ""}),
    ("ready", {"operator_id": " "}),
    ("ready", {"picture": CompressedImage(format="../../etc", data=b"x")}),
    ("skip", {"reason": Skip.REASON_UNKNOWN}),
    ("abort", {"reason": Abort.REASON_UNKNOWN}),
    ("abort", {"scope": Abort.SCOPE_UNKNOWN}),
]


@pytest.mark.parametrize(("kind", "changes"), MALFORMED, ids=lambda x: x if isinstance(x, str) else str(x)[:40])
@pytest.mark.parametrize("state", [State.ARRANGE, State.JUDGE])
def test_malformed_messages_are_refused_and_not_journaled(
    bench: Harness, kind: str, changes: dict[str, Any], state: State
) -> None:
    bench.to(state)
    count = len(bench.kinds())
    receipt = getattr(bench, kind)(**changes)
    assert name(receipt) == "INVALID_ARGUMENT"
    assert "expected" in receipt.message
    assert "fix:" in receipt.message
    assert len(bench.kinds()) == count
    assert bench.state is state


def test_messages_without_a_session_may_be_sent_again(tmp_path: Path) -> None:
    bench = Harness(tmp_path / "session")
    receipt = bench.ready(uuid=U1)
    assert (name(receipt), receipt.session_id) == ("SESSION_UNKNOWN", "")
    bench.opened(1)
    bench.run(bench.start())
    assert bench.ready(uuid=U1).accepted, "a refusal that time cures must not stick to its UUID"


def test_the_ready_picture_is_kept_with_its_hash(bench: Harness) -> None:
    import hashlib

    data = b"\xff\xd8" + bytes(range(256)) * 40
    bench.run(bench.start())
    assert bench.ready(picture=CompressedImage(format="jpeg", data=data)).accepted
    picture = JournalReader(bench.directory).attempts()[0].ready["picture"]  # type: ignore[index]
    assert picture == {
        "format": "jpeg",
        "sha256": hashlib.sha256(data).hexdigest(),
        "file": "trials/000000-0/ready.jpg",
    }
    assert (bench.directory / picture["file"]).read_bytes() == data


def test_skip_only_before_motion_and_only_by_an_operator_of_the_plan(bench: Harness) -> None:
    bench.to(State.READY)
    assert name(bench.skip(operator_id="stranger")) == "GRADER_UNKNOWN"
    assert bench.skip(note="bowl is broken").accepted
    assert bench.state is State.SKIPPED
    assert "bowl is broken" in bench.trials[-1].message
    assert bench.trials[-1].finished == 1
    bench.to(State.RUNNING, 1)
    assert name(bench.skip("000001-0")) == "TRIAL_STATE"


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        (Abort.REASON_EARLY_STOP, State.PARKING),
        (Abort.REASON_UNSAFE, State.HALTED),
        (Abort.REASON_RIG_FAULT, State.INVALID),
        (Abort.REASON_OTHER, State.INVALID),
    ],
)
def test_what_an_abort_does(bench: Harness, reason: int, state: State) -> None:
    bench.to(State.RUNNING)
    assert bench.abort(reason=reason, note="because").accepted
    assert bench.state is state
    if state is not State.PARKING:
        assert "because" in bench.trials[-1].message
    else:
        assert bench.run(bench.advance(State.PARKING)).state == State.PARKING, "the runner follows"
        assert bench.code(bench.advance(State.JUDGE)) == "OK"


def test_anybody_may_stop_what_is_unsafe_whatever_they_name(bench: Harness) -> None:
    bench.to(State.RUNNING)
    assert name(bench.abort(operator_id="stranger")) == "GRADER_UNKNOWN"
    assert name(bench.abort("000009-0")) == "TRIAL_UNKNOWN"
    receipt = bench.abort("000009-0", uuid=U1, operator_id="stranger", reason=Abort.REASON_UNSAFE)
    assert receipt.accepted
    assert receipt.trial_id == "000009-0"
    assert bench.state is State.HALTED
    again = bench.crash()
    again.run(again.open(resume=True))
    assert again.abort("000009-0", uuid=U1, operator_id="stranger", reason=Abort.REASON_UNSAFE) == receipt


def test_an_abort_does_not_undo_a_verdict(bench: Harness) -> None:
    bench.to(State.JUDGE)
    bench.verdict(outcome=Verdict.OUTCOME_FAILURE)
    assert name(bench.abort(reason=Abort.REASON_RIG_FAULT)) == "TRIAL_STATE"
    assert bench.abort(reason=Abort.REASON_UNSAFE).accepted, "safety comes first"
    assert JournalReader(bench.directory).results()[0].outcome == "failure"


def test_a_session_abort_lets_no_further_trial_start(bench: Harness) -> None:
    bench.to(State.RUNNING)
    assert bench.abort(scope=Abort.SCOPE_SESSION, reason=Abort.REASON_EARLY_STOP).accepted
    assert bench.state is State.PARKING
    bench.run(bench.advance(State.JUDGE))
    bench.verdict()
    assert bench.code(bench.finish()) == "OK", "this trial is finished first"
    assert bench.code(bench.start(1)) == "NOT_READY"
    again = bench.crash()
    again.run(again.open(resume=True))
    assert again.code(again.start(1)) == "OK"


def test_a_session_abort_between_trials(bench: Harness) -> None:
    assert name(bench.abort("", scope=Abort.SCOPE_TRIAL)) == "TRIAL_UNKNOWN"
    assert bench.abort("", scope=Abort.SCOPE_SESSION, note="lunch").accepted
    assert bench.code(bench.start()) == "NOT_READY"
    assert JournalReader(bench.directory).results() == ()


def test_result_codes_of_receipts_are_the_documented_ones() -> None:
    assert (ResultCode.VERDICT_CONFLICT, ResultCode.UUID_REUSED, ResultCode.GRADER_UNKNOWN) == (107, 108, 106)
    assert Ready is not None


def test_a_verdict_for_a_journal_that_was_moved_away_gets_no_receipt_and_the_runner_hears_why(bench: Harness) -> None:
    bench.to(State.JUDGE)
    bench.directory.rename(bench.directory.with_name("elsewhere"))
    receipt = bench.verdict()
    assert (receipt.accepted, name(receipt)) == (False, "JOURNAL_FAILED")
    told = bench.trials[-1]
    assert (State(told.state), told.has_verdict) == (State.JUDGE, False)
    assert told.code == receipt.code, "a runner that waits for a person would wait on"
    assert "expected the journal of the session that is running, got no such file" in told.message
    count = len(bench.trials)
    assert not bench.verdict().accepted
    assert len(bench.trials) == count, "told once"
    assert bench.code(bench.finish(status=FinishTrial.Request.STATUS_CANCELLED)) == "JOURNAL_FAILED"
    bench.directory.with_name("elsewhere").rename(bench.directory)
    assert JournalReader(bench.directory).results() == ()


def test_a_full_disk_is_told_to_who_waits_until_there_is_space_again(
    bench: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.to(State.JUDGE)
    append, why = JournalWriter.append_all, DataError("journal.sqlite", got="database or disk is full")

    def full(_writer: JournalWriter, _entries: object) -> Future[list[JournalEvent]]:
        failed: Future[list[JournalEvent]] = Future()
        failed.set_exception(why)
        return failed

    monkeypatch.setattr(JournalWriter, "append_all", full)
    for _ in range(3):
        assert name(bench.verdict(uuid=U1)) == "JOURNAL_FAILED"
    told = [message for message in bench.trials if message.message == str(why)]
    assert len(told) == 1, "every resend told everybody again"
    assert (told[0].has_verdict, name(told[0])) == (False, "OK"), "space may come: the trial is not lost"
    monkeypatch.setattr(JournalWriter, "append_all", append)
    assert bench.verdict(uuid=U1).accepted
    assert (bench.trials[-1].message, bench.trials[-1].has_verdict) == ("", True)
