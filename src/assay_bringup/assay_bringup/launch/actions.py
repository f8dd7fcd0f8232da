"""The grammar: which actions a launch file may hold, with which attributes of which type.

The whole file is checked against this table before anything is evaluated. Types are those that `ros2 launch` of Jazzy
insists on, where text is text: ``default: 3`` is an error there, ``default: "3"`` is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from assay_bringup.launch import text
from assay_bringup.launch.source import Located, Where, load
from assay_bringup.launch.text import Template
from assay_core.errors import ConfigError, unknown_name

__all__ = ["Action", "Entry", "read"]


class Kind(Enum):
    """Type of an attribute."""

    TEXT = "text, which may hold substitutions"
    PLAIN = "text without substitutions"
    BOOL = "true or false"
    FLAG = "true, false or text with a substitution"
    FLOAT = "a number with a decimal point, not below 0"
    INT = "an integer"
    VALUE = "text, a number, a boolean or a list of them"
    ENTRIES = "a list of mappings"


@dataclass(frozen=True)
class Attribute:
    """One attribute of an action or of an entry in a list."""

    kind: Kind
    required: bool = False
    entries: Mapping[str, Attribute] | None = None
    """Attributes of each entry, for `Kind.ENTRIES`."""


def _entries(**attributes: Attribute) -> Attribute:
    return Attribute(Kind.ENTRIES, entries={name.rstrip("_"): a for name, a in attributes.items()})


_TEXT, _TEXT_R = Attribute(Kind.TEXT), Attribute(Kind.TEXT, required=True)
_PLAIN, _PLAIN_R = Attribute(Kind.PLAIN), Attribute(Kind.PLAIN, required=True)
_BOOL, _FLOAT, _INT = Attribute(Kind.BOOL), Attribute(Kind.FLOAT), Attribute(Kind.INT)
_PAIRS = _entries(name=_TEXT_R, value=_TEXT_R)

_PARAMETER: dict[str, Attribute] = {
    "name": _TEXT,
    "value": Attribute(Kind.VALUE),
    "type": _PLAIN,
    "from": _TEXT,
    "allow_substs": _BOOL,
}
_PARAMETER["param"] = Attribute(Kind.ENTRIES, entries=_PARAMETER)

_PROCESS: dict[str, Attribute] = {
    "output": _TEXT,
    "cwd": _TEXT,
    "env": _PAIRS,
    "respawn": Attribute(Kind.FLAG),
    "respawn_delay": _FLOAT,
    "respawn_max_retries": _INT,
    "on_exit": _PLAIN,
    "sigterm_timeout": _FLOAT,
    "sigkill_timeout": _FLOAT,
    "launch-prefix": _TEXT,
}

ACTIONS: dict[str, dict[str, Attribute]] = {
    "arg": {"name": _PLAIN_R, "default": _TEXT, "description": _PLAIN, "choice": _entries(value=_PLAIN_R)},
    "let": {"name": _TEXT_R, "value": _TEXT_R},
    "include": {"file": _TEXT_R, "arg": _PAIRS},
    "group": {"scoped": _BOOL, "forwarding": _BOOL, "keep": _PAIRS},
    "set_env": {"name": _TEXT_R, "value": _TEXT_R},
    "append_env": {"name": _TEXT_R, "value": _TEXT_R, "prepend": _BOOL, "separator": _TEXT},
    "unset_env": {"name": _TEXT_R},
    "log": {"message": _TEXT_R},
    "push_ros_namespace": {"namespace": _TEXT_R},
    "executable": {"cmd": _TEXT_R, "name": _TEXT, **_PROCESS},
    "node": {
        "pkg": _TEXT,
        "exec": _TEXT_R,
        "name": _TEXT,
        "namespace": _TEXT,
        "exec_name": _TEXT,
        "args": _TEXT,
        "ros_args": _TEXT,
        "param": Attribute(Kind.ENTRIES, entries=_PARAMETER),
        "remap": _entries(from_=_TEXT_R, to=_TEXT_R),
        **_PROCESS,
    },
}

_ALIASES = {"push-ros-namespace": "push_ros_namespace"}

REFUSED = (
    "load_composable_node",
    "node_container",
    "reset",
    "reset_env",
    "ros_timer",
    "set_parameter",
    "set_parameters_from_file",
    "set_remap",
    "set_ros_log_dir",
    "set_use_sim_time",
    "shutdown",
    "timer",
)
"""Actions of `ros2 launch` that this runner does not carry out."""

_CONDITIONS = ("if", "unless")


@dataclass(frozen=True)
class Entry:
    """One mapping of a list attribute, e.g. one ``param``, or the attributes of an action."""

    where: Where
    texts: Mapping[str, Template]
    values: Mapping[str, object]
    """Attributes that are not text: booleans, numbers; plain text; lists for `Kind.VALUE`."""
    entries: Mapping[str, tuple[Entry, ...]]

    def text(self, name: str) -> Template | None:
        """Return a text attribute, or None where it is absent."""
        return self.texts.get(name)

    def plain(self, name: str) -> str | None:
        """Return a plain text attribute, or None."""
        value = self.values.get(name)
        return value if isinstance(value, str) else None

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean attribute."""
        value = self.values.get(name)
        return value if isinstance(value, bool) else default

    def number(self, name: str) -> float | None:
        """Return a number, or None."""
        value = self.values.get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Action:
    """One action of a launch file, checked but not evaluated."""

    kind: str
    where: Where
    entry: Entry
    condition: Template | None = None
    negated: bool = False
    """The condition is an ``unless``."""
    children: tuple[Action, ...] = field(default=())
    """Actions of a group."""


