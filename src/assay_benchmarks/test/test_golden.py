"""Realizations must stay as they are, whatever numpy does: two laboratories that share a seed share a scene."""

from __future__ import annotations

import json

import pytest
import regenerate

from assay_benchmarks import SPECS
from assay_core.instances import TaskInstance
from assay_core.seeds import scene_seed

GOLDEN = json.loads(regenerate.GOLDEN.read_text(encoding="utf-8"))
INSTANCES = {instance.instance_id: (spec, instance) for spec in SPECS for instance in spec.instances}


def test_every_instance_is_pinned() -> None:
    assert list(GOLDEN) == list(INSTANCES)


@pytest.mark.parametrize("instance_id", GOLDEN)
def test_realizations_are_bit_identical_to_the_golden_ones(instance_id: str) -> None:
    spec, instance = INSTANCES[instance_id]
    pinned = GOLDEN[instance_id]
    assert (spec.version, scene_seed(instance_id), instance.setup_spec()) == (
        pinned["version"],
        pinned["scene_seed"],
        pinned["setup"],
    )
    for seed, expected in pinned["realizations"].items():
        made = instance.realize(int(seed))
        assert made.instruction == expected["instruction"], f"seed {seed} would tell the policy something else"
        assert made.values == expected["values"], f"seed {seed} stands for another scene than it did"
        assert [type(value) for value in made.values.values()] == [type(v) for v in expected["values"].values()]
    assert regenerate.digest(instance) == pinned["sha256"]


def test_the_digest_notices_a_single_changed_value() -> None:
    _, instance = INSTANCES["pour_pasta/full-box"]
    changed = TaskInstance(
        instance.instance_id, instance.goal, {**instance.setup, "fill_g": instance.setup["pot_x_cm"]}, "pour_into"
    )
    assert regenerate.digest(changed) != regenerate.digest(instance)


@pytest.mark.parametrize("name", regenerate.SCHEMAS)
def test_shipped_json_schemas_are_those_of_the_code(name: str) -> None:
    shipped = (regenerate.SCHEMA_DIR / name).read_text(encoding="utf-8")
    assert shipped == regenerate.schema_text(name), "run test/golden/regenerate.py"
