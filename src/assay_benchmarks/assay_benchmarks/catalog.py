"""Tasks by name: KitchenBench's and any other that is registered with Inspect Robots.

Everything above this package (session runner, benchmark node, worlds, reports) asks here and nowhere else, so that a
task of a stranger's package is served like one of ours as far as it can be: without instances it has no layout, and
its scene is taken as it is.

KitchenBench's tasks are always those of this package. Where the published ``kitchenbench`` package is installed too,
both register the same names and the framework keeps whichever it met first, silently; `colliding_entry_points` says
so by name, and this module puts ours first within its process.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from assay_benchmarks.specs import (
    LITE_KEYS,
    SPECS,
    TASK_KEYS,
    UnknownInstanceError,
    instance_by_id,
    load_task,
)
from assay_core.errors import ConfigError, DataError, unknown_name
from assay_core.instances import TaskInstance
from assay_core.plug_ins import registered_names
from assay_core.realization import TrialRealization
from assay_core.seeds import trial_seed

if TYPE_CHECKING:
    from inspect_robots.scene import Scene
    from inspect_robots.task import Task

    from assay_benchmarks.blueprint import SceneBlueprint

__all__ = [
    "UnknownInstanceError",
    "blueprint_of",
    "colliding_entry_points",
    "expand",
    "find_instance",
    "full_name",
    "instance_ids",
    "instance_of",
    "realize_trial",
    "register_ours",
    "resolve_task",
    "seed_of_trial",
    "suites",
    "task_names",
    "task_version",
    "warm_up",
]

_PREFIX = "kitchenbench/"
_OWN_NAMES = tuple(_PREFIX + key for key in TASK_KEYS)
_GROUPS = ("tasks", "policies", "embodiments")
_OWN_DISTRIBUTION = "assay-benchmarks"


def suites() -> dict[str, tuple[str, ...]]:
    """Return the names of all suites with their tasks."""
    return {"kitchenbench": _OWN_NAMES, "kitchenbench-lite": tuple(_PREFIX + key for key in LITE_KEYS)}


def task_names() -> tuple[str, ...]:
    """Return all tasks that are registered with Inspect Robots, KitchenBench's first."""
    register_ours()
    return (*_OWN_NAMES, *sorted(set(registered_names("task")) - set(_OWN_NAMES)))


def full_name(name: str) -> str:
    """Return what a short name means: ``stack`` is ``kitchenbench/stack``; any other name comes back as it is.

    Raises:
        ConfigError: Several tasks are called that way.
    """
    if name in suites() or name in task_names():
        return name
    meant = [task for task in task_names() if "/" in task and task.rpartition("/")[2] == name]
    if len(meant) > 1:
        fix = "give its whole name"
        raise ConfigError(f"task '{name}'", expected="the name of one task", got=f"one of {', '.join(meant)}", fix=fix)
    return meant[0] if meant else name


def expand(names: Sequence[str]) -> tuple[str, ...]:
    """Return the tasks that a list of tasks and suites names, each once, in the order of first mention.

    Args:
        names: Tasks, whole or short (see `full_name`), and suites.

    Raises:
        ConfigError: No name given, or one that is neither; the message offers near matches.
    """
    known_suites = suites()
    tasks: dict[str, None] = {}
    for given in names:
        name = full_name(given)
        if name in known_suites:
            tasks.update(dict.fromkeys(known_suites[name]))
        elif name in _OWN_NAMES or name in task_names():
            tasks[name] = None
        else:
            raise unknown_name("task or suite", name, [*known_suites, *task_names()])
    if not tasks:
        raise ConfigError("tasks", expected="a task or a suite", got="none", fix="name one, e.g. kitchenbench")
    return tuple(tasks)


