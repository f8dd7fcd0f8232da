"""Writes the golden realizations and the JSON schemas anew: `python test/golden/regenerate.py`. Review the diff.

A changed realization means that everybody's scenes change: numpy draws differently, or an instance was edited. The
first has to be undone, the second needs a new task version.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from assay_benchmarks.layout_schema import RIG, SCENE_LAYOUT
from assay_benchmarks.schema import TASK_FILE
from assay_benchmarks.specs import SPECS, data_dir
from assay_core.instances import TaskInstance
from assay_core.seeds import scene_seed, trial_seed

GOLDEN = Path(__file__).with_name("realizations.json")
DIGEST_SEEDS = range(200)
SCHEMAS = {
    "task.schema.json": TASK_FILE,
    "scene-layout.schema.json": SCENE_LAYOUT,
    "rig.schema.json": RIG,
}
SCHEMA_DIR = data_dir().parent / "schemas"


def seeds_of(instance: TaskInstance) -> list[int]:
    """Small seeds, and the five trials of an evaluation with seed 0."""
    scene = scene_seed(instance.instance_id)
    return [*range(5), *(trial_seed(0, scene, epoch) for epoch in range(5))]


def digest(instance: TaskInstance) -> str:
    """Hash of many realizations, as they are."""
    total = hashlib.sha256()
    for seed in DIGEST_SEEDS:
        realization = instance.realize(seed)
        total.update(json.dumps([seed, realization.instruction, realization.values, realization.setup_lines]).encode())
    return total.hexdigest()


def golden() -> dict[str, Any]:
    """All golden data."""
    data: dict[str, Any] = {}
    for spec in SPECS:
        for instance in spec.instances:
            made = {seed: instance.realize(seed) for seed in seeds_of(instance)}
            data[instance.instance_id] = {
                "version": spec.version,
                "scene_seed": scene_seed(instance.instance_id),
                "setup": instance.setup_spec(),
                "sha256": digest(instance),
                "realizations": {
                    str(seed): {"instruction": each.instruction, "values": each.values} for seed, each in made.items()
                },
            }
    return data


def schema_text(name: str) -> str:
    """One JSON schema as its file holds it."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMAS[name].json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write every file."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in golden().items()]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    SCHEMA_DIR.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (SCHEMA_DIR / name).write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
