"""Logs derived from records equal what the framework's own `eval` writes for the same plan."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from inspect_robots.embodiment import Embodiment
from inspect_robots.eval import eval as framework_eval
from inspect_robots.log import EvalLog, read_eval_log
from inspect_robots.logging.sink import NullSink
from inspect_robots.mock import CubePickEmbodiment, ScriptedPolicy
from inspect_robots.policy import Policy
from inspect_robots.registry import resolve
from inspect_robots.rollout import TrialRecord
from inspect_robots.scene import Scene
from inspect_robots.task import Epochs, Task
from plans import entries_of, plan_of

from assay_benchmarks import catalog, mock_kitchen
from assay_bridge import record as records
from assay_bridge.evallog import LoggedTrial, derive_logs, write_logs
from assay_bridge.evaluation import describe_evaluation, describe_scene
from assay_bridge.scoring import apply_verdict, score_record, storable_score
from assay_bridge.trial_runner import Ending, run_motion, safety_chain
from assay_core.plan import PlanEntry

SEED = 5


class Verdicts:
    """A grader that answers as a person would, from the scene's name and epoch."""

    name = "assay"

    def grade(self, record: TrialRecord, scene: Scene) -> None:
        good = (len(scene.id) + record.epoch) % 3 != 0
        apply_verdict(record, "success" if good else "failure", source="rqt", note="seen" if record.epoch else None)


class FailsInOneScene:
    """A policy that raises in its third scene."""

    def __init__(self) -> None:
        self._inner = ScriptedPolicy()
        self.info, self.config = self._inner.info, self._inner.config
        self._bad = False

    def reset(self, scene: Scene) -> None:
        self._bad = scene.id == "scene-2"
        self._inner.reset(scene)

    def act(self, observation: Any) -> Any:
        if self._bad:
            raise RuntimeError("the server went away")
        return self._inner.act(observation)


class Sulks:
    """A scorer that fails on long trials."""

    name = "sulks"

    def __call__(self, record: TrialRecord, target: Any) -> Any:
        raise ValueError("no such signal")


def run(task: Task, policy: Policy, embodiment: Embodiment, entries: Sequence[PlanEntry]) -> list[LoggedTrial]:
    """Run a plan the way a session does, each record through JSON."""
    scenes = {scene.id: scene for scene in task.scenes}
    evaluation = describe_evaluation(task, policy, embodiment, Verdicts())
    trials = []
    for entry in entries:
        scene = scenes[entry.scene_id]
        motion = run_motion(
            policy,
            embodiment,
            scene,
            epoch=entry.epoch,
            seed=entry.seed,
            max_steps=entry.max_steps,
            sink=NullSink(),
        )
        data = {"scores": {}, "score_failures": []}
        if motion.ending is Ending.COMPLETED:
            Verdicts().grade(motion.record, scene)
            scores, failures = score_record(motion.record, scene.target, task.scorers)
            data = {
                "scores": {name: storable_score(value) for name, value in scores.items()},
                "score_failures": list(failures),
            }
        record = records.from_record(motion.record, started_ns=motion.started_ns, ended_ns=motion.ended_ns)
        record |= {"evaluation": evaluation, "scene": describe_scene(scene), **data}
        trials.append(LoggedTrial(entry, True, partial(json.loads, records.dumps(record)), ""))
    return trials


def comparable(log: EvalLog, directory: Path) -> dict[str, Any]:
    """Return a log without times, ids and paths, the side-cars it points to in their place."""
    data: dict[str, Any] = json.loads(json.dumps(log.to_dict()))
    data["eval"]["created"] = data["eval"]["git_commit"] = ""
    data["stats"] = {"total_steps": data["stats"]["total_steps"]}
    for sample in data["samples"]:
        for metadata in sample["trial_metadata"]:
            lines = (directory / metadata["actions"]).read_text().splitlines()
            metadata["actions"] = [{**json.loads(line), "run_id": ""} for line in lines]
    return data


def by_seconds() -> Task:
    return dataclasses.replace(
        resolve("task", "cubepick-reach"),
        max_steps=None,
        max_seconds=3.0,
        epochs=Epochs(3, "max"),
        scorer=["success_at_end", "operator", "min_distance_to_goal", "episode_length"],
    )


