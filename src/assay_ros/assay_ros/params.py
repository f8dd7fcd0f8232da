"""Node parameters as one frozen dataclass per node.

Each field carries description, unit, range and whether it may change at run time, so that declaration, validation,
documentation and tests read one definition. rclpy checks the range of scalars only and reports it without the unit;
`declare` checks every field itself and names it.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

from assay_core.errors import ConfigError, unknown_name

__all__ = ["check", "declare", "markdown_table", "param"]

T = TypeVar("T")

_TYPES: dict[Any, Parameter.Type] = {
    bool: Parameter.Type.BOOL,
    int: Parameter.Type.INTEGER,
    float: Parameter.Type.DOUBLE,
    str: Parameter.Type.STRING,
    tuple[str, ...]: Parameter.Type.STRING_ARRAY,
    tuple[float, ...]: Parameter.Type.DOUBLE_ARRAY,
    tuple[int, ...]: Parameter.Type.INTEGER_ARRAY,
}


def param(
    default: Any,
    description: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    read_only: bool = True,
) -> Any:
    """Return a dataclass field that describes one node parameter.

    Args:
        default: Value when nothing is given; its type must match the annotation.
        description: What it does.
        unit: SI unit or value range in words; empty for names and flags.
        low: Smallest allowed value (of each element of an array).
        high: Largest allowed value.
        choices: Allowed strings; empty allows all.
        read_only: Whether the parameter is fixed once the node runs.
    """
    meta = {
        "description": description,
        "unit": unit,
        "low": low,
        "high": high,
        "choices": choices,
        "read_only": read_only,
    }
    return dataclasses.field(default=default, metadata=meta)


def declare(node: Node, cls: type[T]) -> T:
    """Declare every field of ``cls`` on ``node`` and return an instance with the values in force.

    Args:
        node: Node that has none of the parameters yet.
        cls: Frozen dataclass whose fields come from `param`.

    Raises:
        ConfigError: A value has the wrong type, lies outside its range or is not among its choices, or a value was
            given for a parameter that the node does not have, which rclpy ignores: a limit with a typing error in
            its name would silently not hold.
    """
    hints = typing.get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    for name in getattr(node, "_parameter_overrides", {}):
        if name not in known and not node.has_parameter(name) and not name.startswith("qos_overrides."):
            raise unknown_name(f"parameter of {node.get_name()}", name, known)
    values: dict[str, Any] = {}
    for f in dataclasses.fields(cls):  # type: ignore[arg-type]
        default = list(f.default) if isinstance(f.default, tuple) else f.default
        descriptor = ParameterDescriptor(
            description=_describe(f), read_only=bool(f.metadata["read_only"]), dynamic_typing=True
        )
        raw = node.declare_parameter(f.name, default, descriptor).value
        values[f.name] = _checked(node.get_name(), f, hints[f.name], raw)
    return cls(**values)


def check(cls: type[T], values: Mapping[str, Any], node: str) -> T:
    """Return an instance of ``cls`` with given values, by the rules of `declare`, without any node.

    So that a launcher finds before anything starts what the node would refuse.

    Args:
        cls: Frozen dataclass whose fields come from `param`.
        values: Parameter values by name; what is left out keeps its default.
        node: Name of the node, for messages.

    Raises:
        ConfigError: A value has the wrong type, lies outside its range or is not among its choices, or there is no
            such parameter.
    """
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for name in values:
        if name not in fields and name != "use_sim_time" and not name.startswith("qos_overrides."):
            raise unknown_name(f"parameter of {node}", name, fields)
    given = {name: _checked(node, f, hints[name], values[name]) for name, f in fields.items() if name in values}
    return cls(**given)


def _describe(f: dataclasses.Field[Any]) -> str:
    unit = f" [{f.metadata['unit']}]" if f.metadata["unit"] else ""
    return f"{f.metadata['description']}{unit}"


def _checked(node: str, f: dataclasses.Field[Any], kind: Any, raw: Any) -> Any:
    subject = f"{node}: parameter '{f.name}'"
    fix = f"correct it where it is given: command line, launch file or parameter file ({_describe(f)})"
    value = raw
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        value = float(raw)
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        # An empty YAML list arrives as nothing, one of whole numbers as integers.
        value = () if raw is None else tuple(raw) if not isinstance(raw, str) else raw
        if item is float and isinstance(value, tuple):
            value = tuple(float(x) if isinstance(x, int) and not isinstance(x, bool) else x for x in value)
        ok = isinstance(value, tuple) and all(type(x) is item for x in value)
    else:
        ok = type(value) is kind
    if not ok:
        raise ConfigError(subject, expected=_TYPES[kind].name.lower(), got=repr(raw), fix=fix)
    low, high, choices = f.metadata["low"], f.metadata["high"], f.metadata["choices"]
    for x in value if isinstance(value, tuple) else (value,):
        if choices and x not in choices:
            raise ConfigError(subject, expected="one of " + ", ".join(choices), got=repr(x), fix=fix)
        if isinstance(x, (int, float)) and not isinstance(x, bool):
            outside = (low is not None and x < low) or (high is not None and x > high)
            if outside or not math.isfinite(x):
                bounds = f"a number from {'-inf' if low is None else low} to {'inf' if high is None else high}"
                raise ConfigError(subject, expected=bounds, got=repr(x), fix=fix)
    return value


def markdown_table(cls: type[Any]) -> str:
    """Return the parameters of ``cls`` as a Markdown table, for package READMEs."""
    rows = ["| parameter | default | unit | range | meaning |", "|---|---|---|---|---|"]
    for f in dataclasses.fields(cls):
        m = f.metadata
        bounds = ", ".join(m["choices"])
        if m["low"] is not None or m["high"] is not None:
            bounds = f"{m['low'] if m['low'] is not None else ''} .. {m['high'] if m['high'] is not None else ''}"
        default = list(f.default) if isinstance(f.default, tuple) else f.default
        rows.append(f"| `{f.name}` | `{default!r}` | {m['unit']} | {bounds} | {m['description']} |")
    return "\n".join(rows) + "\n"
