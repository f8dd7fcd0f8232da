"""Known weaknesses of the benchmark, reproduced as figures: what is reported must be what is there."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_benchmarks import SPECS
from assay_benchmarks.blueprint import SceneBlueprint, SceneObject, blueprint_for
from assay_benchmarks.diagnostics import already_solved, beyond_reach, outside_bench, spawn_overlaps
from assay_benchmarks.geometry import Footprint, extent_cm, footprint_of, overlap
from assay_benchmarks.layout import load_rig
from assay_benchmarks.sketch import top_view
from assay_benchmarks.specs import instance_by_id
from assay_core.seeds import scene_seed, trial_seed


def _trials(instance_id: str, epochs: int) -> list[SceneBlueprint]:
    instance = instance_by_id(instance_id)[1]
    return [blueprint_for(instance, trial_seed(0, scene_seed(instance_id), epoch)) for epoch in range(epochs)]


def _scene(*objects: SceneObject) -> SceneBlueprint:
    return SceneBlueprint(1, "scene", "do it", "open", objects, {}, {}, {}, {})


def _object(name: str, asset: str, x_cm: float, y_cm: float = 0.0, yaw_deg: float = 0.0, **more: object) -> SceneObject:
    fields: dict[str, object] = {"role": None, "parent": None, "size_cm": None, "amount_g": None, **more}
    return SceneObject(name=name, asset=asset, x_cm=x_cm, y_cm=y_cm, yaw_deg=yaw_deg, **fields)  # type: ignore[arg-type]


def test_57_of_the_250_default_trials_start_with_overlapping_objects() -> None:
    found = Counter(
        spec.key
        for spec in SPECS
        for instance in spec.instances
        for trial in _trials(instance.instance_id, 5)
        if spawn_overlaps(trial)
    )
    assert found == {"sort_cutlery": 25, "place_in_rack": 23, "pour_pasta": 7, "place_cutlery": 2}
    assert found.total() == 57


def test_a_row_of_plates_is_wider_than_the_bench_and_than_the_arms_reach() -> None:
    rig = load_rig()
    trials = _trials("stack/plates", 200)
    assert sum(bool(outside_bench(trial, rig)) for trial in trials) == 153  # 76.5 %
    assert sum(bool(beyond_reach(trial, rig)) for trial in trials) == 37  # 18.5 %


@pytest.mark.parametrize(
    ("instance_id", "solved"),
    [
        ("seal_container/food-container", 197),
        ("seal_container/snap-on-pot", 200),
        ("seal_container/misaligned-lid", 200),
        ("seal_container/tight-fit", 200),
        ("seal_container/twist-lid-jar", 0),
    ],
)
def test_a_lid_that_starts_on_its_container_counts_as_sealed(instance_id: str, solved: int) -> None:
    assert sum(already_solved(trial).success for trial in _trials(instance_id, 200)) == solved


def test_an_overlap_is_named_and_a_parent_is_none() -> None:
    scene = _scene(
        _object("cup_a", "cup", 0.0),
        _object("cup_b", "cup", 8.9),
        _object("cup_c", "cup", 18.0),
        _object("spoon", "spoon", 0.0, parent="cup_a"),
    )
    assert spawn_overlaps(scene) == (("cup_a", "cup_b"),), "what stands in a cup does not collide with it"
    assert spawn_overlaps(_scene(_object("a", "cup", 0.0), _object("b", "cup", 9.0))) == (), "touching is no overlap"
    wide = _scene(_object("a", "bowl", 0.0), _object("b", "bowl", 17.0, size_cm=20.0))
    assert (spawn_overlaps(wide), spawn_overlaps(wide, sized=True)) == ((), (("a", "b"),))


@given(st.floats(-30, 30), st.floats(-30, 30), st.floats(0, 360), st.floats(1, 20), st.floats(1, 20), st.floats(0, 360))
def test_overlap_is_symmetric_and_agrees_with_sampled_points(
    x: float, y: float, yaw: float, width: float, depth: float, other_yaw: float
) -> None:
    first, second = Footprint("a", 0.0, 0.0, other_yaw, 12.0, 6.0), Footprint("b", x, y, yaw, width, depth)
    assert overlap(first, second) == overlap(second, first)
    steps = np.linspace(-0.49, 0.49, 25)
    grid = np.stack(np.meshgrid(steps * width, steps * depth), axis=-1).reshape(-1, 2) @ second.axes() + [x, y]
    local = np.abs(grid @ first.axes().T)
    if bool((local < np.array([6.0, 3.0]) - 1e-6).all(axis=1).any()):
        assert overlap(first, second), "a point lies in both"


def test_children_turn_with_their_parents() -> None:
    scene = _scene(
        _object("tray", "tray", 10.0, 5.0, yaw_deg=90.0), _object("slot", "compartment", 10.0, 0.0, parent="tray")
    )
    place = footprint_of(scene, scene.object("slot"))
    assert (place.x_cm, place.y_cm, place.yaw_deg) == pytest.approx((10.0, 15.0, 90.0))
    assert float(np.ptp(place.corners()[:, 0])) == pytest.approx(36.0)
    assert math.isclose(float(np.ptp(place.corners()[:, 1])), 9.0)


@pytest.mark.parametrize(
    ("asset", "role", "size_cm", "extent"),
    [
        ("bowl", "stack", 12.0, (12.0, 12.0, 6.0)),
        ("dish_towel", "cloth", 50.0, (50.0, 50.0, 1.0)),
        ("utensil", "item", 40.0, (4.0, 40.0, 3.0)),
        ("penne", "substance", 7.0, (1.0, 1.0, 7.0)),
        ("bowl", "stack", None, (16.0, 16.0, 8.0)),
    ],
)
def test_a_size_means_what_the_instances_use_it_for(
    asset: str, role: str, size_cm: float | None, extent: tuple[float, float, float]
) -> None:
    assert extent_cm(_object("a", asset, 0.0, role=role, size_cm=size_cm)) == pytest.approx(extent)


def test_the_sketch_shows_every_object_where_it_is() -> None:
    lines = top_view(
        _scene(_object("left", "plate", -40.0), _object("far", "cup", 30.0, 20.0), _object("off", "cup", 70.0))
    )
    picture, legend = lines[:15], lines[15:]
    assert {len(line) for line in picture} == {60}
    assert legend == (
        "a left at (-40.0, +0.0) cm",
        "b far at (+30.0, +20.0) cm",
        "c off at (+70.0, +0.0) cm, off the picture",
    )
    assert picture[7][8:12] == "aaaa"
    assert "b" in picture[2][43:48]
    assert not any("c" in line for line in picture)