def pour_pasta() -> Task:
    return catalog.resolve_task("kitchenbench/pour_pasta")


CASES: dict[str, tuple[Any, Any, Any]] = {
    "one scorer": (lambda: resolve("task", "cubepick-reach"), ScriptedPolicy, CubePickEmbodiment),
    "seconds, epochs, four scorers": (by_seconds, ScriptedPolicy, CubePickEmbodiment),
    "kitchenbench": (pour_pasta, mock_kitchen.ScriptedKitchenPolicy, mock_kitchen.KitchenEmbodiment),
    "kitchenbench, chance": (pour_pasta, mock_kitchen.RandomKitchenPolicy, mock_kitchen.KitchenEmbodiment),
    "a policy that fails": (by_seconds, FailsInOneScene, CubePickEmbodiment),
    "a scorer that fails": (
        lambda: dataclasses.replace(by_seconds(), scorer=["success_at_end", Sulks()]),
        ScriptedPolicy,
        CubePickEmbodiment,
    ),
    "a reducer that cannot": (
        lambda: dataclasses.replace(by_seconds(), epochs=Epochs(2, "pass_at_3")),
        ScriptedPolicy,
        CubePickEmbodiment,
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_derived_log_equals_the_framework_s(name: str, tmp_path: Path) -> None:
    make_task, make_policy, make_embodiment = CASES[name]
    task, policy, embodiment = make_task(), make_policy(), make_embodiment()
    [theirs] = framework_eval(
        task,
        policy,
        embodiment,
        log_dir=str(tmp_path / "theirs"),
        seed=SEED,
        approver=safety_chain(embodiment.info.action_space),
        grader=Verdicts(),
    )
    policy, embodiment = make_policy(), make_embodiment()
    entries = entries_of(task, seed=SEED, hz=embodiment.info.control_hz)
    plan = plan_of(entries, seed=SEED, policies=("p",))
    [path] = write_logs(tmp_path / "ours", plan, run(task, policy, embodiment, entries))
    ours = read_eval_log(str(path))

    # Compare what was written, so that the framework's own reader is part of the test.
    [theirs_path] = (tmp_path / "theirs").glob("*.json")
    assert comparable(ours, tmp_path / "ours") == comparable(read_eval_log(str(theirs_path)), tmp_path / "theirs")
    assert theirs.results.total_trials == len(entries)


def test_deriving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    task = by_seconds()
    entries = entries_of(task, seed=SEED, hz=10.0)
    plan, trials = (
        plan_of(entries, seed=SEED, policies=("p",)),
        run(task, ScriptedPolicy(), CubePickEmbodiment(), entries),
    )
    [first] = write_logs(tmp_path / "a", plan, trials)
    [second] = write_logs(tmp_path / "b", plan, trials)
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
    before = first.stat().st_mtime_ns
    write_logs(tmp_path / "a", plan, trials)
    assert first.stat().st_mtime_ns == before, "a file that is right already was written again"


def test_an_attempt_without_outcome_shows_as_an_error(tmp_path: Path) -> None:
    task = resolve("task", "cubepick-reach")
    entries = entries_of(task, seed=SEED, hz=10.0)
    trials = run(task, ScriptedPolicy(), CubePickEmbodiment(), entries)
    trials[1] = LoggedTrial(trials[1].entry, False, dict, "the world died: SIGKILL")
    [(_, log)] = derive_logs(plan_of(entries, seed=SEED, policies=("p",)), trials)
    assert log.status == "error"
    assert log.error == "the world died: SIGKILL"
    assert log.results.errored_trials == 1
    assert log.samples[1].epochs == ({},)
    assert log.results.metrics["success_at_end"] == 1.0


def test_a_session_that_stopped_early_is_not_a_success() -> None:
    task = resolve("task", "cubepick-reach")
    entries = entries_of(task, seed=SEED, hz=10.0)
    trials = run(task, ScriptedPolicy(), CubePickEmbodiment(), entries[:2])
    [(_, log)] = derive_logs(plan_of(entries, seed=SEED, policies=("p",)), trials)
    assert (log.status, log.error) == ("cancelled", "incomplete: 2 of 4 planned trials ran")
