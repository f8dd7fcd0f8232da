"""The ten tasks of KitchenBench, read from their YAML files when they are first asked for.

``SPECS`` and ``SPEC_BY_KEY`` look like a tuple and a dict but read one file per task that is looked at: a process that
evaluates one task does not pay for ten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import overload

from assay_core.errors import ConfigError, unknown_name
from assay_core.instances import TaskInstance

__all__ = [
    "KITCHENBENCH_VERSION",
    "K_INSTANCES",
    "K_REALIZATIONS",
    "LITE_KEYS",
    "SPECS",
    "SPEC_BY_KEY",
    "TASK_KEYS",
    "TaskSpec",
    "UnknownInstanceError",
    "data_dir",
    "instance_by_id",
    "load_task",
]

KITCHENBENCH_VERSION = "0.6.0"
"""Release of KitchenBench whose instances, seeds and criteria these are."""

K_INSTANCES = 5
"""Instances per task."""

K_REALIZATIONS = 5
"""Realizations per instance: the epochs of a task."""

TASK_KEYS = (
    "place_cutlery",
    "stack",
    "place_in_rack",
    "pour_pasta",
    "open_container",
    "fold_cloth",
    "seal_container",
    "handoff",
    "sort_cutlery",
    "scoop_pasta",
)
"""Tasks in the order of the benchmark."""

LITE_KEYS = ("place_cutlery", "stack", "place_in_rack", "open_container", "scoop_pasta")
"""KitchenBench-Lite."""


class UnknownInstanceError(ConfigError, LookupError):
    """An instance id that no task file holds."""


@dataclass(frozen=True)
class TaskSpec:
    """One task: what it is called, how long it may take, and its instances."""

    key: str
    """E.g. ``pour_pasta``; registered as ``kitchenbench/pour_pasta``."""
    title: str
    category: str
    bimanual: bool
    max_steps: int
    """Horizon [control steps]."""
    instances: tuple[TaskInstance, ...]
    version: str = "1"
    """Raised whenever a change makes results incomparable."""
    description: str = ""


def data_dir() -> Path:
    """Return the folder of the task files."""
    return Path(__file__).parent / "data" / "kitchenbench"


@cache
def load_task(key: str) -> TaskSpec:
    """Return one task of KitchenBench.

    Raises:
        ConfigError: There is no such task, or its file is wrong (the message names file and line).
    """
    if key not in TASK_KEYS:
        raise unknown_name("KitchenBench task", key, TASK_KEYS)
    from assay_benchmarks.task_files import load_task_file

    # What is installed may be a link to what an author edits, which is the file that a message must name.
    return load_task_file((data_dir() / f"{key}.yaml").resolve())


def instance_by_id(instance_id: str) -> tuple[TaskSpec, TaskInstance]:
    """Return an instance of KitchenBench and the task it belongs to.

    Raises:
        UnknownInstanceError: No such instance; the message offers near matches, or the instances of the task that is
            named.
    """
    key = instance_id.removeprefix("kitchenbench/").partition("/")[0]
    if key in TASK_KEYS:
        spec = load_task(key)
        for instance in spec.instances:
            if instance.instance_id == instance_id:
                return spec, instance
    specs = (load_task(key),) if key in TASK_KEYS else SPECS
    error = unknown_name("instance", instance_id, [i.instance_id for spec in specs for i in spec.instances])
    task = instance_id in (key, f"kitchenbench/{key}") and key in TASK_KEYS
    got, fix = ("a task", "name one of its instances") if task else (error.got, error.fix)
    raise UnknownInstanceError(error.subject, expected=error.expected, got=got, fix=fix)


class _SpecSequence(Sequence[TaskSpec]):
    """All task specs in order, each loaded when it is reached."""

    @overload
    def __getitem__(self, index: int) -> TaskSpec: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TaskSpec, ...]: ...
    def __getitem__(self, index: int | slice) -> TaskSpec | tuple[TaskSpec, ...]:
        if isinstance(index, slice):
            return tuple(load_task(key) for key in TASK_KEYS[index])
        return load_task(TASK_KEYS[index])

    def __len__(self) -> int:
        return len(TASK_KEYS)


class _SpecMapping(Mapping[str, TaskSpec]):
    """Task specs by key, each loaded when it is looked up."""

    def __getitem__(self, key: str) -> TaskSpec:
        if key not in TASK_KEYS:
            raise KeyError(key)
        return load_task(key)

    def __iter__(self) -> Iterator[str]:
        return iter(TASK_KEYS)

    def __len__(self) -> int:
        return len(TASK_KEYS)


SPECS: Sequence[TaskSpec] = _SpecSequence()
"""The ten tasks in the order of the benchmark."""

SPEC_BY_KEY: Mapping[str, TaskSpec] = _SpecMapping()
"""The ten tasks by key."""
