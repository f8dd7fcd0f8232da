"""What ``realize``, ``show`` and ``list tasks`` say, as data and as something to look at.

The data is JSON-native and stable, for scripts; the views are `rich` renderables, for people. Neither prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay_benchmarks.blueprint import SceneBlueprint, blueprint_for, scene_id_of
from assay_benchmarks.kinds import KINDS
from assay_benchmarks.specs import K_REALIZATIONS, SPECS, data_dir, instance_by_id
from assay_core.distributions import Scalar
from assay_core.instances import K_EXPERTS, MIN_RATING, MODEL_DRAFT
from assay_core.readable import UNITS, readable, readable_line
from assay_core.scene_spec import SimObject, Var
from assay_core.seeds import scene_seed, trial_seed

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "realize_data",
    "realize_view",
    "show_data",
    "show_view",
    "task_data",
    "task_view",
    "tasks_data",
    "tasks_view",
]


def realize_data(instance_id: str, seed: int) -> dict[str, Any]:
    """Return one realization: ``instance_id, seed, instruction, values, setup_lines``.

    Raises:
        ConfigError: No such instance (with near matches), or a negative seed.
    """
    realization = instance_by_id(instance_id)[1].realize(seed)
    return {
        "instance_id": instance_id,
        "seed": seed,
        "instruction": realization.instruction,
        "values": dict(realization.values),
        "setup_lines": list(realization.setup_lines),
    }


def realize_view(data: Mapping[str, Any]) -> RenderableType:
    """Return a realization as a checklist for a person, rounded and with units."""
    from rich.console import Group
    from rich.text import Text

    title = Text.assemble((data["instance_id"], "bold"), f", seed {data['seed']}")
    goal = Text.assemble("Goal: ", (data["instruction"], "bold"))
    return Group(title, goal, "Arrange:", *(Text(f"  [ ] {readable_line(*item)}") for item in data["values"].items()))


def show_data(instance_id: str) -> dict[str, Any]:
    """Return everything that there is to know about an instance.

    ``known_issues`` counts, over the five trials of an evaluation with seed 0, what `diagnostics` finds.

    Raises:
        ConfigError: No such instance; the message offers near matches.
    """
    spec, instance = instance_by_id(instance_id)
    seed = scene_seed(instance_id)
    trials = [blueprint_for(instance, trial_seed(0, seed, epoch)) for epoch in range(K_REALIZATIONS)]
    sim = instance.sim
    validation = instance.validation
    return {
        "instance_id": instance_id,
        "task": f"kitchenbench/{spec.key}",
        "version": spec.version,
        "title": spec.title,
        "file": str((data_dir() / f"{spec.key}.yaml").resolve()),
        "scene_id": scene_id_of(instance_id),
        "scene_seed": seed,
        "max_steps": spec.max_steps,
        "goal": instance.goal,
        "language_vars": list(instance.language_vars),
        "setup": instance.setup_spec(),
        "static": dict(instance.static),
        "objects": [_object(item) for item in sim.objects] if sim else [],
        "conditions": list(sim.conditions) if sim else [],
        "target_kind": instance.target_kind,
        "criterion": KINDS[instance.target_kind].criterion,
        "success": {name: _shown(value) for name, value in sim.success} if sim else {},
        "validation": {**validation.to_dict(), "validated": validation.validated},
        "known_issues": _known_issues(trials),
        "example": {"eval_seed": 0, "epoch": 0, "seed": trial_seed(0, seed, 0), "top_view": _top_view(trials[0])},
    }


def show_view(data: Mapping[str, Any]) -> RenderableType:
    """Return an instance as a page."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    setup = Table(box=None, show_header=False, padding=(0, 2))
    for name, distribution in data["setup"].items():
        spoken = "in the goal" if name in data["language_vars"] else ""
        setup.add_row(Text(f"  {name}"), Text(distribution), spoken)
    objects = Table(box=None, show_header=False, padding=(0, 2))
    for item in data["objects"]:
        rest = ", ".join(_said(k, value, data) for k, value in item.items() if k not in ("name", "asset", "role"))
        asset = _meant(item["asset"], data)
        objects.add_row(Text(f"  {item['name']}"), Text(str(asset)), Text(item["role"] or "-"), Text(rest))
    parameters = ", ".join(f"{name} = {_meant(value, data)}" for name, value in data["success"].items())
    fixed = ", ".join(f"{name} = {value}" for name, value in data["static"].items())
    issues = [f"{count} of {K_REALIZATIONS} trials: {what}" for what, count in data["known_issues"].items() if count]
    lines: list[RenderableType] = [
        Text.assemble((data["instance_id"], "bold"), f"  {data['title']}, version {data['version']}"),
        Text(f"Goal: {data['goal']}"),
        Text(f"Horizon: {data['max_steps']} steps"),
        Text("Setup"),
        setup,
        *([Text(f"Fixed: {fixed}")] if fixed else []),
        Text("Objects ($name is a variable of the setup)"),
        objects,
        Text(f"Set without an object: {', '.join(data['conditions']) or 'nothing'}"),
        Text(f"Success ({data['target_kind']}): {data['criterion']}" + (f"; {parameters}" if parameters else "")),
        Text(_validation_line(data["validation"]), style="" if data["validation"]["validated"] else "yellow"),
        *(Text(f"Known issue, {issue}", style="yellow") for issue in issues),
        Text(f"Seen from above, seed {data['example']['seed']} (epoch 0 of an evaluation with seed 0):"),
        *(Text(f"  {line}") for line in data["example"]["top_view"]),
        Text(f"File: {data['file']}", style="dim"),
    ]
    return Group(*lines)


