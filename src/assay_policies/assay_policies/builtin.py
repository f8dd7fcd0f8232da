"""The three policies that every rig has: an oracle, a random one and one that holds still.

They bound what any other policy can score (1 and 0) and exercise the whole graph without a model.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay_core.errors import PolicyError
from assay_core.rig import ACTION_DIM, ARMS, action_high, action_low
from assay_policies.api import PRIVILEGED, ChunkOut, Inputs, Trial

__all__ = ["NoopPolicy", "RandomPolicy", "ScriptedPolicy"]

JOINTS = tuple(f"{arm}/joint_states" for arm in ARMS)


RANDOM_STREAM = 0x706F6C69
"""Sets the random policy's draws apart from what else draws from the trial's seed, such as a world's hidden goal."""


class _Builtin:
    slow = False
    label = ""
    streams: tuple[str, ...] = ()

    def __init__(self, horizon: int) -> None:
        """Answer each inference with ``horizon`` actions."""
        self._horizon = horizon

    def reset(self, trial: Trial) -> None:
        """Nothing to prepare."""


class ScriptedPolicy(_Builtin):
    """Privileged oracle: moves every value straight to the hidden goal, as fast as the world allows.

    Args:
        horizon: Actions per chunk.
    """

    label = "scripted"
    streams = (PRIVILEGED,)

    def infer(self, inputs: Inputs) -> ChunkOut:
        """Return the next steps of the straight line to the goal."""
        oracle = inputs.oracle
        if oracle is None:
            raise PolicyError(
                "policy 'scripted'", expected=PRIVILEGED, got="nothing", fix="run it on a simulated world"
            )
        return ChunkOut(straight_line(oracle.position, oracle.goal, oracle.step_limit, self._horizon))


def straight_line(
    start: npt.NDArray[np.float64],
    goal: npt.NDArray[np.float64],
    step_limit: npt.NDArray[np.float64],
    steps: int,
) -> npt.NDArray[np.float64]:
    """Return ``steps`` targets from ``start`` to ``goal``, shape (steps, n), each within the limit of the one before.

    Args:
        start: Shape (n,) [rad, gripper 0..1].
        goal: Shape (n,); reached exactly, and then held.
        step_limit: Largest change in one step, shape (n,).
        steps: At least 1.
    """
    left = goal - start
    reach = np.outer(np.arange(1, steps + 1), step_limit)
    # A goal within reach is commanded itself, not its sum of steps, so that rounding cannot leave it a hair away.
    return np.where(np.abs(left) <= reach * (1.0 + 1e-9), goal, start + np.clip(left, -reach, reach))


class RandomPolicy(_Builtin):
    """Uniform joint targets within the rig's limits, from the trial's seed.

    Args:
        horizon: Actions per chunk.
    """

    label = "random"

    def __init__(self, horizon: int) -> None:
        super().__init__(horizon)
        self._rng = np.random.default_rng(0)

    def reset(self, trial: Trial) -> None:
        """Start the trial's own random sequence."""
        self._rng = np.random.default_rng([RANDOM_STREAM, trial.seed])

    def infer(self, inputs: Inputs) -> ChunkOut:  # noqa: ARG002 (it looks at nothing)
        """Return random targets."""
        return ChunkOut(self._rng.uniform(action_low(), action_high(), (self._horizon, ACTION_DIM)))


class NoopPolicy(_Builtin):
    """Holds the pose measured at each inference.

    Args:
        horizon: Actions per chunk.
    """

    label = "noop"
    streams = JOINTS

    def infer(self, inputs: Inputs) -> ChunkOut:
        """Return the measured pose, repeated."""
        if inputs.joint_pos is None:
            raise PolicyError("policy 'noop'", expected="joint states", got="none", fix="name them in the request")
        return ChunkOut(np.tile(inputs.joint_pos, (self._horizon, 1)))
