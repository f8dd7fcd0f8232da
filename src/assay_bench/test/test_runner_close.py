"""How a session is closed: what it takes to be done, what a seal ends, and what may be tried again."""

from __future__ import annotations

from harness import Harness

from assay_core.journal import JournalReader
from assay_core.seal import verify_seal
from assay_core.trial import State
from assay_msgs.srv import CloseSession, FinishTrial

DONE, INCOMPLETE, HALTED = 1, 2, 3


def test_close_as_incomplete_ends_the_trial_and_can_be_resumed(bench: Harness) -> None:
    bench.opened(2)
    bench.to(State.RUNNING)
    assert bench.code(bench.close(0)) == "INVALID_ARGUMENT"
    assert bench.code(bench.close(DONE)) == "TRIAL_STATE"
    answer = bench.run(bench.close(INCOMPLETE))
    assert answer.root_hash == ""
    assert bench.kinds()[-2:] == ["trial_ended", "session_closed"]
    assert bench.trials[-1].state == State.IDLE
    assert bench.code(bench.start(1)) == "SESSION_UNKNOWN"
    assert bench.run(bench.open(resume=True)).next_plan_index == 0
    assert bench.code(bench.start(0, 1)) == "OK"


def test_nothing_is_accepted_after_the_seal(bench: Harness) -> None:
    bench.opened(1)
    trial = bench.to(State.DONE)
    bench.run(bench.close())
    assert bench.code(bench.start(0, 1)) == "SESSION_SEALED"
    assert bench.code(bench.open(resume=True)) == "SESSION_SEALED"
    assert bench.verdict(trial).code == 102, "a verdict after the seal"
    assert verify_seal(bench.directory) == []


def test_a_seal_that_cannot_be_written_can_be_tried_again(bench: Harness) -> None:
    bench.opened(1)
    bench.to(State.DONE)
    link = bench.directory / "link"
    link.symlink_to("plan.yaml")
    assert bench.code(bench.close()) == "JOURNAL_FAILED"
    link.unlink()
    assert bench.code(bench.close()) == "OK"
    assert verify_seal(bench.directory) == []
    assert bench.kinds().count("session_closed") == 1


def test_close_of_an_unknown_session(bench: Harness) -> None:
    assert bench.code(bench.close()) == "SESSION_UNKNOWN"
    bench.opened()
    assert bench.code(bench.close(INCOMPLETE, "other")) == "SESSION_UNKNOWN"
    assert CloseSession.Request.STATUS_INCOMPLETE == INCOMPLETE


def test_an_error_of_megabytes_is_cut_before_it_is_published_and_recorded(bench: Harness) -> None:
    bench.opened().to(State.RUNNING)
    error = "no such weight: " + "w" * 2_000_000
    assert bench.code(bench.finish(status=FinishTrial.Request.STATUS_RIG_FAULT, error=error)) == "OK"
    told = bench.trials[-1].message
    assert len(told) == 4000
    assert told.startswith("no such weight: www")
    assert told.endswith(" characters cut)")
    attempt = JournalReader(bench.directory).attempts()[0]
    assert (attempt.error, attempt.message) == (told, told)
    assert bench.code(bench.close(CloseSession.Request.STATUS_INCOMPLETE)) == "OK"
