from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from inspect_robots import Action, Scene, eval
from inspect_robots.conformance import assert_embodiment_conformant

from assay_benchmarks import (
    TASK_FACTORIES,
    KitchenEmbodiment,
    NoopKitchenPolicy,
    RandomKitchenPolicy,
    ScriptedKitchenPolicy,
    pour_pasta,
    realize_scene,
)
from assay_core.errors import ConfigError

SCENE = pour_pasta().scenes[0]


@pytest.mark.parametrize(
    ("policy", "success", "steps"),
    [(ScriptedKitchenPolicy(), 1.0, 4.0), (RandomKitchenPolicy(), 0.0, 100.0), (NoopKitchenPolicy(), 0.0, 100.0)],
    ids=lambda value: getattr(getattr(value, "info", None), "name", ""),
)
def test_pour_pasta_on_the_mock(tmp_path: Path, policy: ScriptedKitchenPolicy, success: float, steps: float) -> None:
    (log,) = eval(pour_pasta(), policy, KitchenEmbodiment(), log_dir=str(tmp_path))
    assert log.status == "success"
    assert log.results.metrics["task_success"] == success
    assert log.results.metrics["episode_length"] == steps
    assert [sample.reduced["task_success"] for sample in log.samples] == [success] * 5
    assert log.results.total_trials == 25


def test_the_mock_conforms() -> None:
    assert_embodiment_conformant(KitchenEmbodiment().info)


def test_the_goal_is_hidden_in_the_seed_alone() -> None:
    kitchen = KitchenEmbodiment()
    goal = kitchen.reset(SCENE, seed=3).state["goal_dir"]
    expected = np.random.RandomState(3).normal(size=6)
    np.testing.assert_array_equal(goal, expected / np.linalg.norm(expected))
    np.testing.assert_array_equal(
        kitchen.reset(SCENE).state["goal_dir"], kitchen.reset(SCENE, seed=0).state["goal_dir"]
    )


def test_the_policy_is_told_the_realized_goal() -> None:
    kitchen = KitchenEmbodiment()
    told = {kitchen.reset(SCENE, seed=seed).instruction for seed in range(9)}
    assert told == {realize_scene(SCENE, seed).instruction for seed in range(9)}
    assert len(told) == 3
    assert kitchen.reset(Scene(id="bare", instruction="wave")).instruction == "wave"


def test_only_motion_along_the_goal_makes_progress() -> None:
    kitchen = KitchenEmbodiment()
    goal = kitchen.reset(SCENE, seed=1).state["goal_dir"]
    aside = np.roll(goal, 1)
    back = kitchen.step(Action(data=np.concatenate([-goal, [1, 1]])))
    assert (back.reward, back.terminated, back.info["progress"]) == (-1.0, False, 0.0)
    assert kitchen.step(Action(data=np.concatenate([aside, [1, 1]]))).info["progress"] == 0.0
    assert kitchen.step(Action(data=np.zeros(8))).info["progress"] == 0.0
    results = [kitchen.step(Action(data=np.concatenate([0.1 * goal, [0, 0]]))) for _ in range(4)]
    assert [result.reward for result in results] == [-0.75, -0.5, -0.25, 0.0]
    assert [result.terminated for result in results] == [False, False, False, True]
    assert results[-1].termination_reason == "success"


def test_pictures_show_progress() -> None:
    kitchen = KitchenEmbodiment()
    observation = kitchen.reset(SCENE, seed=1)
    picture = observation.images["overhead"]
    assert (picture.shape, picture.dtype, int(picture.max())) == ((24, 24, 3), np.uint8, 0)
    step = kitchen.step(Action(data=np.concatenate([observation.state["goal_dir"], [1, 1]])))
    assert (step.observation.images["overhead"][:, :, 1] > 0).mean() == 0.25


def test_random_actions_differ_from_trial_to_trial_and_repeat_from_run_to_run() -> None:
    def trials() -> list[np.ndarray]:
        policy = RandomKitchenPolicy(seed=5)
        chunks = []
        for _ in range(2):
            policy.reset(SCENE)
            chunks.append(np.array([action.data for action in policy.act(KitchenEmbodiment().reset(SCENE)).actions]))
        return chunks

    first, second = trials(), trials()
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    assert first[0].shape == (4, 8)
    np.testing.assert_array_equal(first[1], np.random.RandomState(6).uniform(-1, 1, size=(4, 8)))


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ConfigError, match="chunk_size: expected 1 or more, got 0"):
        ScriptedKitchenPolicy(chunk_size=0)
    with pytest.raises(ConfigError, match=r"action: expected shape \(8,\), got \(7,\)"):
        KitchenEmbodiment().step(Action(data=np.zeros(7)))


@pytest.mark.parametrize("key", TASK_FACTORIES)
def test_the_oracle_solves_every_task(tmp_path: Path, key: str) -> None:
    (log,) = eval(TASK_FACTORIES[key](), ScriptedKitchenPolicy(), KitchenEmbodiment(), log_dir=str(tmp_path))
    assert log.results.metrics == {"task_success": 1.0, "episode_length": 4.0}
    assert len(log.samples) == 5
