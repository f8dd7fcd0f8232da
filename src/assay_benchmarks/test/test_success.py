"""Criteria at their thresholds: just inside succeeds, just outside does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from assay_benchmarks import SPECS, SceneBlueprint, SceneObject, WorldState, make_success_checker
from assay_benchmarks.blueprint import blueprint_for
from assay_benchmarks.diagnostics import SpawnedWorld
from assay_benchmarks.kinds import KINDS
from assay_benchmarks.success import Point

E = 1e-6


class FakeWorld:
    """Boxes, contents and openings as a test sets them; [m], [g]."""

    def __init__(self, **boxes: tuple[tuple[float, float, float], tuple[float, float, float]]) -> None:
        self.boxes = {name: (np.array(low), np.array(high)) for name, (low, high) in boxes.items()}
        self.inside: dict[tuple[str, str], float] = {}
        self.opening: dict[str, float] = {}

    def put(self, name: str, low: tuple[float, float, float], size: tuple[float, float, float]) -> None:
        self.boxes[name] = (np.array(low), np.array(low) + np.array(size))

    def aabb(self, name: str) -> tuple[Point, Point]:
        return self.boxes[name]

    def contained_fraction(self, item: str, container: str) -> float:
        return self.inside[item, container]

    def contained_mass_g(self, substance: str, container: str) -> float:
        return self.inside[substance, container]

    def opening_fraction(self, name: str) -> float:
        return self.opening[name]


def _blueprint(kind: str, roles: Mapping[str, str | tuple[str, ...]], **params: Any) -> SceneBlueprint:
    names = {role: (value,) if isinstance(value, str) else value for role, value in roles.items()}
    assets = {"cloth": "cloth", "spoon_1": "spoon", "fork_1": "fork"}
    objects = [
        SceneObject(name, assets.get(name, "cup"), role, 0.0, 0.0, 0.0, None, None, None)
        for role, each in names.items()
        for name in each
    ]
    return SceneBlueprint(1, "scene", "do it", kind, tuple(objects), names, params, {}, {})


def _judge(blueprint: SceneBlueprint, world: FakeWorld) -> bool:
    return make_success_checker(blueprint, world)(world).success


PLACE_ON = _blueprint("place_on", {"item": "fork", "surface": "plate"})


@pytest.mark.parametrize(
    ("x", "z", "done"),
    [
        (0.0, 0.03, True),
        (0.1 - E, 0.03, True),
        (0.1 + E, 0.03, False),
        (-0.1 - E, 0.03, False),
        (0.0, 0.05 - E, True),
        (0.0, 0.05 + E, False),
        (0.0, 0.01 + E, True),
        (0.0, 0.01 - E, False),
    ],
)
def test_place_on_wants_the_centre_over_the_surface_and_a_gap_of_two_centimetres(
    x: float, z: float, done: bool
) -> None:
    world = FakeWorld(plate=((-0.1, -0.1, 0.0), (0.1, 0.1, 0.03)))
    world.put("fork", (x - 0.05, -0.01, z), (0.1, 0.02, 0.02))
    assert _judge(PLACE_ON, world) is done


STACK = _blueprint("stack", {"stack": ("cup_1", "cup_2", "cup_3")})


@pytest.mark.parametrize(
    ("heights", "shift", "done"),
    [
        ((0.0, 0.1, 0.2), 0.0, True),
        ((0.2, 0.0, 0.1), 0.0, True),
        ((0.0, 0.01, 0.02), 0.0, True),
        ((0.0, 0.12 - E, 0.2), 0.0, True),
        ((0.0, 0.12 + E, 0.2), 0.0, False),
        ((0.0, 0.0, 0.1), 0.0, False),
        ((0.0, 0.1, 0.2), 0.05 - E, True),
        ((0.0, 0.1, 0.2), 0.05 + E, False),
    ],
)
def test_stack_wants_each_piece_over_and_on_or_in_the_one_below(
    heights: tuple[float, float, float], shift: float, done: bool
) -> None:
    world = FakeWorld()
    for name, z in zip(("cup_1", "cup_2", "cup_3"), heights, strict=True):
        world.put(name, (shift if z == max(heights) else 0.0, 0.0, z), (0.1, 0.1, 0.1))
    assert _judge(STACK, world) is done


@pytest.mark.parametrize(("fraction", "done"), [(0.8, True), (0.8 - E, False), (1.0, True), (0.0, False)])
def test_containment_starts_at_eighty_per_cent(fraction: float, done: bool) -> None:
    world = FakeWorld()
    world.inside = {("plate", "rack"): fraction, ("pasta", "pot"): fraction * 200}
    assert _judge(_blueprint("place_in", {"item": "plate", "rack": "rack"}), world) is done
    pour = _blueprint("pour_into", {"vessel": "pot"}, substance="pasta", total_g=200.0)
    assert _judge(pour, world) is done
    world.inside = {("spoon_1", "compartment_spoon"): 1.0, ("fork_1", "compartment_fork"): fraction}
    compartments = ("compartment_spoon", "compartment_fork")
    assert _judge(_blueprint("sort", {"sortable": ("spoon_1", "fork_1"), "compartment": compartments}), world) is done


@pytest.mark.parametrize(("opening", "done"), [(0.7, True), (0.7 - E, False)])
def test_open_starts_at_seventy_per_cent(opening: float, done: bool) -> None:
    world = FakeWorld()
    world.opening["jar"] = opening
    assert _judge(_blueprint("open", {"container": "jar"}), world) is done


@pytest.mark.parametrize(
    ("params", "side", "height", "done"),
    [
        ({}, 0.6, 0.04, True),
        ({}, 0.6 + E, 0.04, False),
        ({}, 0.6, 0.04 + E, False),
        ({"fold_count": 2}, 0.36, 0.01, True),
        ({"fold_count": 2}, 0.36 + E, 0.01, False),
        ({"fold_count": 2, "slack": 0.5}, 0.54, 0.01, True),
        ({"slack": 0.5}, 0.9 + E, 0.01, False),
        ({"baseline": "nominal"}, 0.6 * 0.45 * 0.45, 0.01, True),
        ({"baseline": "nominal"}, 0.6 * 0.45 * 0.45 + E, 0.01, False),
    ],
)
def test_fold_compares_the_area_with_that_at_construction_or_nominal(
    params: dict[str, Any], side: float, height: float, done: bool
) -> None:
    world = FakeWorld()
    world.put("cloth", (0.0, 0.0, 0.0), (1.0, 1.0, 0.01))
    checker = make_success_checker(_blueprint("fold", {"cloth": "cloth"}, **params), world)
    assert not checker(world).success
    world.put("cloth", (0.0, 0.0, 0.0), (side - 1e-12, 1.0, height - 1e-12))
    assert checker(world).success is done


@pytest.mark.parametrize(
    ("x", "z", "done"), [(0.0, 0.1, True), (0.0, 0.14 - E, True), (0.0, 0.14 + E, False), (0.08, 0.1, False)]
)
def test_seal_allows_a_gap_of_four_centimetres(x: float, z: float, done: bool) -> None:
    world = FakeWorld(jar=((-0.05, -0.05, 0.0), (0.05, 0.05, 0.1)))
    world.put("lid", (x - 0.05, -0.05, z), (0.1, 0.1, 0.03))
    assert _judge(_blueprint("seal", {"lid": "lid", "container": "jar"}), world) is done


@pytest.mark.parametrize(
    ("params", "mass", "done"),
    [
        ({}, 115.0, True),
        ({}, 115.0 + E, False),
        ({}, 85.0, True),
        ({}, 85.0 - E, False),
        ({"tol_g": 5}, 105.0, True),
        ({"tol_g": 5}, 106.0, False),
    ],
)
def test_scooping_hits_the_target_mass_within_a_tolerance(params: dict[str, Any], mass: float, done: bool) -> None:
    world = FakeWorld()
    world.inside = {("pile", "container"): mass}
    scoop = _blueprint("scoop_transfer", {"container": "container"}, substance="pile", target_g=100.0, **params)
    assert _judge(scoop, world) is done


class TestHandoff:
    """The item spans 0..0.1 m along x; grippers are points on its axis."""

    FAR = 1.0

    def _run(self, *steps: tuple[float, float], receiver: str = "either") -> list[bool]:
        """Judge after each step of (left, right) distances from the item [m]."""
        world = FakeWorld(item=((0.0, 0.0, 0.0), (0.1, 0.1, 0.1)))
        for side in ("left", "right"):
            world.put(f"gripper_{side}", (0.0, 0.0, 9.0), (0.0, 0.0, 0.0))
        checker = make_success_checker(_blueprint("handoff", {"item": "item"}, receiving_arm=receiver), world)
        verdicts = []
        for left, right in steps:
            world.put("gripper_left", (-left, 0.05, 0.05), (0.0, 0.0, 0.0))
            world.put("gripper_right", (0.1 + right, 0.05, 0.05), (0.0, 0.0, 0.0))
            verdicts.append(checker(world).success)
        return verdicts

    def test_a_direct_transfer_succeeds(self) -> None:
        assert self._run((0.0, self.FAR), (0.05, 0.01), (0.12 + E, 0.0)) == [False, False, True]

    def test_the_giver_has_to_let_go(self) -> None:
        assert self._run((0.0, self.FAR), (0.12, 0.0)) == [False, False]

    def test_a_grasp_counts_up_to_twelve_centimetres(self) -> None:
        assert self._run((0.12, self.FAR), (self.FAR, 0.12)) == [False, True]
        assert self._run((0.12 + E, self.FAR), (self.FAR, 0.0)) == [False, False]

    def test_setting_the_item_down_in_between_does_not_count(self) -> None:
        assert self._run((0.0, self.FAR), (self.FAR, self.FAR), (self.FAR, 0.0)) == [False, False, False]

    def test_the_named_arm_must_receive(self) -> None:
        steps = ((0.0, self.FAR), (self.FAR, 0.0))
        assert self._run(*steps, receiver="right") == [False, True]
        assert self._run(*steps, receiver="left") == [False, False]

    def test_it_may_go_back_and_forth_until_the_named_arm_has_it(self) -> None:
        steps = ((0.0, self.FAR), (self.FAR, 0.0), (0.0, self.FAR))
        assert self._run(*steps, receiver="left") == [False, False, True]

    def test_a_tie_keeps_the_holder(self) -> None:
        assert self._run((0.0, self.FAR), (0.0, 0.0), (self.FAR, 0.0)) == [False, False, True]
        assert self._run((0.0, 0.0), (self.FAR, 0.0)) == [False, False], "nobody held it first"


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_role_is_a_lookup_error_before_the_trial(kind: str) -> None:
    with pytest.raises(LookupError, match=f"target kind '{kind}': expected an object with role"):
        make_success_checker(_blueprint(kind, {}), FakeWorld())


def test_two_objects_for_one_role_are_refused() -> None:
    two = _blueprint("open", {"container": ("jar_1", "jar_2")})
    with pytest.raises(LookupError, match="expected exactly one object with role 'container', got jar_1, jar_2"):
        make_success_checker(two, FakeWorld())


def test_a_missing_parameter_is_a_lookup_error() -> None:
    with pytest.raises(LookupError, match="expected success parameter 'substance', got none"):
        make_success_checker(_blueprint("pour_into", {"vessel": "pot"}), FakeWorld())


def test_an_unknown_kind_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="unknown target kind 'juggle'"):
        make_success_checker(_blueprint("juggle", {}), FakeWorld())


def test_an_object_that_the_world_lacks_fails_the_trial_softly() -> None:
    world = FakeWorld(plate=((0.0, 0.0, 0.0), (0.1, 0.1, 0.1)))
    verdict = make_success_checker(PLACE_ON, world)(world)
    assert (verdict.success, verdict.explanation) == (False, "unknown object 'fork'")


def test_folding_needs_the_cloth_when_the_checker_is_built() -> None:
    with pytest.raises(LookupError, match="expected object 'cloth' in the world, whose area at this moment"):
        make_success_checker(_blueprint("fold", {"cloth": "cloth"}), FakeWorld())


@pytest.mark.parametrize("instance", [i for spec in SPECS for i in spec.instances], ids=lambda i: i.instance_id)
def test_every_instance_has_a_criterion_that_a_world_can_answer(instance: Any) -> None:
    for seed in range(5):
        blueprint = blueprint_for(instance, seed)
        world = SpawnedWorld(blueprint)
        assert isinstance(world, WorldState)
        verdict = make_success_checker(blueprint, world)(world)
        assert not verdict.explanation.startswith("unknown object"), verdict.explanation
