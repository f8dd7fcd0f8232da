"""Ties a plan to the instances that it was made from, so that no session mixes two distributions under one rate.

A plan names instances by id, and their content lies in files that a person may edit between an interruption and the
way on, without raising the task's version. So a plan keeps a hash of each scene's content, and whoever takes a plan up
compares it with what the files say now.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from assay_benchmarks.catalog import instance_of, realize_trial
from assay_core.errors import ConfigError, unknown_name
from assay_core.plan import Plan, scene_key

if TYPE_CHECKING:
    from inspect_robots.scene import Scene
    from inspect_robots.task import Task

    from assay_core.realization import TrialRealization

__all__ = ["check_scenes", "contents_of"]

_FIX = "resume with the task files that the plan was made from (git log shows their changes), or start a new session"


def contents_of(selected: Iterable[tuple[Task, Iterable[Scene]]], control_hz: float) -> dict[str, str]:
    """Return a SHA-256, hex, of the content of each scene, by `scene_key`.

    Of an instance of KitchenBench it covers every distribution, fact, object, condition, the goal and the criterion,
    but not the experts' ratings, which may come later; of any scene what a realization of it says. It also covers
    seed 0's realization, and with it the code that makes one.

    Args:
        selected: Tasks, each with some of its scenes.
        control_hz: Control rate of the rig [Hz], on which horizons depend.
    """
    return {
        scene_key(task.name, scene.id): _content(scene, _example(task, scene, control_hz))
        for task, scenes in selected
        for scene in scenes
    }


def check_scenes(plan: Plan, resolve: Callable[[str], Task]) -> None:
    """Check that every scene of a plan exists and says what it said when the plan was made.

    A plan without `Plan.contents` was made before there were any: it is checked for ids and horizons alone.

    Args:
        plan: The plan to take up.
        resolve: Returns a task by name, e.g. `assay_benchmarks.catalog.resolve_task`.

    Raises:
        ConfigError: A scene or an instance is gone, or is not what was planned; the message names it.
    """
    for entry in {(entry.task, entry.scene_id): entry for entry in plan.entries}.values():
        task = resolve(entry.task)
        name = entry.instance_id or entry.scene_id
        scene = next((scene for scene in task.scenes if scene.id == entry.scene_id), None)
        if scene is None:
            known = [str(scene.metadata.get("instance_id") or scene.id) for scene in task.scenes]
            error = unknown_name("instance" if entry.instance_id else "scene", name, known)
            raise ConfigError(f"task '{entry.task}': {error.subject}", expected=error.expected, got=error.got, fix=_FIX)
        example = _example(task, scene, plan.control_hz)
        for field in ("instance_id", "max_steps"):
            planned, actual = getattr(entry, field), getattr(example, field)
            if planned != actual:
                expected = f"{field} {planned!r} of the plan"
                raise ConfigError(f"instance '{name}'", expected=expected, got=repr(actual), fix=_FIX)
        planned_hash = plan.contents.get(scene_key(entry.task, entry.scene_id))
        if planned_hash is not None and planned_hash != (found := _content(scene, example)):
            raise ConfigError(
                f"instance '{name}'",
                expected=f"the content that the plan was made from (SHA-256 {planned_hash[:12]}...)",
                got=f"another one ({found[:12]}...)",
                fix=_FIX,
            )


def _example(task: Task, scene: Scene, control_hz: float) -> TrialRealization:
    return realize_trial(task, scene, epoch=0, seed=0, control_hz=control_hz)


def _content(scene: Scene, example: TrialRealization) -> str:
    instance = instance_of(scene)
    content = None if instance is None else _plain(instance, leave_out=("validation",))
    text = json.dumps([example.content_hash(), content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any, leave_out: tuple[str, ...] = ()) -> Any:
    """Return dataclasses as JSON-native content, with their types' names; the order of a mapping does not matter."""
    if is_dataclass(value):
        named = {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name not in leave_out}
        return [type(value).__name__, named]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
