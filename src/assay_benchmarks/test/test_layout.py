from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_benchmarks import LAYOUT_VERSION, export_scene_layout, load_rig, load_scene_layout
from assay_benchmarks.catalog import instance_ids
from assay_benchmarks.layout import YAM_BIMANUAL, layout_of, scene_layout_json
from assay_core.errors import ConfigError, DataError


def test_the_file_form_is_sorted_indented_and_ends_with_a_newline() -> None:
    text = scene_layout_json(export_scene_layout("pour_pasta/measuring-cup-to-bowl", eval_seed=0, epoch=1))
    assert text == json.dumps(json.loads(text), sort_keys=True, indent=2) + "\n"
    layout = json.loads(text)
    assert layout["layout_version"] == LAYOUT_VERSION == 1
    assert layout["seed"] == 1836401898
    assert layout["objects"][2] == {
        "name": "pasta",
        "asset": "dry_pasta",
        "role": "substance",
        "frame": "source",
        "xy_cm": [0.0, 0.0],
        "yaw_deg": 0.0,
        "amount_g": 113.5708976844869,
    }


@settings(max_examples=60, deadline=None)
@given(instance_id=st.sampled_from(instance_ids()), eval_seed=st.integers(0, 99), epoch=st.integers(0, 99))
def test_what_is_exported_is_read_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, instance_id: str, eval_seed: int, epoch: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "layout.json"
    layout = export_scene_layout(instance_id, eval_seed=eval_seed, epoch=epoch)
    path.write_text(scene_layout_json(layout), encoding="utf-8")
    assert _without_none(asdict(load_scene_layout(path))) == _without_none(layout)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list | tuple) else value


def test_the_yam_rig_is_the_default() -> None:
    rig = load_rig()
    assert rig.rig_id == "yam-bimanual"
    assert {side: arm.base_xy_cm for side, arm in rig.arms.items()} == {"left": (-30.0, -20.0), "right": (30.0, -20.0)}
    assert {arm.reach_cm for arm in rig.arms.values()} == {65.0}
    assert rig.bench_cm == (120.0, 60.0)
    assert load_rig(YAM_BIMANUAL) == rig


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("seed"), "seed: expected 'seed' here, got nothing. fix: add 'seed:'"),
        (lambda d: d.update(sed=1), "sed: expected one of layout_version, "),
        (lambda d: d.update(layout_version=2), "layout_version: expected 1, got 2. fix: correct it"),
        (lambda d: d["objects"][0].update(xy_cm=["a", 1]), "objects.0.xy_cm.0: expected a number, got 'a'"),
        (lambda d: d["objects"][0].update(xy_cm=[1]), "objects.0.xy_cm: expected a list of 2, got a list [1]"),
        (lambda d: d["objects"][0].update(size_cm=0), "objects.0.size_cm: expected a number above 0, got 0"),
    ],
)
def test_a_wrong_layout_is_refused_by_field(tmp_path: Path, change: Any, message: str) -> None:
    layout = export_scene_layout("stack/cups")
    change(layout)
    path = tmp_path / "layout.json"
    path.write_text(json.dumps(layout), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load_scene_layout(path)
    assert f"{path}: {message}" in str(caught.value)


def test_files_that_are_no_json_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "rig.json"
    path.write_text('{\n  "arms": \n}', encoding="utf-8")
    with pytest.raises(DataError, match=r"rig\.json:3: expected a rig as JSON, got Expecting value"):
        load_rig(path)
    with pytest.raises(DataError, match=r"none\.json: expected a rig, got .*No such file"):
        load_rig(tmp_path / "none.json")
    rig = json.loads(YAM_BIMANUAL.read_text(encoding="utf-8"))
    rig["arms"]["left"]["faces"] = "up"
    path.write_text(json.dumps(rig), encoding="utf-8")
    with pytest.raises(DataError, match=r"rig\.json: arms\.left\.faces: expected one of \+x, -x, \+y, -y, got 'up'"):
        load_rig(path)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(LookupError, match="unknown instance 'stack/cup'"):
        export_scene_layout("stack/cup")
    with pytest.raises(ConfigError, match="epoch: expected an index of 0 or more"):
        export_scene_layout("stack/cups", epoch=-1)
    assert layout_of.__doc__ is not None
