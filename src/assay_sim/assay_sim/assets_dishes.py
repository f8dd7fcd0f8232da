"""Shapes of round things: plates, bowls, cups, pots, jars, bottles, produce.

Every builder takes the true outer size in metres (width x, length y, height z) and fits the shape into it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from assay_sim.mesh import Color, Mesh, MeshBuilder, circle

__all__ = ["bottle", "bowl", "cup", "jar", "measuring_cup", "plate", "pot", "produce_item"]

Size = tuple[float, float, float]

_GLAZES: tuple[tuple[Color, Color, Color], ...] = (
    ((66, 122, 168), (236, 232, 222), (40, 84, 124)),
    ((196, 92, 64), (244, 228, 206), (140, 58, 38)),
    ((86, 140, 96), (238, 240, 224), (52, 94, 62)),
    ((214, 172, 70), (248, 240, 214), (156, 118, 38)),
)
"""Outside, inside and accent of ceramics, by variant."""


def plate(size: Size, variant: int) -> Mesh:
    """Return a plate: concentric rim, coloured ring and well, with a foot underneath."""
    r, h = size[0] / 2, size[2]
    accent = _GLAZES[variant % len(_GLAZES)][0]
    m = MeshBuilder(gloss=0.5)
    profile = [
        (r * 0.52, 0.0),
        (r, h * 0.86),
        (r * 0.985, h),
        (r * 0.90, h * 0.86),
        (r * 0.80, h * 0.70),
        (r * 0.68, h * 0.50),
        (r * 0.58, h * 0.28),
        (r * 0.30, h * 0.24),
        (0.0, h * 0.22),
    ]
    white, cream, well = (238.0, 236.0, 230.0), (226.0, 222.0, 214.0), (244.0, 243.0, 238.0)
    colors = [(170.0, 168.0, 164.0), (250.0, 249.0, 245.0), white, accent, white, cream, well, (236.0, 235.0, 231.0)]
    m.lathe(profile, colors, segments=28, bias=[0, 0, 0, 0, 0, 0.01, 0.03, 0.02])
    return m.build()


def bowl(size: Size, variant: int) -> Mesh:
    """Return a deep bowl with a coloured outside, a band under the rim and a pale inside."""
    r, h = size[0] / 2, size[2]
    outside, inside, accent = _GLAZES[variant % len(_GLAZES)]
    dim: Color = (inside[0] * 0.90, inside[1] * 0.90, inside[2] * 0.90)
    m = MeshBuilder(gloss=0.5)
    profile = [
        (r * 0.45, 0.0),
        (r * 0.80, h * 0.35),
        (r * 0.97, h * 0.80),
        (r, h),
        (r * 0.94, h),
        (r * 0.86, h * 0.68),
        (r * 0.66, h * 0.34),
        (r * 0.34, h * 0.14),
        (0.0, h * 0.12),
    ]
    colors = [accent, outside, accent, inside, dim, inside, dim, inside]
    m.lathe(profile, colors, segments=24, bias=[0, 0, 0, 0, 0.02, 0.04, 0.06, 0.08])
    return m.build()


def cup(size: Size, variant: int) -> Mesh:
    """Return a mug: coloured walls with a stripe, a dark drink-free inside and a handle along +x."""
    r, h = size[0] / 2, size[2]
    outside, inside, accent = _GLAZES[variant % len(_GLAZES)]
    shade: Color = (inside[0] * 0.62, inside[1] * 0.62, inside[2] * 0.62)
    m = MeshBuilder(gloss=0.6)
    # The handle is part of the nominal width, so the body is a little narrower and shifted away from it.
    body, shift = r * 0.84, -r * 0.16
    profile = [
        (body * 0.86, 0.0),
        (body * 0.95, h * 0.40),
        (body * 0.98, h * 0.55),
        (body, h),
        (body * 0.87, h),
        (body * 0.80, h * 0.45),
        (body * 0.74, h * 0.10),
        (0.0, h * 0.09),
    ]
    colors = [outside, accent, outside, inside, inside, shade, shade]
    m.lathe(
        profile,
        colors,
        segments=20,
        center=(shift, 0.0),
        bias=[0, 0, 0, 0, 0.02, 0.04, 0.06],
    )
    x = shift + body * 0.96
    path = [(x, 0, h * 0.80), (x + r * 0.26, 0, h * 0.76), (x + r * 0.26, 0, h * 0.34), (x, 0, h * 0.26)]
    m.tube(path, r * 0.085, outside)
    return m.build()


def pot(size: Size, variant: int) -> Mesh:
    """Return a steel pot with a rolled rim, a dark inside and two black side handles along x."""
    del variant
    r, h = size[0] / 2, size[2]
    m = MeshBuilder(gloss=0.9)
    steel, light, dark, bottom = (168.0, 172.0, 178.0), (208.0, 212.0, 216.0), (112.0, 116.0, 122.0), (84.0, 86.0, 90.0)
    body = r * 0.86
    profile = [
        (body * 0.97, 0.0),
        (body, h * 0.12),
        (body, h * 0.55),
        (body, h * 0.92),
        (body * 1.04, h),
        (body * 0.94, h),
        (body * 0.93, h * 0.5),
        (body * 0.92, h * 0.05),
        (body * 0.55, h * 0.045),
        (0.0, h * 0.04),
    ]
    colors = [(70.0, 60.0, 56.0), steel, light, steel, light, dark, dark, bottom, (98.0, 100.0, 104.0)]
    m.lathe(profile, colors, segments=28, bias=[0, 0, 0, 0, 0, 0.03, 0.05, 0.08, 0.07])
    m.gloss = 0.3
    for side in (-1.0, 1.0):
        x = side * body * 0.99
        tip = side * (r - 0.008)
        path = [
            (x, -r * 0.28, h * 0.80),
            (tip, -r * 0.22, h * 0.84),
            (tip, r * 0.22, h * 0.84),
            (x, r * 0.28, h * 0.80),
        ]
        m.tube(path, 0.007, (36.0, 36.0, 40.0))
    return m.build()


def jar(size: Size, variant: int) -> Mesh:
    """Return a glass jar of red preserve with a paper label and a golden screw lid."""
    del variant
    r, h = size[0] / 2, size[2]
    m = MeshBuilder(gloss=0.9)
    preserve, glass = (158.0, 44.0, 40.0), (196.0, 214.0, 212.0)
    label, line, gold, rim = (240.0, 232.0, 208.0), (92.0, 124.0, 72.0), (206.0, 170.0, 78.0), (158.0, 124.0, 46.0)
    profile = [
        (r * 0.92, 0.0),
        (r, h * 0.06),
        (r, h * 0.22),
        (r, h * 0.27),
        (r, h * 0.58),
        (r, h * 0.63),
        (r * 0.98, h * 0.74),
        (r * 0.84, h * 0.82),
    ]
    m.lathe(profile, [preserve, preserve, line, label, line, preserve, glass], segments=22)
    top = [
        (r * 0.90, h * 0.82),
        (r * 0.92, h * 0.97),
        (r * 0.86, h),
        (r * 0.66, h),
        (r * 0.58, h * 0.985),
        (0.0, h * 0.985),
    ]
    m.lathe(top, [rim, gold, gold, rim, gold], segments=22, bias=[-0.01, -0.012, -0.012, -0.014, -0.016])
    return m.build()


def bottle(size: Size, variant: int) -> Mesh:
    """Return a green bottle with shoulders, neck, label and a white screw cap."""
    del variant
    r, h = size[0] / 2, size[2]
    m = MeshBuilder(gloss=0.9)
    green, light, label, line = (36.0, 104.0, 62.0), (74.0, 148.0, 98.0), (238.0, 234.0, 216.0), (190.0, 60.0, 50.0)
    profile = [
        (r * 0.94, 0.0),
        (r, h * 0.03),
        (r, h * 0.16),
        (r, h * 0.20),
        (r, h * 0.40),
        (r, h * 0.44),
        (r * 0.98, h * 0.58),
        (r * 0.62, h * 0.70),
        (r * 0.40, h * 0.80),
        (r * 0.36, h * 0.90),
    ]
    m.lathe(profile, [green, green, line, label, line, green, light, green, green], segments=20)
    cap = [(r * 0.46, h * 0.90), (r * 0.46, h * 0.985), (r * 0.40, h), (r * 0.22, h), (0.0, h)]
    m.lathe(
        cap, [(226.0, 226.0, 230.0), (246.0, 246.0, 248.0), (232.0, 232.0, 236.0), (205.0, 60.0, 52.0)], segments=16
    )
    return m.build()


def measuring_cup(size: Size, variant: int) -> Mesh:
    """Return a clear measuring cup with red graduations, a spout along -y and a handle along +x."""
    del variant
    r, h = size[0] / 2, size[2]
    m = MeshBuilder(gloss=0.9)
    glass, pale, red, inside = (176.0, 206.0, 218.0), (204.0, 226.0, 232.0), (206.0, 48.0, 44.0), (150.0, 184.0, 198.0)
    body, shift = r * 0.84, -r * 0.16
    wall = [(body * 0.80 + body * 0.2 * k / 7, h * k / 7) for k in range(8)]
    profile = [*wall, (body * 0.93, h), (body * 0.86, h * 0.5), (body * 0.76, h * 0.06), (0.0, h * 0.05)]
    colors = [glass, pale, red, pale, red, pale, glass, pale, inside, glass, inside]
    m.lathe(profile, colors, segments=22, center=(shift, 0.0), bias=[0] * 8 + [0.02, 0.04, 0.06])
    spout = [(shift - body * 0.30, -body * 0.92, h), (shift, -r, h), (shift + body * 0.30, -body * 0.92, h)]
    m.face(spout, pale, two_sided=True, bias=-0.01)
    x = shift + body * 0.94
    path = [(x, 0, h * 0.86), (x + r * 0.27, 0, h * 0.82), (x + r * 0.27, 0, h * 0.30), (x - r * 0.06, 0, h * 0.22)]
    m.tube(path, r * 0.07, red)
    return m.build()


def produce_item(size: Size, variant: int) -> Mesh:
    """Return a ripe tomato with a green star of leaves, or a cucumber when it is much longer than wide."""
    del variant
    r, h = size[0] / 2, size[2]
    long = size[1] > 1.3 * size[0]
    m = MeshBuilder(gloss=0.9)
    skin, deep = ((74.0, 138.0, 62.0), (48.0, 104.0, 46.0)) if long else ((206.0, 52.0, 38.0), (168.0, 34.0, 28.0))
    steps = 9
    angles = [-math.pi / 2 + math.pi * k / steps for k in range(steps + 1)]
    profile = [(r * math.cos(a) + 1e-6, h * 0.47 * (1 + math.sin(a))) for a in angles]
    m.lathe(profile, [deep if long and k % 3 else skin if k > 1 else deep for k in range(steps)], segments=22)
    if long:
        return _stretched(m.build(), size[1] / size[0])
    star = circle(r * 0.42, 10)
    star[1::2] *= 0.42
    m.flat(star, h * 0.965, (58.0, 122.0, 48.0), bias=-0.02)
    m.flat(circle(r * 0.08, 6), h, (92.0, 140.0, 62.0), bias=-0.03)
    return m.build()


def _stretched(mesh: Mesh, factor: float) -> Mesh:
    """Return a mesh that is ``factor`` times as long along y."""
    normals = mesh.normals * np.array([1.0, 1.0 / factor, 1.0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return replace(mesh, points=mesh.points * np.array([1.0, factor, 1.0]), normals=normals)
