"""YAML that remembers where everything stands, so that an error can name file and line.

Scalars follow YAML 1.2: ``on``, ``yes`` and ``12:30`` are text, as whoever writes them expects. Duplicate keys,
which YAML parsers silently resolve in favour of the last one, are an error; so are tags and merge keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from assay_core.errors import ConfigError

__all__ = ["Located", "YamlPath", "load_located", "parse_located"]

YamlPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the top of a document, e.g. ``("instances", 0, "goal")``."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL = re.compile(r"^(~|null|Null|NULL|)$")
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"^[-+]?[0-9]+$")
_FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_PLAIN = {"map", "seq", "str", "int", "float", "bool", "null", "timestamp", "value", "merge"}
MOST_VALUES = 100_000
_SPECIAL = re.compile(r"^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$")


@dataclass(frozen=True)
class Located:
    """A parsed document with the line of every node."""

    file: str
    """Path as it was given; messages show it."""
    data: Any
    """Dicts, lists, str, int, float, bool and None."""
    lines: dict[YamlPath, int] = field(default_factory=dict)
    """Line, from 1, of every key (for values in mappings) and every list item."""

    def line(self, path: Sequence[str | int]) -> int:
        """Return the line of ``path``, or of the nearest ancestor that exists."""
        key = tuple(path)
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)

    def where(self, path: Sequence[str | int] = ()) -> str:
        """Return ``file:line`` for an error message."""
        return f"{self.file}:{self.line(path)}"


def load_located(path: str | Path, *, most_values: int = MOST_VALUES) -> Located:
    """Read one YAML document.

    Args:
        path: The file.
        most_values: A document with more values is refused: aliases could make it endless.

    Raises:
        ConfigError: The file cannot be read, is not UTF-8, is not YAML, is empty, holds several documents, a
            duplicate key, a tag or a merge key. The message names file and line.
    """
    shown = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(shown, expected="UTF-8 text", got=str(error), fix="save the file as UTF-8") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(shown, expected="a readable YAML file", got=reason, fix="check the path") from error
    return parse_located(shown, text, most_values=most_values)


def parse_located(shown: str, text: str, *, most_values: int = MOST_VALUES) -> Located:
    """Read one YAML document that has been read from file ``shown``; see `load_located`."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{shown}:{mark.line + 1}" if mark else shown
        got = ", ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(where, expected="YAML", got=got, fix="correct the syntax at this line") from error
    except yaml.YAMLError as error:
        raise ConfigError(shown, expected="YAML", got=str(error), fix="correct the syntax") from error
    if node is None:
        raise ConfigError(shown, expected="a YAML document", got="an empty file", fix="write the document")
    reader = _Reader(shown, most_values)
    reader.lines[()] = node.start_mark.line + 1
    return Located(file=shown, data=reader.value(node, ()), lines=reader.lines)


def _is_merge(key_node: Any) -> bool:
    return not key_node.style and key_node.value == "<<"


class _Reader:
    """Turns nodes into values, noting lines on the way."""

    def __init__(self, file: str, most_values: int) -> None:
        self.file = file
        self._most = most_values
        self.lines: dict[YamlPath, int] = {}
        self._open: list[int] = []
        self._seen = 0

    def value(self, node: Any, path: YamlPath) -> Any:
        self._seen += 1
        if id(node) in self._open or self._seen > self._most:
            raise self._error(node, "", f"no alias of itself and at most {self._most:,} values", "more", "write it out")
        prefix, _, kind = node.tag.rpartition(":")
        if prefix != "tag:yaml.org,2002" or kind not in _PLAIN:
            raise self._error(node, "", "a plain value", f"tag {node.tag}", "remove the tag")
        self._open.append(id(node))
        if isinstance(node, yaml.MappingNode):
            value: Any = self._mapping(node, path)
        elif isinstance(node, yaml.SequenceNode):
            value = self._sequence(node, path)
        else:
            value = self._scalar(node)
        self._open.pop()
        return value

    def _mapping(self, node: Any, path: YamlPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else "a list or mapping"
            if not isinstance(key_node, yaml.ScalarNode) or not isinstance(key, str) or _is_merge(key_node):
                raise self._error(key_node, "", "a name as key", repr(key), "quote or rename it")
            here = (*path, key)
            if key in result:
                before = f"the same key as on line {self.lines[here]}"
                raise self._error(key_node, f"key '{key}'", "each key once", before, "remove one of the two")
            self.lines[here] = key_node.start_mark.line + 1
            result[key] = self.value(value_node, here)
        return result

    def _sequence(self, node: Any, path: YamlPath) -> list[Any]:
        items = []
        for index, item in enumerate(node.value):
            here = (*path, index)
            self.lines[here] = item.start_mark.line + 1
            items.append(self.value(item, here))
        return items

    def _scalar(self, node: Any) -> str | int | float | bool | None:
        text = str(node.value)
        if node.style:  # plain scalars: None, or empty with the C parser
            return text
        if _NULL.match(text):
            return None
        if text in _BOOL:
            return _BOOL[text]
        if _INT.match(text):
            return int(text)
        if _FLOAT.match(text):
            return float(text)
        if _SPECIAL.match(text):
            return float(text.replace(".", "", 1))
        return text

    def _error(self, node: Any, subject: str, expected: str, got: str, fix: str) -> ConfigError:
        where = f"{self.file}:{node.start_mark.line + 1}"
        return ConfigError(f"{where}: {subject}" if subject else where, expected=expected, got=got, fix=fix)