def read(path: Path) -> tuple[Action, ...]:
    """Return the actions of a launch file.

    Raises:
        ConfigError: The file holds what the grammar does not allow; the message names file and line.
    """
    root = load(path)
    if not isinstance(root.value, dict) or list(root.value) != ["launch"]:
        got = ", ".join(f"'{key}'" for key in root.value) if isinstance(root.value, dict) else root.kind()
        raise ConfigError(
            str(root.where), expected="'launch:' as the only top-level key", got=got, fix="indent the rest below it"
        )
    return _actions(root.value["launch"])


def _actions(items: Located) -> tuple[Action, ...]:
    if not isinstance(items.value, list):
        raise ConfigError(str(items.where), expected="a list of actions", got=items.kind(), fix="start each with '- '")
    return tuple(_action(item) for item in items.value)


def _action(item: Located) -> Action:
    if not isinstance(item.value, dict) or len(item.value) != 1:
        got = "keys " + ", ".join(item.value) if isinstance(item.value, dict) else item.kind()
        raise ConfigError(
            str(item.where), expected="one action as 'ACTION:'", got=got, fix="indent its attributes below its name"
        )
    (name, body), where = next(iter(item.value.items())), item.where
    kind = _ALIASES.get(name, name)
    if kind in REFUSED:
        raise ConfigError(
            f"{where}: action '{name}'",
            expected="one of " + ", ".join(sorted(ACTIONS)),
            got="one that only `ros2 launch` carries out",
            fix="write the file without it, or run it with `ros2 launch`",
        )
    if kind not in ACTIONS:
        raise _at(where, unknown_name("action", name, ACTIONS))
    if kind == "group":
        return _group(body, where)
    attributes = _mapping(body, f"action '{name}'")
    condition, negated = _condition(attributes, where)
    rest = {key: value for key, value in attributes.items() if key not in _CONDITIONS}
    entry = _entry(rest, ACTIONS[kind], body, f"action '{name}'")
    return Action(kind, where, entry, condition, negated)


def _group(body: Located, where: Where) -> Action:
    """Read a group, whose body is a list of actions or a mapping with the list as ``children``."""
    if isinstance(body.value, list):
        return Action("group", where, Entry(where, {}, {}, {}), children=_actions(body))
    attributes = _mapping(body, "action 'group'")
    if "children" not in attributes:
        raise ConfigError(f"{where}: action 'group'", expected="a list of actions, or 'children'", got="neither")
    condition, negated = _condition(attributes, where)
    rest = {key: value for key, value in attributes.items() if key not in (*_CONDITIONS, "children")}
    entry = _entry(rest, ACTIONS["group"], body, "action 'group'")
    return Action("group", where, entry, condition, negated, _actions(attributes["children"]))


