"""Contradictions in a task file: parts that are well formed each and cannot be true together.

A variable that is sampled and shows up nowhere makes two trials differ on paper only; one that places two objects
correlates them by accident; a goal that names what was not sampled tells the policy something false. All of it is
found when the file is loaded, with the line.
"""

from __future__ import annotations

import difflib
import string
from collections.abc import Iterable, Iterator, Mapping

from assay_benchmarks.assets import ASSETS, asset_key
from assay_benchmarks.kinds import KINDS, RESERVED_NAMES
from assay_benchmarks.schema import InstanceFile, ObjectFile, SetupFile, TaskFile
from assay_benchmarks.shapes import Problem
from assay_core.located_yaml import YamlPath

__all__ = ["contradictions"]

_NOT_NEGATIVE = ("spread_cm", "amount_g")
_POSITIVE = ("size_cm",)


def contradictions(task: TaskFile) -> list[Problem]:
    """Return every contradiction of a well-formed task file, in reading order."""
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    for index, instance in enumerate(task.instances):
        path: YamlPath = ("instances", index)
        prefix = f"{task.task}/"
        if not instance.id.startswith(prefix):
            fix = f"rename it to {prefix}{instance.id.partition('/')[2]}"
            problems.append(Problem((*path, "id"), f"id '{instance.id}'", f"an id that starts with {prefix}", "", fix))
        if instance.id in seen:
            got = f"the id of instance {seen[instance.id] + 1} again"
            problems.append(Problem((*path, "id"), f"id '{instance.id}'", "each id once", got, "rename one of the two"))
        seen.setdefault(instance.id, index)
        problems += _Instance(instance, path).problems()
    return problems


