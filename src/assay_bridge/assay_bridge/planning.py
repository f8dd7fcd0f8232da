"""From what a user asks for to a plan, with everything checked that can be checked before anything starts.

A session that fails after an hour because of a misspelt name costs an hour of robot time, so each mistake is found
here, named with its near matches, and nothing is created until all of it has passed.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_benchmarks import catalog
from assay_benchmarks.pins import contents_of
from assay_bridge.software import software_versions
from assay_core import rig
from assay_core.contained import Broken, contained
from assay_core.errors import ConfigError, unknown_name
from assay_core.plan import PLAN_SCHEMA_VERSION, Plan, PlanEntry
from assay_core.policy_args import parse_policy_args
from assay_core.policy_names import INSPECT_PREFIX, check_policy_name
from assay_core.program import command
from assay_core.seeds import trial_seed

if TYPE_CHECKING:
    from inspect_robots.scene import Scene
    from inspect_robots.task import Task

__all__ = [
    "OPERATORS",
    "EvalOptions",
    "check_policy",
    "make_plan",
    "new_session_id",
    "policy_misfit",
    "resolve_tasks",
]

OPERATORS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "auto": (("auto",), ("checker",)),
    "none": ((), ()),
}
"""Kinds of operator, with the ids that may answer ready and skip, and the ids whose verdicts count."""

BUILD_S = 300.0
"""Longest that a policy may take to be built when it is checked [s]; loading a model takes time."""

LIST_S = 30.0
"""The same, for one of a list of policies [s]."""

MAX_SEED = 2**63 - 1
MAX_ENTRIES = 20_000
"""Trials of one plan; the benchmark node reads them within a tenth of the time that the runner waits."""

MAX_EPOCHS = MAX_ENTRIES
"""Realizations per instance: no plan of a single instance may hold more."""


@dataclass(frozen=True)
class EvalOptions:
    """What a user asks `eval` for; checked by `make_plan`."""

    tasks: tuple[str, ...]
    """Tasks, suites or instance ids."""
    policy: str = "scripted"
    backend: str = "mock"
    operator: str = "auto"
    epochs: int | None = None
    """Realizations per instance; None takes the task's own number."""
    seed: int = 0
    """Evaluation seed."""
    cameras: int = 3
    """Number of cameras, 0 to 3."""
    camera_width: int = 640
    """Pixels."""
    camera_height: int = 360
    """Pixels."""
    control_hz: float = 10.0
    """Control rate [Hz]."""
    mode: str = "lockstep"
    """``lockstep`` or ``paced``."""
    max_repeats: int = 2
    """How many attempts that do not count are repeated per entry."""
    operators: tuple[str, ...] = ()
    """Ids that may answer ready, skip and abort, besides those of the kind of operator."""
    graders: tuple[str, ...] = ()
    """Ids whose verdicts count, besides those of the kind of operator."""
    launch: Mapping[str, str] = field(default_factory=dict)
    """Further launch arguments."""
    clips: bool = True
    """Whether a clip of each trial is kept beside its last pictures."""


def make_plan(
    options: EvalOptions,
    *,
    backends: Iterable[str] | None = None,
    session_id: str | None = None,
    created: datetime | None = None,
) -> Plan:
    """Return the plan of a session.

    Args:
        options: What the user asks for.
        backends: Names of the back ends that there are; None where the graph of one runs already.
        session_id: None makes one from time, task and policy.
        created: None takes the time now.

    Raises:
        ConfigError: Something cannot be served; the message says what was expected, what came and how to fix it.
    """
    _check_numbers(options)
    if backends is not None and options.backend not in (known := tuple(backends)):
        raise unknown_name("back end", options.backend, known)
    if options.operator not in OPERATORS:
        raise unknown_name("operator", options.operator, OPERATORS)
    check_policy(options.policy)
    cameras = rig.cameras(options.cameras, options.camera_width, options.camera_height)
    selected = resolve_tasks(options.tasks)
    _check_fit([task for task, _ in selected], options)
    entries = _entries(selected, options)
    _check_people(options)
    operators, graders = OPERATORS[options.operator]
    when = created or datetime.now(timezone.utc)
    return Plan(
        schema_version=PLAN_SCHEMA_VERSION,
        session_id=session_id or new_session_id(options, when),
        created=when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        seed=options.seed,
        backend=options.backend,
        policies=(options.policy,),
        operator=options.operator,
        graders=_unique((*graders, *options.graders)),
        operators=_unique((*operators, *options.operators)),
        cameras=cameras,
        control_hz=options.control_hz,
        mode=options.mode,
        max_repeats=options.max_repeats,
        open=False,
        entries=entries,
        software=software_versions(),
        launch=dict(options.launch),
        clips=options.clips,
        contents=contents_of(selected, options.control_hz),
    )


