"""Plans of made-up tasks, for tests of what is done with them."""

from __future__ import annotations

from typing import Any

import inspect_robots
from inspect_robots.rollout import derive_seed
from inspect_robots.task import Task

from assay_core.plan import Plan, PlanEntry


def plan_of(entries: tuple[PlanEntry, ...], **change: Any) -> Plan:
    """Return a plan of these entries."""
    data: dict[str, Any] = {
        "schema_version": 1,
        "session_id": "s",
        "created": "2026-03-01T12:00:00Z",
        "seed": 0,
        "backend": "mock",
        "policies": ("scripted",),
        "operator": "auto",
        "graders": ("checker",),
        "operators": ("auto",),
        "cameras": (),
        "control_hz": 10.0,
        "mode": "lockstep",
        "max_repeats": 2,
        "open": False,
        "software": {"inspect-robots": inspect_robots.__version__},
    }
    return Plan(entries=entries, **{**data, **change})


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
