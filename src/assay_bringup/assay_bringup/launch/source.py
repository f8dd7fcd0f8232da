"""YAML that remembers its lines, so that every complaint about a launch file can name one.

The values are those that `ros2 launch` sees, by the rules of PyYAML's safe loader (YAML 1.1: ``on`` and ``yes`` are
booleans), which is why `assay_core.located_yaml` is not used here. Duplicate keys, which that loader silently drops,
merge keys and endless aliases are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from assay_core.errors import ConfigError

__all__ = ["Located", "Where", "load"]

DEEPEST = 50


@dataclass(frozen=True)
class Where:
    """A line of a file."""

    file: str
    line: int
    """Counted from 1."""

    def __str__(self) -> str:
        """Return ``FILE:LINE``, which editors and terminals turn into a link."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Located:
    """A YAML value and where it stands. Lists hold `Located`, mappings map names to `Located`."""

    value: Any
    where: Where
    keys: Mapping[str, Where]
    """Where each key of a mapping stands; empty for other values."""

    def plain(self) -> Any:
        """Return the value without locations."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return self.value

    def kind(self) -> str:
        """Return what the value is, in words of YAML."""
        if self.value is None:
            return "nothing"
        return {dict: "a mapping", list: "a list", bool: "a boolean", int: "an integer", float: "a number"}.get(
            type(self.value), f"the text '{self.value}'"
        )


def load(path: Path) -> Located:
    """Return the content of a YAML file with its locations.

    Raises:
        ConfigError: The file cannot be read or is not YAML; the message names file and line.
    """
    name = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            name, expected="a readable launch file", got=str(error), fix="check path and rights"
        ) from error
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise ConfigError(name, expected="a launch file", got="an empty file", fix="start it with 'launch:'")
        return _convert(loader, root, name, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"{name}:{line}", expected="YAML", got=problem, fix="correct the syntax there") from error
    except yaml.YAMLError as error:
        raise ConfigError(name, expected="YAML", got=str(error), fix="correct the syntax") from error
    finally:
        loader.dispose()


def _convert(loader: yaml.SafeLoader, node: yaml.Node, name: str, depth: int) -> Located:
    where = Where(name, node.start_mark.line + 1)
    if depth > DEEPEST:
        raise ConfigError(str(where), expected=f"at most {DEEPEST} levels", got="more", fix="unfold the alias")
    if isinstance(node, yaml.MappingNode):
        return _mapping(loader, node, where, depth)
    if isinstance(node, yaml.SequenceNode):
        return Located([_convert(loader, item, name, depth + 1) for item in node.value], where, {})
    value = loader.construct_object(node)
    if value is not None and not isinstance(value, (str, bool, int, float)):
        raise ConfigError(
            str(where), expected="text, a number or a boolean", got=node.tag.rpartition(":")[2], fix="quote the value"
        )
    return Located(value, where, {})


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode, where: Where, depth: int) -> Located:
    items: dict[str, Located] = {}
    keys: dict[str, Where] = {}
    for key_node, value_node in node.value:
        at = Where(where.file, key_node.start_mark.line + 1)
        key = loader.construct_object(key_node) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            raise ConfigError(str(at), expected="a name before ':'", got=repr(key), fix="quote it")
        if key == "<<":
            raise ConfigError(str(at), expected="keys written out", got="a merge key '<<'", fix="repeat the keys")
        if key in items:
            raise ConfigError(
                str(at),
                expected="each key once",
                got=f"'{key}' again (first at line {keys[key].line})",
                fix="remove one",
            )
        items[key] = _convert(loader, value_node, where.file, depth + 1)
        keys[key] = at
    return Located(items, where, keys)
