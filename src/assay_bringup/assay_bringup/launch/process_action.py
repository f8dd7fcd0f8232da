"""Resolves `node` and `executable` actions into processes with the command lines that `ros2 launch` would run."""

from __future__ import annotations

import shlex
from pathlib import Path

from assay_bringup.launch import locate
from assay_bringup.launch.actions import Action, Entry
from assay_bringup.launch.context import Context
from assay_bringup.launch.model import PARAMETERS, SIGKILL_AFTER_S, SIGTERM_AFTER_S, ResolvedProcess
from assay_bringup.launch.namespaces import absolute, check_namespace, check_node_name
from assay_bringup.launch.parameters import sources
from assay_bringup.launch.source import Where
from assay_bringup.launch.substitutions import perform, truth
from assay_bringup.launch.text import Template
from assay_core.errors import ConfigError

__all__ = ["process", "split"]

OUTPUTS = ("both", "full", "log", "own_log", "screen")


def process(action: Action, context: Context) -> ResolvedProcess:
    """Return the process of a `node` or `executable` action.

    Raises:
        ConfigError: Package, executable or parameter file is not there, or an attribute has no meaning.
    """
    return _node(action, context) if action.kind == "node" else _executable(action, context)


def _executable(action: Action, context: Context) -> ResolvedProcess:
    entry = action.entry
    command = split(entry.texts["cmd"], context)
    if not command:
        raise ConfigError(f"{action.where}: cmd", expected="a command", got="nothing", fix="name a program")
    named = _optional(entry, "name", context)
    try:
        locate.program(command[0], context.environ)
    except ConfigError as error:
        raise _at(action.where, error) from error
    label = named or Path(command[0]).name
    return _process(action, context, label=label, command=_prefix(entry, context) + command, executable=command[0])


def _node(action: Action, context: Context) -> ResolvedProcess:
    entry, where = action.entry, action.where
    package, executable = _optional(entry, "pkg", context), perform(entry.texts["exec"], context)
    try:
        path = (
            locate.program(executable, context.environ)
            if package is None
            else locate.executable(package, executable, context.environ)
        )
    except ConfigError as error:
        raise _at(where, error) from error
    name = _optional(entry, "name", context)
    if name is not None:
        check_node_name(name, where)
    namespace = absolute(context.namespace, _optional(entry, "namespace", context))
    if namespace is not None:
        check_namespace(namespace, where)
    parameters = sources(entry.entries.get("param", ()), context)
    remaps = [
        [perform(each.texts["from"], context), perform(each.texts["to"], context)]
        for each in entry.entries.get("remap", ())
    ]
    command = [*_prefix(entry, context), str(path), *_words(entry, "args", context)]
    ros_args = _words(entry, "ros_args", context)
    command += ["--ros-args", *ros_args] if ros_args else []
    command += ["--ros-args"]
    command += ["-r", f"__node:={name}"] if name is not None else []
    command += ["-r", f"__ns:={namespace}"] if namespace is not None else []
    for source in parameters:
        command += ["--params-file", source.file or PARAMETERS]
    for origin, target in remaps:
        command += ["-r", f"{origin}:={target}"]
    exec_name = _optional(entry, "exec_name", context)
    label = f"{namespace or ''}/{name}".lstrip("/") if name else exec_name or executable
    return _process(
        action,
        context,
        label=label,
        command=command,
        package=package,
        executable=executable,
        node=name,
        namespace=namespace,
        parameters=parameters,
        remaps=remaps,
    )


def _process(action: Action, context: Context, **fields: object) -> ResolvedProcess:
    """Return a process with the attributes that nodes and other executables share."""
    entry, where = action.entry, action.where
    further = {
        perform(e.texts["name"], context): perform(e.texts["value"], context) for e in entry.entries.get("env", ())
    }
    on_exit = entry.plain("on_exit")
    if on_exit not in (None, "shutdown"):
        raise ConfigError(f"{where}: on_exit", expected="shutdown", got=repr(on_exit), fix="leave it out otherwise")
    output = _optional(entry, "output", context) or "log"
    if output not in OUTPUTS:
        raise ConfigError(f"{where}: output", expected="one of " + ", ".join(OUTPUTS), got=repr(output))
    respawn = entry.text("respawn")
    sigterm, sigkill = entry.number("sigterm_timeout"), entry.number("sigkill_timeout")
    retries = entry.number("respawn_max_retries")
    cwd = _optional(entry, "cwd", context)
    if cwd is not None and not Path(cwd).is_dir():
        raise ConfigError(f"{where}: cwd {cwd}", expected="a directory", got="none there", fix="check the path")
    return ResolvedProcess(
        source=str(where),
        environment=context.environment(further),
        cwd=cwd,
        output=output,
        respawn=truth(perform(respawn, context), where) if respawn is not None else entry.flag("respawn", False),
        respawn_delay_s=entry.number("respawn_delay") or 0.0,
        respawn_max_retries=-1 if retries is None else int(retries),
        on_exit=on_exit,
        sigterm_after_s=SIGTERM_AFTER_S if sigterm is None else sigterm,
        sigkill_after_s=SIGKILL_AFTER_S if sigkill is None else sigkill,
        **fields,  # type: ignore[arg-type]
    )


def split(template: Template, context: Context) -> list[str]:
    """Return the words of a command line; what comes out of a substitution stays one word.

    Raises:
        ConfigError: A quote is not closed.
    """
    words: list[str] = []
    current: str | None = None
    for part in template.parts:
        if not isinstance(part, str):
            current = (current or "") + perform(Template((part,), template.where), context)
            continue
        try:
            pieces = shlex.split(part)
        except ValueError as error:
            raise ConfigError(f"{template.where}: {part!r}", expected="closed quotes", got=str(error)) from error
        if current is not None and (not pieces or part[0].isspace()):
            words.append(current)
            current = None
        for index, piece in enumerate(pieces):
            if index and current is not None:
                words.append(current)
                current = None
            current = (current or "") + piece
        if current is not None and part[-1].isspace():
            words.append(current)
            current = None
    if current is not None:
        words.append(current)
    return words


def _optional(entry: Entry, name: str, context: Context) -> str | None:
    template = entry.text(name)
    return None if template is None else perform(template, context)


def _words(entry: Entry, name: str, context: Context) -> list[str]:
    template = entry.text(name)
    return [] if template is None else split(template, context)


def _prefix(entry: Entry, context: Context) -> list[str]:
    text = _optional(entry, "launch-prefix", context)
    return [] if text is None else shlex.split(text)


def _at(where: Where, error: ConfigError) -> ConfigError:
    """Return the error with file and line."""
    return ConfigError(f"{where}: {error.subject}", expected=error.expected, got=error.got, fix=error.fix)