def resolve_tasks(names: Sequence[str]) -> tuple[tuple[Task, tuple[Scene, ...]], ...]:
    """Return the tasks that names mean, in order, each with the scenes to run.

    Args:
        names: Tasks (``kitchenbench/stack`` or, where only one is meant, ``stack``), suites or instance ids; an
            instance id selects one scene of its task.

    Raises:
        ConfigError: No name, or one that is none of these, with near matches.
    """
    if not names:
        raise ConfigError(
            "task", expected="at least one task, suite or instance", got="none", fix=command("list", "tasks")
        )
    chosen: dict[str, list[str] | None] = {}
    instances = catalog.instance_ids()
    for given in names:
        name = given if given in instances else catalog.full_name(given)
        if name in instances:
            task_name, scene_id = _scene_of(name)
            scenes = chosen.setdefault(task_name, [])
            if scenes is not None and scene_id not in scenes:
                scenes.append(scene_id)
            continue
        if name not in catalog.suites() and name not in catalog.task_names():
            raise unknown_name("task", name, (*catalog.suites(), *catalog.task_names(), *instances))
        for task_name in catalog.expand([name]):
            chosen[task_name] = None
    found = []
    for task_name, scene_ids in chosen.items():
        task = catalog.resolve_task(task_name)
        scenes_of = tuple(task.scenes)
        if scene_ids is not None:
            scenes_of = tuple(scene for scene in scenes_of if scene.id in scene_ids)
        if not scenes_of:
            raise ConfigError(f"task '{task_name}'", expected="at least one scene", got="none", fix="choose another")
        found.append((task, scenes_of))
    return tuple(found)


def check_policy(name: str) -> None:
    """Check that a policy exists.

    Raises:
        ConfigError: Unknown, with near matches.
    """
    catalog.register_ours()
    check_policy_name(name)


def policy_misfit(name: str) -> str:
    """Return why a policy cannot be served as it is, by three cameras and without arguments; empty when it can.

    Args:
        name: One of `assay_core.policy_names.policy_names`.
    """
    try:
        _check_fit([None], EvalOptions(tasks=(), policy=name), LIST_S, trace=False)
    except ConfigError as error:
        return error.got
    return ""


def rig_issues(task: Task | None, options: EvalOptions, policy: Any) -> tuple[str, ...]:
    """Return every mismatch between rig, policy and task that the framework's own rules find; no task looks at two."""
    from inspect_robots.compat import check_compatibility

    from assay_bridge.embodiment import AssayEmbodiment

    embodiment = AssayEmbodiment(
        cameras=options.cameras,
        camera_width=options.camera_width,
        camera_height=options.camera_height,
        control_hz=options.control_hz,
        mode=options.mode,
    )
    bind = getattr(policy, "bind", None)
    if callable(bind):
        bind(embodiment.info)
    return tuple(f"{issue.message} [{issue.code}]" for issue in check_compatibility(policy, embodiment, task).errors)


def _check_fit(
    tasks: Sequence[Task | None], options: EvalOptions, deadline_s: float = BUILD_S, *, trace: bool = True
) -> None:
    """Check by the framework's own rules that rig, policy and each task fit together.

    A policy of the framework is built for this, in a copy of this process: whatever it does there stays there, but
    for the traceback of what it raises, unless ``trace`` is False.

    Raises:
        ConfigError: They do not, with every mismatch, or the policy cannot be built with its arguments.
    """
    text = options.launch.get("policy_args", "")
    arguments = parse_policy_args(text)
    found: list[Sequence[str]]
    if options.policy.startswith(INSPECT_PREFIX):
        from inspect_robots.registry import resolve

        # What can be imported here need not be imported again by the copy.
        import assay_bridge.embodiment  # noqa: F401

        def look() -> list[Sequence[str]]:
            policy = resolve("policy", options.policy.removeprefix(INSPECT_PREFIX), **arguments)
            return [rig_issues(task, options, policy) for task in tasks]

        try:
            found = contained(look, deadline_s, trace=trace)
        except Broken as error:
            raise ConfigError(
                f"policy '{options.policy}'",
                expected=f"a policy that can be built with policy_args {text!r} and bound to this rig",
                got=str(error),
                fix="correct policy_args:='key=value ...', or install what the policy needs",
            ) from error
    else:
        from assay_bridge.policy import AssayPolicy

        if arguments:
            raise ConfigError(
                f"policy '{options.policy}'", expected="no arguments", got=repr(text), fix="leave policy_args out"
            )
        found = [rig_issues(task, options, AssayPolicy()) for task in tasks]
    for task, issues in zip(tasks, found, strict=True):
        if issues:
            raise ConfigError(
                f"task '{task.name}' with policy '{options.policy}'" if task else f"policy '{options.policy}'",
                expected="spaces, cameras and scenes that the rig can serve",
                got="; ".join(issues),
                fix="choose another policy or task, or another number of cameras",
            )


