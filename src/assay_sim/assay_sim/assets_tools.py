"""Shapes of long flat things: cutlery and cooking utensils, lying along y with the working end at +y.

They are drawn as stacked outlines: a dark edge, the body and a lighter ridge, which reads as bent metal.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from assay_sim.mesh import Color, Mesh, MeshBuilder, circle

__all__ = ["cutlery", "fork", "knife", "spoon", "utensil"]

Size = tuple[float, float, float]
Array = npt.NDArray[np.float64]

_EDGE: Color = (104.0, 108.0, 116.0)
_STEEL: Color = (186.0, 190.0, 198.0)
_SHINE: Color = (232.0, 235.0, 240.0)


def _handle(width: float, tail: float, head: float) -> Array:
    """Return the outline of a handle from y = tail, round and wide, to y = head, narrow; counter-clockwise."""
    angles = np.linspace(math.pi, 2 * math.pi, 9)
    end = np.column_stack([np.cos(angles) * width / 2, tail + width / 2 + np.sin(angles) * width / 2])
    neck = width * 0.30
    return np.vstack(
        [
            end,
            [[neck, head - (head - tail) * 0.35], [neck, head], [-neck, head]],
            [[-neck, head - (head - tail) * 0.35]],
        ]
    )


def _grown(outline: Array, by: float) -> Array:
    centre = (outline.min(axis=0) + outline.max(axis=0)) / 2
    extent = np.ptp(outline, axis=0) / 2
    return np.asarray(centre + (outline - centre) * (1.0 - 2 * by / np.maximum(2 * extent, 1e-6)))


def _layers(
    m: MeshBuilder, outline: Array, z: float, inset: float, colors: tuple[Color, Color, Color], rank: int
) -> None:
    for i, color in enumerate(colors):
        m.flat(_grown(outline, inset * i), z, color, bias=-1e-3 * (rank + i))


def spoon(size: Size, variant: int) -> Mesh:
    """Return a spoon: an oval bowl with a dark hollow, and a tapered handle."""
    del variant
    w, length, h = size
    m = MeshBuilder(gloss=0.9)
    bowl_length = length * 0.34
    handle = _handle(w * 0.42, -length / 2, length / 2 - bowl_length * 0.9)
    _layers(m, handle, h * 0.5, w * 0.07, (_EDGE, _STEEL, _SHINE), 0)
    oval = circle(w / 2, 24, squash=bowl_length / w) + np.array([0.0, length / 2 - bowl_length / 2])
    m.flat(oval, h * 0.8, _EDGE, bias=-0.01)
    m.flat(_grown(oval, w * 0.06), h * 0.8, _SHINE, bias=-0.011)
    m.flat(_grown(oval, w * 0.13), h * 0.7, (128.0, 132.0, 140.0), bias=-0.012)
    m.flat(_grown(oval, w * 0.24) + np.array([-w * 0.05, w * 0.06]), h * 0.7, (166.0, 170.0, 178.0), bias=-0.013)
    return m.build()


def fork(size: Size, variant: int) -> Mesh:
    """Return a fork with four tines."""
    del variant
    w, length, h = size
    m = MeshBuilder(gloss=0.9)
    head = length * 0.32
    tines = head * 0.62
    top, root = length / 2, length / 2 - tines
    neck = length / 2 - head
    handle = _handle(w * 0.50, -length / 2, neck + head * 0.08)
    _layers(m, handle, h * 0.5, w * 0.08, (_EDGE, _STEEL, _SHINE), 0)
    palm = [(-w * 0.14, neck), (w * 0.14, neck), (w * 0.42, neck + (head - tines) * 0.45), (w / 2, root + tines * 0.08)]
    palm += [(-w / 2, root + tines * 0.08), (-w * 0.42, neck + (head - tines) * 0.45)]
    m.flat(palm, h * 0.8, _STEEL, bias=-0.01)
    tine = w * 0.15
    for k in range(4):
        x = -w / 2 + tine / 2 + k * (w - tine) / 3
        shape = [(x - tine / 2, root), (x + tine / 2, root), (x + tine * 0.30, top), (x - tine * 0.30, top)]
        m.flat(shape, h * 0.8, _STEEL if k % 2 else _SHINE, bias=-0.011)
    return m.build()


def knife(size: Size, variant: int) -> Mesh:
    """Return a table knife: a black riveted handle and a steel blade with a bright cutting edge."""
    del variant
    w, length, h = size
    m = MeshBuilder(gloss=0.9)
    blade = length * 0.56
    root, top = length / 2 - blade, length / 2
    curve = [
        (w / 2, root),
        (w / 2, top - w * 1.5),
        (w * 0.30, top - w * 0.5),
        (-w * 0.1, top),
        (-w * 0.42, top - w * 0.2),
    ]
    m.flat([(-w * 0.42, root), *curve], h * 0.5, _STEEL, bias=-0.001)
    edge = [(w * 0.22, root), *curve[:3], (w * 0.1, top - w * 0.55), (w * 0.22, top - w * 1.6)]
    m.flat(edge, h * 0.5, (240.0, 242.0, 246.0), bias=-0.002)
    m.gloss = 0.2
    grip = [(-w * 0.46, -length / 2), (w * 0.46, -length / 2), (w * 0.5, root + w * 0.3), (-w * 0.5, root + w * 0.3)]
    m.prism(grip, 0.0, h, (44.0, 42.0, 44.0), (26.0, 25.0, 27.0))
    for k in range(3):
        y = -length / 2 + (length - blade) * (0.2 + 0.28 * k)
        m.flat(circle(w * 0.17, 8) + np.array([0.0, y]), h, (206.0, 186.0, 120.0), bias=-0.02)
    return m.build()


def cutlery(size: Size, variant: int) -> Mesh:
    """Return a generic piece of cutlery: a teaspoon with a coloured handle, by variant."""
    w, length, h = size
    grips: tuple[tuple[Color, Color], ...] = (
        ((34, 108, 122), (58, 146, 160)),
        ((150, 60, 84), (190, 92, 116)),
        ((96, 88, 150), (130, 122, 188)),
    )
    dark, bright = grips[variant % len(grips)]
    m = MeshBuilder(gloss=0.7)
    oval = circle(w / 2, 20, squash=length * 0.28 / w) + np.array([0.0, length / 2 - length * 0.14])
    shaft = [(-w * 0.10, 0.0), (w * 0.10, 0.0), (w * 0.12, length * 0.26), (-w * 0.12, length * 0.26)]
    m.flat(shaft, h * 0.6, _STEEL, bias=-0.001)
    m.flat(oval, h * 0.7, _EDGE, bias=-0.01)
    m.flat(_grown(oval, w * 0.08), h * 0.7, _SHINE, bias=-0.011)
    m.flat(_grown(oval, w * 0.20), h * 0.6, (140.0, 144.0, 152.0), bias=-0.012)
    m.gloss = 0.4
    _layers(m, _handle(w * 0.72, -length / 2, length * 0.06), h, w * 0.12, (dark, bright, bright), 20)
    return m.build()


def utensil(size: Size, variant: int) -> Mesh:
    """Return a slotted wooden spatula."""
    del variant
    w, length, h = size
    m = MeshBuilder(gloss=0.1)
    edge, body, ridge = (120.0, 78.0, 42.0), (182.0, 128.0, 76.0), (206.0, 156.0, 102.0)
    blade = length * 0.34
    root, top = length / 2 - blade, length / 2
    _layers(m, _handle(w * 0.52, -length / 2, root + blade * 0.15), h * 0.8, w * 0.08, (edge, body, ridge), 0)
    pan = np.array(
        [
            (-w * 0.22, root),
            (w * 0.22, root),
            (w / 2, root + blade * 0.3),
            (w * 0.46, top),
            (-w * 0.46, top),
            (-w / 2, root + blade * 0.3),
        ]
    )
    m.flat(pan, h, edge, bias=-0.01)
    m.flat(_grown(pan, w * 0.06), h, body, bias=-0.011)
    for x in (-0.24, 0.0, 0.24):
        slot = [(w * (x - 0.05), root + blade * 0.36), (w * (x + 0.05), root + blade * 0.36)]
        slot += [(w * (x + 0.05), top - blade * 0.18), (w * (x - 0.05), top - blade * 0.18)]
        m.flat(slot, h, (84.0, 54.0, 30.0), bias=-0.012)
    return m.build()
