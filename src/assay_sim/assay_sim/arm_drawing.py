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
_PALM_REACH_M, _KNUCKLE_REACH_M, _TIP_REACH_M = 0.035, 0.042, 0.128
_FINGER_GAP_M = 0.006
_NEAREST_M = 0.05

_FROM, _TO = (np.array([bar[k] for bar in _BARS]) for k in (0, 1))
_R0, _R1 = (np.array([bar[k] for bar in _BARS]) for k in (2, 3))
_LAP = np.array(_OVERHANG)[:, None]
# Corners of a bar's outline, body and strip of light: at which end, how many radii and how many pixels to the side.
_END = np.array([0, 1, 1, 0])
_RADII = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, 1.0, -1.0, -1.0], [0.12, 0.12, 0.52, 0.52]])[:, :, None]
_RIM_PX = np.array([[1.3, 1.3, -1.3, -1.3], [0.0] * 4, [0.0] * 4])[:, :, None]


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

    def __init__(self, corners: Array, centres: list[list[int]], sizes: list[float]) -> None:
        self.corners = corners
        """Of outline, body and strip of every bar in 1/16 px, int32, shape (2, bars, 3, 4, 2)."""
        self.centres = centres
        """Points of both arms in 1/16 px, 28 pairs."""
        self.sizes = sizes
        """Pixels per metre at each of them."""


class ArmPainter:
    """Draws arms into the pictures of all cameras.

    Args:
        cameras: Whose pictures.
    """

    def __init__(self, cameras: Sequence[CameraModel]) -> None:
        self._cameras = tuple(cameras)
        matrices = np.stack([camera.projection().T for camera in cameras])  # (c, 4, 3)
        self._linear, self._shift = matrices[:, None, :3], matrices[:, None, None, 3]
        self._focal = np.array([camera.focal for camera in cameras])[:, None, None]
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
        depth = flat[..., 2]
        seen = (depth.reshape(len(self._cameras), -1).min(axis=1) > _NEAREST_M).tolist()
        depth = np.maximum(depth, _NEAREST_M)
        pixels = flat[..., :2] / depth[..., None]
        scale = self._focal / depth
        ends = np.stack([pixels[:, :, _FROM], pixels[:, :, _TO]], axis=3)  # (c, 2, bars, 2 ends, 2)
        radii = np.stack([scale[:, :, _FROM] * _R0, scale[:, :, _TO] * _R1], axis=3)[..., None]
        along = ends[..., 1, :] - ends[..., 0, :]
        along /= np.sqrt((along * along).sum(axis=-1, keepdims=True)) + 1e-9
        across = along[..., ::-1] * np.array([-1.0, 1.0])
        # The light comes from the upper left of every picture: the strip lies on that side.
        across *= np.where(across.sum(axis=-1, keepdims=True) > 0, -1.0, 1.0)
        ends += along[..., None, :] * np.array([[-1.0], [1.0]]) * (radii * _LAP[..., None])
        across = across[..., None, None, :]
        corners = (
            ends[..., None, _END, :] + across * (radii[..., None, _END, :] * _RADII + _RIM_PX)
        ) * 16.0  # (c, 2, bars, 3, 4, 2)
        fixed = np.rint(corners).astype(np.int32, order="C")
        centres = np.rint(pixels * 16.0).astype(np.int64).reshape(len(self._cameras), -1, 2).tolist()
        sizes = scale.reshape(len(self._cameras), -1).tolist()
        return [Strokes(fixed[k], centres[k], sizes[k]) if seen[k] else None for k in range(len(self._cameras))]

    def draw(self, camera: int, picture: Image, strokes: Strokes | None) -> list[Box]:
        """Draw both arms into one camera's picture, in place, and return the rectangles that they cover."""
        if strokes is None:
            return []
        boxes = (self._draw_arm(self._cameras[camera], picture, strokes, arm) for arm in self._order[camera])
        return [box for box in boxes if box is not None]

    def _draw_arm(self, camera: CameraModel, picture: Image, strokes: Strokes, arm: int) -> Box | None:
        fill, circle = cv2.fillConvexPoly, cv2.circle
        corners = strokes.corners[arm]
        first = arm * POINTS
        for index, (_, _, _, _, color, light, outlined) in enumerate(_BARS):
            bar = corners[index]
            if outlined:
                fill(picture, bar[0], _BLACK, cv2.LINE_8, 4)
            fill(picture, bar[1], color, cv2.LINE_8, 4)
            if light is not None:
                fill(picture, bar[2], light, cv2.LINE_8, 4)
            cover = _COVERS.get(index)
            if cover is not None:
                x, y = strokes.centres[first + cover[0]]
                at, radius = (x + 8 >> 4, y + 8 >> 4), int(cover[1] * strokes.sizes[first + cover[0]] + 0.5)
                circle(picture, at, radius, _ORANGE, -1)
                circle(picture, at, radius // 2, _GRAPHITE, -1)
        reach = 0.04 * max(strokes.sizes[first : first + POINTS]) + _MARGIN_PX
        centres = strokes.centres[first + _SHOULDER : first + POINTS]
        columns, rows = [c[0] for c in centres], [c[1] for c in centres]
        x0, y0 = max(0, int(min(columns) / 16 - reach)), max(0, int(min(rows) / 16 - reach))
        x1 = min(camera.width, int(max(columns) / 16 + reach) + 2)
        y1 = min(camera.height, int(max(rows) / 16 + reach) + 2)
        return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None