def _check_people(options: EvalOptions) -> None:
    """Check that somebody may answer where nobody does it automatically.

    Raises:
        ConfigError: Nobody may, so that the first trial would wait for ever.
    """
    if options.operator != "none":
        return
    for option, names, what in (
        ("--operator-id", options.operators, "who answers ready"),
        ("--grader", options.graders, "whose verdicts count"),
    ):
        if not names:
            raise ConfigError(
                "--operator none", expected=f"at least one {option} ID: {what}", got="none", fix=f"add {option} ID"
            )


def new_session_id(options: EvalOptions, when: datetime) -> str:
    """Return an id that sorts by time, says what runs, and meets no other."""
    first = re.sub(r"[^A-Za-z0-9]+", "-", options.tasks[0] if options.tasks else "").strip("-")[:40]
    policy = re.sub(r"[^A-Za-z0-9]+", "-", options.policy).strip("-")[:20]
    return f"{when:%Y%m%d-%H%M%S}-{first}-{policy}-{secrets.token_hex(2)}"


def _check_numbers(options: EvalOptions) -> None:
    checks = (
        ("--epochs", options.epochs, 1, MAX_EPOCHS),
        ("--seed", options.seed, 0, MAX_SEED),
        ("--max-repeats", options.max_repeats, 0, 100),
    )
    for name, value, low, high in checks:
        if value is not None and not low <= value <= high:
            raise ConfigError(
                name, expected=f"a whole number from {low} to {high}", got=str(value), fix=f"change {name}"
            )
    if options.mode not in ("lockstep", "paced"):
        raise unknown_name("mode", options.mode, ("lockstep", "paced"))


def _entries(selected: Sequence[tuple[Task, tuple[Scene, ...]]], options: EvalOptions) -> tuple[PlanEntry, ...]:
    counts = [options.epochs if options.epochs is not None else task.epoch_spec.count for task, _ in selected]
    total = sum(len(scenes) * epochs for (_, scenes), epochs in zip(selected, counts, strict=True))
    if total > MAX_ENTRIES:
        fix = "fewer tasks, or a smaller --epochs"
        raise ConfigError("plan", expected=f"up to {MAX_ENTRIES} trials", got=str(total), fix=fix)
    entries: list[PlanEntry] = []
    for (task, scenes), epochs in zip(selected, counts, strict=True):
        horizon = task.resolve_envelope(options.control_hz).max_steps
        task_version = catalog.task_version(task)
        for scene in scenes:
            for epoch in range(epochs):
                entries.append(
                    PlanEntry(
                        index=len(entries),
                        task=task.name,
                        task_version=task_version,
                        instance_id=str(scene.metadata.get("instance_id", "")),
                        scene_id=scene.id,
                        scene_seed=scene.init_seed,
                        epoch=epoch,
                        seed=trial_seed(options.seed, scene.init_seed, epoch),
                        max_steps=horizon,
                    )
                )
    return tuple(entries)


def _scene_of(instance_id: str) -> tuple[str, str]:
    """Return task name and scene id of an instance."""
    for task_name in catalog.task_names():
        if task_name.split("/")[-1] != instance_id.split("/")[0]:
            continue
        for scene in catalog.resolve_task(task_name).scenes:
            if scene.metadata.get("instance_id") == instance_id:
                return task_name, scene.id
    raise unknown_name("instance", instance_id, catalog.instance_ids())


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def session_directory(session: Path | None, session_id: str) -> Path:
    """Return where a session lies: as asked, or under ``sessions`` of the working directory."""
    return session if session is not None else Path("sessions") / session_id
