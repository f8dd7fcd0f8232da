"""Draws a scene's objects into pictures: projection, shading, painter's order, antialiasing by supersampling.

Objects are drawn once per trial, at twice the resolution on a transparent layer of their own size, then reduced and
laid over the bench. What does not depend on the camera is computed once for all cameras, and everything per polygon
is computed for the whole scene at once: only the fills themselves are a loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from assay_sim.camera_model import CameraModel
from assay_sim.mesh import Mesh
from assay_sim.models import model_of
from assay_sim.scene import Placed
from assay_sim.textures import GRAIN_SCALE, grain

__all__ = ["Solid", "Solids", "draw_cloth", "draw_scene", "draw_shadows", "outline_of"]

Image = npt.NDArray[np.uint8]
Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LIGHT: Array = np.array([-0.42, 0.30, 0.86]) / np.linalg.norm([-0.42, 0.30, 0.86])
"""Direction towards the lamp, in the bench frame."""

AMBIENT, DIFFUSE = 0.58, 0.48
HIGHLIGHT = 70.0
SUPERSAMPLING = 2
SHADOW_STRENGTH = 0.42
SHADOW_REDUCTION = 4
_SHIFT = 4
"""Fractional bits of OpenCV's polygon coordinates."""
_NEAREST_M = 0.05
_ROUND = frozenset(
    {"plate", "bowl", "cup", "pot", "jar", "bottle", "measuring_cup", "produce_item", "penne", "rigatoni", "dry_pasta"}
)


@dataclass(frozen=True)
class _Part:
    """One object among `Solids`."""

    rank: int
    middle: Array
    """Of its body, in the bench frame [m]."""
    surface: str
    points: slice
    faces: slice


