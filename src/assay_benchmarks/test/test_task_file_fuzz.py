"""Whatever stands in a task file, it is either refused with a reason or it makes scenes."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay_benchmarks.blueprint import blueprint_for
from assay_benchmarks.diagnostics import SpawnedWorld, already_solved, spawn_overlaps
from assay_benchmarks.specs import TASK_KEYS, data_dir
from assay_benchmarks.task_files import check_file, load_task_file
from assay_core.errors import ConfigError
from assay_core.located_yaml import load_located

DOCUMENTS = {key: load_located(data_dir() / f"{key}.yaml").data for key in TASK_KEYS}

words = st.sampled_from(
    ["", "cup", "spoon", "$count", "$vessel", "$", "{}", "{x", "stack", "item", "bench", "3", "dish towel", "é"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)


def _places(node: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = [path] if path else []
    for key, value in pairs:
        found += _places(value, (*path, key))
    return found


PLACES = {key: _places(document) for key, document in DOCUMENTS.items()}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_one_changed_value_is_refused_or_makes_scenes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(TASK_KEYS))
    document = copy.deepcopy(DOCUMENTS[key])
    place = data.draw(st.sampled_from(PLACES[key]))
    parent = document
    for part in place[:-1]:
        parent = parent[part]
    if data.draw(st.booleans()):
        parent[place[-1]] = data.draw(values)
    else:
        del parent[place[-1]]
    path = tmp_path_factory.getbasetemp() / f"{key}.yaml"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    _refused_or_usable(path)


def _refused_or_usable(path: Path) -> None:
    problems = check_file(path)
    if problems:
        for problem in problems:
            assert problem.startswith(f"{path}:"), problem
            assert ". fix: " in problem, problem
        with pytest.raises(ConfigError):
            load_task_file(path)
        return
    for instance in load_task_file(path).instances:
        for seed in range(3):
            blueprint = blueprint_for(instance, seed)
            spawn_overlaps(blueprint)
            already_solved(blueprint)
            assert SpawnedWorld(blueprint).aabb(blueprint.objects[0].name)[0].shape == (3,)
