"""Equality with the published package, where it is installed; it is no dependency."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import assay_benchmarks as ours
from assay_benchmarks.diagnostics import SpawnedWorld
from assay_benchmarks.layout import scene_layout_json

published: Any = pytest.importorskip("kitchenbench", reason="the published package is not installed")
pytestmark = pytest.mark.skipif(
    published.__version__ != ours.KITCHENBENCH_VERSION,
    reason=f"another release than {ours.KITCHENBENCH_VERSION} is installed",
)


@pytest.mark.parametrize("key", ours.SPEC_BY_KEY)
def test_tasks_and_scenes_are_equal(key: str) -> None:
    mine, theirs = ours.make_task(ours.SPEC_BY_KEY[key]), published.make_task(published.SPEC_BY_KEY[key])
    assert list(mine.scenes) == list(theirs.scenes)
    assert (mine.max_steps, mine.epoch_spec, mine.metadata) == (theirs.max_steps, theirs.epoch_spec, theirs.metadata)


@pytest.mark.parametrize("key", ours.SPEC_BY_KEY)
def test_blueprints_layouts_and_verdicts_are_equal(key: str) -> None:
    for scene in ours.build_scenes(ours.SPEC_BY_KEY[key]):
        for seed in np.random.default_rng(0).integers(2**32, size=40).tolist():
            mine, theirs = ours.build_blueprint(scene, seed), published.build_blueprint(scene, seed)
            assert [dataclasses.asdict(item) for item in mine.objects] == [
                dataclasses.asdict(item) for item in theirs.objects
            ]
            for field in ("scene_id", "instruction", "target_kind", "contract_version"):
                assert getattr(mine, field) == getattr(theirs, field)
            for field in ("roles", "success_params", "conditions", "values"):
                assert dict(getattr(mine, field)) == dict(getattr(theirs, field))
            world = SpawnedWorld(mine)
            expected = published.make_success_checker(theirs, world)(world).success
            assert ours.make_success_checker(mine, world)(world).success == expected
        instance_id = scene.metadata["instance_id"]
        layout = published.export_scene_layout(instance_id, eval_seed=4, epoch=2)
        assert ours.export_scene_layout(instance_id, eval_seed=4, epoch=2) == layout
        assert scene_layout_json(layout).endswith("}\n")