@dataclass(frozen=True)
class Solid:
    """A mesh at its place."""

    mesh: Mesh
    surface: str
    """A kind of `textures.grain`."""
    at: tuple[float, float, float]
    """In the bench frame [m]."""
    yaw: float = 0.0
    """Counter-clockwise seen from above [rad]."""
    factors: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Stretch of the mesh along its own x, y and z."""
    rank: int = 0
    """Things of a higher rank stand on things of a lower one."""


class Solids:
    """Meshes at their places, with everything that all cameras share.

    Args:
        solids: At least one.
    """

    def __init__(self, solids: Sequence[Solid]) -> None:
        self.parts: list[_Part] = []
        points, normals, starts, point_at, face_at = [], [], [], 0, 0
        for solid in solids:
            mesh, turn, factors = solid.mesh, _turn(solid.yaw), np.array(solid.factors)
            points.append((mesh.points * factors) @ turn.T + np.array(solid.at))
            leaning = mesh.normals / factors
            leaning /= np.sqrt((leaning * leaning).sum(axis=1))[:, None]
            normals.append(leaning @ turn.T)
            starts.append(mesh.starts + point_at)
            ends = (point_at + len(mesh.points), face_at + len(mesh.counts))
            middle = points[-1].mean(axis=0)
            part = _Part(solid.rank, middle, solid.surface, slice(point_at, ends[0]), slice(face_at, ends[1]))
            self.parts.append(part)
            point_at, face_at = ends
        self.points, self.normals = np.concatenate(points), np.concatenate(normals)
        self.starts: Ints = np.concatenate(starts)
        fields = [solid.mesh for solid in solids]
        counts: Ints = np.concatenate([mesh.counts for mesh in fields])
        self.ends = self.starts + counts
        self.two_sided = np.concatenate([mesh.two_sided for mesh in fields])
        self.concave = np.concatenate([mesh.concave for mesh in fields]).tolist()
        self.bias = np.concatenate([mesh.bias for mesh in fields])
        self.gloss = np.concatenate([mesh.gloss for mesh in fields])
        self.centroids = np.add.reduceat(self.points, self.starts, axis=0) / counts[:, None]
        lit = self.normals @ LIGHT
        lit = np.where(self.two_sided, np.abs(lit), np.maximum(lit, -0.35))
        colors = np.concatenate([mesh.colors for mesh in fields])
        self.colors = colors * (AMBIENT + DIFFUSE * lit)[:, None]


def draw_scene(picture: Image, solids: Solids, camera: CameraModel) -> None:
    """Draw objects over a picture, in place: lower ranks first, then far before near.

    Args:
        picture: RGB, shape (height, width, 3), of the camera's size.
        solids: Objects.
        camera: Camera that took the picture.
    """
    pixels, depth = camera.project(solids.points)
    towards = camera.eye - solids.centroids
    distance = np.sqrt((towards * towards).sum(axis=1))
    visible = ((solids.normals * towards).sum(axis=1) > 0) | solids.two_sided
    far = distance + solids.bias
    colors = _lit_colors(solids, towards / distance[:, None])
    for part in sorted(solids.parts, key=lambda p: (p.rank, -float(np.linalg.norm(p.middle - camera.eye)))):
        if depth[part.points].min() <= _NEAREST_M:
            continue
        region = _region(pixels[part.points], camera)
        if region is not None:
            faces = np.flatnonzero(visible[part.faces]) + part.faces.start
            order = faces[np.argsort(-far[faces], kind="stable")]
            layer = _layer(pixels, region, solids, order.tolist(), colors, part.points)
            _lay_over(picture, layer, region, part.surface)


def _lit_colors(solids: Solids, view: Array) -> list[list[float]]:
    """Return RGBA per polygon, with highlights for a direction of view (f, 3)."""
    half = view + LIGHT
    half /= np.sqrt((half * half).sum(axis=1))[:, None]
    shine = np.maximum((solids.normals * half).sum(axis=1), 0.0) ** 24 * (solids.gloss * HIGHLIGHT)
    rgba = np.full((len(shine), 4), 255.0)
    np.minimum(np.maximum(solids.colors + shine[:, None], 0.0), 255.0, out=rgba[:, :3])
    return rgba.tolist()


def _layer(
    pixels: Array,
    region: tuple[int, int, int, int],
    solids: Solids,
    order: list[int],
    colors: list[list[float]],
    points: slice,
) -> Image:
    """Return polygons in drawing order as premultiplied RGBA of a region of the picture."""
    x0, y0, x1, y1 = region
    s, first = SUPERSAMPLING, points.start
    layer = np.zeros(((y1 - y0) * s, (x1 - x0) * s, 4), dtype=np.uint8)
    # Centres of fine pixels: (u + 0.5) * s - 0.5 in units of 1/16 pixel.
    fine = np.rint((((pixels[points] - np.array([x0, y0])) + 0.5) * s - 0.5) * (1 << _SHIFT)).astype(np.int32)
    starts, ends, concave = solids.starts, solids.ends, solids.concave
    fill, fill_any = cv2.fillConvexPoly, cv2.fillPoly
    for i in order:
        corners = fine[starts[i] - first : ends[i] - first]
        if concave[i]:
            fill_any(layer, [corners], colors[i], cv2.LINE_8, _SHIFT)
        else:
            fill(layer, corners, colors[i], cv2.LINE_8, _SHIFT)
    return np.asarray(cv2.resize(layer, (x1 - x0, y1 - y0), interpolation=cv2.INTER_AREA))


def _lay_over(picture: Image, layer: Image, region: tuple[int, int, int, int], surface: str | None) -> None:
    """Lay premultiplied RGBA over a region of a picture, in place."""
    height, width = layer.shape[:2]
    if surface is not None:
        tile = grain(surface)
        rows, columns = min(height, tile.shape[0]), min(width, tile.shape[1])
        part = layer[:rows, :columns]
        cv2.multiply(part, tile[:rows, :columns], dst=part, scale=1.0 / GRAIN_SCALE)
    x0, y0, x1, y1 = region
    under = picture[y0:y1, x0:x1]
    rest = cv2.bitwise_not(cv2.extractChannel(layer, 3))
    cv2.multiply(under, cv2.cvtColor(rest, cv2.COLOR_GRAY2RGB), dst=under, scale=1.0 / 255.0)
    cv2.add(under, cv2.cvtColor(layer, cv2.COLOR_RGBA2RGB), dst=under)


def draw_cloth(picture: Image, item: Placed, camera: CameraModel) -> None:
    """Draw a flat cloth over a picture, in place; nothing for other objects."""
    cloth = model_of(item)[0].cloth
    if cloth is None:
        return
    w, length = item.size[0] / 2, item.size[1] / 2
    corners = np.array([[-w, length, 0.0], [w, length, 0.0], [w, -length, 0.0], [-w, -length, 0.0]])
    points = corners @ _turn(item.yaw).T + np.array([item.x, item.y, item.z + item.size[2] / 2])
    pixels, depth = camera.project(points)
    region = _region(pixels, camera)
    if depth.min() <= _NEAREST_M or region is None:
        return
    x0, y0, x1, y1 = region
    rows, columns = cloth.shape[:2]
    source = np.array([[0, 0], [columns, 0], [columns, rows], [0, rows]], dtype=np.float32) - np.float32(0.5)
    matrix = cv2.getPerspectiveTransform(source, (pixels - np.array([x0, y0])).astype(np.float32))
    layer = cv2.warpPerspective(cloth, matrix, (x1 - x0, y1 - y0), flags=cv2.INTER_LINEAR)
    _lay_over(picture, layer, region, None)


def draw_shadows(picture: Image, items: Sequence[Placed], camera: CameraModel) -> None:
    """Darken the bench where objects keep the lamp's light off; soft edges; in place."""
    if not items:
        return
    height, width = (max(2, side // SHADOW_REDUCTION) for side in picture.shape[:2])
    mask = np.zeros((height, width), dtype=np.uint8)
    for item in items:
        base = outline_of(item)
        drift = -LIGHT[:2] / LIGHT[2] * (item.size[2] + item.z)
        outline = np.vstack([base, base + drift])
        pixels, depth = camera.project(np.column_stack([outline, np.zeros(len(outline))]))
        if depth.min() <= _NEAREST_M:
            continue
        hull = cv2.convexHull((pixels / SHADOW_REDUCTION).astype(np.float32))
        if float(np.abs(hull).max()) < 1e4:
            cv2.fillConvexPoly(mask, (hull * 16).astype(np.int32), 255, lineType=cv2.LINE_8, shift=_SHIFT)
    x, y, w, h = cv2.boundingRect(mask)
    if w == 0:
        return
    margin = 6
    x0, y0, x1, y1 = max(0, x - margin), max(0, y - margin), min(width, x + w + margin), min(height, y + h + margin)
    soft = cv2.GaussianBlur(mask[y0:y1, x0:x1], (0, 0), 1.6)
    light = cv2.convertScaleAbs(soft, alpha=-SHADOW_STRENGTH, beta=255.0)
    s = SHADOW_REDUCTION
    region = picture[y0 * s : y1 * s, x0 * s : x1 * s]
    wide = cv2.resize(light, (region.shape[1], region.shape[0]), interpolation=cv2.INTER_LINEAR)
    cv2.multiply(region, cv2.cvtColor(wide, cv2.COLOR_GRAY2RGB), dst=region, scale=1 / 255.0)


def outline_of(item: Placed) -> Array:
    """Return the outline of an object seen from above, in the bench frame [m], shape (n, 2)."""
    w, length = item.size[0] / 2, item.size[1] / 2
    if item.asset in _ROUND:
        angles = np.linspace(0.0, 2 * math.pi, 14, endpoint=False)
        corners = np.column_stack([np.cos(angles) * w, np.sin(angles) * length])
    else:
        corners = np.array([[-w, -length], [w, -length], [w, length], [-w, length]])
    return np.asarray(corners @ _turn(item.yaw)[:2, :2].T + np.array([item.x, item.y]))


def _turn(yaw: float) -> Array:
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])


def _region(pixels: Array, camera: CameraModel) -> tuple[int, int, int, int] | None:
    """Return the part of the picture that pixels (n, 2) touch, (x0, y0, x1, y1), or None when it is empty."""
    low, high = pixels.min(axis=0).tolist(), pixels.max(axis=0).tolist()
    x0, y0 = max(0, math.floor(low[0]) - 1), max(0, math.floor(low[1]) - 1)
    x1, y1 = min(camera.width, math.ceil(high[0]) + 2), min(camera.height, math.ceil(high[1]) + 2)
    return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None
