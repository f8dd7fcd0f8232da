"""Plans of made-up tasks, for tests of what is done with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import inspect_robots
from inspect_robots.rollout import derive_seed
from inspect_robots.task import Task

from assay_core.plan import Plan, PlanEntry
from assay_core.testing import example_plan


def plan_of(entries: tuple[PlanEntry, ...], **change: Any) -> Plan:
    """Return a plan of these entries."""
    software = {"inspect-robots": inspect_robots.__version__}
    fields = {"entries": entries, "session_id": "s", "cameras": (), "software": software, **change}
    return replace(example_plan(1), **fields)


def entries_of(task: Task, *, seed: int = 0, version: str = "", hz: float = 10.0) -> tuple[PlanEntry, ...]:
    """Return the entries of every scene and epoch of a task, seeded as the framework does."""
    rows = [(scene, epoch) for scene in task.scenes for epoch in range(task.epoch_spec.count)]
    return tuple(
        PlanEntry(
            index=index,
            task=task.name,
            task_version=version,
            instance_id="",
            scene_id=scene.id,
            scene_seed=scene.init_seed,
            epoch=epoch,
            seed=derive_seed(seed, scene.init_seed, epoch),
            max_steps=task.resolve_envelope(hz).max_steps,
        )
        for index, (scene, epoch) in enumerate(rows)
    )
