"""Small shaded meshes, the shapes that the mock world's objects are made of.

A mesh is a bag of flat polygons with a colour each. It is built once per kind and size of object, and drawn with
OpenCV's polygon fill: no GPU, no 3-D library, the same pixels on every machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["Color", "Mesh", "MeshBuilder", "circle"]

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Color = tuple[float, float, float]
"""RGB, 0..255."""


@dataclass(frozen=True)
class Mesh:
    """Polygons in an object's own frame: x across, y along its length, z up from what it stands on [m]."""

    points: Array
    """Corners of all polygons, one polygon after the other, shape (v, 3)."""
    starts: Ints
    """First corner of each polygon, shape (f,)."""
    counts: Ints
    """Corners of each polygon, shape (f,)."""
    normals: Array
    """Outward unit normals, shape (f, 3)."""
    colors: Array
    """RGB 0..255, shape (f, 3)."""
    two_sided: npt.NDArray[np.bool_]
    """Polygons that are seen from behind too, shape (f,)."""
    concave: npt.NDArray[np.bool_]
    """Polygons that are not convex, shape (f,)."""
    bias: Array
    """Added to the distance [m] when polygons are sorted: positive draws earlier, shape (f,)."""
    gloss: Array
    """Strength of the highlight, 0..1, shape (f,)."""


