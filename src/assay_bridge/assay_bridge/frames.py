"""Frame sets: what the rig showed at one instant, and the buffers in which its parts are gathered.

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
from assay_ros.raw import image_pixels, stamp_of

__all__ = ["TASK_STATE", "FrameSet", "StreamBuffer", "TaskProgress", "build_frames", "joint_stream", "stream_names"]

TASK_STATE = "world/task_state"
"""Topic of a simulated world's judgement of progress, relative to the rig's namespace."""

KEEP = 8
"""Samples kept per stream; the QoS depth of measured streams is smaller."""


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


class StreamBuffer:
    """The newest samples of one stream, by stamp.

    Pictures are kept as the bytes that came: see `assay_ros.raw`.
    """

    __slots__ = ("latest_ns", "name", "received", "samples", "wanted_ns", "watch")

    def __init__(self, name: str, watch: set[str]) -> None:
        """Gather samples of stream ``name``; remove the name from ``watch`` when the wanted stamp arrives."""
        self.name = name
        self.samples: dict[int, Any] = {}
        self.wanted_ns = 0
        self.latest_ns = -1
        self.received = 0
        self.watch = watch

    def add(self, msg: Any) -> None:
        """Store one message, serialized or not; a repeat of a stamp replaces the earlier one."""
        if type(msg) is bytes:
            ns = stamp_of(msg)
        else:
            stamp = msg.header.stamp
            ns = stamp.sec * 1_000_000_000 + stamp.nanosec
        self.samples[ns] = msg
        self.received += 1
        if ns > self.latest_ns:
            self.latest_ns = ns
        if ns == self.wanted_ns:
            self.watch.discard(self.name)
        if len(self.samples) > KEEP:
            del self.samples[min(self.samples)]

    def want(self, stamp_ns: int) -> None:
        """Wait for the sample with this stamp; a sample that is already there counts."""
        self.wanted_ns = stamp_ns
        if stamp_ns in self.samples:
            self.watch.discard(self.name)
        else:
            self.watch.add(self.name)

    def clear(self) -> None:
        """Forget every sample, before a session with a new origin of time."""
        self.samples.clear()
        self.latest_ns = -1


_JOINT_NAMES = {arm: list(joint_names(arm)) for arm in ARMS}


def _joints_into(out: npt.NDArray[np.float64], arm: str, msg: Any) -> None:
    """Write the 7 joint values of ``msg`` into ``out``, shape (7,), in the rig's order.

    Raises:
        RigFault: Names or number of values are not those of the arm, or a value is not finite.
    """
    names, expected = msg.name, _JOINT_NAMES[arm]
    if len(msg.position) != len(names) or (names != expected and not set(expected) <= set(names)):
        raise RigFault(
            joint_stream(arm),
            expected="7 values named " + ", ".join(expected),
            got=f"{len(msg.position)} values named {', '.join(names) or '(none)'}",
            fix="correct the joint names of the arm's driver",
        )
    if names == expected:
        out[:] = msg.position
    else:
        at = {name: i for i, name in enumerate(names)}
        out[:] = [msg.position[at[name]] for name in expected]


def _picture(camera: Camera, raw: bytes) -> npt.NDArray[np.uint8]:
    """Return the pixels of one serialized picture, shape (height, width, 3) uint8.

    Raises:
        RigFault: The picture is torn, or its size or encoding is not the camera's.
    """
    try:
        image = image_pixels(raw)
    except ValueError as error:
        raise RigFault(f"{camera.topic}: torn or foreign picture: {error}") from None
    if image.shape != (camera.height, camera.width, 3):
        raise RigFault(
            camera.topic,
            expected=f"uint8 ({camera.height}, {camera.width}, 3)",
            got=str(image.shape),
            fix="give the camera node and the bridge the same camera size",
        )
    return image


def build_frames(
    samples: dict[str, Any], cameras: Sequence[Camera], *, stamps: dict[str, int], ages: dict[str, float]
) -> FrameSet:
    """Return the frame set of one sample per stream.

    Args:
        samples: Message of each stream by topic: joint states of both arms, a serialized picture of every camera, and
            `TASK_STATE` where a world judges.
        cameras: Cameras in use.
        stamps: Stamp [ns] of each sample by topic.
        ages: Age [s] of each sample by topic.

    Raises:
        RigFault: A sample is torn, of another size, or carries other joints.
    """
    joint_pos = np.empty(ACTION_DIM)
    for i, arm in enumerate(ARMS):
        _joints_into(joint_pos[i * ARM_DIM : (i + 1) * ARM_DIM], arm, samples[joint_stream(arm)])
    if not np.isfinite(joint_pos).all():
        raise RigFault(
            "joint_states", expected="14 finite joint values", got=str(joint_pos.tolist()), fix="inspect the arm driver"
        )
    images = {camera.key: _picture(camera, samples[camera.topic]) for camera in cameras}
    judged = samples.get(TASK_STATE)
    task_state = None
    if judged is not None:
        task_state = TaskProgress(
            step=judged.step,
            progress=judged.progress,
            success=judged.success,
            terminated=judged.terminated,
            reason=judged.termination_reason,
        )
    return FrameSet(
        stamp_ns=max(stamps.values()),
        joint_pos=joint_pos,
        images=images,
        stamps=stamps,
        task_state=task_state,
        ages=ages,
    )
