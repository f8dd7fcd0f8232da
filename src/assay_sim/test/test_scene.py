"""Objects end up where the blueprint says, on what carries them."""

from __future__ import annotations

import math

import pytest

from assay_benchmarks import catalog
from assay_benchmarks.assets import ASSETS
from assay_benchmarks.blueprint import blueprint_for
from assay_benchmarks.geometry import footprints
from assay_benchmarks.specs import instance_by_id
from assay_sim.models import known_assets
from assay_sim.scene import place_objects


def blueprint(instance_id, seed=1):
    return blueprint_for(instance_by_id(instance_id)[1], seed)


def placed(instance_id, seed=1):
    return {item.name: item for item in place_objects(blueprint(instance_id, seed))}


def test_every_asset_of_the_benchmark_can_be_drawn():
    assert known_assets() >= set(ASSETS)


@pytest.mark.parametrize("instance_id", catalog.instance_ids())
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_places_agree_with_the_benchmarks_own_geometry(instance_id, seed):
    expected = footprints(blueprint(instance_id, seed))
    for item in placed(instance_id, seed).values():
        spot = expected[item.name]
        assert (item.x * 100, item.y * 100) == pytest.approx((spot.x_cm, spot.y_cm))
        assert math.degrees(item.yaw) == pytest.approx(spot.yaw_deg)
        assert item.z >= 0.0


def test_sampled_sizes_replace_nominal_ones():
    scene = blueprint("stack/bowls", 3)
    given = {item.name: item.size_cm for item in scene.objects}
    for item in place_objects(scene):
        assert item.size[0] * 100 == pytest.approx(given[item.name])


def test_compartments_stand_in_their_tray_and_turn_with_it():
    items = placed("sort_cutlery/tray-offset", 4)
    tray = items["tray"]
    for name in ("compartment_spoon", "compartment_fork", "compartment_knife"):
        assert items[name].yaw == pytest.approx(tray.yaw)
        assert tray.z < items[name].z < tray.z + tray.size[2]
        assert items[name].rank > tray.rank


def test_pasta_fills_its_vessel():
    items = placed("pour_pasta/measuring-cup-to-bowl")
    pasta, cup = items["pasta"], items["source"]
    assert pasta.filling
    assert (pasta.x, pasta.y) == (cup.x, cup.y)
    assert 0 < pasta.z < cup.size[2]
    assert pasta.size[0] < cup.size[0]


def test_a_lid_that_overlaps_its_container_rests_on_it():
    items = placed("seal_container/twist-lid-jar")
    assert items["lid"].z == pytest.approx(items["jar"].size[2])


def test_cutlery_sampled_over_the_tray_lies_on_it():
    items = placed("sort_cutlery/overlapping", 2)
    tray = items["tray"]
    above = [i for n, i in items.items() if n.startswith("cutlery") and abs(i.x - tray.x) < tray.size[0] / 2]
    assert above
    assert all(i.z == pytest.approx(tray.size[2]) and i.rank > items["compartment_fork"].rank for i in above)