def resolve_task(name: str) -> Task:
    """Return the task registered under ``name``.

    Raises:
        ConfigError: No such task (with near matches), or its factory failed.
    """
    from inspect_robots.registry import resolve
    from inspect_robots.task import Task

    register_ours()
    if name not in task_names():
        raise unknown_name("task", name, task_names())
    try:
        task = resolve("task", name)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        got = f"{type(error).__name__}: {error}"
        fix = "see the documentation of the package that registers it"
        raise ConfigError(f"task '{name}'", expected="a task without arguments", got=got, fix=fix) from error
    if not isinstance(task, Task):
        got, fix = type(task).__name__, "return an inspect_robots Task from its factory"
        raise ConfigError(f"task '{name}'", expected="an Inspect Robots Task", got=got, fix=fix)
    return task


def task_version(task: Task) -> str:
    """Return the version that a task states in its metadata; empty when it states none."""
    return str(task.metadata.get("version", ""))


def instance_ids() -> tuple[str, ...]:
    """Return the ids of all instances of KitchenBench, in the order of the benchmark."""
    return tuple(instance.instance_id for spec in SPECS for instance in spec.instances)


def find_instance(instance_id: str) -> TaskInstance:
    """Return one instance of KitchenBench.

    Raises:
        UnknownInstanceError: A ConfigError: no such instance; the message offers near matches.
    """
    return instance_by_id(instance_id)[1]


def instance_of(scene: Scene) -> TaskInstance | None:
    """Return the instance that a scene of KitchenBench stands for; None for any other scene.

    Raises:
        UnknownInstanceError: It is gone.
    """
    instance_id = str(scene.metadata.get("instance_id") or "")
    return find_instance(instance_id) if _is_ours(instance_id) else None


def seed_of_trial(scene: Scene, eval_seed: int | None, epoch: int) -> int:
    """Return the trial seed, 0..2^32-1; the same that Inspect Robots derives.

    Raises:
        ConfigError: ``eval_seed`` or ``epoch`` is negative.
    """
    return trial_seed(eval_seed, scene.init_seed, epoch)


def realize_trial(
    task: Task, scene: Scene, *, epoch: int, seed: int, control_hz: float, eval_seed: int | None = None
) -> TrialRealization:
    """Return what one trial is about.

    For a scene of KitchenBench the instruction is that of the realization, never the scene's own. Any other scene is
    taken as it is.

    Args:
        task: As `resolve_task` returns it.
        scene: One of its scenes.
        epoch: Index of the realization, from 0.
        seed: Trial seed, from `seed_of_trial`.
        control_hz: Control rate of the rig [Hz].
        eval_seed: Seed of the evaluation, kept in the layout; None when unknown.

    Raises:
        ConfigError: The scene names an instance that is gone, or ``control_hz`` is not positive.
    """
    if not (math.isfinite(control_hz) and control_hz > 0):
        raise ConfigError("control rate", expected="more than 0 Hz", got=str(control_hz), fix="correct the rate")
    if task.max_steps is not None:
        max_steps = task.max_steps
    else:
        max_steps = max(1, math.ceil(float(task.max_seconds or 0.0) * control_hz))
    common: dict[str, Any] = {
        "task": task.name,
        "task_version": task_version(task),
        "scene_id": scene.id,
        "epoch": epoch,
        "seed": seed,
        "max_steps": max_steps,
        "horizon_s": max_steps / control_hz,
    }
    instance_id = str(scene.metadata.get("instance_id") or "")
    if not _is_ours(instance_id):
        return TrialRealization(
            **common,
            instance_id=instance_id,
            instruction=scene.instruction,
            target_kind=scene.target.kind if scene.target else "",
            checklist=tuple(scene.setup.splitlines()) if scene.setup else (),
            values={},
            layout=None,
            rubric=_rubric(scene),
        )
    from assay_benchmarks.blueprint import blueprint_for
    from assay_benchmarks.layout import layout_of

    instance = find_instance(instance_id)
    realization = instance.realize(seed)
    blueprint = blueprint_for(instance, seed, scene_id=scene.id)
    return TrialRealization(
        **common,
        instance_id=instance_id,
        instruction=realization.instruction,
        target_kind=instance.target_kind,
        checklist=realization.setup_lines,
        values=realization.values,
        layout=layout_of(blueprint, instance_id, seed=seed, epoch=epoch, eval_seed=eval_seed),
        rubric=_rubric(scene),
    )


