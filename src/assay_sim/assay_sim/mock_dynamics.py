"""How the mock world moves: a bounded walk of 14 values towards their commands, and a hidden goal.

ROS-free, without clocks and deterministic, so that the audit can replay a bag's commands through the same code and
compare every state and every success. An oracle that commands the goal needs exactly `GOAL_STEPS` steps; a policy
that does not know the goal never meets all 14 values at once.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay_core.errors import RigFault
from assay_core.realization import TrialRealization
from assay_core.rig import ACTION_DIM, ARM_DIM, ARMS, action_high, action_low
from assay_sim.kinematics import arm_poses

__all__ = ["GOAL_STEPS", "START_POSITION", "STEP_LIMIT", "TOLERANCE", "Judgement", "MockDynamics", "check_targets"]

Array = npt.NDArray[np.float64]

GOAL_STEPS = 20
"""Control steps from the start pose to the goal at full speed."""

STEP_LIMIT = 0.05
"""Largest change of any value in one control step [rad, gripper 0..1]."""

TOLERANCE = 1e-9
"""Distance at which a value counts as arrived: rounding of `GOAL_STEPS` additions, and nothing else."""

START_POSITION: Array = np.array([0.0, 1.25, 1.25, -1.25, 0.0, 0.0, 1.0] * len(ARMS))
"""Pose at the start of every trial [rad, gripper 0..1]: grippers open, pointing down in front of the bases.

All values are multiples of 1/4, so that the goal's distance is exact in binary."""

GOAL_CLEARANCE_M = 0.02
"""A goal keeps every arm point beyond the shoulder this far above the bench [m]."""

_REACH = GOAL_STEPS * STEP_LIMIT
_MAX_DRAWS = 1000


@dataclass(frozen=True)
class Judgement:
    """What the world thinks of its state."""

    progress: float
    """1 - (largest distance to the goal) / (that of the start), within 0..1; exactly 1.0 on success."""
    success: bool
    """Every value is within `TOLERANCE` of the goal."""


def check_targets(values: Array) -> str:
    """Return why the targets of one arm cannot be taken, or an empty string.

    Args:
        values: Targets of one arm, expected shape (7,) [rad, gripper 0..1].
    """
    if values.shape != (ARM_DIM,):
        return f"expected {ARM_DIM} values, got {values.size}. fix: send joint1..joint6 and gripper"
    if not np.isfinite(values).all():
        bad = [i for i, x in enumerate(values.tolist()) if not np.isfinite(x)]
        return f"expected finite values, got {values[bad[0]]} at index {bad[0]}. fix: correct the policy's output"
    return ""


def draw_goal(realization: TrialRealization) -> Array:
    """Return the hidden goal of a trial, shape (14,) [rad, gripper 0..1].

    Drawn from the scene's seed (CRC-32 of the instance id, or of the scene id where there is no instance) and the
    trial's seed. One value lies exactly `GOAL_STEPS` x `STEP_LIMIT` from the start, the others at most as far; all
    lie within the rig's limits, and the arms clear the bench.
    """
    scene_seed = zlib.crc32((realization.instance_id or realization.scene_id).encode())
    rng = np.random.default_rng([scene_seed, realization.seed])
    low, high = action_low(), action_high()
    below, above = np.maximum(low, START_POSITION - _REACH), np.minimum(high, START_POSITION + _REACH)
    farthest = np.concatenate([START_POSITION - _REACH, START_POSITION + _REACH])
    allowed = np.flatnonzero((farthest >= np.tile(low, 2)) & (farthest <= np.tile(high, 2)))
    for _ in range(_MAX_DRAWS):
        goal = rng.uniform(below, above)
        leader = int(allowed[rng.integers(len(allowed))])
        goal[leader % ACTION_DIM] = farthest[leader]
        if float(arm_poses(goal).points[:, 3:, 2].min()) >= GOAL_CLEARANCE_M:
            return goal
    raise RigFault("mock world", expected=f"a goal clear of the bench in {_MAX_DRAWS} draws", got="none")


class MockDynamics:
    """State of one trial of the mock world.

    Raises:
        RigFault: From `step`, for commands that `check_targets` refuses.
    """

    def __init__(self, realization: TrialRealization | None = None) -> None:
        self.position: Array = START_POSITION.copy()
        """Measured values, shape (14,); changed in place by `step`."""
        self.goal: Array = START_POSITION.copy() if realization is None else draw_goal(realization)
        """Hidden goal, shape (14,); the start pose where there is no trial."""
        self.limit: Array = np.full(ACTION_DIM, STEP_LIMIT)
        """Largest change per step, shape (14,)."""
        self.steps = 0
        """Control steps made since the start."""
        self.applied: Array = START_POSITION.copy()
        """Command of the last step after every limit, shape (14,)."""
        self.clamped: tuple[bool, ...] = (False,) * len(ARMS)
        """Per arm: the last command lay outside the position limits."""
        self.slowed: tuple[bool, ...] = (False,) * len(ARMS)
        """Per arm: the last command lay farther away than one step."""
        self._has_goal = realization is not None
        self._low, self._high = action_low(), action_high()

    def step(self, command: Array) -> None:
        """Move every value towards its command by at most one step, within the rig's limits.

        Args:
            command: Targets, shape (14,) [rad, gripper 0..1].
        """
        if command.shape != (ACTION_DIM,) or not np.isfinite(command).all():
            raise _refusal(command)
        within = np.minimum(np.maximum(command, self._low), self._high)
        change = within - self.position
        bounded = np.minimum(np.maximum(change, -self.limit), self.limit)
        self.clamped = _per_arm(within != command)
        self.slowed = _per_arm(bounded != change)
        # A value that arrives takes its target as it is: adding the difference would leave a rounding error.
        self.applied = np.where(bounded == change, within, self.position + bounded)
        self.position[:] = self.applied
        self.steps += 1

    def judge(self) -> Judgement:
        """Return progress and success at the present state; both are nil where there is no trial."""
        if not self._has_goal:
            return Judgement(0.0, False)
        distance = float(np.abs(self.goal - self.position).max())
        if distance <= TOLERANCE:
            return Judgement(1.0, True)
        return Judgement(min(max(1.0 - distance / _REACH, 0.0), 1.0), False)


def _refusal(command: Array) -> RigFault:
    for arm, name in enumerate(ARMS):
        reason = check_targets(command[arm * ARM_DIM : (arm + 1) * ARM_DIM])
        if reason:
            return RigFault(f"{name}/command: {reason}")
    return RigFault("commands", expected=f"{ACTION_DIM} values", got=f"shape {command.shape}", fix="send both arms'")


def _per_arm(mask: npt.NDArray[np.bool_]) -> tuple[bool, ...]:
    return tuple(bool(mask[arm * ARM_DIM : (arm + 1) * ARM_DIM].any()) for arm in range(len(ARMS)))
