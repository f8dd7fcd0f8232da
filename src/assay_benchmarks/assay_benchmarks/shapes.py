"""Shapes of data that people write: a few combinators that find every problem and describe themselves.

A library that generates validators costs a third of a second at import, in every process that looks at one task; this
is a page of code, names each problem in the words of the file, and gives editors the same rules as a JSON schema.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay_core.located_yaml import YamlPath

__all__ = ["Integer", "ListOf", "MapOf", "Number", "Problem", "Record", "Shape", "Text", "Truth", "either", "nullable"]


@dataclass(frozen=True)
class Problem:
    """Something wrong at one place of a document."""

    path: YamlPath
    """Keys and indices from the top."""
    subject: str
    expected: str
    got: str
    fix: str


class Shape(Protocol):
    """What a value must look like."""

    def problems(self, value: Any, path: YamlPath) -> Iterator[Problem]:
        """Yield everything that is wrong with ``value``, which stands at ``path``."""

    def json_schema(self) -> dict[str, Any]:
        """Return the same rule as a JSON schema."""


def _wrong(path: YamlPath, expected: str, value: Any) -> Problem:
    if not path:
        subject = "file"
    elif isinstance(path[-1], int):
        subject = f"item {path[-1] + 1} of '{path[-2]}'" if len(path) > 1 else f"item {path[-1] + 1}"
    else:
        subject = f"'{path[-1]}'"
    return Problem(path, subject, expected, _shown(value), "correct it")


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    kind = {bool: "a truth value ", dict: "a mapping ", list: "a list "}.get(type(value), "")
    text = repr(value)
    return kind + (text if len(text) <= 60 else text[:57] + "...")


@dataclass(frozen=True)
class Text:
    """Text, of one pattern or one of some words."""

    expected: str = "text"
    pattern: str = r"(?s).+"
    words: tuple[str, ...] = ()

    def problems(self, value: Any, path: YamlPath) -> Iterator[Problem]:
        """Yield what is wrong."""
        if not isinstance(value, str):
            yield _wrong(path, self.expected, value)
        elif (value not in self.words) if self.words else not re.fullmatch(self.pattern, value):
            yield _wrong(path, f"one of {', '.join(self.words)}" if self.words else self.expected, value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema."""
        if self.words:
            return {"enum": list(self.words)}
        if self.pattern == Text.pattern:
            return {"type": "string", "minLength": 1}
        return {"type": "string", "pattern": f"^{self.pattern}$"}


@dataclass(frozen=True)
class Number:
    """A finite number."""

    expected: str = "a number"
    above: float = -math.inf
    """Exclusive lower limit."""

    def problems(self, value: Any, path: YamlPath) -> Iterator[Problem]:
        """Yield what is wrong."""
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or value <= self.above:
            limit = f" above {self.above:g}" if math.isfinite(self.above) else ""
            yield _wrong(path, self.expected + limit, value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema."""
        limit = {"exclusiveMinimum": self.above} if math.isfinite(self.above) else {}
        return {"type": "number", **limit}


@dataclass(frozen=True)
class Integer:
    """A whole number within limits."""

    low: int | None = None
    high: int | None = None

    def problems(self, value: Any, path: YamlPath) -> Iterator[Problem]:
        """Yield what is wrong."""
        if isinstance(value, bool) or not isinstance(value, int):
            yield _wrong(path, "a whole number", value)
        elif self.low is not None and self.low == self.high != value:
            yield _wrong(path, str(self.low), value)
        elif self.low is not None and value < self.low:
            yield _wrong(path, f"a number of {self.low} or more", value)
        elif self.high is not None and value > self.high:
            yield _wrong(path, f"a number up to {self.high}", value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema."""
        limits = {"minimum": self.low, "maximum": self.high}
        return {"type": "integer", **{key: limit for key, limit in limits.items() if limit is not None}}


@dataclass(frozen=True)
class Truth:
    """True or false."""

    def problems(self, value: Any, path: YamlPath) -> Iterator[Problem]:
        """Yield what is wrong."""
        if not isinstance(value, bool):
            yield _wrong(path, "true or false", value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class _Either:
    expected: str
    shapes: tuple[Shape, ...]
    null: bool = False

    def problems(self, value: Any, path: YamlPath) -> Iterator[Problem]:
        if value is None and self.null:
            return
        if not any(not list(shape.problems(value, path)) for shape in self.shapes):
            yield _wrong(path, self.expected, value)

    def json_schema(self) -> dict[str, Any]:
        options = [shape.json_schema() for shape in self.shapes]
        return {"anyOf": [*options, {"type": "null"}] if self.null else options}


def either(expected: str, *shapes: Shape) -> Shape:
    """Return the shape of a value that fits one of ``shapes``; ``expected`` says so in words."""
    return _Either(expected, shapes)


def nullable(expected: str, shape: Shape) -> Shape:
    """Return the shape of a value that may be missing."""
    return _Either(expected, (shape,), null=True)


@dataclass(frozen=True)
class ListOf:
    """A list whose items have one shape."""

    item: Shape
    least: int = 0
    most: int | None = None

    def problems(self, value: Any, path: YamlPath) -> Iterator[Problem]:
        """Yield what is wrong."""
        if not isinstance(value, list):
            yield _wrong(path, "a list", value)
            return
        if self.most is not None and not self.least <= len(value) <= self.most:
            count = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
            yield _wrong(path, f"a list of {count}", value)
        elif len(value) < self.least:
            yield _wrong(path, f"a list of at least {self.least}", value)
        for index, each in enumerate(value):
            yield from self.item.problems(each, (*path, index))

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema."""
        limits = {"minItems": self.least or None, "maxItems": self.most}
        schema: dict[str, Any] = {"type": "array", "items": self.item.json_schema()}
        return {**schema, **{key: limit for key, limit in limits.items() if limit is not None}}


@dataclass(frozen=True)
class MapOf:
    """A mapping with free keys whose values have one shape."""

    key: Text
    value: Shape

    def problems(self, value: Any, path: YamlPath) -> Iterator[Problem]:
        """Yield what is wrong."""
        if not isinstance(value, dict):
            yield _wrong(path, "a mapping", value)
            return
        for name, each in value.items():
            yield from self.key.problems(name, (*path, name))
            yield from self.value.problems(each, (*path, name))

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema."""
        return {
            "type": "object",
            "additionalProperties": self.value.json_schema(),
            "propertyNames": self.key.json_schema(),
        }


@dataclass(frozen=True)
class Record:
    """A mapping with fixed keys."""

    required: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)

    def problems(self, value: Any, path: YamlPath) -> Iterator[Problem]:
        """Yield what is wrong, unknown keys with near matches."""
        if not isinstance(value, dict):
            yield _wrong(path, "a mapping", value)
            return
        shapes = {**self.required, **self.optional}
        for name, each in value.items():
            if name in shapes:
                yield from shapes[name].problems(each, (*path, name))
                continue
            near = difflib.get_close_matches(str(name), list(shapes), n=1, cutoff=0.5)
            fix = f"did you mean '{near[0]}'?" if near else "remove it"
            yield Problem((*path, name), f"unknown key '{name}'", f"one of {', '.join(shapes)}", str(name), fix)
        for name in self.required:
            if name not in value:
                yield Problem((*path, name), f"missing key '{name}'", f"'{name}' here", "nothing", f"add '{name}:'")

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema."""
        properties = {name: shape.json_schema() for name, shape in {**self.required, **self.optional}.items()}
        return {
            "type": "object",
            "additionalProperties": False,
            "required": list(self.required),
            "properties": properties,
        }
