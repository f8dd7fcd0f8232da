"""Parameter values of launch files, typed as `ros2 launch` types them.

A value with a substitution is read by the rules of YAML unless a type is given: ``$(var cameras)`` with 3 becomes an
integer. Text without a substitution stays text. Names of nested parameters are joined with dots.
"""

from __future__ import annotations

from typing import Any

import yaml

from assay_bringup.launch.actions import Entry
from assay_bringup.launch.context import Context
from assay_bringup.launch.model import ParameterSource
from assay_bringup.launch.source import Where
from assay_bringup.launch.substitutions import existing_file, perform
from assay_bringup.launch.text import Template
from assay_core.errors import ConfigError, unknown_name

__all__ = ["sources"]

_TYPES: dict[str, tuple[type, bool] | None] = {
    "str": (str, False),
    "bool": (bool, False),
    "float": (float, False),
    "int": (int, False),
    "list_of_str": (str, True),
    "list_of_bool": (bool, True),
    "list_of_float": (float, True),
    "list_of_int": (int, True),
    "yaml": None,
}


def sources(entries: tuple[Entry, ...], context: Context) -> list[ParameterSource]:
    """Return the parameters of a node, in order; neighbouring values are put together.

    Raises:
        ConfigError: A file does not exist, or a value has the wrong type.
    """
    result: list[ParameterSource] = []
    for entry in entries:
        origin = entry.text("from")
        if origin is not None:
            if entry.text("name") is not None or entry.flag("allow_substs", False):
                raise ConfigError(
                    f"{entry.where}: 'from'",
                    expected="a parameter file alone, taken as it is",
                    got="'name' beside it" if entry.text("name") is not None else "allow_substs",
                    fix="give further values in entries of their own",
                )
            path = existing_file(perform(origin, context), entry.where, "parameter file")
            result.append(ParameterSource(str(path), {}))
            continue
        values = _named(entry, context, "")
        if result and result[-1].file is None:
            result[-1].values.update(values)
        else:
            result.append(ParameterSource(None, values))
    return result


def _named(entry: Entry, context: Context, prefix: str) -> dict[str, Any]:
    """Return the values of one entry by full name."""
    name = entry.text("name")
    if name is None:
        raise ConfigError(f"{entry.where}: param", expected="'name' or 'from'", got="neither", fix="add one")
    full = prefix + perform(name, context)
    nested = entry.entries.get("param", ())
    has_value = entry.text("value") is not None or "value" in entry.values
    if has_value == bool(nested):
        raise ConfigError(
            f"{entry.where}: parameter '{full}'",
            expected="'value' or nested 'param'",
            got="both" if nested else "neither",
            fix="keep one",
        )
    if nested:
        values: dict[str, Any] = {}
        for each in nested:
            values.update(_named(each, context, full + "."))
        return values
    return {full: _value(entry, full, context)}


def _value(entry: Entry, name: str, context: Context) -> Any:
    where = entry.where
    label = entry.plain("type") or "yaml"
    if label not in _TYPES:
        error = unknown_name("parameter type", label, _TYPES)
        raise ConfigError(f"{where}: {error.subject}", expected=error.expected, got=error.got, fix=error.fix)
    wanted = _TYPES[label]
    template = entry.text("value")
    if template is not None:
        return _from_text(template, wanted, name, label, context)
    raw = entry.values["value"]
    value = [perform(x, context) if isinstance(x, Template) else x for x in raw] if isinstance(raw, list) else raw
    if wanted is None:
        return _uniform(value, where, name)
    kind, is_list = wanted
    items = value if isinstance(value, list) else [value]
    if isinstance(value, list) is not is_list or any(type(x) is not kind for x in items):
        raise _mismatch(where, name, label, repr(value))
    return value


def _from_text(template: Template, wanted: tuple[type, bool] | None, name: str, label: str, context: Context) -> Any:
    """Return the value that text stands for."""
    where = template.where
    text = perform(template, context)
    if wanted is None:
        if template.literal is not None or not text:
            return text
        return _uniform(_yaml(text, where, name), where, name)
    kind, is_list = wanted
    if kind is str and not is_list:
        return text
    if is_list or template.literal is not None:
        raise _mismatch(where, name, label, f"the text {text!r}")
    try:
        if kind in (int, float):
            return kind(text)
    except ValueError:
        raise _mismatch(where, name, label, repr(text)) from None
    if text in ("0", "1"):
        return text == "1"
    value = _yaml(text, where, name)
    if isinstance(value, bool):
        return value
    raise _mismatch(where, name, label, repr(text))


def _yaml(text: str, where: Where, name: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(
            f"{where}: parameter '{name}'",
            expected="a YAML value",
            got=repr(text),
            fix="give it a type: type: str",
        ) from error


def _uniform(value: Any, where: Where, name: str) -> Any:
    """Return ``value`` when it is a scalar or a list of scalars of one type, which ROS 2 can hold."""
    items = value if isinstance(value, list) else [value]
    kinds = {type(x) for x in items}
    if len(kinds) <= 1 and kinds <= {str, bool, int, float}:
        return value
    raise ConfigError(
        f"{where}: parameter '{name}'",
        expected="text, a boolean, a number or a list of one of these",
        got=repr(value),
        fix="make the list uniform, or give a type: type: str",
    )


def _mismatch(where: Where, name: str, label: str, got: str) -> ConfigError:
    return ConfigError(f"{where}: parameter '{name}'", expected=label, got=got, fix="correct the value or the type")
