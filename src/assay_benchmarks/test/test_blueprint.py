from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_robots import Scene

from assay_benchmarks import (
    ASSETS,
    SIM_CONTRACT_VERSION,
    SPEC_BY_KEY,
    SPECS,
    build_blueprint,
    build_scenes,
    realize_scene,
)
from assay_benchmarks.blueprint import blueprint_for, scene_id_of
from assay_benchmarks.kinds import KINDS, RESERVED_NAMES
from assay_benchmarks.specs import instance_by_id
from assay_core.distributions import Categorical, Constant
from assay_core.errors import ConfigError
from assay_core.instances import TaskInstance
from assay_core.scene_spec import SimObject, SimSpec, Var

instances = st.sampled_from([instance for spec in SPECS for instance in spec.instances])
seeds = st.integers(0, 2**32 - 1)


def _instance(*objects: SimObject, **setup: Categorical | Constant) -> TaskInstance:
    return TaskInstance("t/i", "do it", dict(setup), "open", sim=SimSpec(objects=objects))


@settings(max_examples=300, deadline=None)
@given(instance=instances, seed=seeds)
def test_every_blueprint_is_whole(instance: TaskInstance, seed: int) -> None:
    blueprint = blueprint_for(instance, seed)
    names = blueprint.object_names()
    assert len(set(names)) == len(names)
    assert not set(names) & set(RESERVED_NAMES)
    for index, item in enumerate(blueprint.objects):
        assert item.asset in ASSETS
        assert item.parent is None or item.parent in names[:index], "a child would be spawned before its parent"
    assert set(KINDS[blueprint.target_kind].roles) <= set(blueprint.roles), "the criterion would lack an object"
    assert {name for role in blueprint.roles.values() for name in role} <= set(names)
    assert dict(blueprint.values) == instance.realize(seed).values
    assert blueprint.instruction == instance.realize(seed).instruction
    assert (blueprint.contract_version, blueprint.scene_id) == (
        SIM_CONTRACT_VERSION,
        scene_id_of(instance.instance_id),
    )


@settings(max_examples=100, deadline=None)
@given(instance=instances, seed=seeds)
def test_copies_of_one_object_never_touch(instance: TaskInstance, seed: int) -> None:
    blueprint = blueprint_for(instance, seed)
    families: dict[str, list[float]] = {}
    for item in blueprint.objects:
        stem, _, number = item.name.rpartition("_")
        if number.isdigit():
            families.setdefault(stem, []).append(item.x_cm)
    for stem, places in families.items():
        widest = max(ASSETS[i.asset].footprint_w_cm for i in blueprint.objects if i.name.startswith(stem))
        for left, right in pairwise(places):
            assert right - left >= widest + 1 - 1e-9


def test_a_bound_count_numbers_its_copies_even_when_it_is_one() -> None:
    cup = SimObject("cup", "cup", count=Var("n"), x_cm=2.0, spread_cm=12.0)
    names = [blueprint_for(_instance(cup, n=Constant(n)), 0).object_names() for n in (1, 3)]
    assert names == [("cup_1",), ("cup_1", "cup_2", "cup_3")]
    assert blueprint_for(_instance(SimObject("cup", "cup")), 0).object_names() == ("cup",)
    assert blueprint_for(_instance(SimObject("cup", "cup", count=2)), 0).object_names() == ("cup_1", "cup_2")
    made = blueprint_for(_instance(cup, n=Constant(3)), 0)
    assert [item.x_cm for item in made.objects] == [2.0, 14.0, 26.0]


def test_copies_that_would_touch_are_moved_apart() -> None:
    cups = _instance(SimObject("cup", "cup", count=2, spread_cm=3.0))
    assert [item.x_cm for item in blueprint_for(cups, 0).objects] == [0.0, 10.0]
    mixed = _instance(SimObject("piece", "cutlery", count=4, split=("spoon", "fork"), spread_cm=3.0))
    made = blueprint_for(mixed, 0)
    assert [item.asset for item in made.objects] == ["spoon", "fork", "spoon", "fork"]
    assert [item.x_cm for item in made.objects] == [0.0, 5.0, 10.0, 15.0], "the widest of the dealt assets counts"


@pytest.mark.parametrize(
    ("order", "count", "sizes"),
    [
        ("largest_first", 3, [16.0, 14.08, 12.16]),
        ("shuffled", 3, [14.08, 12.16, 16.0]),
        ("shuffled", 4, [12.16, 10.24, 16.0, 14.08]),
        ("largest_first", 9, [16.0, 14.08, 12.16, 10.24, 8.32, 6.4, 4.48, 2.56, 1.92]),
    ],
)
def test_ordered_sizes_shrink_and_shuffled_ones_are_rotated_by_half(order: str, count: int, sizes: list[float]) -> None:
    bowls = SimObject("bowl", "bowl", count=count, size_order=Var("order"))
    made = blueprint_for(_instance(bowls, order=Constant(order)), 0)
    assert [item.size_cm for item in made.objects] == pytest.approx(sizes)


def test_references_resolve_to_static_and_sampled_values() -> None:
    pour = instance_by_id("pour_pasta/measuring-cup-to-bowl")[1]
    blueprint = blueprint_for(pour, 0)
    assert blueprint.object("pasta").asset == "dry_pasta"
    assert blueprint.object("pasta").parent == "source"
    assert blueprint.object("pasta").amount_g == blueprint.values["fill_g"] == blueprint.success_params["total_g"]
    assert dict(blueprint.conditions) == {"pour_height_cm": blueprint.values["pour_height_cm"]}
    assert "substance" not in blueprint.values, "static facts are not sampled"
    towel = SimObject("towel", Var("cloth"))
    assert blueprint_for(_instance(towel, cloth=Constant("dish towel")), 0).objects[0].asset == "dish_towel"


def test_a_scene_is_realized_by_its_instance_and_never_by_its_own_sentence() -> None:
    scene = build_scenes(SPEC_BY_KEY["pour_pasta"])[0]
    sentences = {realize_scene(scene, seed).instruction for seed in range(20)}
    assert sentences == {f"pour the dry pasta into the {vessel}" for vessel in ("bowl", "cup", "pot")}
    assert realize_scene(scene, None) == realize_scene(scene, 0)
    assert build_blueprint(scene, None) == build_blueprint(scene, 0)
    assert build_blueprint(scene, 3).scene_id == scene.id


def test_a_scene_whose_instance_is_gone_is_a_lookup_error() -> None:
    gone = Scene(id="gone", instruction="x", metadata={"instance_id": "pour_pasta/gone"})
    with pytest.raises(LookupError, match="unknown instance 'pour_pasta/gone'"):
        realize_scene(gone, 0)
    with pytest.raises(LookupError, match="scene 'bare': expected metadata 'instance_id', got none"):
        build_blueprint(Scene(id="bare", instruction="x"), 0)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (SimObject("a", "ufo"), "object 'a': expected an asset"),
        (SimObject("a", Var("b")), r"instance 't/i': expected a variable \(word\), got 'b'"),
        (SimObject("a", "cup", x_cm=Var("word")), "instance 't/i': expected a number, got 'cup'"),
    ],
)
def test_a_scene_made_in_python_is_checked_too(item: SimObject, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        blueprint_for(_instance(item, word=Constant("cup")), 0)
    with pytest.raises(ConfigError, match="expected a scene description, got none"):
        blueprint_for(TaskInstance("t/i", "do it", {}, "open"), 0)
