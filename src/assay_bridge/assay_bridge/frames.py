"""Frame sets: what the rig showed at one instant.

Each stream of the rig arrives as messages of its own. A step is complete only when every stream that is used has
arrived with the stamp that is meant; a set that is torn, of the wrong size or incomplete must never reach a policy
unnoticed, so all checks of incoming samples are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assay_core.errors import RigFault
from assay_core.rig import ACTION_DIM, ARM_DIM, ARMS, Camera, joint_names
from assay_ros.measured import by_label, camera_pixels, printable

__all__ = ["TASK_STATE", "FrameSet", "TaskProgress", "build_frames", "joint_stream", "stream_names"]

TASK_STATE = "world/task_state"
"""Topic of a simulated world's judgement of progress, relative to the rig's namespace."""


def joint_stream(arm: str) -> str:
    """Return the joint state topic of one arm, relative to the rig's namespace."""
    return f"{arm}/joint_states"


def stream_names(cameras: Sequence[Camera], *, task_state: bool) -> tuple[str, ...]:
    """Return the topics that make up a frame set, relative to the rig's namespace.

    Args:
        cameras: Cameras in use.
        task_state: Whether a simulated world judges progress.
    """
    names = [joint_stream(arm) for arm in ARMS] + [camera.topic for camera in cameras]
    return tuple([*names, TASK_STATE] if task_state else names)


@dataclass(frozen=True)
class TaskProgress:
    """Progress as a simulated world judges it."""

    step: int
    """Control steps since the reset."""
    progress: float
    """0..1; 1 is success."""
    success: bool
    terminated: bool
    reason: str
    """``success`` or ``failure``; empty while not terminated."""


@dataclass(frozen=True, eq=False)
class FrameSet:
    """One sample of every stream in use."""

    stamp_ns: int
    """Time of the set [ns]: world time in lockstep, time of the newest sample in paced mode."""
    joint_pos: npt.NDArray[np.float64]
    """Measured joints, shape (14,), order `assay_core.rig.ACTION_LABELS` [rad, gripper 0..1]."""
    images: dict[str, npt.NDArray[np.uint8]]
    """Pictures by camera key (``top_cam``), shape (height, width, 3) RGB. Read-only views of what was received."""
    stamps: dict[str, int]
    """Acquisition stamp [ns] of each stream by topic relative to the rig's namespace."""
    task_state: TaskProgress | None
    """None where no simulated world judges."""
    ages: dict[str, float]
    """Age [s] of each stream's sample when the set was completed; 0 in lockstep."""


_JOINT_NAMES = {arm: list(joint_names(arm)) for arm in ARMS}


def _joints_into(out: npt.NDArray[np.float64], arm: str, msg: Any) -> None:
    """Write the 7 joint values of ``msg`` into ``out``, shape (7,), in the rig's order.

    Raises:
        RigFault: Names or number of values are not those of the arm.
    """
    if msg.name == _JOINT_NAMES[arm] and len(msg.position) == ARM_DIM:
        out[:] = msg.position
    else:
        out[:] = by_label(joint_stream(arm), msg.name, msg.position, _JOINT_NAMES[arm])


def _progress(judged: Any, trial_id: str) -> TaskProgress:
    """Return the content of a TaskState.

    Raises:
        RigFault: It is about another trial, or its progress is none.
    """
    if judged.trial_id != trial_id:
        raise RigFault(
            TASK_STATE,
            expected=f"progress of trial {trial_id or '(none)'}",
            got=f"that of trial {printable(judged.trial_id) or '(none)'}",
            fix="restart the world; let nobody else publish there",
        )
    if not 0.0 <= judged.progress <= 1.0:
        raise RigFault(
            TASK_STATE, expected="progress from 0 to 1", got=str(judged.progress), fix="correct the world's judgement"
        )
    return TaskProgress(
        step=judged.step,
        progress=judged.progress,
        success=judged.success,
        terminated=judged.terminated,
        reason=judged.termination_reason,
    )


def build_frames(
    samples: dict[str, Any],
    cameras: Sequence[Camera],
    *,
    stamps: dict[str, int],
    ages: dict[str, float],
    trial_id: str,
) -> FrameSet:
    """Return the frame set of one sample per stream.

    Args:
        samples: Message of each stream by topic: joint states of both arms, a serialized picture of every camera, and
            `TASK_STATE` where a world judges.
        cameras: Cameras in use.
        stamps: Stamp [ns] of each sample by topic.
        ages: Age [s] of each sample by topic.
        trial_id: Trial in which they were gathered.

    Raises:
        RigFault: A sample is torn, of another size, not finite, or carries other joints or another trial's progress.
    """
    joint_pos = np.empty(ACTION_DIM)
    for i, arm in enumerate(ARMS):
        _joints_into(joint_pos[i * ARM_DIM : (i + 1) * ARM_DIM], arm, samples[joint_stream(arm)])
    if not np.isfinite(joint_pos).all():
        values = {arm: joint_pos[i * ARM_DIM : (i + 1) * ARM_DIM].tolist() for i, arm in enumerate(ARMS)}
        bad = next(arm for arm in ARMS if not np.isfinite(values[arm]).all())
        raise RigFault(
            joint_stream(bad), expected="7 finite joint values", got=str(values[bad]), fix="inspect the arm driver"
        )
    images = {camera.key: camera_pixels(samples[camera.topic], camera, "the bridge") for camera in cameras}
    judged = samples.get(TASK_STATE)
    task_state = None if judged is None else _progress(judged, trial_id)
    return FrameSet(
        stamp_ns=max(stamps.values()),
        joint_pos=joint_pos,
        images=images,
        stamps=stamps,
        task_state=task_state,
        ages=ages,
    )
