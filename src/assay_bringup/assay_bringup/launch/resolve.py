"""Resolves a launch file with its arguments into the processes it starts, without starting any.

Actions are carried out in order on a `Context`, as `ros2 launch` does it. Some things are stricter, because mistakes
must not reach a robot: an argument that no file declares or that changes nothing is refused, and so is a file that does
not exist.
"""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay_bringup.launch import locate
from assay_bringup.launch.actions import Action, read
from assay_bringup.launch.context import Context, Declared
from assay_bringup.launch.model import Resolved, ResolvedProcess
from assay_bringup.launch.namespaces import absolute, check_namespace
from assay_bringup.launch.process_action import process
from assay_bringup.launch.source import Where
from assay_bringup.launch.substitutions import condition, existing_file, perform
from assay_bringup.launch.unused import Skipped, refuse_unused, skipped
from assay_core.errors import ConfigError, unknown_name

__all__ = ["declared_arguments", "parse_arguments", "resolve"]

DEEPEST_INCLUDE = 16


def parse_arguments(words: Iterable[str]) -> dict[str, str]:
    """Return ``key:=value`` words as arguments; the last of several wins.

    Raises:
        ConfigError: A word has another form.
    """
    result: dict[str, str] = {}
    for word in words:
        key, separator, value = word.partition(":=")
        if not separator or not key or not value:
            raise ConfigError(
                f"launch argument {word!r}",
                expected="NAME:=VALUE",
                got="no name" if separator and not key else "no value" if separator else "no ':='",
                fix="leave an argument out to get its default",
            )
        result[key] = value
    return result


