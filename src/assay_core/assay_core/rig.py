"""The shape of the rig that every back end shares: two YAM arms and up to three cameras.

The order of the 14 action values, their limits and the names of cameras and topics are one contract between
hardware drivers, simulated worlds, policies and the Inspect Robots bridge. They are defined here once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay_core.errors import ConfigError

__all__ = [
    "ACTION_DIM",
    "ACTION_LABELS",
    "ARMS",
    "ARM_DIM",
    "CAMERAS",
    "Camera",
    "action_high",
    "action_low",
    "cameras",
    "joint_names",
]

ARMS: tuple[str, str] = ("left", "right")
"""Arm namespaces, in the order of the action vector."""

ARM_DIM = 7
"""Values per arm: joint1..6 [rad], gripper [0 closed .. 1 open]."""

ACTION_DIM = ARM_DIM * len(ARMS)

_JOINT_LOW = (-2.61799, 0.0, 0.0, -1.5708, -1.5708, -2.0944, 0.0)
_JOINT_HIGH = (3.05433, 3.65, 3.14159, 1.5708, 1.5708, 2.0944, 1.0)
# Source: intersection of the i2rt v1.2.4 URDF, the earlier yam.xml and MuJoCo Menagerie; see docs/sources.md.

CAMERAS: tuple[str, str, str] = ("top", "left", "right")
"""Camera namespaces under ``cameras/``, in the order that policies expect."""

MAX_IMAGE_PIXELS = 4096 * 4096


def joint_names(arm: str) -> tuple[str, ...]:
    """Return the 7 JointState names of one arm: ``left_joint1`` .. ``left_joint6``, ``left_gripper``."""
    return tuple([f"{arm}_joint{i}" for i in range(1, ARM_DIM)] + [f"{arm}_gripper"])


ACTION_LABELS: tuple[str, ...] = tuple(name for arm in ARMS for name in joint_names(arm))
"""Names of the 14 action values, left arm first."""


def action_low() -> npt.NDArray[np.float64]:
    """Return the lower limits of the action vector, shape (14,) [rad, gripper 0..1]."""
    return np.array(_JOINT_LOW * len(ARMS), dtype=np.float64)


def action_high() -> npt.NDArray[np.float64]:
    """Return the upper limits of the action vector, shape (14,) [rad, gripper 0..1]."""
    return np.array(_JOINT_HIGH * len(ARMS), dtype=np.float64)


@dataclass(frozen=True)
class Camera:
    """One camera of the rig."""

    name: str
    """Namespace under ``cameras/``: top, left or right."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""

    @property
    def topic(self) -> str:
        """Image topic relative to the rig's namespace."""
        return f"cameras/{self.name}/image_raw"

    @property
    def key(self) -> str:
        """Key in an Inspect Robots observation, as the YAM policies name it: ``top_cam`` ..."""
        return f"{self.name}_cam"


def cameras(count: int, width: int = 640, height: int = 360) -> tuple[Camera, ...]:
    """Return the first ``count`` cameras of the rig, all of one size.

    Args:
        count: 0 to 3.
        width: Pixels.
        height: Pixels.

    Raises:
        ConfigError: Count or size out of range.
    """
    if not 0 <= count <= len(CAMERAS):
        raise ConfigError("cameras", expected=f"0 to {len(CAMERAS)}", got=str(count), fix="change --cameras")
    if min(width, height) < 16 or width * height > MAX_IMAGE_PIXELS:
        raise ConfigError(
            "camera size", expected="16x16 up to 4096x4096 pixels", got=f"{width}x{height}", fix="change its size"
        )
    return tuple(Camera(name, width, height) for name in CAMERAS[:count])