class _Instance:
    """Checks one instance; ``values`` holds what each variable can be, None where that is a continuum."""

    def __init__(self, instance: InstanceFile, path: YamlPath) -> None:
        self.instance, self.path = instance, path
        self.static = instance.static
        self.values = {name: _values(entry) for name, entry in instance.setup.items()}

    def problems(self) -> list[Problem]:
        found = list(self._setup())
        if found:
            return found  # the rest would only repeat it
        return [*self._language(), *self._scene(), *self._success(), *self._conditions(), *self._coverage()]

    # --- distributions

    def _setup(self) -> Iterator[Problem]:
        for name, entry in self.instance.setup.items():
            path = (*self.path, "setup", name)
            yield from _distribution(name, entry, path)
            if name in self.static:
                yield Problem(path, f"'{name}'", "a name of its own", "a name of static too", "rename one of the two")

    # --- goal

    def _language(self) -> Iterator[Problem]:
        variables, setup = self.instance.language_vars, self.instance.setup
        for index, name in enumerate(variables):
            path = (*self.path, "language_vars", index)
            if name not in setup:
                yield _unknown(path, "language variable", name, setup, "variable of setup")
            elif name in variables[:index]:
                yield Problem(path, f"language variable '{name}'", "each once", "it twice", "remove one")
        goal = (*self.path, "goal")
        try:
            fields = [
                (name, spec) for _, name, spec, _ in string.Formatter().parse(self.instance.goal) if name is not None
            ]
        except ValueError as error:
            yield Problem(goal, "goal", "matching braces", str(error), "write {{ for a brace that is meant")
            return
        for name, spec in fields:
            if name not in variables:
                yield _unknown(goal, "goal placeholder", name, variables, "language variable")
            elif name in setup:
                yield from self._format(goal, name, spec or "")
        for index, name in enumerate(variables):
            if name not in [field for field, _ in fields]:
                path, fix = (*self.path, "language_vars", index), "mention it in the goal or remove it here"
                yield Problem(path, f"language variable '{name}'", f"{{{name}}} in the goal", "no mention of it", fix)

    def _format(self, path: YamlPath, name: str, spec: str) -> Iterator[Problem]:
        for value in self.values[name] or (0.5,):
            try:
                format(value, spec)
            except ValueError as error:
                yield Problem(path, f"{{{name}:{spec}}}", f"a format for {value!r}", str(error), "correct the format")
                return

    # --- objects

    def _scene(self) -> Iterator[Problem]:
        taken: dict[str, str] = {}
        bound: dict[str, str] = {}
        for index, item in enumerate(self.instance.scene):
            path = (*self.path, "scene", index)
            yield from self._names(path, item, taken)
            yield from self._parent(path, item, taken)
            yield from self._asset(path, item)
            for field, name in _references(item):
                if name not in self.values and name not in self.static:
                    yield _undeclared((*path, field), name, self.values, self.static)
                    continue
                if name in self.values and name in bound:
                    got, fix = f"it in object '{bound[name]}' too", "give each object a variable of its own"
                    yield Problem((*path, field), f"variable '{name}'", "one object that it sets", got, fix)
                bound.setdefault(name, item.name)
            yield from self._numbers(path, item)
        yield from self._roles()

    def _names(self, path: YamlPath, item: ObjectFile, taken: dict[str, str]) -> Iterator[Problem]:
        path = (*path, "name")
        for name in _expanded(item, self.values):
            if name in RESERVED_NAMES:
                got = "a name that every world registers itself"
                yield Problem(path, f"object '{name}'", f"none of {', '.join(RESERVED_NAMES)}", got, "rename it")
            elif name in taken:
                got = f"the name of an object declared before ('{taken[name]}')"
                yield Problem(path, f"object '{name}'", "each name once", got, "rename one of the two")
            taken.setdefault(name, item.name)

    def _parent(self, path: YamlPath, item: ObjectFile, taken: Mapping[str, str]) -> Iterator[Problem]:
        if item.parent is None or (item.parent in taken and item.parent not in _expanded(item, self.values)):
            return
        path, subject = (*path, "parent"), f"parent '{item.parent}'"
        later = [other.name for other in self.instance.scene]
        if item.parent in later and item.parent not in taken:
            copies = any(
                other.name == item.parent and _expanded(other, self.values) != [other.name]
                for other in self.instance.scene
            )
            got = "an object with numbered copies" if copies else "one declared later"
            fix = "name one copy, e.g. " + f"{item.parent}_1" if copies else "move it up"
            yield Problem(path, subject, "an object declared earlier", got, fix)
        elif item.parent == item.name:
            yield Problem(path, subject, "another object", "the object itself", "remove it")
        else:
            yield _unknown(path, "parent", item.parent, taken, "object declared earlier")

    def _asset(self, path: YamlPath, item: ObjectFile) -> Iterator[Problem]:
        name = item.asset
        if not name.startswith("$"):
            if name not in ASSETS:
                yield _unknown((*path, "asset"), "asset", name, ASSETS, "asset")
        elif name[1:] in self.values or name[1:] in self.static:
            for value in self._possible(name[1:]):
                if not isinstance(value, str) or asset_key(value) not in ASSETS:
                    yield _unknown((*path, "asset"), f"asset (a value of '{name[1:]}')", str(value), ASSETS, "asset")
        for index, dealt in enumerate(item.split):
            if dealt not in ASSETS:
                yield _unknown((*path, "split", index), "asset", dealt, ASSETS, "asset")

    def _numbers(self, path: YamlPath, item: ObjectFile) -> Iterator[Problem]:
        for field in ("x_cm", "y_cm", "yaw_deg", "count", "spread_cm", "size_cm", "amount_g"):
            value = getattr(item, field)
            subject = f"'{field}'"
            for each in self._resolved(value):
                if isinstance(each, str):
                    yield Problem((*path, field), subject, "a number", f"{each!r}", "bind a numeric variable")
                elif field == "count" and (not isinstance(each, int) or each < 1):
                    yield Problem((*path, field), subject, "a whole number of 1 or more", str(each), "correct it")
                elif (field in _NOT_NEGATIVE and each < 0) or (field in _POSITIVE and each <= 0):
                    limit = "more than 0" if field in _POSITIVE else "0 or more"
                    yield Problem((*path, field), subject, limit, str(each), "correct it")
                else:
                    continue
                break
            if field == "count" and isinstance(value, str) and self.values.get(value[1:], ()) is None:
                yield Problem((*path, field), subject, "a whole number", f"a continuum ({value})", "use categorical")
        if item.size_order is None:
            return
        path = (*path, "size_order")
        if not item.size_order.startswith("$"):
            yield Problem(path, "'size_order'", "$variable", repr(item.size_order), "bind a variable")
        for each in self._resolved(item.size_order):
            if each not in ("largest_first", "shuffled"):
                yield Problem(path, "'size_order'", "largest_first or shuffled", repr(each), "correct its values")
                return

    def _roles(self) -> Iterator[Problem]:
        kind, path = KINDS.get(self.instance.target_kind), (*self.path, "target_kind")
        if kind is None:
            yield _unknown(path, "target kind", self.instance.target_kind, KINDS, "target kind")
            return
        for role in kind.roles:
            items = [item for item in self.instance.scene if item.role == role]
            copies = sum(len(_expanded(item, self.values)) for item in items)
            subject = f"target kind '{self.instance.target_kind}'"
            if not items:
                yield Problem((*self.path, "scene"), subject, f"an object with role '{role}'", "none", "give it a role")
            elif role not in kind.several and copies > 1:
                names = ", ".join(item.name for item in items)
                got = f"{copies} ({names})"
                yield Problem((*self.path, "scene"), subject, f"one object with role '{role}'", got, "keep one")
        if self.instance.target_kind == "sort":
            yield from self._compartments()

    def _compartments(self) -> Iterator[Problem]:
        there = {item.name for item in self.instance.scene if item.role == "compartment"}
        for index, item in enumerate(self.instance.scene):
            if item.role != "sortable":
                continue
            for asset in item.split or [str(value) for value in self._resolved(item.asset)]:
                wanted = f"compartment_{asset_key(asset)}"
                if wanted not in there:
                    path, got = (*self.path, "scene", index), f"{', '.join(sorted(there)) or 'none'}"
                    yield Problem(path, f"sortable '{item.name}'", f"a compartment '{wanted}'", got, "declare it")

    # --- success, conditions, coverage

    def _success(self) -> Iterator[Problem]:
        kind = KINDS.get(self.instance.target_kind)
        known = (*kind.required, *kind.optional) if kind else ()
        path = (*self.path, "success")
        names = {name for item in self.instance.scene for name in _expanded(item, self.values)}
        for name, value in self.instance.success.items():
            if kind and name not in known:
                yield _unknown(
                    (*path, name), "success parameter", name, known, f"parameter of {self.instance.target_kind}"
                )
            if isinstance(value, str) and value.startswith("$"):
                if value[1:] not in self.values and value[1:] not in self.static:
                    yield _undeclared((*path, name), value[1:], self.values, self.static)
            elif name == "substance" and value not in names:
                yield _unknown((*path, name), "substance", str(value), names, "object of the scene")
            elif name == "receiving_arm" and value not in ("left", "right", "either"):
                yield Problem((*path, name), f"'{name}'", "left, right or either", repr(value), "correct it")
            elif name == "baseline" and value not in ("nominal", "initial"):
                yield Problem((*path, name), f"'{name}'", "nominal or initial", repr(value), "correct it")
            elif name in _NUMERIC and (isinstance(value, str) or value < 0):
                yield Problem((*path, name), f"'{name}'", "a number of 0 or more", repr(value), "correct it")
        for name in kind.required if kind else ():
            if name not in self.instance.success:
                subject = f"target kind '{self.instance.target_kind}'"
                yield Problem(path, subject, f"success parameter '{name}'", "none", f"add '{name}:' to success")

    def _conditions(self) -> Iterator[Problem]:
        for index, name in enumerate(self.instance.conditions):
            path = (*self.path, "conditions", index)
            if name not in self.values:
                yield _unknown(path, "condition", name, self.values, "variable of setup")
            elif name in self.instance.conditions[:index]:
                yield Problem(path, f"condition '{name}'", "each once", "it twice", "remove one")

    def _coverage(self) -> Iterator[Problem]:
        used = {name for item in self.instance.scene for _, name in _references(item)}
        used |= {str(value)[1:] for value in self.instance.success.values() if str(value).startswith("$")}
        used |= set(self.instance.conditions)
        for name in self.instance.setup:
            if name not in used:
                fix = "bind it as $" + name + " in scene or success, list it in conditions, or remove it"
                path = (*self.path, "setup", name)
                yield Problem(path, f"variable '{name}'", "a use in scene, success or conditions", "none", fix)

    # --- values

    def _possible(self, name: str) -> tuple[int | float | str, ...]:
        """What a name can stand for; a continuum is shown as its name."""
        if name in self.static:
            return (self.static[name],)
        values = self.values[name]
        return (f"any number ({name})",) if values is None else values

    def _resolved(self, value: int | float | str | None) -> tuple[int | float | str, ...]:
        """All discrete values of a field; none for a continuum or an undeclared name."""
        if value is None:
            return ()
        if not isinstance(value, str) or not value.startswith("$"):
            return (value,)
        if value[1:] in self.static:
            return (self.static[value[1:]],)
        return self.values.get(value[1:]) or ()


