"""Scene layouts and rigs as JSON: the form in which a scene leaves this package.

An overlay on a camera picture, a web page and a bag need positions without Python. The file form is KitchenBench's
layout version 1 (sorted keys, two spaces, a newline at the end), so that its tools read what is exported here.

Source: KitchenBench 0.6.0's layout schema, version 1; see docs/sources.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay_benchmarks.blueprint import SceneBlueprint, SceneObject, blueprint_for
from assay_benchmarks.layout_schema import RIG, SCENE_LAYOUT, Rig, SceneLayout
from assay_benchmarks.shapes import Shape
from assay_benchmarks.specs import KITCHENBENCH_VERSION, instance_by_id
from assay_core.errors import DataError
from assay_core.seeds import scene_seed, trial_seed

__all__ = [
    "LAYOUT_VERSION",
    "YAM_BIMANUAL",
    "export_scene_layout",
    "layout_of",
    "load_rig",
    "load_scene_layout",
    "scene_layout_json",
]

LAYOUT_VERSION = 1

YAM_BIMANUAL = Path(__file__).parent / "data" / "rigs" / "yam-bimanual.json"
"""The rig that the instances were written for."""


def export_scene_layout(instance_id: str, *, eval_seed: int = 0, epoch: int = 0) -> dict[str, Any]:
    """Return the layout of one trial.

    Args:
        instance_id: E.g. ``pour_pasta/full-box``.
        eval_seed: Seed of the evaluation.
        epoch: Index of the realization, from 0.

    Raises:
        UnknownInstanceError: No such instance.
        ConfigError: A negative seed or epoch.
    """
    _, instance = instance_by_id(instance_id)
    seed = trial_seed(eval_seed, scene_seed(instance_id), epoch)
    return layout_of(blueprint_for(instance, seed), instance_id, seed=seed, epoch=epoch, eval_seed=eval_seed)


def layout_of(
    blueprint: SceneBlueprint, instance_id: str, *, seed: int, epoch: int, eval_seed: int | None
) -> dict[str, Any]:
    """Return the layout of a scene that is already built, JSON-native.

    ``eval_seed`` is None where only the trial's own seed is known.
    """
    return {
        "layout_version": LAYOUT_VERSION,
        "kitchenbench_version": KITCHENBENCH_VERSION,
        "sim_contract_version": blueprint.contract_version,
        "instance_id": instance_id,
        "eval_seed": eval_seed,
        "epoch": epoch,
        "seed": seed,
        "instruction": blueprint.instruction,
        "target_kind": blueprint.target_kind,
        "objects": [_object(item) for item in blueprint.objects],
        "conditions": dict(blueprint.conditions),
        "setup_values": dict(blueprint.values),
    }


def scene_layout_json(layout: Mapping[str, Any]) -> str:
    """Return the file form of a layout."""
    return json.dumps(layout, sort_keys=True, indent=2) + "\n"


def load_scene_layout(path: str | Path) -> SceneLayout:
    """Read a layout file.

    Raises:
        DataError: Not readable, not JSON, or not a layout; the message names the field.
    """
    return SceneLayout.from_dict(_load(path, SCENE_LAYOUT, "a scene layout"))


def load_rig(path: str | Path = YAM_BIMANUAL) -> Rig:
    """Read a rig file; without a path, the bimanual YAM rig.

    Raises:
        DataError: Not readable, not JSON, or not a rig; the message names the field.
    """
    return Rig.from_dict(_load(path, RIG, "a rig"))


def _object(item: SceneObject) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "name": item.name,
        "asset": item.asset,
        "role": item.role,
        "frame": item.parent or "bench",
        "xy_cm": [item.x_cm, item.y_cm],
        "yaw_deg": item.yaw_deg,
    }
    if item.size_cm is not None:
        layout["size_cm"] = item.size_cm
    if item.amount_g is not None:
        layout["amount_g"] = item.amount_g
    return layout


def _load(path: str | Path, shape: Shape, what: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(str(path), expected=what, got=str(error), fix="check the path") from error
    try:
        data: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}"
        raise DataError(where, expected=f"{what} as JSON", got=error.msg, fix="correct or export it again") from error
    problem = next(shape.problems(data, ()), None)
    if problem is not None:
        field = ".".join(map(str, problem.path)) or "top level"
        raise DataError(f"{path}: {field}", expected=problem.expected, got=problem.got, fix=problem.fix)
    return data
