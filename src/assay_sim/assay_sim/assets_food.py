"""Shapes of dry pasta: free piles on the bench, and fillings of a cup or a box.

A pile consists of single pieces of their true size over a mound, so that penne, rigatoni and strands can be told
apart in a picture. Where each piece lies comes from a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from assay_sim.mesh import Color, Mesh, MeshBuilder, circle

__all__ = ["PIECES", "filling", "heap"]

PIECES: dict[str, tuple[float, float, Color, int]] = {
    "penne": (0.010, 0.040, (226.0, 180.0, 92.0), 62),
    "rigatoni": (0.020, 0.040, (218.0, 164.0, 78.0), 34),
    "dry_pasta": (0.006, 0.050, (236.0, 200.0, 116.0), 70),
}
"""Diameter and length of one piece [m], its colour, and how many a heap shows."""

HEAP_RADIUS_M = 0.07


def _piece(
    m: MeshBuilder, x: float, y: float, z: float, yaw: float, kind: str, shade: float, scale: float = 1.0
) -> None:
    """Add one tube lying on its side: two rows of wall, a ridge of light and a dark opening."""
    diameter, length, color, _ = PIECES[kind]
    r, half = diameter / 2 * scale, length / 2 * scale
    u = np.array([math.cos(yaw), math.sin(yaw)])
    v = np.array([-u[1], u[0]])
    c = np.array([x, y])
    lit: Color = (
        min(color[0] * shade * 1.10, 255),
        min(color[1] * shade * 1.10, 255),
        min(color[2] * shade * 1.14, 255),
    )
    dim: Color = (color[0] * shade * 0.74, color[1] * shade * 0.70, color[2] * shade * 0.62)

    def strip(a: float, b: float, ends: float, height: float, tint: Color, rank: float) -> None:
        corners = [c - u * half * ends + v * a, c + u * half * ends + v * a]
        corners += [c + u * half * ends + v * b, c - u * half * ends + v * b]
        m.face([(p[0], p[1], z + height) for p in corners], tint, bias=rank)

    strip(-r, r, 1.0, r, dim, 0.0)
    strip(-r * 0.25, r * 0.70, 0.98, r * 1.2, lit, -1e-4)
    if kind == "dry_pasta":
        return
    mouth = circle(r * 0.80, 6, squash=0.8) @ np.array([v * 0.5, u]) * 0.9 + (c + u * half * 0.94)
    m.face([(p[0], p[1], z + r * 1.25) for p in mouth[::-1]], (96.0, 62.0, 26.0), bias=-2e-4, two_sided=True)


def heap(kind: str, depth: float, radius: float = HEAP_RADIUS_M) -> Mesh:
    """Return a free pile of pasta on the bench.

    Args:
        kind: A key of `PIECES`.
        depth: Height at the middle [m].
        radius: Of the pile [m].
    """
    rng = np.random.default_rng(21)
    color = PIECES[kind][2]
    m = MeshBuilder(gloss=0.15)
    shadow: Color = (color[0] * 0.62, color[1] * 0.56, color[2] * 0.46)
    m.lathe(
        [(radius * 0.78, 0.0), (radius * 0.46, depth * 0.46), (0.0, depth * 0.62)],
        [shadow, shadow],
        segments=18,
        bias=[0.3, 0.3],
    )
    _scatter(m, kind, radius, radius, lambda d: depth * (1.0 - d) * 0.72, rng)
    return m.build()


def filling(kind: str, half_width: float, half_length: float) -> Mesh:
    """Return the visible surface of pasta inside a vessel, level at z = 0 with pieces on top.

    Args:
        kind: A key of `PIECES`.
        half_width: Half of the opening along x [m].
        half_length: Half of the opening along y [m].
    """
    rng = np.random.default_rng(22)
    color = PIECES[kind][2]
    m = MeshBuilder(gloss=0.15)
    outline = circle(1.0, 20) * np.array([half_width, half_length])
    m.flat(outline, 0.0, (color[0] * 0.66, color[1] * 0.60, color[2] * 0.48), bias=0.05)
    _scatter(m, kind, half_width, half_length, lambda _: 0.004, rng, inside=True)
    return m.build()


def _scatter(
    m: MeshBuilder,
    kind: str,
    half_w: float,
    half_l: float,
    height: Callable[[float], float],
    rng: np.random.Generator,
    *,
    inside: bool = False,
) -> None:
    """Lay pieces over an ellipse, the outermost first; ``height`` takes the distance, 0 middle .. 1 edge."""
    _, length, _, count = PIECES[kind]
    # Pieces lie in any direction: their ends stay within the pile.
    scale, spread = 1.0, max(0.4, 1.0 - 0.5 * length / min(half_w, half_l))
    if inside:
        scale, spread, count = min(1.0, 1.5 * min(half_w, half_l) / length), 0.72, max(8, int(count * 0.35))
    distances = np.sqrt(rng.uniform(0.0, 1.0, count)) * spread
    turns, yaws = rng.uniform(0.0, 2 * math.pi, count), rng.uniform(0.0, math.pi, count)
    shades = rng.uniform(0.86, 1.08, count)
    for i in np.argsort(-distances).tolist():
        distance = float(distances[i])
        x, y = math.cos(turns[i]) * distance * half_w, math.sin(turns[i]) * distance * half_l
        _piece(m, x, y, height(distance / spread), float(yaws[i]), kind, float(shades[i]), scale)