def blueprint_of(realization: TrialRealization) -> SceneBlueprint | None:
    """Return the concrete scene of a trial, which a world renders; None for a task without layouts.

    Raises:
        DataError: The realization was made by another version of the task, so that its seed stands for another
            scene here.
        ConfigError: Its instance is gone.
    """
    if realization.layout is None or not _is_ours(realization.instance_id):
        return None
    from assay_benchmarks.blueprint import blueprint_for

    spec, instance = instance_by_id(realization.instance_id)
    blueprint = blueprint_for(instance, realization.seed, scene_id=realization.scene_id)
    if realization.task_version != spec.version or dict(realization.values) != dict(blueprint.values):
        raise DataError(
            f"realization of '{realization.instance_id}', seed {realization.seed}",
            expected=f"version {spec.version} with values {dict(blueprint.values)}",
            got=f"version {realization.task_version} with values {dict(realization.values)}",
            fix="use the release of Assay that made it",
        )
    return blueprint


def warm_up() -> None:
    """Read every task file and import what blueprints need; for a node's configuration, not for its first trial."""
    import assay_benchmarks.blueprint
    import assay_benchmarks.layout  # noqa: F401

    for key in TASK_KEYS:
        load_task(key)


def colliding_entry_points() -> tuple[str, ...]:
    """Return one line for each name of ours that another installed package registers with Inspect Robots too.

    The framework keeps the first that it finds and says nothing, so a user who types the name may get either.
    """
    lines = []
    for kind in _GROUPS:
        group = f"inspect_robots.{kind}"
        for point in metadata.entry_points(group=group):
            if point.name in _own_names(kind) and not point.value.startswith("assay_benchmarks."):
                owner = point.dist.name if point.dist is not None else point.value.partition(":")[0]
                lines.append(f"{group} '{point.name}': '{owner}' ({point.value}) and assay_benchmarks both register it")
    return tuple(dict.fromkeys(lines))


@cache
def register_ours() -> None:
    """Register KitchenBench's tasks and mock under their names in this process, in front of any namesakes.

    It makes them known where the package runs from its sources, without installed entry points.
    """
    from inspect_robots import registry

    from assay_benchmarks import mock_kitchen
    from assay_benchmarks.tasks import TASK_FACTORIES

    for key, factory in TASK_FACTORIES.items():
        registry.register("task", _PREFIX + key)(factory)
    registry.register("embodiment", "kitchen")(mock_kitchen.KitchenEmbodiment)
    registry.register("policy", "kitchen_scripted")(mock_kitchen.ScriptedKitchenPolicy)
    registry.register("policy", "kitchen_random")(mock_kitchen.RandomKitchenPolicy)
    registry.register("policy", "kitchen_noop")(mock_kitchen.NoopKitchenPolicy)


def _own_names(kind: str) -> Iterable[str]:
    return {
        "tasks": _OWN_NAMES,
        "policies": ("kitchen_scripted", "kitchen_random", "kitchen_noop"),
        "embodiments": ("kitchen",),
    }[kind]


def _is_ours(instance_id: str) -> bool:
    return instance_id.partition("/")[0] in TASK_KEYS and "/" in instance_id


def _rubric(scene: Scene) -> tuple[str, ...]:
    """Return the texts of a scene's stages, from a list in ``rubric_lines`` or a text in ``rubric``."""
    lines = scene.metadata.get("rubric_lines")
    if isinstance(lines, list | tuple):
        return tuple(str(line) for line in lines)
    text = scene.metadata.get("rubric")
    return tuple(line for line in text.splitlines() if line.strip()) if isinstance(text, str) else ()
