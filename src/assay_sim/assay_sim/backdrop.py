"""The part of every picture that never changes: floor, bench and the bases of the arms.

Rendered once per camera when the world is configured; a trial starts from a copy.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from assay_sim.camera_model import BENCH_DEPTH_M, BENCH_WIDTH_M, CameraModel
from assay_sim.mesh import Mesh, MeshBuilder
from assay_sim.textures import floor, wood

__all__ = ["backdrop", "pedestal"]

Image = npt.NDArray[np.uint8]
Array = npt.NDArray[np.float64]

FLOOR_Z_M = -0.74
BENCH_THICKNESS_M = 0.035
_FLOOR_PX, _FLOOR_M = 1024, 2.4
_WOOD_PX_PER_M = 900.0
_SUPERSAMPLING = 2


def backdrop(camera: CameraModel) -> Image:
    """Return the empty bench as a camera sees it, RGB, shape (height, width, 3)."""
    fine = camera.scaled(_SUPERSAMPLING)
    size = (fine.width, fine.height)
    projection = fine.projection()
    picture = _warp(floor(_FLOOR_PX), _plane(projection, FLOOR_Z_M, _FLOOR_M, _FLOOR_M, _FLOOR_PX, _FLOOR_PX), size)
    _bench_shadow(picture, fine)
    rows, columns = round(BENCH_DEPTH_M * _WOOD_PX_PER_M), round(BENCH_WIDTH_M * _WOOD_PX_PER_M)
    top = wood(rows, columns)
    matrix = _plane(projection, 0.0, BENCH_WIDTH_M, BENCH_DEPTH_M, columns, rows)
    covered = cv2.warpPerspective(np.full((rows, columns), 255, np.uint8), matrix, size, flags=cv2.INTER_NEAREST)
    _edges(picture, fine)
    planks = cv2.warpPerspective(top, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    cv2.copyTo(planks, covered, picture)
    _vignette(picture)
    small = cv2.resize(picture, (camera.width, camera.height), interpolation=cv2.INTER_AREA)
    return np.asarray(small)


def _plane(projection: Array, z: float, width: float, depth: float, columns: int, rows: int) -> Array:
    """Return the homography from a texture to a picture, for a texture of a size [m] centred on the origin at z."""
    metres = np.array(
        [[width / columns, 0.0, -width / 2], [0.0, -depth / rows, depth / 2], [0.0, 0.0, z], [0.0, 0.0, 1.0]]
    )
    return np.asarray(projection @ metres)


def _warp(texture: Image, matrix: Array, size: tuple[int, int]) -> Image:
    return np.asarray(
        cv2.warpPerspective(texture, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
    )


def _fill(
    picture: Image, camera: CameraModel, points: list[tuple[float, float, float]], color: tuple[int, ...]
) -> None:
    pixels, depth = camera.project(np.array(points))
    if depth.min() > 0.05:
        cv2.fillConvexPoly(picture, np.rint(pixels * 16).astype(np.int32), color, cv2.LINE_AA, 4)


def _bench_shadow(picture: Image, camera: CameraModel) -> None:
    w, d = BENCH_WIDTH_M / 2 + 0.06, BENCH_DEPTH_M / 2 + 0.06
    corners = np.array([(-w, -d, FLOOR_Z_M), (w, -d, FLOOR_Z_M), (w, d, FLOOR_Z_M), (-w, d, FLOOR_Z_M)])
    pixels, depth = camera.project(corners + np.array([0.12, -0.10, 0.0]))
    if depth.min() <= 0.05:
        return
    mask = np.zeros(picture.shape[:2], np.uint8)
    cv2.fillConvexPoly(mask, np.rint(pixels).astype(np.int32), 110)
    soft = cv2.GaussianBlur(mask, (0, 0), picture.shape[1] / 60)
    cv2.multiply(picture, cv2.merge([255 - soft] * 3), dst=picture, scale=1 / 255.0)


def _edges(picture: Image, camera: CameraModel) -> None:
    """Draw the sides of the bench top that face the camera."""
    w, d, t = BENCH_WIDTH_M / 2, BENCH_DEPTH_M / 2, -BENCH_THICKNESS_M
    ring = [(-w, -d), (w, -d), (w, d), (-w, d)]
    for i, color in enumerate(((104, 72, 44), (122, 84, 52), (112, 78, 48), (134, 94, 58))):
        a, b = ring[i], ring[(i + 1) % 4]
        outward = np.array([b[1] - a[1], a[0] - b[0]])
        if outward @ (camera.eye[:2] - np.array(a)) > 0:
            _fill(picture, camera, [(*a, t), (*b, t), (*b, 0.0), (*a, 0.0)], color)


def pedestal() -> Mesh:
    """Return the base of one arm: a bolted plate, the first motor's housing and the turning shoulder."""
    m = MeshBuilder(gloss=0.5)
    plate, edge, bolt = (88.0, 92.0, 100.0), (44.0, 46.0, 52.0), (206.0, 210.0, 216.0)
    m.box((0.0, 0.0), (0.13, 0.13), 0.0, 0.012, plate, edge)
    for x in (-0.05, 0.05):
        for y in (-0.05, 0.05):
            m.lathe([(0.007, 0.012), (0.007, 0.018), (0.0, 0.018)], [edge, bolt], segments=8, center=(x, y))
    graphite, orange, dark = (70.0, 74.0, 84.0), (236.0, 132.0, 44.0), (48.0, 50.0, 58.0)
    profile = [
        (0.050, 0.012),
        (0.047, 0.060),
        (0.049, 0.062),
        (0.049, 0.070),
        (0.044, 0.072),
        (0.042, 0.112),
        (0.0, 0.114),
    ]
    m.lathe(profile, [graphite, dark, orange, dark, graphite, graphite], segments=24, bias=[-0.03] * 6)
    return m.build()


def _vignette(picture: Image) -> None:
    """Darken the corners a little, as a lens does, in place."""
    height, width = picture.shape[:2]
    y = np.linspace(-1.0, 1.0, height)[:, None] ** 2
    x = np.linspace(-1.0, 1.0, width)[None, :] ** 2
    light = (255.0 * (1.0 - 0.13 * (x + y))).astype(np.uint8)
    cv2.multiply(picture, cv2.merge([light] * 3), dst=picture, scale=1 / 255.0)
