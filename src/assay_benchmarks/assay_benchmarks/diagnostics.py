"""What is known to be wrong with a scene or its criterion, as functions: reported, never silently corrected.

KitchenBench places objects without looking for collisions, says nothing about height, and its criteria test neither
release nor rest. Correcting any of it here would make results incomparable with everyone else's. Whoever runs trials
can ask instead, before they believe a number.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from assay_benchmarks.blueprint import SceneBlueprint
from assay_benchmarks.geometry import ancestors, extent_cm, footprint_of, footprints, overlap
from assay_benchmarks.layout import load_rig
from assay_benchmarks.layout_schema import Rig
from assay_benchmarks.success import Point, Verdict, make_success_checker

__all__ = ["SpawnedWorld", "already_solved", "beyond_reach", "outside_bench", "spawn_overlaps"]


def spawn_overlaps(blueprint: SceneBlueprint, *, sized: bool = False) -> tuple[tuple[str, str], ...]:
    """Return the pairs of objects whose footprints share an area, so that they cannot both stand on the table.

    An object and what it is placed in or on are not a pair.

    Args:
        blueprint: The scene.
        sized: Whether ``size_cm`` counts; by default footprints are nominal.
    """
    places = footprints(blueprint, sized=sized)
    above = {name: ancestors(blueprint, name) for name in places}
    return tuple(
        (a, b)
        for a, b in combinations(places, 2)
        if a not in above[b] and b not in above[a] and overlap(places[a], places[b])
    )


def outside_bench(blueprint: SceneBlueprint, rig: Rig | None = None) -> tuple[str, ...]:
    """Return the objects whose footprint reaches past the left or right edge of the bench.

    The rig states the bench's size but not how far it lies from the arms, so that its front and back edges are not
    judged.

    Args:
        blueprint: The scene.
        rig: Where the arms stand; by default the bimanual YAM rig.
    """
    bench_cm = (rig or load_rig()).bench_cm
    if bench_cm is None:
        return ()
    half = bench_cm[0] / 2
    return tuple(
        name
        for name, place in footprints(blueprint, sized=False).items()
        if float(np.abs(place.corners()[:, 0]).max()) > half
    )


def beyond_reach(blueprint: SceneBlueprint, rig: Rig | None = None) -> tuple[str, ...]:
    """Return the objects whose centre neither arm reaches; arguments as `outside_bench`."""
    arms = (rig or load_rig()).arms
    reaches = [(np.array(arm.base_xy_cm), arm.reach_cm) for arm in arms.values()]
    if any(reach is None for _, reach in reaches):
        return ()
    return tuple(
        name
        for name, place in footprints(blueprint).items()
        if all(float(np.hypot(*(base - (place.x_cm, place.y_cm)))) > (reach or 0.0) for base, reach in reaches)
    )


class SpawnedWorld:
    """The world at the instant of spawning: everything at its place, nothing moved yet.

    Objects stand on the table, children on top of their parents. A container holds what is placed in it: substances
    in their parents. Grippers are parked far above.
    """

    def __init__(self, blueprint: SceneBlueprint) -> None:
        self._blueprint = blueprint

    def aabb(self, name: str) -> tuple[Point, Point]:
        """Return the corners of an object's box [m]."""
        if name in ("gripper_left", "gripper_right"):
            centre = np.array([-0.3 if name == "gripper_left" else 0.3, -0.2, 1.0])
            return centre - 0.02, centre + 0.02
        item = self._blueprint.object(name)
        corners = footprint_of(self._blueprint, item).corners() / 100
        floor = sum(extent_cm(self._blueprint.object(parent))[2] for parent in ancestors(self._blueprint, name)) / 100
        top = floor + extent_cm(item)[2] / 100
        return np.array([*corners.min(axis=0), floor]), np.array([*corners.max(axis=0), top])

    def contained_fraction(self, item: str, container: str) -> float:
        """Return 1 for what is placed in ``container``, else 0."""
        self._blueprint.object(container)
        return float(container in ancestors(self._blueprint, item))

    def contained_mass_g(self, substance: str, container: str) -> float:
        """Return the substance's whole mass in its parent [g], else 0."""
        inside = self.contained_fraction(substance, container)
        return inside * (self._blueprint.object(substance).amount_g or 0.0)

    def opening_fraction(self, name: str) -> float:
        """Return 0: everything is closed at the start."""
        self._blueprint.object(name)
        return 0.0


def already_solved(blueprint: SceneBlueprint) -> Verdict:
    """Return what the criterion says before anything has moved; success there means that a trial proves nothing."""
    world = SpawnedWorld(blueprint)
    return make_success_checker(blueprint, world)(world)
