"""Evaluates substitutions against a context."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import yaml

from assay_bringup.launch import locate
from assay_bringup.launch.context import Context
from assay_bringup.launch.expression import evaluate
from assay_bringup.launch.source import Where
from assay_bringup.launch.text import Call, Template
from assay_core.errors import ConfigError, unknown_name

__all__ = ["condition", "existing_file", "perform", "truth"]


def perform(template: Template, context: Context) -> str:
    """Return the text of a template.

    Raises:
        ConfigError: A variable, package, program or file does not exist; the message names file and line.
    """
    return "".join(part if isinstance(part, str) else _call(part, template.where, context) for part in template.parts)


def condition(template: Template, context: Context) -> bool:
    """Return whether an ``if`` or ``unless`` holds: true or 1, false or 0, in any case.

    Raises:
        ConfigError: It is anything else.
    """
    text = perform(template, context)
    value = {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower())
    if value is None:
        raise ConfigError(
            f"{template.where}: condition", expected="true, 1, false or 0", got=repr(text), fix="correct the expression"
        )
    return value


def truth(text: str, where: Where) -> bool:
    """Return the boolean that ``text`` means by the rules of YAML, 0 and 1 included.

    Raises:
        ConfigError: It is no boolean.
    """
    if text in ("0", "1"):
        return text == "1"
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = None
    if isinstance(value, bool):
        return value
    raise ConfigError(f"{where}: boolean", expected="true or false", got=repr(text), fix="correct the value")


def _call(call: Call, where: Where, context: Context) -> str:
    arguments = [perform(argument, context) for argument in call.arguments]
    try:
        return _FUNCTIONS[call.name](arguments, where, context)
    except ConfigError as error:
        if error.subject.startswith(str(where)):
            raise
        raise ConfigError(f"{where}: {error.subject}", expected=error.expected, got=error.got, fix=error.fix) from error


def _var(arguments: list[str], _where: Where, context: Context) -> str:
    name = arguments[0]
    if name not in context.variables:
        raise unknown_name("launch variable", name, context.variables)
    context.used.add(name)
    return context.variables[name]


def _env(arguments: list[str], _where: Where, context: Context) -> str:
    value = context.environ.get(arguments[0], arguments[1] if len(arguments) > 1 else None)
    if value is None:
        raise ConfigError(
            f"environment variable {arguments[0]}",
            expected="a value, or a default in the launch file",
            got="neither",
            fix=f"set it, or write $(env {arguments[0]} DEFAULT)",
        )
    return value


def _dirname(_arguments: list[str], where: Where, context: Context) -> str:
    _refuse_after_include("dirname", where, context)
    return context.directory


def _filename(_arguments: list[str], where: Where, context: Context) -> str:
    _refuse_after_include("filename", where, context)
    return context.file


def _refuse_after_include(name: str, where: Where, context: Context) -> None:
    """Refuse what `ros2 launch` answers with the included file's path, which nobody means."""
    if context.included:
        raise ConfigError(
            f"{where}: $({name})",
            expected="it before the first include of the file",
            got="it after an include, where `ros2 launch` takes it for the included file's",
            fix="keep it in a variable at the top: - let: {name: here, value: $(dirname)}",
        )


def _find_exec(arguments: list[str], _where: Where, context: Context) -> str:
    return str(locate.program(arguments[0], context.environ))


def _if(arguments: list[str], where: Where, _context: Context) -> str:
    otherwise = arguments[2] if len(arguments) > 2 else ""
    return arguments[1] if truth(arguments[0], where) else otherwise


def _equal(left: str, right: str) -> bool:
    booleans = {"true": True, "1": True, "false": False, "0": False}
    if left.lower() in booleans and right.lower() in booleans:
        return booleans[left.lower()] == booleans[right.lower()]
    try:
        return math.isclose(float(left), float(right))
    except ValueError:
        return left == right


def _text(value: bool) -> str:
    return str(value).lower()


_FUNCTIONS: dict[str, Callable[[list[str], Where, Context], str]] = {
    "var": _var,
    "env": _env,
    "eval": lambda a, where, _c: evaluate(a[0], where),
    "dirname": _dirname,
    "filename": _filename,
    "find-pkg-share": lambda a, _w, c: str(locate.package_share(a[0], c.environ)),
    "find-pkg-prefix": lambda a, _w, c: str(locate.package_prefix(a[0], c.environ)),
    "exec-in-pkg": lambda a, _w, c: str(locate.executable(a[1], a[0], c.environ)),
    "find-exec": _find_exec,
    "if": _if,
    "not": lambda a, where, _c: _text(not truth(a[0], where)),
    "and": lambda a, where, _c: _text(truth(a[0], where) and truth(a[1], where)),
    "or": lambda a, where, _c: _text(truth(a[0], where) or truth(a[1], where)),
    "equals": lambda a, _w, _c: _text(_equal(a[0], a[1])),
    "not-equals": lambda a, _w, _c: _text(not _equal(a[0], a[1])),
}


def existing_file(text: str, where: Where, what: str) -> Path:
    """Return ``text`` as the path of a file.

    Raises:
        ConfigError: There is no file.
    """
    path = Path(text)
    if not path.is_file():
        raise ConfigError(f"{where}: {what} {text}", expected="a file", got="none there", fix="check the path")
    return path.absolute()
