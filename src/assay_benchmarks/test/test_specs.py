from __future__ import annotations

import subprocess
import sys

import pytest

from assay_benchmarks import K_INSTANCES, SPEC_BY_KEY, SPECS
from assay_benchmarks.specs import TASK_KEYS, UnknownInstanceError, data_dir, instance_by_id, load_task
from assay_benchmarks.task_files import check_file
from assay_core.errors import ConfigError

HORIZONS = {
    "place_cutlery": 60,
    "stack": 80,
    "place_in_rack": 80,
    "pour_pasta": 100,
    "open_container": 120,
    "fold_cloth": 120,
    "seal_container": 120,
    "handoff": 80,
    "sort_cutlery": 200,
    "scoop_pasta": 120,
}


def test_ten_tasks_of_five_instances_in_the_order_of_the_benchmark() -> None:
    assert [spec.key for spec in SPECS] == list(TASK_KEYS) == list(SPEC_BY_KEY)
    assert len(SPECS) == len(SPEC_BY_KEY) == 10
    assert {spec.key: spec.max_steps for spec in SPECS} == HORIZONS
    assert [len(spec.instances) for spec in SPECS] == [K_INSTANCES] * 10
    assert {spec.key: spec.version for spec in SPECS if spec.version != "2"} == {"scoop_pasta": "3"}
    assert SPECS[3] is SPEC_BY_KEY["pour_pasta"]
    assert [spec.key for spec in SPECS[:2]] == ["place_cutlery", "stack"]


def test_no_instance_pretends_to_be_validated() -> None:
    for spec in SPECS:
        for instance in spec.instances:
            assert instance.validation.source == "opus-draft"
            assert not instance.validation.validated, "ratings must come from experts, not from this repository"


@pytest.mark.parametrize("key", TASK_KEYS)
def test_shipped_files_have_no_problem(key: str) -> None:
    assert check_file(data_dir() / f"{key}.yaml") == []


def test_unknown_names_are_answered_with_near_matches() -> None:
    with pytest.raises(UnknownInstanceError, match="did you mean pour_pasta/full-box") as caught:
        instance_by_id("pour_pasta/ful-box")
    assert isinstance(caught.value, LookupError)
    assert isinstance(caught.value, ConfigError)
    with pytest.raises(ConfigError, match=r"unknown KitchenBench task 'pour_pest'.*did you mean pour_pasta"):
        load_task("pour_pest")
    with pytest.raises(KeyError):
        SPEC_BY_KEY["kitchenbench/stack"]
    with pytest.raises(IndexError):
        SPECS[10]


def test_one_realization_reads_one_file_and_imports_no_framework() -> None:
    program = """
import sys
from assay_benchmarks import SPEC_BY_KEY
SPEC_BY_KEY["stack"].instances[0].realize(0)
from assay_benchmarks.specs import load_task
assert load_task.cache_info().currsize == 1, load_task.cache_info()
heavy = {"inspect_robots", "rclpy", "rich", "scipy", "cv2"} & set(sys.modules)
assert not heavy, f"imported {heavy}"
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
