"""Success criteria of KitchenBench: when a scene, seen through four questions, counts as done.

A simulator, or a rig that tracks poses, answers the questions of `WorldState`; the criteria are arithmetic on the
answers. Thresholds are part of the simulation contract and are listed in `kinds`. What the criteria are known not to
notice is told by `assay_benchmarks.diagnostics` and docs/kitchenbench.md, and left as it is: changing a threshold would
make results incomparable.

Source: KitchenBench 0.6.0's criteria, contract version 1; see docs/sources.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay_benchmarks.assets import ASSETS
from assay_benchmarks.blueprint import SceneBlueprint
from assay_benchmarks.kinds import (
    CONTACT_TOL_M,
    CONTAIN_FRACTION,
    FOLD_MAX_HEIGHT_M,
    FOLD_RATIO_PER_FOLD,
    GRASP_RADIUS_M,
    KINDS,
    OPEN_FRACTION,
    SCOOP_TOL_G,
    SEAL_TOL_M,
    TRANSFER_FRACTION,
)
from assay_core.errors import ConfigError, unknown_name

__all__ = [
    "MissingRoleError",
    "Point",
    "SuccessChecker",
    "UnknownTargetKindError",
    "Verdict",
    "WorldState",
    "make_success_checker",
]

Point: TypeAlias = npt.NDArray[np.float64]


class MissingRoleError(ConfigError, LookupError):
    """The scene lacks an object or a parameter that the criterion is about, or has several of one."""


class UnknownTargetKindError(ConfigError, ValueError):
    """There is no criterion of this kind."""


@runtime_checkable
class WorldState(Protocol):
    """What a world must be able to say about its objects.

    Names are those of the blueprint, and ``gripper_left`` and ``gripper_right``. An unknown name raises KeyError,
    which the criteria turn into a failing verdict.
    """

    def aabb(self, name: str) -> tuple[Point, Point]:
        """Return the lowest and highest corner, shape (3,) each, [m], in the frame ``bench`` with z up."""

    def contained_fraction(self, item: str, container: str) -> float:
        """Return which fraction of ``item``, 0 to 1, is inside ``container``."""

    def contained_mass_g(self, substance: str, container: str) -> float:
        """Return how much of ``substance`` is inside ``container`` [g]."""

    def opening_fraction(self, name: str) -> float:
        """Return how far ``name`` is open, 0 to 1."""


@dataclass(frozen=True)
class Verdict:
    """What a criterion says at one instant."""

    success: bool
    explanation: str


SuccessChecker: TypeAlias = Callable[[WorldState], Verdict]
"""Call it with the world after each step; some remember what they saw."""


def make_success_checker(blueprint: SceneBlueprint, world: WorldState) -> SuccessChecker:
    """Return the criterion of a scene.

    Build it after spawning, with the scene at rest: folding takes the cloth's area at this moment as its baseline.

    Args:
        blueprint: The scene.
        world: The world in which it was spawned.

    Raises:
        MissingRoleError: A LookupError: an object that the criterion is about is not in the scene.
        UnknownTargetKindError: A ValueError: there is no such kind.
    """
    if blueprint.target_kind not in _CHECKS:
        known = unknown_name("target kind", blueprint.target_kind, KINDS)
        raise UnknownTargetKindError(known.subject, expected=known.expected, got=known.got, fix=known.fix)
    check = _CHECKS[blueprint.target_kind](blueprint, world)

    def checker(state: WorldState) -> Verdict:
        try:
            return check(state)
        except KeyError as error:
            name = error.args[0] if error.args else "?"
            return Verdict(False, f"unknown object '{name}'")

    return checker


# --- geometry


def _inside_xy(centre: Point, low: Point, high: Point) -> bool:
    return bool(np.all(centre[:2] >= low[:2]) and np.all(centre[:2] <= high[:2]))


def _box(state: WorldState, name: str) -> tuple[Point, Point, Point]:
    """Return low corner, high corner and centre, shape (3,) each [m]."""
    corners = state.aabb(name)
    low, high = np.asarray(corners[0], dtype=np.float64), np.asarray(corners[1], dtype=np.float64)
    return low, high, (low + high) / 2


def _area(state: WorldState, name: str) -> float:
    low, high, _ = _box(state, name)
    return float((high[0] - low[0]) * (high[1] - low[1]))


def _distance(point: Point, low: Point, high: Point) -> float:
    """Return the distance from a point to a box, 0 inside [m]."""
    return float(np.linalg.norm(np.maximum(np.maximum(low - point, point - high), 0.0)))


# --- parameters


def _several(blueprint: SceneBlueprint, role: str) -> tuple[str, ...]:
    names = blueprint.roles.get(role, ())
    if not names:
        raise MissingRoleError(
            f"scene '{blueprint.scene_id}', target kind '{blueprint.target_kind}'",
            expected=f"an object with role '{role}'",
            got=f"roles {', '.join(blueprint.roles) or 'none'}",
            fix="give an object of the scene this role",
        )
    return names


def _one(blueprint: SceneBlueprint, role: str) -> str:
    names = _several(blueprint, role)
    if len(names) > 1:
        raise MissingRoleError(
            f"scene '{blueprint.scene_id}', target kind '{blueprint.target_kind}'",
            expected=f"exactly one object with role '{role}'",
            got=", ".join(names),
            fix="keep the role of the one that is judged",
        )
    return names[0]


def _parameter(blueprint: SceneBlueprint, name: str) -> float | int | str:
    if name not in blueprint.success_params:
        raise MissingRoleError(
            f"scene '{blueprint.scene_id}', target kind '{blueprint.target_kind}'",
            expected=f"success parameter '{name}'",
            got=f"{', '.join(blueprint.success_params) or 'none'}",
            fix="state it under 'success:'",
        )
    return blueprint.success_params[name]


# --- criteria


def _resting(upper: str, lower: str, tol_m: float) -> SuccessChecker:
    """Return a check that one object rests on another.

    Args:
        upper: Name of the object above; its centre must be over the other.
        lower: Name of the object below.
        tol_m: Largest distance between the underside of the one and the top of the other, either way [m].
    """

    def check(state: WorldState) -> Verdict:
        low, _, centre = _box(state, upper)
        lower_low, lower_high, _ = _box(state, lower)
        gap = float(low[2] - lower_high[2])
        over = _inside_xy(centre, lower_low, lower_high)
        where = "over" if over else "beside"
        explanation = f"'{upper}' {where} '{lower}', gap {gap * 100:.1f} cm (at most {tol_m * 100:.0f})"
        return Verdict(over and abs(gap) <= tol_m, explanation)

    return check


def _place_on(blueprint: SceneBlueprint, _: WorldState) -> SuccessChecker:
    return _resting(_one(blueprint, "item"), _one(blueprint, "surface"), CONTACT_TOL_M)


def _stack(blueprint: SceneBlueprint, _: WorldState) -> SuccessChecker:
    names = _several(blueprint, "stack")

    def check(state: WorldState) -> Verdict:
        boxes = sorted(((name, *_box(state, name)) for name in names), key=lambda box: float(box[1][2]))
        for (lower, low, high, _), (upper, upper_low, _, centre) in pairwise(boxes):
            if not _inside_xy(centre, low, high):
                return Verdict(False, f"'{upper}' is beside '{lower}'")
            if not low[2] < upper_low[2] <= high[2] + CONTACT_TOL_M:
                return Verdict(False, f"'{upper}' does not stand on or in '{lower}'")
        return Verdict(True, f"one stack of {len(names)}")

    return check


def _place_in(blueprint: SceneBlueprint, _: WorldState) -> SuccessChecker:
    item, rack = _one(blueprint, "item"), _one(blueprint, "rack")

    def check(state: WorldState) -> Verdict:
        fraction = state.contained_fraction(item, rack)
        explanation = f"{fraction:.0%} of '{item}' in '{rack}' (at least {CONTAIN_FRACTION:.0%})"
        return Verdict(fraction >= CONTAIN_FRACTION, explanation)

    return check


def _pour_into(blueprint: SceneBlueprint, _: WorldState) -> SuccessChecker:
    vessel = _one(blueprint, "vessel")
    substance, total = str(_parameter(blueprint, "substance")), float(_parameter(blueprint, "total_g"))

    def check(state: WorldState) -> Verdict:
        mass = state.contained_mass_g(substance, vessel)
        explanation = f"{mass:.1f} g of {total:.1f} g in '{vessel}' (at least {TRANSFER_FRACTION:.0%})"
        return Verdict(mass >= TRANSFER_FRACTION * total, explanation)

    return check


def _open(blueprint: SceneBlueprint, _: WorldState) -> SuccessChecker:
    container = _one(blueprint, "container")

    def check(state: WorldState) -> Verdict:
        opening = state.opening_fraction(container)
        return Verdict(opening >= OPEN_FRACTION, f"'{container}' {opening:.0%} open (at least {OPEN_FRACTION:.0%})")

    return check


def _fold(blueprint: SceneBlueprint, world: WorldState) -> SuccessChecker:
    cloth = _one(blueprint, "cloth")
    folds = float(blueprint.success_params.get("fold_count", 1))
    slack = float(blueprint.success_params.get("slack", 0.0))
    if blueprint.success_params.get("baseline") == "nominal":
        asset = ASSETS[blueprint.object(cloth).asset]
        baseline = asset.footprint_w_cm * asset.footprint_h_cm / 1e4
    else:
        try:
            baseline = _area(world, cloth)
        except KeyError as error:
            raise MissingRoleError(
                f"scene '{blueprint.scene_id}'",
                expected=f"object '{cloth}' in the world, whose area at this moment is the baseline",
                got="no such object",
                fix="build the checker after spawning",
            ) from error
    limit = FOLD_RATIO_PER_FOLD**folds * (1 + slack) * baseline

    def check(state: WorldState) -> Verdict:
        low, high, _ = _box(state, cloth)
        height, area = float(high[2] - low[2]), _area(state, cloth)
        explanation = (
            f"'{cloth}' {height * 100:.1f} cm high (at most {FOLD_MAX_HEIGHT_M * 100:.0f}), "
            f"{area * 1e4:.0f} cm² (at most {limit * 1e4:.0f})"
        )
        return Verdict(height <= FOLD_MAX_HEIGHT_M and area <= limit, explanation)

    return check


def _seal(blueprint: SceneBlueprint, _: WorldState) -> SuccessChecker:
    return _resting(_one(blueprint, "lid"), _one(blueprint, "container"), SEAL_TOL_M)


class _Handoff:
    """Sees a direct transfer: one gripper holds the item, then the other, without a set-down in between."""

    def __init__(self, blueprint: SceneBlueprint, _: WorldState) -> None:
        self._item = _one(blueprint, "item")
        self._receiver = str(blueprint.success_params.get("receiving_arm", "either"))
        self._holder: str | None = None
        self._done: str | None = None

    def __call__(self, state: WorldState) -> Verdict:
        low, high, _ = _box(state, self._item)
        distance = {side: _distance(_box(state, f"gripper_{side}")[2], low, high) for side in ("left", "right")}
        near = {side for side in distance if distance[side] <= GRASP_RADIUS_M}
        if not near:
            self._holder = None
            return Verdict(False, f"no gripper holds '{self._item}'")
        nearest = _nearer(distance)
        before = self._holder
        if nearest is None or nearest == before:
            return Verdict(False, f"'{self._item}' held by {before or 'neither gripper clearly'}")
        if before is None:
            self._holder = nearest
            return Verdict(False, f"'{self._item}' held by {nearest}")
        if before in near:
            return Verdict(False, f"{before} has not let go of '{self._item}'")
        self._holder = nearest
        right_side = self._receiver in ("either", nearest)
        explanation = f"'{self._item}' handed from {before} to {nearest} (receiver: {self._receiver})"
        return Verdict(right_side, explanation)


def _nearer(distance: Mapping[str, float]) -> str | None:
    if distance["left"] == distance["right"]:
        return None
    return "left" if distance["left"] < distance["right"] else "right"


def _sort(blueprint: SceneBlueprint, _: WorldState) -> SuccessChecker:
    pieces = {name: f"compartment_{blueprint.object(name).asset}" for name in _several(blueprint, "sortable")}
    _several(blueprint, "compartment")

    def check(state: WorldState) -> Verdict:
        for piece, compartment in pieces.items():
            fraction = state.contained_fraction(piece, compartment)
            if fraction < CONTAIN_FRACTION:
                return Verdict(
                    False, f"{fraction:.0%} of '{piece}' in '{compartment}' (at least {CONTAIN_FRACTION:.0%})"
                )
        return Verdict(True, f"all {len(pieces)} pieces in their compartments")

    return check


def _scoop_transfer(blueprint: SceneBlueprint, _: WorldState) -> SuccessChecker:
    container = _one(blueprint, "container")
    substance, target = str(_parameter(blueprint, "substance")), float(_parameter(blueprint, "target_g"))
    tolerance = float(blueprint.success_params.get("tol_g", SCOOP_TOL_G))

    def check(state: WorldState) -> Verdict:
        mass = state.contained_mass_g(substance, container)
        explanation = f"{mass:.1f} g in '{container}' (wanted {target:.1f} ± {tolerance:g} g)"
        return Verdict(abs(mass - target) <= tolerance, explanation)

    return check


_CHECKS: Mapping[str, Callable[[SceneBlueprint, WorldState], SuccessChecker]] = MappingProxyType(
    {
        "place_on": _place_on,
        "stack": _stack,
        "place_in": _place_in,
        "pour_into": _pour_into,
        "open": _open,
        "fold": _fold,
        "seal": _seal,
        "handoff": _Handoff,
        "sort": _sort,
        "scoop_transfer": _scoop_transfer,
    }
)
