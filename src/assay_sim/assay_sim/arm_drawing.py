"""Draws both arms over pictures where their joints say they are, cheaply enough for every control step.

Each link is a bar: a dark outline, the body and a strip of light, from the base outwards. Corners of all bars are
computed for all cameras at once, because the cost of small numpy calls would otherwise exceed the drawing. Edges are
not smoothed, which would take twice as long as everything else.
Only the rectangle that an arm covered has to be restored before the next step.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from assay_core.rig import ARM_DIM, ARMS
from assay_sim.camera_model import CameraModel
from assay_sim.kinematics import BASES_M, STROKE_M, arm_poses

__all__ = ["ArmPainter", "Box", "Strokes", "arm_points"]

Image = npt.NDArray[np.uint8]
Array = npt.NDArray[np.float64]
Box = tuple[int, int, int, int]
"""Part of a picture: x0, y0, x1, y1 [px], the ends not included."""

# Points of one arm: the eight of `kinematics.POINT_NAMES`, then both ends of the palm, knuckles and finger tips.
_SHOULDER, _ELBOW, _WRIST, _ROLL, _MOUNT = range(2, 7)
_PALM_L, _PALM_R, _KNUCKLE_L, _KNUCKLE_R, _TIP_L, _TIP_R = range(8, 14)
POINTS = 14

_GRAPHITE, _STEEL, _BLACK, _ORANGE = (66, 70, 80), (192, 196, 203), (24, 25, 29), (236, 132, 44)
_SHINE, _BRIGHT, _FINGER = (124, 130, 144), (236, 238, 242), (224, 92, 38)
# From, to, radius at both ends [m], body, strip of light, whether an outline sets it off.
_BARS = (
    (_SHOULDER, _ELBOW, 0.033, 0.027, _STEEL, _BRIGHT, True),
    (_ELBOW, _WRIST, 0.027, 0.023, _STEEL, _BRIGHT, True),
    (_WRIST, _ROLL, 0.023, 0.023, _GRAPHITE, None, False),
    (_ROLL, _MOUNT, 0.023, 0.020, _GRAPHITE, _SHINE, False),
    (_PALM_L, _PALM_R, 0.017, 0.017, _GRAPHITE, None, False),
    (_KNUCKLE_L, _TIP_L, 0.010, 0.007, _FINGER, None, False),
    (_KNUCKLE_R, _TIP_R, 0.010, 0.007, _FINGER, None, False),
)
# Motor covers: drawn before the bar of this index, at this point, with this radius [m].
_COVERS = {1: (_ELBOW, 0.033), 2: (_WRIST, 0.028), 0: (_SHOULDER, 0.038)}
_OVERHANG = (0.0, 0.0, 0.4, 0.4, 0.0, 0.0, 0.6)
_MARGIN_PX = 4
_REACH_M = 0.04
_PALM_REACH_M, _KNUCKLE_REACH_M, _TIP_REACH_M = 0.035, 0.042, 0.128
_FINGER_GAP_M = 0.006
_NEAREST_M = 0.05

# A bar's four corners, going round: at which of its points, with which radius [m], how many radii beyond the point.
_CORNERS = np.array([[start, end, end, start] for start, end, *_ in _BARS])
_RADII_M = np.array([[bar[2], bar[3], bar[3], bar[2]] for bar in _BARS])
_LAP = np.array([[-lap, lap, lap, -lap] for lap in _OVERHANG])
# Corners of outline, body and strip of light: how many radii and how many pixels to the side.
_RADII = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, 1.0, -1.0, -1.0], [0.12, 0.12, 0.52, 0.52]])
_RIM_PX = np.array([[1.3, 1.3, -1.3, -1.3], [0.0] * 4, [0.0] * 4])


def arm_points(position: Array) -> Array:
    """Return the points that bars connect, in the bench frame [m], shape (2, 14, 3), left arm first.

    Args:
        position: The 14 values of the rig, shape (14,) [rad, gripper 0..1].
    """
    poses = arm_poses(position)
    points = np.empty((len(ARMS), POINTS, 3))
    points[:, :8] = poses.points
    mount, ahead, across = poses.points[:, _MOUNT], -poses.rotation[:, :, 2], poses.rotation[:, :, 1]
    opening = np.minimum(np.maximum(position[ARM_DIM - 1 :: ARM_DIM], 0.0), 1.0)[:, None]
    side, half = across * (_FINGER_GAP_M + opening * STROKE_M), across * (_FINGER_GAP_M + STROKE_M)
    palm, knuckle, tip = mount + ahead * _PALM_REACH_M, mount + ahead * _KNUCKLE_REACH_M, mount + ahead * _TIP_REACH_M
    points[:, _PALM_L], points[:, _PALM_R] = palm + half, palm - half
    points[:, _KNUCKLE_L], points[:, _KNUCKLE_R] = knuckle + side, knuckle - side
    points[:, _TIP_L], points[:, _TIP_R] = tip + side, tip - side
    return points


class Strokes:
    """Everything that one camera has to fill to draw both arms, in pixels."""

    def __init__(
        self, corners: Array, centres: list[list[list[int]]], sizes: list[list[float]], boxes: list[Box]
    ) -> None:
        self.corners = corners
        """Of outline, body and strip of every bar in 1/16 px, int32, shape (2, bars, 3, 4, 2)."""
        self.centres = centres
        """Points of each arm [px]."""
        self.sizes = sizes
        """Pixels per metre at each of them."""
        self.boxes = boxes
        """What each arm covers, as far as it lies in the picture; empty where it does not."""


class ArmPainter:
    """Draws arms into the pictures of all cameras.

    Args:
        cameras: Whose pictures.
    """

    def __init__(self, cameras: Sequence[CameraModel]) -> None:
        matrices = np.stack([camera.projection().T for camera in cameras])  # (c, 4, 3)
        self._linear, self._shift = matrices[:, None, :3], matrices[:, None, None, 3]
        self._focal = np.array([camera.focal for camera in cameras])[:, None, None]
        self._sizes = np.array([[camera.width, camera.height] * 2 for camera in cameras], dtype=float)[:, None]
        # The farther arm first, so that the nearer one covers it.
        self._order = [
            [int(i) for i in np.argsort(-np.linalg.norm(BASES_M - camera.eye, axis=1))] for camera in cameras
        ]

    def strokes(self, points: Array) -> list[Strokes | None]:
        """Return what each camera has to fill; None where a part of an arm is behind the camera.

        Args:
            points: From `arm_points`.
        """
        flat = points @ self._linear + self._shift  # (c, 2, 14, 3)
        depth = np.maximum(flat[..., 2], _NEAREST_M)
        # Pixels as complex numbers u + iv: one operation for both coordinates, and a quarter turn is a factor.
        pixels = np.ascontiguousarray(flat[..., :2]).view(np.complex128)[..., 0] / depth  # (c, 2, 14)
        scale = self._focal / depth
        corners, radii = pixels[:, :, _CORNERS], scale[:, :, _CORNERS] * _RADII_M  # (c, 2, bars, 4)
        along = corners[..., 1] - corners[..., 0]
        along /= np.abs(along) + 1e-9
        # The light comes from the upper left of every picture: the strip lies on that side.
        across = along * np.where(along.real > along.imag, -1j, 1j)
        corners += along[..., None] * (radii * _LAP)
        shapes = np.empty((*along.shape, *_RADII.shape), np.complex128)  # (c, 2, bars, 3, 4)
        np.multiply(across[..., None, None], radii[..., None, :] * _RADII + _RIM_PX, out=shapes)
        shapes += corners[..., None, :]
        fixed = np.rint(shapes.view(np.float64) * 16.0).astype(np.int32).reshape(*shapes.shape, 2)
        centres = np.floor(pixels.view(np.float64) + 0.5).astype(np.int64).reshape(*pixels.shape, 2).tolist()
        sizes, boxes = scale.tolist(), self._boxes(pixels[:, :, _SHOULDER:], scale.max(axis=2))
        seen = (flat[..., 2].min(axis=(1, 2)) > _NEAREST_M).tolist()
        return [Strokes(fixed[k], centres[k], sizes[k], boxes[k]) if seen[k] else None for k in range(len(seen))]

    def _boxes(self, pixels: npt.NDArray[np.complex128], scale: Array) -> list[list[Box]]:
        """Return what each arm covers, by camera, for its points (c, 2, n) and its largest scale (c, 2)."""
        reach = scale * _REACH_M + _MARGIN_PX
        edges = np.empty((*scale.shape, 4))
        edges[..., 0], edges[..., 1] = pixels.real.min(axis=2) - reach, pixels.imag.min(axis=2) - reach
        edges[..., 2], edges[..., 3] = pixels.real.max(axis=2) + reach + 2, pixels.imag.max(axis=2) + reach + 2
        return np.minimum(np.maximum(edges, 0.0), self._sizes).astype(np.int64).tolist()

    def draw(self, camera: int, picture: Image, strokes: Strokes | None) -> list[Box]:
        """Draw both arms into one camera's picture, in place, and return the rectangles that they cover."""
        if strokes is None:
            return []
        boxes = []
        for arm in self._order[camera]:
            self._draw_arm(picture, strokes.corners[arm], strokes.centres[arm], strokes.sizes[arm])
            x0, y0, x1, y1 = strokes.boxes[arm]
            if x1 > x0 and y1 > y0:
                boxes.append((x0, y0, x1, y1))
        return boxes

    def _draw_arm(self, picture: Image, corners: Array, centres: list[list[int]], sizes: list[float]) -> None:
        fill, circle = cv2.fillConvexPoly, cv2.circle
        for index, (_, _, _, _, color, light, outlined) in enumerate(_BARS):
            bar = corners[index]
            if outlined:
                fill(picture, bar[0], _BLACK, cv2.LINE_8, 4)
            fill(picture, bar[1], color, cv2.LINE_8, 4)
            if light is not None:
                fill(picture, bar[2], light, cv2.LINE_8, 4)
            cover = _COVERS.get(index)
            if cover is not None:
                at, radius = centres[cover[0]], int(cover[1] * sizes[cover[0]] + 0.5)
                circle(picture, at, radius, _ORANGE, -1)
                circle(picture, at, radius // 2, _GRAPHITE, -1)