_NUMERIC = ("total_g", "target_g", "tol_g", "fold_count", "slack")


def _distribution(name: str, entry: SetupFile, path: YamlPath) -> Iterator[Problem]:
    given = [key for key in ("uniform", "normal", "categorical", "constant") if getattr(entry, key) is not None]
    subject, one_of = f"variable '{name}'", "exactly one of uniform, normal, categorical, constant"
    if len(given) != 1:
        yield Problem(path, subject, one_of, " and ".join(given) or "none", "keep one of them")
        return
    if entry.uniform is not None:
        path_uniform = (*path, "uniform")
        if len(entry.uniform) != 2:
            got = f"{len(entry.uniform)} numbers"
            yield Problem(path_uniform, subject, "uniform: [low, high]", got, "give two numbers")
        elif entry.uniform[0] > entry.uniform[1]:
            got = f"low {entry.uniform[0]} > high {entry.uniform[1]}"
            yield Problem(path_uniform, subject, "low <= high", got, "swap the two bounds")
    if entry.normal is not None and entry.normal["std"] < 0:
        yield Problem((*path, "normal", "std"), subject, "std of 0 or more", str(entry.normal["std"]), "drop the sign")
    if entry.categorical is not None and not entry.categorical:
        yield Problem((*path, "categorical"), subject, "at least one value", "none", "list the values")
    if entry.categorical is not None and len(set(map(repr, entry.categorical))) != len(entry.categorical):
        fix = "use weights to make a value likelier"
        yield Problem((*path, "categorical"), subject, "each value once", "one repeated", fix)
    if entry.weights is not None:
        yield from _weights(subject, entry, (*path, "weights"))


