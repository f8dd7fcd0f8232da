"""Shape of a task file: which keys there are and which type each takes.

Only the shape is checked here; whether the parts agree with each other is the business of `contradictions`. Every
problem carries the path of the offending node, from which the loader takes the line.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from assay_core.located_yaml import YamlPath

__all__ = ["InstanceFile", "ObjectFile", "Problem", "SetupFile", "TaskFile", "ValidationFile", "shape_problems"]

Number: TypeAlias = int | float
Word: TypeAlias = Annotated[str, StringConstraints(min_length=1)]
ScalarField: TypeAlias = int | float | Word
NumberOrRef: TypeAlias = int | float | Annotated[str, StringConstraints(pattern=r"^\$[a-z][a-z0-9_]*$")]
Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
InstanceId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*/[a-z0-9]+(-[a-z0-9]+)*$")]
Rating: TypeAlias = Annotated[int, Field(ge=1, le=5)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class NormalFile(_Strict):
    """Parameters of a Gaussian."""

    mean: Number
    std: Number


class SetupFile(_Strict):
    """One distribution: exactly one of the four, and weights only beside categorical."""

    uniform: list[Number] | None = None
    normal: NormalFile | None = None
    categorical: list[ScalarField] | None = None
    constant: ScalarField | None = None
    weights: list[Number] | None = None


class ObjectFile(_Strict):
    """One object of the scene; ``$name`` refers to a variable of setup or a fact of static."""

    name: Name
    asset: Word
    role: Name | None = None
    x_cm: NumberOrRef = 0.0
    y_cm: NumberOrRef = 0.0
    yaw_deg: NumberOrRef = 0.0
    parent: Name | None = None
    count: NumberOrRef = 1
    split: list[Name] = []
    spread_cm: NumberOrRef = 0.0
    size_cm: NumberOrRef | None = None
    size_order: Word | None = None
    amount_g: NumberOrRef | None = None


class ValidationFile(_Strict):
    """Expert ratings."""

    source: Word = "opus-draft"
    representativeness: list[Rating] = []
    quality: list[Rating] = []
    difficulty: list[Rating] = []


class InstanceFile(_Strict):
    """One task instance."""

    id: InstanceId
    goal: Word
    language_vars: list[Name] = []
    target_kind: Word
    static: dict[Name, ScalarField] = {}
    setup: dict[Name, SetupFile]
    scene: Annotated[list[ObjectFile], Field(min_length=1)]
    success: dict[Name, ScalarField] = {}
    conditions: list[Name] = []
    validation: ValidationFile = ValidationFile()


class TaskFile(_Strict):
    """One task and its instances."""

    task: Name
    title: Word
    description: str = ""
    category: Name
    bimanual: bool
    max_steps: Annotated[int, Field(ge=1, le=1_000_000)]
    version: Word
    schema_version: Literal[1] = Field(alias="schema")
    instances: Annotated[list[InstanceFile], Field(min_length=1)]


@dataclass(frozen=True)
class Problem:
    """Something wrong in a task file."""

    path: YamlPath
    """Where: keys and indices from the top."""
    subject: str
    expected: str
    got: str
    fix: str


def shape_problems(error: ValidationError, lines: Mapping[YamlPath, int]) -> list[Problem]:
    """Return what pydantic found, one problem per place, in the words of a task file.

    Args:
        error: From validating the document.
        lines: Line of every node, which tells the document's own keys from those that pydantic adds to a location
            for the branches of a union.
    """
    found: dict[YamlPath, list[Any]] = {}
    for item in error.errors():
        path: YamlPath = ()
        for index, part in enumerate(item["loc"]):
            missing = item["type"] == "missing" and index == len(item["loc"]) - 1
            if missing or (*path, part) in lines:
                path = (*path, part)
        found.setdefault(path, []).append(item)
    return [_problem(path, items) for path, items in found.items()]


def _problem(path: YamlPath, items: list[Any]) -> Problem:
    item, name = items[0], str(path[-1]) if path else ""
    if item["type"] == "extra_forbidden":
        valid = ["schema" if key == "schema_version" else key for key in _model_at(path[:-1]).model_fields]
        near = difflib.get_close_matches(name, valid, n=1, cutoff=0.5)
        fix = f"did you mean '{near[0]}'?" if near else "remove it"
        return Problem(path, f"unknown key '{name}'", f"one of {', '.join(valid)}", name, fix)
    if item["type"] == "missing":
        return Problem(path, f"missing key '{name}'", f"'{name}' here", "nothing", f"add '{name}:'")
    if name in _FIELD_HELP:
        expected = _FIELD_HELP[name]
    elif len(items) > 1:
        expected = "a number or text"
    else:
        context = {key: str(value) for key, value in item.get("ctx", {}).items()}
        expected = _EXPECTED.get(item["type"], str(item["msg"])).format_map(context)
    return Problem(path, _subject(path), expected, _shown(item.get("input")), "correct it")


def _subject(path: YamlPath) -> str:
    if not path:
        return "file"
    if isinstance(path[-1], int):
        return f"item {path[-1] + 1} of '{path[-2]}'"
    return f"'{path[-1]}'"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = repr(value)
    kind = {bool: "a truth value ", dict: "a mapping ", list: "a list "}.get(type(value), "")
    return kind + (text if len(text) <= 60 else text[:57] + "...")


_EXPECTED = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "string_pattern_mismatch": "text matching {pattern}",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "too_short": "at least one",
    "greater_than_equal": "a number of {ge} or more",
    "less_than_equal": "a number up to {le}",
    "literal_error": "{expected}",
}

_NUMBER_HELP = "a number, or $variable"
_FIELD_HELP = {
    "id": "task/name-with-hyphens in lower case",
    "version": 'text in quotes, e.g. "2"',
    "asset": "the name of an asset, or $variable",
    **dict.fromkeys(("x_cm", "y_cm", "yaw_deg", "count", "spread_cm", "size_cm", "amount_g"), _NUMBER_HELP),
}


def _model_at(path: YamlPath) -> type[BaseModel]:
    """Return the model that describes the mapping at ``path``."""
    keys = tuple(part for part in path if isinstance(part, str))
    if len(keys) >= 3 and keys[:2] == ("instances", "setup"):
        return NormalFile if keys[-1] == "normal" else SetupFile
    nested: dict[tuple[str, ...], type[BaseModel]] = {
        (): TaskFile,
        ("instances",): InstanceFile,
        ("instances", "scene"): ObjectFile,
        ("instances", "validation"): ValidationFile,
    }
    return nested.get(keys, TaskFile)
