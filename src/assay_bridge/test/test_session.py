"""The session runner over a journal without ROS: what counts, and what is repeated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from inspect_robots.errors import EmbodimentFault
from inspect_robots.log import read_eval_log
from journalled import TASK, Bench, World, make_plan, only

from assay_bridge.client_types import VerdictData
from assay_bridge.running import uncounted_words
from assay_bridge.session_end import Verdict
from assay_core import journal_events as events
from assay_core.errors import DeadlineError, PolicyError
from assay_core.plan import Plan
from assay_core.trial import State


def test_a_plan_runs_through_and_is_sealed_with_its_views(world: World) -> None:
    end = world.run()
    assert (end.verdict, end.reason) == (Verdict.DONE, "")
    assert len(end.root_hash) == 64
    got = world.derive()
    assert (got.summary["status"], got.summary["trials"], got.summary["invalid"]) == ("done", 4, 0)
    assert got.complete
    instances = got.summary["tasks"][TASK]["instances"]
    assert {one["p_hat"] for one in instances.values()} == {1.0}
    sealed = {item["path"] for item in json.loads((world.directory / "seal.json").read_text())["files"]}
    assert "summary.json" in sealed
    assert any(path.startswith("logs/cubepick-reach_") for path in sealed)
    log = read_eval_log(str(got.logs[0]))
    assert (log.status, log.eval.environment_id) == ("success", "mock")
    assert log.eval.policy_config["guardrails"] == ["clamp", "delta_limit"]
    assert log.samples[0].judgement_sources == ("checker",)
    assert log.samples[0].trial_metadata[0]["assay"]["realization"]["values"] == {"colour": "red"}


@pytest.mark.parametrize("clips", [True, False])
def test_a_trial_leaves_its_pictures_and_as_the_plan_says_a_clip(world: World, clips: bool) -> None:
    world.plan = replace(world.plan, clips=clips)
    assert world.run().verdict is Verdict.DONE
    left = {path.name for path in (world.directory / "trials" / "000001-0").iterdir()}
    assert ("clip.avi" in left) is clips
    assert any(name.startswith("final_") for name in left)
    sealed = {item["path"] for item in json.loads((world.directory / "seal.json").read_text())["files"]}
    assert ("trials/000001-0/clip.avi" in sealed) is clips, "the seal covers every clip"


def test_deriving_again_leaves_a_sealed_session_alone(world: World) -> None:
    world.run()
    before = {path: path.read_bytes() for path in world.directory.rglob("*") if path.is_file()}
    (world.directory / "summary.json").unlink()
    world.derive()
    after = {path: path.read_bytes() for path in world.directory.rglob("*") if path.is_file()}
    assert before == after


def test_two_runs_leave_the_same_journal_content(tmp_path: Path) -> None:
    from assay_core.journal import comparable

    first, second = World(tmp_path / "a", make_plan()), World(tmp_path / "b", make_plan())
    first.run()
    second.run()
    assert comparable(first.reader().events()) == comparable(second.reader().events())


def test_a_rig_fault_is_kept_as_invalid_and_repeated(world: World) -> None:
    world.trouble = only("000001-0", 2, EmbodimentFault("camera top: torn picture"))
    assert world.run().verdict is Verdict.DONE
    assert world.rig.started == ["000000-0", "000001-0", "000001-1", "000002-0", "000003-0"]
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (4, 1)
    assert got.complete
    assert "attempt 1 does not count: camera top: torn picture" in world.out.getvalue()
    log = read_eval_log(str(got.logs[0]))
    assert (log.status, log.results.total_trials) == ("success", 4)
    assert log.samples[1].trial_metadata[0]["assay"]["attempt"] == 1


def test_repeats_end_by_the_plan_and_the_session_goes_on(world: World) -> None:
    world.outcome = lambda trial: "invalid" if trial.startswith("000002") else "success"
    end = world.run()
    assert end.verdict is Verdict.DONE
    assert world.rig.started[2:] == ["000002-0", "000002-1", "000002-2", "000003-0"]
    got = world.derive()
    assert (got.summary["status"], got.summary["trials"], got.summary["invalid"]) == ("done", 3, 3)
    assert not got.complete
    words = "1 of 4 trials have no result that counts: 1 invalid at every attempt (at most 2 repeats)"
    assert uncounted_words(world.plan, got) == words
    assert got.summary["tasks"][TASK]["instances"]["scene-2"]["p_hat"] is None


def test_a_failing_policy_counts_as_a_failure_and_is_not_repeated(world: World) -> None:
    def act(trial: str) -> None:
        if trial.startswith("000001"):
            raise RuntimeError("CUDA out of memory")

    world.act = act
    assert world.run().verdict is Verdict.DONE
    assert world.rig.started == ["000000-0", "000001-0", "000002-0", "000003-0"]
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (4, 0)
    assert got.summary["tasks"][TASK]["instances"]["scene-1"]["p_hat"] == 0.0
    log = read_eval_log(str(got.logs[0]))
    assert log.samples[1].epochs == ({},)
    assert "CUDA out of memory" in (log.samples[1].error or "")


def test_a_failure_is_a_result(world: World) -> None:
    world.outcome = lambda trial: "failure" if trial.startswith("000000") else "success"
    world.run()
    got = world.derive()
    assert [one["successes"] for one in got.summary["tasks"][TASK]["instances"].values()] == [0, 1, 1, 1]


def test_a_skipped_entry_is_left_out_and_said(world: World) -> None:
    def trouble(trial: str, step: int) -> None:
        if trial == "000001-0" and step == 1:
            world.bench.trial.phase = type(world.bench.trial.phase).SKIPPED
            world.bench.message = "skipped: infeasible"
            world.bench._write(events.trial_ended(trial, State.SKIPPED, message="skipped: infeasible"))
            raise EmbodimentFault("trial 000001-0 ended in SKIPPED")

    world.trouble = trouble
    assert world.run().verdict is Verdict.DONE
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (3, 1)
    words = "1 of 4 trials have no result that counts: 1 skipped by an operator"
    assert uncounted_words(world.plan, got) == words, "nothing was repeated"
    assert "scene-1 #0: skipped: infeasible" in world.out.getvalue()


def test_a_verdict_that_stands_counts_although_the_runner_gave_up_waiting(world: World) -> None:
    wait = Bench.wait_for_verdict

    def too_late(bench: Bench, deadline_s: float | None = None) -> VerdictData:
        given = wait(bench, deadline_s)
        if bench.trial_id == "000001-0":
            raise DeadlineError("trial 000001-0: no verdict within 60 s")
        return given

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bench, "wait_for_verdict", too_late)
        assert world.run().verdict is Verdict.DONE
    assert world.rig.started == ["000000-0", "000001-0", "000002-0", "000003-0"], "judged, and yet repeated"
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (4, 0)
    assert {one["successes"] for one in got.summary["tasks"][TASK]["instances"].values()} == {1}
    log = read_eval_log(str(got.logs[0]))
    assert log.samples[1].epochs == ({"success_at_end": 1.0},)
    assert "no verdict within 60 s" in world.out.getvalue()


def test_a_task_that_changed_since_is_refused(world: World) -> None:
    world.plan = Plan.from_dict(
        {
            **world.plan.to_dict(),
            "entries": [{**world.plan.entries[0].to_dict(), "scene_id": "scene-gone"}],
        }
    )
    end = world.run()
    assert end.verdict is Verdict.REFUSED
    assert "expected scene 'scene-gone' of the plan" in end.reason


def test_policy_errors_of_ours_keep_their_words(world: World) -> None:
    world.act = lambda trial: (
        (_ for _ in ()).throw(PolicyError("policy/infer: no chunk")) if trial == "000000-0" else None
    )
    world.run()
    assert "policy/infer: no chunk" in world.reader().attempts()[0].error
