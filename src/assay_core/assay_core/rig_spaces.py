"""The rig in the terms of Inspect Robots: spaces, rate, cameras, and notes for policies that read them.

The bridge declares them as an embodiment; the policy node needs the same description to check that a policy fits and to
let an adaptive policy bind to it. Two copies would drift. Imports Inspect Robots, and no ROS.
"""

from __future__ import annotations

from collections.abc import Sequence

from inspect_robots.embodiment import PRIVILEGED_SUCCESS, RESETTABLE, SEEDABLE, SELF_PACED, EmbodimentInfo
from inspect_robots.spaces import ActionSemantics, Box, CameraSpec, ObservationSpace, StateField, StateSpec

from assay_core.rig import ACTION_DIM, ACTION_LABELS, Camera, action_high, action_low

__all__ = ["STATE_KEY", "action_space", "embodiment_info"]

STATE_KEY = "joint_pos"
"""State of an observation: 14 measured values in the order of the action."""

GRIPPER_STEP = 0.1
"""Declared largest change of a gripper in one control step, so that a hand needs ten steps to close."""

DOCS = """\
Two six-joint YAM arms side by side, each with a parallel gripper. Actions and state are 14 values, left arm first:
joint1..joint6 in rad as absolute targets, then the gripper from 0 (closed) to 1 (open).
At zero the arm is folded over its base. joint1 turns it counter-clockwise seen from above, joint2 raises the upper
arm, joint3 opens the elbow, joint4 tips the gripper up, joint5 swings it to the right, joint6 rolls it clockwise seen
from behind. Cameras: top_cam looks down on the bench, left_cam and right_cam belong to the arms.
Targets outside the limits are clamped; a far target is approached over several steps.
"""


def action_space() -> Box:
    """Return the rig's action space: absolute joint targets, shape (14,), in `ACTION_LABELS` order."""
    return Box(
        shape=(ACTION_DIM,),
        low=action_low(),
        high=action_high(),
        semantics=ActionSemantics(
            control_mode="joint_pos",
            gripper="continuous",
            dim_labels=ACTION_LABELS,
            max_step=tuple(GRIPPER_STEP if label.endswith("gripper") else None for label in ACTION_LABELS),
        ),
    )


def embodiment_info(
    cameras: Sequence[Camera], control_hz: float, *, mode: str = "lockstep", has_world: bool = True
) -> EmbodimentInfo:
    """Return what the rig declares to the framework.

    Args:
        cameras: Cameras in use.
        control_hz: Control rate [Hz].
        mode: ``lockstep`` or ``paced``; a paced rig paces itself.
        has_world: Whether a simulated world judges success.
    """
    capabilities = {RESETTABLE, SEEDABLE}
    if has_world:
        capabilities.add(PRIVILEGED_SUCCESS)
    if mode == "paced":
        capabilities.add(SELF_PACED)
    return EmbodimentInfo(
        name="assay",
        action_space=action_space(),
        observation_space=ObservationSpace(
            cameras=tuple(CameraSpec(name=c.key, height=c.height, width=c.width) for c in cameras),
            state=StateSpec(fields=(StateField(key=STATE_KEY, shape=(ACTION_DIM,), unit="rad+normalized"),)),
        ),
        control_hz=control_hz,
        is_simulated=has_world,
        capabilities=frozenset(capabilities),
        docs=DOCS,
    )
