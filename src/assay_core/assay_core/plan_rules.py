"""What a valid plan is, as a table of rules, so that a plan built in code and one read from a file meet the same."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from assay_core.rig import CAMERAS, MAX_IMAGE_PIXELS

__all__ = ["CAMERA_RULES", "ENTRY_RULES", "PLAN_RULES", "Problem", "Rule", "find_problem"]

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|\+00:00)\Z")
MAX_SEED = 2**32 - 1


@dataclass(frozen=True)
class Rule:
    """What one key must hold."""

    expected: str
    ok: Callable[[Any], bool]
    optional: bool = False
    """Whether the key may be missing, since plans were written before it existed."""


@dataclass(frozen=True)
class Problem:
    """The first thing that is wrong with a plan."""

    path: tuple[str | int, ...]
    expected: str
    got: str
    fix: str

    @property
    def where(self) -> str:
        """The path as text, e.g. ``entries[3].seed``."""
        text = ""
        for part in self.path:
            text += f"[{part}]" if isinstance(part, int) else ("." if text else "") + part
        return text or "plan"


def _integer(low: int, high: int) -> Callable[[Any], bool]:
    return lambda x: type(x) is int and low <= x <= high


def _text(x: Any) -> bool:
    return _writable(x) and bool(x.strip())


def _writable(x: Any) -> bool:
    """Whether it is text that a file can hold: no halves of characters, as Python makes of bytes that are not UTF-8."""
    return isinstance(x, str) and (x.isascii() or not any("\ud800" <= char <= "\udfff" for char in x))


def _names(minimum: int) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, list) and len(x) >= minimum and all(map(_text, x)) and len(set(x)) == len(x)


def _texts(x: Any) -> bool:
    return isinstance(x, dict) and all(_writable(k) and _writable(v) for k, v in x.items())


def _instant(x: Any) -> bool:
    if not (isinstance(x, str) and _RFC3339.match(x)):
        return False
    try:
        return datetime.fromisoformat(x.replace("Z", "+00:00")).utcoffset() == timedelta(0)
    except ValueError:
        return False


def _number(low: float, high: float) -> Callable[[Any], bool]:
    return lambda x: type(x) in (int, float) and low <= x <= high


ENTRY_RULES: Mapping[str, Rule] = {
    "index": Rule("an integer from 0", _integer(0, 999_999)),
    "task": Rule("a task name", _text),
    "task_version": Rule("text", _writable),
    "instance_id": Rule("text, empty when the task has no instances", _writable),
    "scene_id": Rule("a scene id", _text),
    "scene_seed": Rule("an integer or null", lambda x: x is None or type(x) is int),
    "epoch": Rule("an integer from 0", _integer(0, MAX_SEED)),
    "seed": Rule(f"an integer from 0 to {MAX_SEED}", _integer(0, MAX_SEED)),
    "max_steps": Rule("an integer from 1 [control steps]", _integer(1, MAX_SEED)),
}

CAMERA_RULES: Mapping[str, Rule] = {
    "name": Rule("one of " + ", ".join(CAMERAS), lambda x: x in CAMERAS),
    "width": Rule("an integer from 16 [pixels]", _integer(16, MAX_IMAGE_PIXELS)),
    "height": Rule("an integer from 16 [pixels]", _integer(16, MAX_IMAGE_PIXELS)),
}

PLAN_RULES: Mapping[str, Rule] = {
    "schema_version": Rule("1", lambda x: type(x) is int and x == 1),
    "session_id": Rule(
        "1 to 100 letters, digits, '.', '_' or '-', starting with a letter or digit",
        lambda x: isinstance(x, str) and bool(_SESSION_ID.match(x)),
    ),
    "created": Rule("a time in UTC like 2026-03-01T12:00:00Z", _instant),
    "seed": Rule("an integer from 0", _integer(0, 2**63 - 1)),
    "backend": Rule("a back end's name", _text),
    "policies": Rule("a list of at least one policy name, each once", _names(1)),
    "operator": Rule("a kind of operator", _text),
    "graders": Rule("a list of at least one grader id, each once", _names(1)),
    "operators": Rule("a list of operator ids, each once", _names(0)),
    "cameras": Rule("a list of cameras", lambda x: isinstance(x, list)),
    "control_hz": Rule("a number from 0.1 to 1000 [Hz]", _number(0.1, 1000.0)),
    "mode": Rule("lockstep or paced", lambda x: x in ("lockstep", "paced")),
    "max_repeats": Rule("an integer from 0 to 100", _integer(0, 100)),
    "open": Rule("true or false", lambda x: isinstance(x, bool)),
    "entries": Rule("a list of entries", lambda x: isinstance(x, list)),
    "software": Rule("names and versions, all text", _texts),
    "launch": Rule("names and values of launch arguments, all text", _texts),
    "clips": Rule("true or false", lambda x: isinstance(x, bool), optional=True),
    "contents": Rule("names of scenes and SHA-256s, all text", _texts, optional=True),
}


def find_problem(data: Any, rules: Mapping[str, Rule] = PLAN_RULES) -> Problem | None:
    """Return the first broken rule of a plan (or, with other ``rules``, of a part of one), or None."""
    problem = _keys(data, rules, ())
    if problem is not None or rules is not PLAN_RULES:
        return problem
    for i, camera in enumerate(data["cameras"]):
        problem = _keys(camera, CAMERA_RULES, ("cameras", i))
        if problem is not None:
            return problem
    for i, entry in enumerate(data["entries"]):
        problem = _keys(entry, ENTRY_RULES, ("entries", i))
        if problem is not None:
            return problem
        if entry["index"] != i:
            return Problem(("entries", i, "index"), str(i), str(entry["index"]), "number the entries from 0, in order")
    names = [camera["name"] for camera in data["cameras"]]
    if len(set(names)) != len(names):
        return Problem(("cameras",), "each camera once", ", ".join(names), "remove the repeated one")
    if not data["entries"] and not data["open"]:
        return Problem(("entries",), "at least one entry", "none", "add entries, or set open: true")
    return None


def _keys(data: Any, rules: Mapping[str, Rule], at: tuple[str | int, ...]) -> Problem | None:
    if not isinstance(data, dict):
        return Problem(at, "keys and values", repr(data), f"write {', '.join(rules)}")
    for key in data:
        if key not in rules:
            near = difflib.get_close_matches(str(key), rules, n=1, cutoff=0.6)
            fix = f"did you mean '{near[0]}'?" if near else "remove it"
            return Problem((*at, key), "one of " + ", ".join(rules), f"unknown key '{key}'", fix)
    for key, rule in rules.items():
        if key not in data:
            if rule.optional:
                continue
            return Problem(at, f"key '{key}': {rule.expected}", "no such key", f"add '{key}'")
        if not rule.ok(data[key]):
            return Problem((*at, key), rule.expected, _shown(data[key]), f"correct '{key}'")
    return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
