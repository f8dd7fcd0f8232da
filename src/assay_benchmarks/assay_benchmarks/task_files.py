"""Reading and checking task files: YAML in, `TaskSpec` out, errors with file and line.

A benchmark author edits one file and asks `check_file` what is wrong with it. Problems come in three rounds, each with
all of its own: the form of the whole file, then the distributions of each instance, then what refers to what; a later
round would only repeat, in other words, what an earlier one found.
"""

from __future__ import annotations

from pathlib import Path

from assay_benchmarks.contradictions import contradictions
from assay_benchmarks.schema import InstanceFile, ObjectFile, SetupFile, TaskFile, task_file, task_file_problems
from assay_benchmarks.shapes import Problem
from assay_benchmarks.specs import TaskSpec
from assay_core.distributions import Categorical, Constant, Distribution, Normal, Scalar, Uniform
from assay_core.errors import ConfigError
from assay_core.instances import TaskInstance
from assay_core.located_yaml import Located, load_located
from assay_core.scene_spec import SimObject, SimSpec, Var

__all__ = ["check_file", "load_task_file"]


def load_task_file(path: str | Path) -> TaskSpec:
    """Read one task file.

    Raises:
        ConfigError: The file cannot be read, is malformed or contradicts itself. One line per problem, each with
            file and line, what was expected, what came and how to fix it.
    """
    task, problems = _read(path)
    if task is None:
        raise ConfigError("\n".join(problems))
    return _spec(task)


def check_file(path: str | Path) -> list[str]:
    """Return the problems of a task file's first round that has any, as ``file:line: ...``, in the order of lines.

    Empty when it is right.
    """
    try:
        return _read(path)[1]
    except ConfigError as error:
        return [str(error)]


def _read(path: str | Path) -> tuple[TaskFile | None, list[str]]:
    document = load_located(path)
    if not isinstance(document.data, dict):
        got = type(document.data).__name__
        raise ConfigError(document.where(), expected="a mapping", got=got, fix="start from an existing task file")
    problems = task_file_problems(document.data)
    if problems:
        return None, _lines(document, problems)
    task = task_file(document.data)
    problems = contradictions(task)
    if Path(path).stem != task.task:
        fix = "rename the file or the task"
        problems.append(Problem(("task",), f"task '{task.task}'", f"the file's name '{Path(path).stem}'", "", fix))
    return (None if problems else task), _lines(document, problems)


def _lines(document: Located, problems: list[Problem]) -> list[str]:
    ordered = sorted(problems, key=lambda problem: document.line(problem.path))
    return [
        str(ConfigError(f"{document.where(p.path)}: {p.subject}", expected=p.expected, got=p.got, fix=p.fix))
        for p in ordered
    ]


def _spec(task: TaskFile) -> TaskSpec:
    return TaskSpec(
        key=task.task,
        title=task.title,
        category=task.category,
        bimanual=task.bimanual,
        max_steps=task.max_steps,
        version=task.version,
        description=task.description,
        instances=tuple(_instance(entry) for entry in task.instances),
    )


def _instance(entry: InstanceFile) -> TaskInstance:
    return TaskInstance(
        instance_id=entry.id,
        goal=entry.goal,
        setup={name: _distribution(each) for name, each in entry.setup.items()},
        target_kind=entry.target_kind,
        language_vars=tuple(entry.language_vars),
        static=dict(entry.static),
        validation=entry.validation,
        sim=SimSpec(
            objects=tuple(_object(item) for item in entry.scene),
            success=tuple((name, _reference(value)) for name, value in entry.success.items()),
            conditions=tuple(entry.conditions),
        ),
    )


def _distribution(entry: SetupFile) -> Distribution:
    if entry.uniform is not None:
        return Uniform(entry.uniform[0], entry.uniform[1])
    if entry.normal is not None:
        return Normal(entry.normal["mean"], entry.normal["std"])
    if entry.categorical is not None:
        weights = None if entry.weights is None else tuple(entry.weights)
        return Categorical(tuple(entry.categorical), weights)
    if entry.constant is None:  # excluded by the check of contradictions
        raise ConfigError("distribution", expected="one of uniform, normal, categorical, constant", got="none")
    return Constant(entry.constant)


def _object(item: ObjectFile) -> SimObject:
    return SimObject(
        name=item.name,
        asset=_word(item.asset),
        role=item.role,
        x_cm=_number(item.x_cm),
        y_cm=_number(item.y_cm),
        yaw_deg=_number(item.yaw_deg),
        parent=item.parent,
        count=int(item.count) if not isinstance(item.count, str) else Var(item.count[1:]),
        split=tuple(item.split),
        spread_cm=_number(item.spread_cm),
        size_cm=None if item.size_cm is None else _number(item.size_cm),
        size_order=None if item.size_order is None else Var(item.size_order[1:]),
        amount_g=None if item.amount_g is None else _number(item.amount_g),
    )


def _reference(value: Scalar) -> Scalar | Var:
    return Var(value[1:]) if isinstance(value, str) and value.startswith("$") else value


def _word(value: str) -> str | Var:
    return Var(value[1:]) if value.startswith("$") else value


def _number(value: int | float | str) -> float | Var:
    return Var(value[1:]) if isinstance(value, str) else float(value)