def task_data(name: str) -> dict[str, Any] | None:
    """Return a task with its instances, or with its scenes where it has none; None when no task is called so.

    Args:
        name: Whole or short, see `catalog.full_name`.

    Raises:
        ConfigError: Several tasks are called that way, or the task cannot be made.
    """
    from assay_benchmarks.catalog import full_name, instance_of, resolve_task, task_names, task_version

    whole = full_name(name)
    if whole not in task_names():
        return None
    task = resolve_task(whole)
    rows: list[dict[str, Any]] = []
    for scene in task.scenes:
        instance = instance_of(scene)
        if instance is None:
            rows.append({"scene_id": scene.id, "goal": scene.instruction})
            continue
        validation = {"source": instance.validation.source, "validated": instance.validation.validated}
        rows.append({"instance_id": instance.instance_id, "goal": instance.goal, "validation": validation})
    return {"task": whole, "version": task_version(task), "max_steps": task.max_steps, "instances": rows}


def task_view(data: Mapping[str, Any]) -> RenderableType:
    """Return a task as a table of its instances."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    ours = any("instance_id" in row for row in data["instances"])
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("instance" if ours else "scene", no_wrap=True)
    for title in ("validated", "goal") if ours else ("goal",):
        table.add_column(title, overflow="fold")
    for row in data["instances"]:
        cells = [row.get("instance_id", row.get("scene_id", ""))]
        if ours:
            validation = row.get("validation", {})
            cells.append("yes" if validation.get("validated") else f"no ({validation.get('source', 'no instance')})")
        table.add_row(*map(Text, (*cells, row["goal"])))
    version = f", version {data['version']}" if data["version"] else ""
    return Group(Text.assemble((data["task"], "bold"), version), table)


def tasks_data() -> dict[str, Any]:
    """Return all tasks registered with Inspect Robots, the suites, and warnings about names registered twice."""
    from assay_benchmarks.catalog import colliding_entry_points, suites, task_names

    own = {
        f"kitchenbench/{spec.key}": {
            "title": spec.title,
            "version": spec.version,
            "instances": len(spec.instances),
            "trials": len(spec.instances) * K_REALIZATIONS,
            "max_steps": spec.max_steps,
            "validated": sum(instance.validation.validated for instance in spec.instances),
        }
        for spec in SPECS
    }
    return {
        "tasks": [{"name": name, **own.get(name, {})} for name in task_names()],
        "suites": {name: list(tasks) for name, tasks in suites().items()},
        "warnings": list(colliding_entry_points()),
    }


def tasks_view(data: Mapping[str, Any]) -> RenderableType:
    """Return the tasks as a table."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("task", "version", "instances", "trials", "max. steps", "validated", "title"):
        table.add_column(title, justify="right" if title in ("instances", "trials", "max. steps") else "left")
    for task in data["tasks"]:
        validated = f"{task['validated']}/{task['instances']}" if "instances" in task else ""
        cells = [task.get(key, "") for key in ("version", "instances", "trials", "max_steps")]
        table.add_row(task["name"], *map(str, cells), validated, task.get("title", "registered by another package"))
    suites = [Text(f"suite {name}: {len(tasks)} tasks") for name, tasks in data["suites"].items()]
    words = (
        "",
        f"trials: instances x {K_REALIZATIONS} realizations, unless --epochs says otherwise. max. steps: control "
        "steps of one trial.",
        f"validated: instances that {K_EXPERTS} experts rated {MIN_RATING} or better on both axes.",
        "The part behind the slash is enough where only one task is called so: stack is kitchenbench/stack.",
    )
    return Group(
        table, *suites, *map(Text, words), *(Text(f"warning: {line}", style="yellow") for line in data["warnings"])
    )