def _weights(subject: str, entry: SetupFile, path: YamlPath) -> Iterator[Problem]:
    weights, values = entry.weights or [], entry.categorical
    if values is None:
        yield Problem(path, subject, "weights only beside categorical", "weights", "remove them")
    elif len(weights) != len(values):
        got = f"{len(weights)} weights for {len(values)} values"
        yield Problem(path, subject, "one weight per value", got, "give as many weights as values")
    elif any(weight < 0 for weight in weights) or sum(weights) <= 0:
        yield Problem(path, subject, "weights of 0 or more with a positive sum", str(weights), "correct the weights")


def _values(entry: SetupFile) -> tuple[int | float | str, ...] | None:
    """Every value that a distribution can take, or None for a continuum."""
    if entry.categorical is not None:
        return tuple(entry.categorical)
    return None if entry.constant is None else (entry.constant,)


def _references(item: ObjectFile) -> Iterator[tuple[str, str]]:
    for field in ("asset", "x_cm", "y_cm", "yaw_deg", "count", "spread_cm", "size_cm", "size_order", "amount_g"):
        value = getattr(item, field)
        if isinstance(value, str) and value.startswith("$"):
            yield field, value[1:]


def _expanded(item: ObjectFile, values: Mapping[str, tuple[int | float | str, ...] | None]) -> list[str]:
    """Every name that the object's copies can get."""
    if isinstance(item.count, str):
        counts = [value for value in values.get(item.count[1:]) or () if isinstance(value, int)]
        return [f"{item.name}_{k}" for k in range(1, max(counts, default=1) + 1)]
    if isinstance(item.count, int) and item.count > 1:
        return [f"{item.name}_{k}" for k in range(1, item.count + 1)]
    return [item.name]


def _unknown(path: YamlPath, what: str, name: str, known: Iterable[str], of: str) -> Problem:
    valid = sorted(known)
    near = difflib.get_close_matches(name, valid, n=2, cutoff=0.5)
    fix = f"did you mean {' or '.join(near)}?" if near else f"choose one of these, or declare '{name}'"
    article = "an" if of[0] in "aeiou" else "a"
    expected = f"{article} {of} ({', '.join(valid) or 'none declared'})"
    return Problem(path, f"unknown {what} '{name}'", expected, "", fix)


def _undeclared(path: YamlPath, name: str, setup: Mapping[str, object], static: Mapping[str, object]) -> Problem:
    return _unknown(path, "variable", name, [*setup, *static], "variable of setup or static")
