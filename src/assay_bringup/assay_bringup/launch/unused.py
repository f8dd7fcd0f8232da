"""Finds launch arguments that change nothing, because whatever takes them is left out by its condition.

`ros2 launch` takes such an argument in silence: ``graders:=[anna]`` without a task starts a graph that knows nothing of
anna, and who finds out does so in the middle of a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay_bringup.launch.actions import Action, Entry
from assay_bringup.launch.context import Context
from assay_bringup.launch.text import Call, Template
from assay_core.errors import ConfigError

__all__ = ["Skipped", "refuse_unused", "skipped"]


class Skipped:
    """An action that was left out.

    Args:
        name: What people call it, e.g. ``node 'runner'``.
        needs: Variables of its condition.
        takes: Variables that it would have read.
    """

    def __init__(self, name: str, needs: frozenset[str], takes: frozenset[str]) -> None:
        self.name, self.needs, self.takes = name, needs, takes


def skipped(action: Action) -> Skipped:
    """Return what is to be known of an action whose condition does not hold."""
    template = action.entry.text("name")
    literal = template.literal if template is not None else None
    name = f"{action.kind} '{literal}'" if literal else f"{action.kind} at {action.where}"
    needs = frozenset() if action.condition is None else frozenset(_variables(action.condition))
    return Skipped(name, needs, frozenset(_variables(action)))


def refuse_unused(arguments: Mapping[str, str], context: Context, left_out: list[Skipped]) -> None:
    """Refuse an argument that only actions read which were left out.

    Args:
        arguments: What the user gave; every name is declared.
        context: After everything was carried out.
        left_out: Actions whose condition did not hold.

    Raises:
        ConfigError: There is one; names who would take it, and what turns that on.
    """
    for name, value in arguments.items():
        takers = [one for one in left_out if name in one.takes]
        if name in context.used or not takers:
            continue
        needs = sorted({need for one in takers for need in one.needs} & set(context.declared))
        turned_on = f"add {' or '.join(f'{need}:=VALUE' for need in needs)}, or " if needs else ""
        raise ConfigError(
            f"launch argument '{name}'",
            expected="an argument that changes something",
            got=f"{name}:={value}, but only {' and '.join(one.name for one in takers)} takes it, which is left out",
            fix=f"{turned_on}leave {name} out",
        )


def _variables(found: Any) -> Iterator[str]:
    """Yield the names of all variables that anything in an action reads."""
    if isinstance(found, Call):
        if found.name == "var" and found.arguments and (name := found.arguments[0].literal) is not None:
            yield name
        yield from _variables(found.arguments)
    elif isinstance(found, Template):
        yield from _variables(found.parts)
    elif isinstance(found, Entry):
        yield from _variables([*found.texts.values(), *found.values.values(), *found.entries.values()])
    elif isinstance(found, Action):
        yield from _variables([found.entry, found.children])
    elif isinstance(found, (list, tuple)):
        for each in found:
            yield from _variables(each)