def resolve(
    file: str | os.PathLike[str],
    arguments: Mapping[str, str] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> Resolved:
    """Return what a launch file starts.

    Args:
        file: Path, or name of one of our launch files, e.g. ``eval``.
        arguments: Values of launch arguments, as text.
        environ: Environment of the launcher; None takes this process's.

    Raises:
        ConfigError: The file or an argument is wrong; the message names file and line where there is one.
    """
    resolver = _resolver(file, arguments, environ)
    context = resolver.context
    for name in arguments or {}:
        if name not in context.declared:
            raise unknown_name("launch argument", name, context.declared)
    refuse_unused(arguments or {}, context, resolver.left_out)
    _refuse_twins(resolver.processes)
    return Resolved(
        file=context.file,
        arguments={name: context.variables.get(name, "") for name in sorted(context.declared)},
        processes=_labelled(resolver.processes),
        messages=context.messages,
    )


def declared_arguments(
    file: str | os.PathLike[str],
    arguments: Mapping[str, str] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> list[Declared]:
    """Return every argument that a launch file and the files it includes declare, in order."""
    return list(_resolver(file, arguments, environ).context.declared.values())


def _resolver(
    file: str | os.PathLike[str], arguments: Mapping[str, str] | None, environ: Mapping[str, str] | None
) -> _Resolver:
    given = dict(os.environ if environ is None else environ)
    resolver = _Resolver(Context(given, dict(arguments or {})))
    resolver.run(locate.launch_file(file, given))
    return resolver


class _Resolver:
    """Carries out actions and collects processes."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.processes: list[ResolvedProcess] = []
        self.left_out: list[Skipped] = []
        """Actions whose condition did not hold."""
        self._depth = 0

    def run(self, path: Path) -> None:
        """Carry out a file."""
        actions = read(path)
        self.context.file, self.context.directory = str(path), str(path.parent)
        self.context.included = False
        self._carry_out(actions)

    def _carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if action.condition is not None and condition(action.condition, self.context) is action.negated:
                self.left_out.append(skipped(action))
                continue
            if action.kind in ("node", "executable"):
                self.processes.append(process(action, self.context))
            else:
                getattr(self, f"_do_{action.kind}")(action)

    def _required(self, action: Action, name: str) -> str:
        """Return a required text attribute, evaluated."""
        template = action.entry.texts[name]
        return perform(template, self.context)

    def _pairs(self, action: Action, name: str) -> dict[str, str]:
        return {
            perform(entry.texts["name"], self.context): perform(entry.texts["value"], self.context)
            for entry in action.entry.entries.get(name, ())
        }

    def _do_arg(self, action: Action) -> None:
        context, entry = self.context, action.entry
        name = entry.plain("name") or ""
        template = entry.text("default")
        default = None if template is None else perform(template, context)
        choices = tuple(choice.plain("value") or "" for choice in entry.entries.get("choice", ()))
        description = entry.plain("description") or ""
        context.declared.setdefault(name, Declared(name, description, default, choices, str(action.where)))
        if name not in context.variables:
            if default is None:
                raise ConfigError(
                    f"{action.where}: launch argument '{name}'",
                    expected=f"a value ({description})" if description else "a value",
                    got="none",
                    fix=f"add {name}:=VALUE",
                )
            context.variables[name] = default
        value = context.variables[name]
        if choices and value not in choices:
            error = unknown_name(name, value, choices)
            raise ConfigError(error.subject, expected=error.expected, got=f"{name}:={value}", fix=error.fix)

    def _do_let(self, action: Action) -> None:
        self.context.variables[self._required(action, "name")] = self._required(action, "value")

    def _do_include(self, action: Action) -> None:
        context = self.context
        path = _launch_file(self._required(action, "file"), action.where, context.file)
        self._depth += 1
        if self._depth > DEEPEST_INCLUDE:
            raise ConfigError(
                f"{action.where}: include", expected="files that end", got="files that include each other", fix="cut it"
            )
        context.included = True
        given = self._pairs(action, "arg")
        context.variables.update(given)
        here = context.file, context.directory
        self.run(path)
        for name in given:
            if name not in context.declared:
                error = unknown_name(f"argument of {path.name}", name, context.declared)
                raise ConfigError(
                    f"{action.where}: {error.subject}", expected=error.expected, got=error.got, fix=error.fix
                )
        (context.file, context.directory), context.included = here, True
        self._depth -= 1

    def _do_group(self, action: Action) -> None:
        context = self.context
        scoped, forwarding = action.entry.flag("scoped", True), action.entry.flag("forwarding", True)
        saved = dict(context.variables), dict(context.environ), set(context.assigned)
        kept = self._pairs(action, "keep")
        if scoped and not forwarding:
            context.variables, context.environ, context.assigned = {}, dict(context.base_environ), set()
        context.variables.update(kept)
        self._carry_out(action.children)
        if scoped:
            context.variables, context.environ, context.assigned = saved

    def _do_set_env(self, action: Action) -> None:
        self.context.set_env(self._required(action, "name"), self._required(action, "value"))

    def _do_append_env(self, action: Action) -> None:
        name, value = self._required(action, "name"), self._required(action, "value")
        template = action.entry.text("separator")
        separator = os.pathsep if template is None else perform(template, self.context)
        old = self.context.environ.get(name)
        parts = [value] if old is None else [value, old] if action.entry.flag("prepend", False) else [old, value]
        self.context.set_env(name, separator.join(parts))

    def _do_unset_env(self, action: Action) -> None:
        self.context.set_env(self._required(action, "name"), None)

    def _do_log(self, action: Action) -> None:
        self.context.messages.append(self._required(action, "message"))

    def _do_push_ros_namespace(self, action: Action) -> None:
        pushed = self._required(action, "namespace")
        namespace = absolute(self.context.namespace, pushed) or "/"
        check_namespace(namespace, action.where)
        self.context.namespace = namespace


def _launch_file(text: str, where: Where, own: str) -> Path:
    """Return the path of a file to include.

    Args:
        text: Its path.
        where: The action that includes it.
        own: The file that includes it.

    Raises:
        ConfigError: There is none; where launch files lie beside it, the message has near matches.
    """
    directory, name = os.path.split(text)
    beside = [path.name for path in Path(directory).glob("*.launch.y*ml") if path.is_file() and str(path) != own]
    if beside and not Path(text).is_file():
        ending = ".launch.yaml"
        error = unknown_name("launch file", name.removesuffix(ending), (each.removesuffix(ending) for each in beside))
        raise ConfigError(
            f"{where}: {error.subject}",
            expected=f"{error.expected}, which lie in {directory}",
            got=error.got,
            fix=error.fix,
        )
    return existing_file(text, where, "launch file")


def _labelled(processes: list[ResolvedProcess]) -> list[ResolvedProcess]:
    """Return the processes with labels that differ, since logs and messages go by them."""
    count: Counter[str] = Counter()
    result = []
    for each in processes:
        count[each.label] += 1
        again = count[each.label]
        result.append(each if again == 1 else dataclasses.replace(each, label=f"{each.label}-{again}"))
    return result


def _refuse_twins(processes: list[ResolvedProcess]) -> None:
    """Refuse two nodes of one full name: ROS 2 lets both run, and each answers for the other."""
    seen: dict[tuple[str, str], str] = {}
    for each in processes:
        if each.node is None:
            continue
        key = (each.namespace or "/", each.node)
        if key in seen:
            raise ConfigError(
                f"{each.source}: node '{each.label}'",
                expected="each node once",
                got=f"another one of that name at {seen[key]}",
                fix="give it another name or namespace",
            )
        seen[key] = each.source
