"""A kitchen without physics: it models progress towards a hidden goal, and nothing else.

It exists to run the whole pipeline in a second, on any machine, and as a template for an adapter. Sampled setups have
no effect in it: an oracle always succeeds, chance and idleness never do.

Source: the mock of KitchenBench 0.6.0; see docs/sources.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from inspect_robots.embodiment import EmbodimentInfo
from inspect_robots.policy import PolicyConfig, PolicyInfo
from inspect_robots.spaces import ActionSemantics, Box, CameraSpec, ObservationSpace
from inspect_robots.types import Action, ActionChunk, Observation, StepResult

from assay_benchmarks.blueprint import realize_scene
from assay_core.errors import ConfigError

if TYPE_CHECKING:
    from inspect_robots.scene import Scene

__all__ = ["KitchenEmbodiment", "NoopKitchenPolicy", "RandomKitchenPolicy", "ScriptedKitchenPolicy"]

_DIM = 8
_GOAL_DIM = 6
_PIXELS = 24
_LABELS = (
    "left_dx",
    "left_dy",
    "left_dz",
    "right_dx",
    "right_dy",
    "right_dz",
    "left_gripper",
    "right_gripper",
)


def _semantics(labels: tuple[str, ...] | None) -> ActionSemantics:
    return ActionSemantics(control_mode="eef_delta_pos", gripper="continuous", frame="world", dim_labels=labels)


class KitchenEmbodiment:
    """Two end effectors whose motion along a hidden direction makes progress.

    An action has 8 values in [-1, 1]: left dx, dy, dz, right dx, dy, dz, left and right gripper. A step whose first
    six values point along the goal direction (cosine of ``align_threshold`` or more) adds ``step_size`` to progress;
    the trial succeeds at ``goal_threshold``.

    Args:
        step_size: Progress per aligned step.
        align_threshold: Least cosine between action and goal direction.
        goal_threshold: Progress at which the trial succeeds.
    """

    def __init__(self, *, step_size: float = 0.25, align_threshold: float = 0.99, goal_threshold: float = 1.0) -> None:
        self.step_size, self.align_threshold, self.goal_threshold = step_size, align_threshold, goal_threshold
        ones = np.ones(_DIM)
        self.info = EmbodimentInfo(
            name="kitchen",
            action_space=Box(shape=(_DIM,), low=-ones, high=ones, semantics=_semantics(_LABELS)),
            observation_space=ObservationSpace(
                cameras=(CameraSpec(name="overhead", height=_PIXELS, width=_PIXELS, channels=3),),
                state_keys=frozenset({"progress", "goal_dir", "left_eef", "right_eef"}),
            ),
            control_hz=10.0,
            is_simulated=True,
            capabilities=frozenset({"seedable", "privileged_success", "renderable"}),
        )
        self._instruction = ""
        self._goal: npt.NDArray[np.float64] = np.zeros(_GOAL_DIM)
        self._position: npt.NDArray[np.float64] = np.zeros(_GOAL_DIM)
        self._progress = 0.0

    def reset(self, scene: Scene, *, seed: int | None = None) -> Observation:
        """Draw the goal direction and realize the scene's instruction, both from the trial's seed."""
        goal = np.random.RandomState(seed or 0).normal(size=_GOAL_DIM)
        self._goal = goal / np.linalg.norm(goal)
        self._position = np.zeros(_GOAL_DIM)
        self._progress = 0.0
        known = "instance_id" in scene.metadata
        self._instruction = realize_scene(scene, seed).instruction if known else scene.instruction
        return self._observe()

    def step(self, action: Action) -> StepResult:
        """Apply one action, shape (8,), float, in [-1, 1].

        Raises:
            ConfigError: The action has another shape.
        """
        data = np.asarray(action.data, dtype=np.float64)
        if data.shape != (_DIM,):
            raise ConfigError("action", expected=f"shape ({_DIM},)", got=str(data.shape), fix="match the action space")
        motion = data[:_GOAL_DIM]
        length = float(np.linalg.norm(motion))
        if length > 0 and float(motion @ self._goal) / length >= self.align_threshold:
            self._progress = min(self._progress + self.step_size, self.goal_threshold)
        self._position = np.clip(self._position + motion, -1.0, 1.0)
        done = self._progress >= self.goal_threshold
        return StepResult(
            observation=self._observe(),
            reward=self._progress - 1.0,
            terminated=done,
            termination_reason="success" if done else None,
            info={"success": done, "progress": self._progress},
        )

    def close(self) -> None:
        """Do nothing: there is no resource to give back."""

    def _observe(self) -> Observation:
        return Observation(
            images={"overhead": self._picture()},
            state={
                "progress": np.array([self._progress]),
                "goal_dir": self._goal.copy(),
                "left_eef": self._position[:3].copy(),
                "right_eef": self._position[3:].copy(),
            },
            instruction=self._instruction,
        )

    def _picture(self) -> npt.NDArray[np.uint8]:
        """Return the overhead picture, (24, 24, 3) uint8: a green bar that fills from the left with progress."""
        picture = np.zeros((_PIXELS, _PIXELS, 3), dtype=np.uint8)
        picture[:, : round(_PIXELS * min(self._progress / self.goal_threshold, 1.0)), 1] = 200
        return picture


class _KitchenPolicy:
    """What the three policies share: the action space and the length of their chunks."""

    name = ""
    state_keys: frozenset[str] = frozenset()

    def __init__(self, *, chunk_size: int) -> None:
        if chunk_size < 1:
            raise ConfigError("chunk_size", expected="1 or more", got=str(chunk_size), fix="pass -P chunk_size=1")
        self.chunk_size = chunk_size
        self.config = PolicyConfig(action_horizon=chunk_size)
        self.info = PolicyInfo(
            name=self.name,
            action_space=Box(shape=(_DIM,), semantics=_semantics(None)),
            observation_space=ObservationSpace(cameras=(), state_keys=self.state_keys),
        )

    def reset(self, scene: Scene) -> None:
        """Start a trial."""
        del scene

    def act(self, observation: Observation) -> ActionChunk:
        """Return ``chunk_size`` actions."""
        return ActionChunk(actions=[Action(data=self._action(observation)) for _ in range(self.chunk_size)])

    def _action(self, observation: Observation) -> npt.NDArray[np.float64]:
        """Return one action, shape (8,); idle unless a policy says otherwise."""
        del observation
        return np.zeros(_DIM)


class ScriptedKitchenPolicy(_KitchenPolicy):
    """Oracle: reads the hidden direction from the state and follows it."""

    name = "kitchen_scripted"
    state_keys = frozenset({"goal_dir"})

    def __init__(self, *, chunk_size: int = 4) -> None:
        super().__init__(chunk_size=chunk_size)

    def _action(self, observation: Observation) -> npt.NDArray[np.float64]:
        return np.concatenate([np.asarray(observation.state["goal_dir"], dtype=np.float64), np.ones(2)])


class RandomKitchenPolicy(_KitchenPolicy):
    """Uniform actions; trial k of a process draws from ``seed + k``."""

    name = "kitchen_random"

    def __init__(self, *, chunk_size: int = 4, seed: int = 0) -> None:
        super().__init__(chunk_size=chunk_size)
        self._seed, self._resets = seed, 0
        self._rng = np.random.RandomState(seed)

    def reset(self, scene: Scene) -> None:
        """Start a trial with a generator of its own."""
        del scene
        self._rng = np.random.RandomState(self._seed + self._resets)
        self._resets += 1

    def _action(self, observation: Observation) -> npt.NDArray[np.float64]:
        del observation
        action: Any = self._rng.uniform(-1.0, 1.0, size=_DIM)
        return np.asarray(action, dtype=np.float64)


class NoopKitchenPolicy(_KitchenPolicy):
    """Does nothing."""

    name = "kitchen_noop"

    def __init__(self, *, chunk_size: int = 1) -> None:
        super().__init__(chunk_size=chunk_size)
