"""Shape of a task file: which keys there are and what each takes.

Only the shape is checked here; whether the parts agree with each other is the business of `contradictions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from assay_benchmarks.shapes import Integer, ListOf, MapOf, Number, Problem, Record, Text, Truth, either
from assay_core.distributions import Scalar
from assay_core.instances import Validation

__all__ = ["TASK_FILE", "InstanceFile", "ObjectFile", "SetupFile", "TaskFile", "task_file", "task_file_problems"]

NumberOrRef: TypeAlias = float | int | str
"""A number, or ``$variable``."""

_WORD = Text()
_NAME = Text("a name: lower case, digits, underscores", r"[a-z][a-z0-9_]*")
_SCALAR = either("a number or text", Number(), _WORD)
_REFERENCE = Text("$variable", r"\$[a-z][a-z0-9_]*")
_NUMBER_OR_REF = either("a number, or $variable", Number(), _REFERENCE)
_RATINGS = ListOf(Integer(1, 5))

_SETUP = Record(
    required={},
    optional={
        "uniform": ListOf(Number()),
        "normal": Record({"mean": Number(), "std": Number()}),
        "categorical": ListOf(_SCALAR),
        "constant": _SCALAR,
        "weights": ListOf(Number()),
    },
)
_OBJECT = Record(
    required={"name": _NAME, "asset": either("the name of an asset, or $variable", _NAME, _REFERENCE)},
    optional={
        "role": _NAME,
        "parent": _NAME,
        "x_cm": _NUMBER_OR_REF,
        "y_cm": _NUMBER_OR_REF,
        "yaw_deg": _NUMBER_OR_REF,
        "count": _NUMBER_OR_REF,
        "split": ListOf(_NAME, least=1),
        "spread_cm": _NUMBER_OR_REF,
        "size_cm": _NUMBER_OR_REF,
        "size_order": _REFERENCE,
        "amount_g": _NUMBER_OR_REF,
    },
)
_INSTANCE = Record(
    required={
        "id": Text("task/name-with-hyphens in lower case", r"[a-z][a-z0-9_]*/[a-z0-9]+(-[a-z0-9]+)*"),
        "goal": _WORD,
        "target_kind": _WORD,
        "setup": MapOf(_NAME, _SETUP),
        "scene": ListOf(_OBJECT, least=1),
    },
    optional={
        "language_vars": ListOf(_NAME),
        "static": MapOf(_NAME, _SCALAR),
        "success": MapOf(_NAME, _SCALAR),
        "conditions": ListOf(_NAME),
        "validation": Record(
            required={"source": _WORD},
            optional={"representativeness": _RATINGS, "quality": _RATINGS, "difficulty": _RATINGS},
        ),
    },
)
TASK_FILE = Record(
    required={
        "schema": Integer(1, 1),
        "task": _NAME,
        "title": _WORD,
        "category": _NAME,
        "bimanual": Truth(),
        "max_steps": Integer(1, 1_000_000),
        "version": Text('text in quotes, e.g. "2"'),
        "instances": ListOf(_INSTANCE, least=1),
    },
    optional={"description": _WORD},
)
"""A task file."""

SOURCE_UNSTATED = "not stated"
"""Source of an instance whose file says nothing of validation."""


@dataclass(frozen=True)
class SetupFile:
    """One distribution as it is written."""

    uniform: list[float] | None = None
    normal: Mapping[str, float] | None = None
    """``mean`` and ``std``."""
    categorical: list[Scalar] | None = None
    constant: Scalar | None = None
    weights: list[float] | None = None


@dataclass(frozen=True)
class ObjectFile:
    """One object as it is written; ``$name`` refers to a variable of setup or a fact of static."""

    name: str
    asset: str
    role: str | None = None
    x_cm: NumberOrRef = 0.0
    y_cm: NumberOrRef = 0.0
    yaw_deg: NumberOrRef = 0.0
    parent: str | None = None
    count: NumberOrRef = 1
    split: list[str] = field(default_factory=list)
    spread_cm: NumberOrRef = 0.0
    size_cm: NumberOrRef | None = None
    size_order: str | None = None
    amount_g: NumberOrRef | None = None


@dataclass(frozen=True)
class InstanceFile:
    """One task instance as it is written."""

    id: str
    goal: str
    target_kind: str
    setup: Mapping[str, SetupFile]
    scene: list[ObjectFile]
    language_vars: list[str] = field(default_factory=list)
    static: Mapping[str, Scalar] = field(default_factory=dict)
    success: Mapping[str, Scalar] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)
    validation: Validation = field(default_factory=Validation)


@dataclass(frozen=True)
class TaskFile:
    """One task and its instances as they are written."""

    task: str
    title: str
    category: str
    bimanual: bool
    max_steps: int
    version: str
    instances: list[InstanceFile]
    description: str = ""


def task_file_problems(data: Any) -> list[Problem]:
    """Return what is wrong with the shape of a document."""
    return list(TASK_FILE.problems(data, ()))


def task_file(data: Mapping[str, Any]) -> TaskFile:
    """Return a document whose shape is right as a `TaskFile`."""
    fields = {key: value for key, value in data.items() if key not in ("schema", "instances")}
    return TaskFile(**fields, instances=[_instance(entry) for entry in data["instances"]])


def _instance(entry: Mapping[str, Any]) -> InstanceFile:
    fields = {key: value for key, value in entry.items() if key not in ("setup", "scene", "validation")}
    return InstanceFile(
        **fields,
        setup={name: SetupFile(**each) for name, each in entry["setup"].items()},
        scene=[ObjectFile(**item) for item in entry["scene"]],
        validation=Validation(**entry.get("validation", {"source": SOURCE_UNSTATED})),
    )