def _condition(attributes: Mapping[str, Located], where: Where) -> tuple[Template | None, bool]:
    present = [key for key in _CONDITIONS if key in attributes]
    if len(present) == 2:
        raise ConfigError(str(where), expected="'if' or 'unless'", got="both", fix="combine them: $(and A $(not B))")
    if not present:
        return None, False
    return _text(attributes[present[0]], f"'{present[0]}'"), present[0] == "unless"


def _mapping(item: Located, what: str) -> dict[str, Located]:
    if not isinstance(item.value, dict):
        raise ConfigError(f"{item.where}: {what}", expected="attributes as 'NAME: VALUE'", got=item.kind())
    return item.value


def _entry(attributes: Mapping[str, Located], known: Mapping[str, Attribute], body: Located, what: str) -> Entry:
    """Check a mapping of attributes against those that are known."""
    for name in attributes:
        if name not in known:
            raise _at(body.keys[name], unknown_name(f"attribute of {what}", name, known))
    for name, attribute in known.items():
        if attribute.required and name not in attributes:
            raise ConfigError(
                f"{body.where}: {what}", expected=f"the attribute '{name}'", got="none", fix=f"add '{name}: ...'"
            )
    texts: dict[str, Template] = {}
    values: dict[str, object] = {}
    entries: dict[str, tuple[Entry, ...]] = {}
    for name, item in attributes.items():
        attribute = known[name]
        label = f"attribute '{name}' of {what}"
        if attribute.kind is Kind.TEXT:
            texts[name] = _text(item, label)
        elif attribute.kind is Kind.ENTRIES:
            entries[name] = _list(item, attribute, label)
        elif attribute.kind in (Kind.VALUE, Kind.FLAG):
            _value(item, attribute.kind, label, texts, values, name)
        else:
            values[name] = _scalar(item, attribute.kind, label)
    return Entry(body.where, texts, values, entries)


def _list(item: Located, attribute: Attribute, label: str) -> tuple[Entry, ...]:
    if not isinstance(item.value, list) or not item.value:
        raise ConfigError(f"{item.where}: {label}", expected="a list of mappings", got=item.kind(), fix="write '- ...'")
    known = attribute.entries or {}
    return tuple(_entry(_mapping(each, label), known, each, label) for each in item.value)


def _text(item: Located, label: str) -> Template:
    if not isinstance(item.value, str):
        raise ConfigError(
            f"{item.where}: {label}",
            expected="text",
            got=item.kind(),
            fix=f'quote it: "{str(item.value).lower()}"' if not isinstance(item.value, (list, dict)) else "write text",
        )
    return text.parse(item.value, item.where)


def _scalar(item: Located, kind: Kind, label: str) -> object:
    value: Any = item.value
    if kind is Kind.PLAIN and isinstance(value, str):
        return text.unescape(value)
    accepted = {Kind.BOOL: bool, Kind.FLOAT: float, Kind.INT: int}.get(kind)
    if accepted is not None and type(value) is accepted and not (isinstance(value, float) and value < 0.0):
        return value
    raise ConfigError(f"{item.where}: {label}", expected=kind.value, got=item.kind(), fix="write it so")


def _value(
    item: Located, kind: Kind, label: str, texts: dict[str, Template], values: dict[str, object], name: str
) -> None:
    """Keep text as a template, and other scalars and lists as values (lists hold templates for their texts)."""
    value = item.value
    if isinstance(value, str):
        texts[name] = text.parse(value, item.where)
    elif isinstance(value, bool) or (kind is Kind.VALUE and isinstance(value, (int, float))):
        values[name] = value
    elif kind is Kind.VALUE and isinstance(value, list):
        values[name] = [
            text.parse(each.value, each.where) if isinstance(each.value, str) else each.value for each in value
        ]
    else:
        raise ConfigError(f"{item.where}: {label}", expected=kind.value, got=item.kind())


def _at(where: Where, error: ConfigError) -> ConfigError:
    return ConfigError(f"{where}: {error.subject}", expected=error.expected, got=error.got, fix=error.fix)
