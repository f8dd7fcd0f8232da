"""Where objects lie on the bench: footprints as turned rectangles, seen from above.

Diagnostics, sketches and pictures need positions in one frame, while a blueprint gives a child's in its parent's.
Centimetres and degrees throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay_benchmarks.assets import ASSETS
from assay_benchmarks.blueprint import SceneBlueprint, SceneObject

__all__ = ["Footprint", "ancestors", "extent_cm", "footprint_of", "footprints", "overlap"]


@dataclass(frozen=True)
class Footprint:
    """A rectangle on the bench."""

    name: str
    x_cm: float
    """Centre, in the frame ``bench``."""
    y_cm: float
    yaw_deg: float
    """Counter-clockwise seen from above."""
    width_cm: float
    """Along its own x."""
    depth_cm: float
    """Along its own y."""

    def corners(self) -> npt.NDArray[np.float64]:
        """Return the four corners, shape (4, 2), float64 [cm], counter-clockwise."""
        half = np.array([self.width_cm, self.depth_cm]) / 2
        unit = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
        return np.asarray((unit * half) @ self.axes() + [self.x_cm, self.y_cm], dtype=np.float64)

    def axes(self) -> npt.NDArray[np.float64]:
        """Return its two axes as rows, shape (2, 2), unit length."""
        angle = math.radians(self.yaw_deg)
        return np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


def ancestors(blueprint: SceneBlueprint, name: str) -> tuple[str, ...]:
    """Return an object's parent, its parent's parent and so on."""
    chain: list[str] = []
    parent = blueprint.object(name).parent
    while parent is not None:
        chain.append(parent)
        parent = blueprint.object(parent).parent
    return tuple(chain)


def extent_cm(item: SceneObject, *, sized: bool = True) -> tuple[float, float, float]:
    """Return width, depth and height of an object that stands unturned [cm].

    ``size_cm`` means what the instances use it for: the depth of a pile, the length of a tool, the side of a square
    cloth, the diameter of anything round, whose height then scales with it.

    Args:
        item: The object.
        sized: Whether to apply ``size_cm``; without it the extent is the nominal one.
    """
    asset = ASSETS[item.asset]
    width, depth, height = float(asset.footprint_w_cm), float(asset.footprint_h_cm), float(asset.height_cm)
    if not sized or item.size_cm is None:
        return width, depth, height
    if item.role == "substance":
        return width, depth, item.size_cm
    if item.asset in _LONG:
        return width, item.size_cm, height
    if item.asset in _CLOTHS:
        return item.size_cm, item.size_cm, height
    scale = item.size_cm / width
    return item.size_cm, depth * scale, height * scale


_CLOTHS = frozenset({"napkin", "cloth", "dish_towel"})
_LONG = frozenset({"spoon", "fork", "knife", "cutlery", "utensil", "produce_item"})


def footprint_of(blueprint: SceneBlueprint, item: SceneObject, *, sized: bool = True) -> Footprint:
    """Return an object's footprint in the frame ``bench``; ``sized`` as in `extent_cm`."""
    width, depth, _ = extent_cm(item, sized=sized)
    x_cm, y_cm, yaw_deg = item.x_cm, item.y_cm, item.yaw_deg
    for name in ancestors(blueprint, item.name):
        parent = blueprint.object(name)
        angle = math.radians(parent.yaw_deg)
        x_cm, y_cm = (
            parent.x_cm + x_cm * math.cos(angle) - y_cm * math.sin(angle),
            parent.y_cm + x_cm * math.sin(angle) + y_cm * math.cos(angle),
        )
        yaw_deg += parent.yaw_deg
    return Footprint(item.name, x_cm, y_cm, yaw_deg, width, depth)


def footprints(blueprint: SceneBlueprint, *, sized: bool = True) -> dict[str, Footprint]:
    """Return every object's footprint by name."""
    return {item.name: footprint_of(blueprint, item, sized=sized) for item in blueprint.objects}


def overlap(first: Footprint, second: Footprint) -> bool:
    """Return whether two footprints share an area; touching edges do not count.

    Source: separating axis theorem for two convex quadrilaterals.
    """
    corners = first.corners(), second.corners()
    for axis in (*first.axes(), *second.axes()):
        shadow = [points @ axis for points in corners]
        if shadow[0].max() <= shadow[1].min() + 1e-9 or shadow[1].max() <= shadow[0].min() + 1e-9:
            return False
    return True