def _known_issues(trials: list[SceneBlueprint]) -> dict[str, int]:
    from assay_benchmarks.diagnostics import already_solved, beyond_reach, outside_bench, spawn_overlaps
    from assay_benchmarks.layout import load_rig

    rig = load_rig()
    return {
        "objects overlap where they are placed": sum(bool(spawn_overlaps(trial)) for trial in trials),
        "an object reaches past the bench": sum(bool(outside_bench(trial, rig)) for trial in trials),
        "an object is beyond both arms' reach": sum(bool(beyond_reach(trial, rig)) for trial in trials),
        "the criterion is met before anything moves": sum(already_solved(trial).success for trial in trials),
    }


def _top_view(blueprint: SceneBlueprint) -> list[str]:
    from assay_benchmarks.sketch import top_view

    return list(top_view(blueprint))


def _validation_line(validation: Mapping[str, Any]) -> str:
    experts = min(len(validation["representativeness"]), len(validation["quality"]))
    if validation["validated"]:
        return f"Validated by {experts} experts (source: {validation['source']})"
    rule = f"{K_EXPERTS} experts who rate both axes {MIN_RATING} or better"
    draft = "a draft written by a model (source" if validation["source"] == MODEL_DRAFT else "(source"
    return f"Not validated by experts: {draft}: {validation['source']}), {experts} ratings; needs {rule}"


def _object(item: SimObject) -> dict[str, Any]:
    """Return what an object states, without what it leaves at its default."""
    stated: dict[str, Any] = {"name": item.name, "asset": _shown(item.asset), "role": item.role}
    default = SimObject(name="", asset="")
    for field in ("parent", "x_cm", "y_cm", "yaw_deg", "count", "spread_cm", "size_cm", "size_order", "amount_g"):
        value = getattr(item, field)
        if value != getattr(default, field):
            stated[field] = _shown(value)
    if item.split:
        stated["split"] = list(item.split)
    return stated


def _meant(value: Any, data: Mapping[str, Any]) -> Any:
    """Return what a name that every realization has in common stands for; a variable of the setup stays a name."""
    name = value[1:] if isinstance(value, str) and value.startswith("$") else ""
    return data["static"].get(name, value) if name not in data["setup"] else value


def _said(key: str, value: Any, data: Mapping[str, Any]) -> str:
    """Return one property of an object, e.g. ``x -12 cm`` or ``x $pot_x_cm``."""
    meant = _meant(value, data)
    stem, _, unit = key.rpartition("_")
    words = (stem if unit in UNITS else key).replace("_", " ")
    return f"{words} {readable(key, meant) if not isinstance(meant, list) else ' '.join(map(str, meant))}"


def _shown(value: Scalar | Var) -> Scalar:
    return f"${value.name}" if isinstance(value, Var) else value
