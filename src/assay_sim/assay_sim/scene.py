"""From a blueprint to things that stand somewhere: sizes, heights and parents resolved, in metres.

A `SceneBlueprint` says where objects lie on the bench and which object carries which; it says nothing about height.
The rules for what rests on what are here, apart from how it looks.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from assay_benchmarks.assets import ASSETS
from assay_benchmarks.blueprint import SceneBlueprint, SceneObject
from assay_benchmarks.geometry import extent_cm, footprint_of
from assay_sim.assets_food import HEAP_RADIUS_M, PIECES

__all__ = ["Placed", "nominal_size", "place_objects"]

_OPENINGS: Mapping[str, tuple[float, float, float]] = {
    "measuring_cup": (0.36, 0.36, 0.70),
    "cup": (0.34, 0.34, 0.70),
    "bowl": (0.36, 0.36, 0.55),
    "pot": (0.38, 0.38, 0.35),
    "pasta_box": (0.44, 0.40, 0.97),
    "container": (0.42, 0.42, 0.55),
}
"""Where a filling shows: half width and half length by the vessel's width and length, level by its height."""

_FLOORS: Mapping[str, float] = {"tray": 0.009, "dish_rack": 0.013}
"""Height at which things stand in an asset [m]; others carry on their top."""


_SURFACE_M = 0.01
"""Height of the pieces that lie on top of a filling [m]."""

_LEVEL = 10
"""Rank between two objects that lie on each other; what a tray holds by design comes in between."""


@dataclass(frozen=True)
class Placed:
    """One object as the mock world shows it."""

    name: str
    asset: str
    x: float
    """Centre in the bench frame [m]."""
    y: float
    """Centre in the bench frame [m]."""
    z: float
    """Height of its underside above the bench [m]."""
    yaw: float
    """Counter-clockwise seen from above [rad]."""
    size: tuple[float, float, float]
    """Width (x), length (y) and height before the yaw [m]."""
    variant: int
    """Chooses among colours; equal for the copies of one object."""
    filling: bool = False
    """A substance inside its parent, of which only the surface shows."""
    rank: int = 0
    """Drawing order: things of a higher rank are in or on things of a lower one; 0 stands on the bench."""


def place_objects(blueprint: SceneBlueprint) -> tuple[Placed, ...]:
    """Return every object of a blueprint in the bench frame, parents before children.

    A child's position is relative to its parent and turns with it. A lid that overlaps its parent rests on it, a
    substance with a parent fills it, anything else stands in or on it. An object of the bench whose centre lies over
    a larger one (spoons sampled over a tray) lies on top of that.
    """
    placed: dict[str, Placed] = {}
    roots = [item for item in blueprint.objects if item.parent is None]
    for item in sorted(roots, key=lambda root: -_area(_size(root))):
        x, y, size = item.x_cm / 100.0, item.y_cm / 100.0, _size(item)
        under = [other for other in placed.values() if _area(other.size) > _area(size) and _covers(other, x, y)]
        z = max((other.z + other.size[2] for other in under), default=0.0)
        rank = max((other.rank for other in under), default=-_LEVEL) + _LEVEL
        yaw = math.radians(item.yaw_deg)
        placed[item.name] = Placed(item.name, item.asset, x, y, z, yaw, size, _variant(item), False, rank)
    for item in blueprint.objects:
        if item.parent is not None:
            placed[item.name] = _place_child(blueprint, item, placed[item.parent])
    return tuple(placed[item.name] for item in blueprint.objects)


def _place_child(blueprint: SceneBlueprint, item: SceneObject, parent: Placed) -> Placed:
    spot = footprint_of(blueprint, item)
    x, y, yaw = spot.x_cm / 100.0, spot.y_cm / 100.0, math.radians(spot.yaw_deg)
    size, filling = _size(item), False
    z, rank = parent.z + _FLOORS.get(parent.asset, parent.size[2]), parent.rank + 1
    if item.asset in PIECES and parent.asset in _OPENINGS:
        half_w, half_l, level = _OPENINGS[parent.asset]
        size = (parent.size[0] * half_w * 2, parent.size[1] * half_l * 2, _SURFACE_M)
        z, filling = parent.z + parent.size[2] * level, True
    elif item.asset == "lid" and not _overlap(item.x_cm / 100.0, item.y_cm / 100.0, parent.size, size):
        z, rank = 0.0, 0
    return Placed(item.name, item.asset, x, y, z, yaw, size, _variant(item), filling, rank)


def _area(size: tuple[float, float, float]) -> float:
    return size[0] * size[1]


def _covers(item: Placed, x: float, y: float) -> bool:
    """Return whether a point of the bench lies within an object's rectangle."""
    cos, sin = math.cos(item.yaw), math.sin(item.yaw)
    dx, dy = x - item.x, y - item.y
    return abs(cos * dx + sin * dy) <= item.size[0] / 2 and abs(cos * dy - sin * dx) <= item.size[1] / 2


def _overlap(dx: float, dy: float, first: tuple[float, float, float], second: tuple[float, float, float]) -> bool:
    reach_x, reach_y = (first[0] + second[0]) / 2, (first[1] + second[1]) / 2
    return abs(dx) < reach_x and abs(dy) < reach_y


def nominal_size(asset: str) -> tuple[float, float, float]:
    """Return width, length and height of an asset [m]; of pasta, whose nominal footprint is one piece, of a heap."""
    spec = ASSETS[asset]
    if asset in PIECES:
        return 2 * HEAP_RADIUS_M, 2 * HEAP_RADIUS_M, spec.height_cm / 100
    return spec.footprint_w_cm / 100, spec.footprint_h_cm / 100, spec.height_cm / 100


def _size(item: SceneObject) -> tuple[float, float, float]:
    width, length, height = (extent / 100.0 for extent in extent_cm(item))
    if item.asset in PIECES:
        return 2 * HEAP_RADIUS_M, 2 * HEAP_RADIUS_M, height
    return width, length, height


def _variant(item: SceneObject) -> int:
    stem = item.name.rstrip("0123456789").rstrip("_")
    if item.asset == "compartment":
        return {"compartment_spoon": 0, "compartment_fork": 1, "compartment_knife": 2}.get(item.name, 3)
    return zlib.crc32(stem.encode()) if item.asset != "distractor" else zlib.crc32(item.name.encode())