@dataclass
class MeshBuilder:
    """Collects polygons, then `build`s the `Mesh`."""

    gloss: float = 0.0
    """Gloss of the polygons added from now on."""
    _points: list[Array] = field(default_factory=list)
    _rows: list[tuple[Array, Color, bool, bool, float, float]] = field(default_factory=list)

    def face(
        self,
        points: Sequence[Sequence[float]] | Array,
        color: Color,
        *,
        bias: float = 0.0,
        two_sided: bool = False,
        concave: bool = False,
    ) -> None:
        """Add one polygon, corners counter-clockwise when seen from outside, shape (n, 3) [m]."""
        corners = np.asarray(points, dtype=np.float64)
        following = np.roll(corners, -1, axis=0)
        normal = np.cross(corners, following).sum(axis=0)
        length = float(np.linalg.norm(normal))
        normal = normal / length if length > 0 else np.array([0.0, 0.0, 1.0])
        self._points.append(corners)
        self._rows.append((normal, color, two_sided, concave, bias, self.gloss))

    def flat(self, outline: Sequence[Sequence[float]] | Array, z: float, color: Color, *, bias: float = 0.0) -> None:
        """Add a horizontal polygon at height z, outline (n, 2) counter-clockwise, convex or not."""
        xy = np.asarray(outline, dtype=np.float64)
        points = np.column_stack([xy, np.full(len(xy), z)])
        self.face(points, color, bias=bias, concave=True)

    def prism(
        self, outline: Sequence[Sequence[float]] | Array, z0: float, z1: float, top: Color, side: Color | None = None
    ) -> None:
        """Add walls and a lid over an outline (n, 2), counter-clockwise."""
        xy = np.asarray(outline, dtype=np.float64)
        wall = top if side is None else side
        for a, b in zip(xy, np.roll(xy, -1, axis=0), strict=True):
            self.face([(a[0], a[1], z0), (b[0], b[1], z0), (b[0], b[1], z1), (a[0], a[1], z1)], wall)
        self.flat(xy, z1, top, bias=-1e-3)

    def box(
        self,
        center: tuple[float, float],
        size: tuple[float, float],
        z0: float,
        z1: float,
        top: Color,
        side: Color | None = None,
    ) -> None:
        """Add an upright box around ``center`` with ``size`` along x and y [m]."""
        (x, y), (w, h) = center, (size[0] / 2, size[1] / 2)
        self.prism([(x - w, y - h), (x + w, y - h), (x + w, y + h), (x - w, y + h)], z0, z1, top, side)

    def open_box(
        self, size: tuple[float, float], z0: float, z1: float, wall: float, outside: Color, inside: Color, rim: Color
    ) -> None:
        """Add a box without a lid, with walls of some thickness [m]; its bottom lies at z0 + wall."""
        w, h = size[0] / 2, size[1] / 2
        outer = [(-w, -h), (w, -h), (w, h), (-w, h)]
        inner = [(-w + wall, -h + wall), (w - wall, -h + wall), (w - wall, h - wall), (-w + wall, h - wall)]
        bottom = z0 + wall
        self.flat(inner, bottom, inside, bias=0.5)
        for i in range(4):
            a, b, c, d = outer[i], outer[(i + 1) % 4], inner[(i + 1) % 4], inner[i]
            self.face([(*a, z0), (*b, z0), (*b, z1), (*a, z1)], outside)
            self.face([(*c, bottom), (*d, bottom), (*d, z1), (*c, z1)], inside, bias=0.25)
            self.face([(*a, z1), (*b, z1), (*c, z1), (*d, z1)], rim)

    def lathe(
        self,
        profile: Sequence[tuple[float, float]],
        colors: Sequence[Color],
        *,
        segments: int = 24,
        center: tuple[float, float] = (0.0, 0.0),
        bias: Sequence[float] | None = None,
    ) -> None:
        """Add a body of revolution.

        Args:
            profile: (radius, height) pairs [m], in the order bottom, outside, rim, inside: the surface lies on the
                left of the direction of travel.
            colors: One per section between two pairs.
            segments: Polygons around the axis.
            center: Of the axis (x, y) [m].
            bias: One per section; see `Mesh.bias`.
        """
        ring = circle(1.0, segments)
        cx, cy = center
        for i, ((r0, z0), (r1, z1)) in enumerate(itertools.pairwise(profile)):
            shift = bias[i] if bias is not None else 0.0
            if min(r0, r1) <= 0.0:
                # A disc or a flat cone is one polygon, not a fan.
                radius = max(r0, r1)
                xy = ring * radius + np.array([cx, cy])
                outline = xy if r0 > r1 else xy[::-1]
                self.flat(outline, (z0 + z1) / 2, colors[i], bias=shift)
                continue
            for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
                quad = [
                    (cx + a[0] * r0, cy + a[1] * r0, z0),
                    (cx + b[0] * r0, cy + b[1] * r0, z0),
                    (cx + b[0] * r1, cy + b[1] * r1, z1),
                    (cx + a[0] * r1, cy + a[1] * r1, z1),
                ]
                self.face(quad, colors[i], bias=shift)

    def tube(self, path: Sequence[Sequence[float]], radius: float, color: Color) -> None:
        """Add a thin bar of square section along a path (n, 3) [m]: wires and handles."""
        for start, end in itertools.pairwise(path):
            a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
            along = (b - a) / (np.linalg.norm(b - a) + 1e-12)
            helper = np.array([0.0, 0.0, 1.0]) if abs(along[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
            u = np.cross(helper, along)
            u = u / np.linalg.norm(u) * radius
            v = np.cross(along, u)
            a, b = a - along * radius * 0.7, b + along * radius * 0.7
            for p, q in ((u + v, v - u), (v - u, -u - v), (-u - v, u - v), (u - v, u + v)):
                self.face(np.array([a + q, b + q, b + p, a + p]), color)

    def build(self) -> Mesh:
        """Return the mesh of all polygons added."""
        counts = np.array([len(p) for p in self._points], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        normals, colors, two_sided, concave, bias, gloss = zip(*self._rows, strict=True)
        return Mesh(
            np.concatenate(self._points),
            starts,
            counts,
            np.stack(normals),
            np.array(colors, dtype=np.float64),
            np.array(two_sided, dtype=bool),
            np.array(concave, dtype=bool),
            np.array(bias, dtype=np.float64),
            np.array(gloss, dtype=np.float64),
        )


def circle(radius: float, segments: int, *, squash: float = 1.0, phase: float = 0.0) -> Array:
    """Return an ellipse counter-clockwise, shape (segments, 2) [m]; ``squash`` scales y."""
    angles = phase + np.arange(segments) * (2.0 * math.pi / segments)
    return np.column_stack([np.cos(angles) * radius, np.sin(angles) * radius * squash])
