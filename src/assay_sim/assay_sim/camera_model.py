"""Pinhole cameras of the simulated rig: one model for the pictures and for the camera_info that describes them.

Whoever draws over a picture (placement overlays, the audit's figures) projects bench coordinates through the same
matrices that made it, so that the overlay lies where the object is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay_core.errors import unknown_name
from assay_core.rig import Camera

__all__ = ["BENCH_DEPTH_M", "BENCH_WIDTH_M", "CameraModel", "camera_model"]

Array = npt.NDArray[np.float64]

BENCH_WIDTH_M = 1.20
"""Bench top along x [m], centred on the origin. Source: rig yam-bimanual of KitchenBench, see docs/sources.md."""

BENCH_DEPTH_M = 0.60
"""Bench top along y [m], centred on the origin."""


@dataclass(frozen=True)
class _Mount:
    eye: tuple[float, float, float]
    """Optical centre in the bench frame [m]."""
    target: tuple[float, float, float]
    """Point that the optical axis meets [m]."""
    up: tuple[float, float, float]
    """Bench direction that points upwards in the picture."""
    view_m: tuple[float, float]
    """Smallest width and height that the picture shows at the target's distance [m]."""


_MOUNTS = {
    "top": _Mount((0.0, 0.01, 1.25), (0.0, 0.01, 0.0), (0.0, 1.0, 0.0), (1.32, 0.70)),
    "left": _Mount((-0.66, 0.66, 0.62), (-0.01, -0.01, 0.09), (0.0, 0.0, 1.0), (1.20, 0.675)),
    "right": _Mount((0.66, 0.66, 0.62), (0.01, -0.01, 0.09), (0.0, 0.0, 1.0), (1.20, 0.675)),
}


@dataclass(frozen=True)
class CameraModel:
    """A pinhole camera without distortion; pixel (0, 0) is the centre of the top left pixel."""

    name: str
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    focal: float
    """Focal length, the same along both axes [px]."""
    centre: tuple[float, float]
    """Principal point (u, v) [px]."""
    eye: Array
    """Optical centre in the bench frame [m], shape (3,)."""
    rotation: Array
    """Bench frame to optical frame (x right, y down, z forward), shape (3, 3)."""

    @property
    def frame_id(self) -> str:
        """Name of the optical frame, as headers carry it."""
        return f"{self.name}_camera_optical_frame"

    def intrinsics(self) -> Array:
        """Return the matrix K of camera_info, shape (3, 3) [px]."""
        return np.array([[self.focal, 0.0, self.centre[0]], [0.0, self.focal, self.centre[1]], [0.0, 0.0, 1.0]])

    def projection(self) -> Array:
        """Return the matrix that takes homogeneous bench coordinates [m] to homogeneous pixels, shape (3, 4)."""
        extrinsics = np.column_stack([self.rotation, -self.rotation @ self.eye])
        return np.asarray(self.intrinsics() @ extrinsics)

    def project(self, points: Array) -> tuple[Array, Array]:
        """Project points of the bench frame.

        Args:
            points: Shape (n, 3) [m].

        Returns:
            Pixels (u, v), shape (n, 2), and depths along the optical axis [m], shape (n,). A point with a depth of
            0 or less lies behind the camera; its pixel means nothing.
        """
        local = (points - self.eye) @ self.rotation.T
        depth = local[:, 2]
        safe = np.where(np.abs(depth) < 1e-6, 1e-6, depth)
        return local[:, :2] / safe[:, None] * self.focal + np.array(self.centre), depth

    def scaled(self, factor: int) -> CameraModel:
        """Return the camera with ``factor`` times the pixels along both axes and the same view."""
        cu, cv = ((c + 0.5) * factor - 0.5 for c in self.centre)
        return CameraModel(
            self.name,
            self.width * factor,
            self.height * factor,
            self.focal * factor,
            (cu, cv),
            self.eye,
            self.rotation,
        )


def camera_model(camera: Camera) -> CameraModel:
    """Return the model of a camera of the rig: ``top`` looks straight down, ``left`` and ``right`` from the sides.

    Raises:
        ConfigError: The camera has no place on this rig.
    """
    if camera.name not in _MOUNTS:
        raise unknown_name("camera", camera.name, _MOUNTS)
    mount = _MOUNTS[camera.name]
    eye = np.array(mount.eye)
    forward = np.array(mount.target) - eye
    distance = float(np.linalg.norm(forward))
    forward = forward / distance
    right = np.cross(forward, np.array(mount.up))
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(forward, right), forward])
    focal = distance * min(camera.width / mount.view_m[0], camera.height / mount.view_m[1])
    centre = ((camera.width - 1) / 2.0, (camera.height - 1) / 2.0)
    return CameraModel(camera.name, camera.width, camera.height, focal, centre, eye, rotation)
