"""How a session ends before its plan does: interrupts, deaths, operators, faults; and how it goes on afterwards."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from inspect_robots.errors import EmbodimentFault, PolicyError, SafetyAbort
from inspect_robots.log import read_eval_log
from journalled import TASK, Bench, World, only

from assay_bridge import session as sessions
from assay_bridge.derived import Derived, rederive
from assay_bridge.policy_calls import NodeHangs
from assay_bridge.session_end import Verdict
from assay_core.errors import RigFault
from assay_core.trial import Event, State


def test_an_interrupt_cancels_the_trial_and_closes_the_journal(world: World) -> None:
    def trouble(trial: str, step: int) -> None:
        if trial == "000001-0" and step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    world.trouble = trouble
    end = world.run()
    assert end.verdict is Verdict.INTERRUPTED
    assert world.bench.closed == [2]
    attempt = world.reader().attempts()[-1]
    assert (attempt.trial_id, attempt.state, attempt.status) == ("000001-0", State.INVALID, "cancelled")
    assert attempt.record is not None
    assert attempt.record["steps"] >= 1, "the steps that ran are evidence"
    world.trouble = lambda _trial, _step: None
    assert world.run(resume=True).verdict is Verdict.DONE
    assert (world.derive().summary["trials"], world.derive().summary["invalid"]) == (4, 1)


@pytest.mark.parametrize(("times", "verdict"), [(1, Verdict.DONE), (2, Verdict.INTERRUPTED)])
def test_a_complete_plan_is_sealed_in_spite_of_an_interrupt(world: World, times: int, verdict: Verdict) -> None:
    real = rederive

    def derive(directory: Path) -> Derived:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        world.stop.check()  # as every wait on the graph does
        return real(directory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("journalled.rederive", derive)
        end = world.run()
    assert end.verdict is verdict
    assert (world.directory / "seal.json").exists() is (verdict is Verdict.DONE)
    assert (end.derived is not None) is (verdict is Verdict.DONE)


def test_an_interrupt_after_the_seal_leaves_the_session_done(world: World) -> None:
    close_session = Bench.close_session

    def insisted(bench: Bench, status: int, reason: str = "") -> str:
        close_session(bench, status, reason)
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("a second interrupt is raised at once")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bench, "close_session", insisted)
        end = world.run()
    assert end.verdict is Verdict.DONE
    assert end.derived is not None
    assert end.warnings == ("sealed, but interrupted by SIGINT",)


def test_an_interrupt_while_a_person_judges_keeps_the_motion(world: World) -> None:
    def before_verdict(trial: str) -> None:
        if trial == "000001-0":
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()

    world.before_verdict = before_verdict
    assert world.run().verdict is Verdict.INTERRUPTED
    attempt = world.reader().attempts()[-1]
    assert (attempt.state, attempt.status, attempt.reached_judge) == (State.INVALID, "cancelled", True)


def test_a_runner_that_dies_after_the_verdict_keeps_it(world: World) -> None:
    def killed(*_args: Any) -> int:
        raise RigFault("the runner is gone")

    world.before_verdict = lambda trial: setattr(world.bench, "finish_trial", killed) if trial == "000001-0" else None
    world.dead = lambda: None
    assert world.run().verdict is Verdict.STOPPED
    assert world.run(resume=True).verdict is Verdict.DONE
    assert world.rig.started[0] == "000002-0", "a trial with a verdict was run again"
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (4, 0)
    log = read_eval_log(str(got.logs[0]))
    assert log.samples[1].epochs == ({"success_at_end": 1.0},), "the verdict was not scored afterwards"
    assert log.samples[1].operator_judgements == ("success",)


def test_a_safety_stop_halts_and_stays_unsealed(world: World) -> None:
    world.trouble = only("000001-0", 3, SafetyAbort("e-stop pressed"))
    end = world.run()
    assert (end.verdict, end.root_hash) == (Verdict.HALTED, "")
    assert "e-stop pressed" in end.reason
    assert world.bench.closed == [3]
    assert world.derive().summary["status"] == "halted"


def test_a_dead_process_is_named_and_stops_the_session(world: World) -> None:
    died: list[str] = []

    def trouble(trial: str, step: int) -> None:
        if trial == "000002-0" and step == 1:
            died.append("world (mock_world, pid 7) died: SIGKILL")
            raise EmbodimentFault("left/joint_states: nothing within 5 s")

    world.trouble, world.dead = trouble, lambda: died[0] if died else None
    end = world.run()
    assert end.verdict is Verdict.STOPPED
    assert end.reason == "world (mock_world, pid 7) died: SIGKILL"
    got = world.derive()
    assert (got.summary["status"], got.summary["trials"], got.summary["invalid"]) == ("incomplete", 2, 1)


def test_a_resumed_session_has_every_trial_once(world: World) -> None:
    world.trouble = only("000002-0", 1, EmbodimentFault("gone"))
    world.dead = lambda: "world died" if world.bench.trial_id.startswith("000002") else None
    assert world.run().verdict is Verdict.STOPPED
    world.trouble, world.dead = (lambda _trial, _step: None), (lambda: None)
    assert world.run(resume=True).verdict is Verdict.DONE
    assert world.rig.started == ["000002-1", "000003-0"]
    got = world.derive()
    assert (got.summary["status"], got.summary["trials"], got.summary["invalid"]) == ("done", 4, 1)
    assert [one["n"] for one in got.summary["tasks"][TASK]["instances"].values()] == [1, 1, 1, 1]


def test_endless_rig_faults_end_the_session(world: World) -> None:
    def trouble(_trial: str, _step: int) -> None:
        raise EmbodimentFault("arm silent")

    world.trouble = trouble
    end = world.run()
    assert end.verdict is Verdict.STOPPED
    assert end.reason.startswith("6 rig faults in a row")
    assert len(world.rig.started) == 6


def test_trials_that_the_policy_failed_are_counted_apart(world: World) -> None:
    def act(trial: str) -> None:
        if trial in ("000001-0", "000002-0"):
            raise PolicyError(f"policy/infer: boom in {trial}")

    world.act, world.outcome = act, lambda trial: "failure" if trial == "000003-0" else "success"
    end = world.run()
    assert (end.verdict, end.derived) == (Verdict.DONE, world.derive())
    assert end.derived is not None
    assert end.derived.policy_errors == (2, "policy/infer: boom in 000001-0"), "a verdict of failure is no error"
    assert (end.derived.summary["trials"], end.derived.summary["invalid"]) == (4, 0)
    assert "policy_errors" not in end.derived.summary, "the shape of summary.json is fixed"


def test_a_policy_node_that_hangs_for_good_ends_the_session_at_once(world: World) -> None:
    def trouble(trial: str, _step: int) -> None:
        if trial == "000001-0":
            world.rig.link.failure = NodeHangs("policy/reset: no answer within 10 s; it hangs since trial 000000-0")
            raise EmbodimentFault(str(world.rig.link.failure))

    world.trouble = trouble
    end = world.run()
    assert (end.verdict, world.rig.started) == (Verdict.STOPPED, ["000000-0", "000001-0"])
    assert end.reason.endswith("it hangs since trial 000000-0")
    assert world.derive().summary["invalid"] == 1, "one attempt is lost, not the repeats of two entries"


def test_no_session_leaves_threads_or_handlers_behind(world: World) -> None:
    import threading

    world.run()
    assert [t.name for t in threading.enumerate() if t.name in ("pictures", "journal")] == []
    assert sessions.FAREWELL_S < 2.5, "an interrupt has to end a session within 5 s"


@pytest.mark.parametrize(
    ("event", "verdict"), [(Event.ABORT_OTHER, Verdict.DONE), (Event.ABORT_UNSAFE, Verdict.HALTED)]
)
def test_a_trial_that_an_operator_ends_keeps_what_was_done_until_then(
    world: World, event: Event, verdict: Verdict
) -> None:
    def trouble(trial: str, step: int) -> None:
        if trial == "000001-0" and step == 3:
            world.bench.end(event, "", "stopped by ann")
            raise EmbodimentFault(f"trial {trial} ended in {world.bench.trial.state.name}: stopped by ann")

    world.trouble = trouble
    end = world.run()
    assert end.verdict is verdict
    attempt = next(a for a in world.reader().attempts() if a.trial_id == "000001-0")
    assert attempt.record is not None, "the motion until the stop is lost"
    assert attempt.record["steps"] == 2
    assert attempt.message == "stopped by ann"
    kinds = [event.kind for event in world.reader().events() if event.trial_id == "000001-0"]
    assert kinds[-2:] == ["trial_ended", "trial_recorded"]


def test_a_record_that_cannot_be_handed_in_any_more_is_said(world: World) -> None:
    def trouble(trial: str, step: int) -> None:
        if trial == "000001-0" and step == 3:
            world.bench.end(Event.ABORT_OTHER, "", "stopped by ann")
            world.bench.finish_trial = lost  # type: ignore[method-assign]
            raise EmbodimentFault("stopped by ann")

    def lost(*_args: Any) -> int:
        del world.bench.finish_trial  # type: ignore[method-assign]
        raise RigFault("benchmark/finish_trial: no answer within 10 s")

    world.trouble = trouble
    assert world.run().verdict is Verdict.DONE
    said = "warning: trial 000001-0 has ended, its record is lost: benchmark/finish_trial: no answer within 10 s"
    assert said in world.out.getvalue()
    assert (world.derive().summary["trials"], world.derive().summary["invalid"]) == (4, 1)
