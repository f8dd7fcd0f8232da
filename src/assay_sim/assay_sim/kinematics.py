"""Forward kinematics of the two YAM arms, so that pictures show the arms where their joints say they are.

ROS-free and small: the joint table of the URDF, vectorised over both arms. The mock world draws with it and
refuses hidden goals whose arms would pass through the bench.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay_core.rig import ARM_DIM, ARMS

__all__ = ["BASES_M", "GRASP_OFFSET_M", "POINT_NAMES", "STROKE_M", "ArmPoses", "arm_poses"]

Array = npt.NDArray[np.float64]

BASES_M: Array = np.array([[-0.30, -0.20, 0.0], [0.30, -0.20, 0.0]])
"""Arm bases (left, right) in the bench frame [m]: origin midway between them at table height, +x robot right, +y away.

Source: rig yam-bimanual of KitchenBench, see docs/sources.md."""

GRASP_OFFSET_M = 0.1347
"""Distance from the gripper mount to the grasp point along the mount's -z [m]. Source: i2rt MJCF ``grasp_site``."""

STROKE_M = 0.0475
"""Travel of one finger from closed to open [m]. Source: i2rt MJCF slides joint7/8."""

_HALF_PI = math.pi / 2.0
# Joint origins in the parent's frame: xyz [m], rpy [rad], axis. Source: i2rt v1.2.4 yam.urdf, see docs/sources.md.
_XYZ = (
    (0.0, 0.0, 0.068),
    (-0.0455, -0.0339, -0.02),
    (0.0, -0.0688, 0.264),
    (-0.0600003, -0.0688, -0.244999),
    (-0.0405003, 0.0338995, -0.0739989),
    (0.0404996, 0.0, -0.0356),
)
_RPY = (
    (0.0, _HALF_PI, math.pi),
    (0.0, 0.0, -math.pi),
    (0.0, 0.0, -math.pi),
    (0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0),
)
_AXIS = ((-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0))
# The motors of joints 2 to 4 sit to the side of the links; these shifts in the link's frame lead to its centre line.
_CENTRE = ((0.0, 0.0, 0.0), (0.0, -0.0339, 0.0), (0.0, -0.0344, 0.0), (0.0, 0.0339, 0.0), (0.0,) * 3, (0.0,) * 3)

POINT_NAMES = ("base", "waist", "shoulder", "elbow", "wrist", "roll", "mount", "grasp")
"""Names of the points of `ArmPoses.points`, base to tip."""


def _rpy_matrix(roll: float, pitch: float, yaw: float) -> Array:
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _skew(axis: tuple[float, float, float]) -> Array:
    x, y, z = axis
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _transform(rotation: Array, offset: tuple[float, ...]) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, offset
    return matrix


def _turning(rotation: Array) -> Array:
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = rotation
    return matrix


_ROTATIONS = [_rpy_matrix(*rpy) for rpy in _RPY]
_SKEWS = [_skew(axis) for axis in _AXIS]
# A joint's transform is fixed + sin(q) first + (1 - cos(q)) second, after Rodrigues; shapes (6, 1, 4, 4).
_FIXED = np.stack([_transform(r, xyz) for r, xyz in zip(_ROTATIONS, _XYZ, strict=True)])[:, None]
_FIRST = np.stack([_turning(r @ k) for r, k in zip(_ROTATIONS, _SKEWS, strict=True)])[:, None]
_SECOND = np.stack([_turning(r @ k @ k) for r, k in zip(_ROTATIONS, _SKEWS, strict=True)])[:, None]
# Where each link's point lies in its frame, then the grasp point in the frame of the last; shape (7, 1, 4, 1).
_LOCAL = np.array([[*xyz, 1.0] for xyz in (*_CENTRE, (0.0, 0.0, -GRASP_OFFSET_M))])[:, None, :, None]
# The arms look along +y of the bench: their base frame is turned by +90 degrees.
_BASE = np.stack([_transform(_rpy_matrix(0.0, 0.0, _HALF_PI), tuple(base)) for base in BASES_M.tolist()])


@dataclass(frozen=True)
class ArmPoses:
    """Where both arms are, in the bench frame."""

    points: Array
    """Points on the centre lines [m], shape (2, 8, 3), in the order of `POINT_NAMES`, left arm first."""
    rotation: Array
    """Rotation of the gripper mounts, shape (2, 3, 3): columns are the mount's axes; fingers point along -z."""


def arm_poses(position: Array) -> ArmPoses:
    """Return the poses of both arms.

    Args:
        position: The 14 values of the rig, shape (14,) [rad, gripper 0..1].
    """
    angles = position.reshape(len(ARMS), ARM_DIM)[:, : ARM_DIM - 1].T[:, :, None, None]  # (6, 2, 1, 1)
    joints = _FIXED + np.sin(angles) * _FIRST + (1.0 - np.cos(angles)) * _SECOND  # (6, 2, 4, 4)
    frames = np.empty((len(POINT_NAMES) - 1, len(ARMS), 4, 4))
    frame = _BASE
    for joint in range(ARM_DIM - 1):
        frame = np.matmul(frame, joints[joint], out=frames[joint])
    frames[-1] = frame
    points = np.empty((len(ARMS), len(POINT_NAMES), 3))
    points[:, 0] = BASES_M
    points[:, 1:] = (frames @ _LOCAL)[:, :, :3, 0].transpose(1, 0, 2)
    return ArmPoses(points, frame[:, :3, :3])
