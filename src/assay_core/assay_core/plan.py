"""The plan of a session: which trials run, with which seeds, on what rig, and whose verdicts count.

A plan is fixed before the first trial, written to ``plan.yaml``, and its hash goes into the journal, so that nobody
can change afterwards what a session set out to do. `load_plan` checks everything and names file and line, because a
person may read, copy and edit a plan.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from assay_core.errors import ConfigError, DataError
from assay_core.files import read_regular
from assay_core.located_yaml import load_located, parse_located
from assay_core.plan_rules import ENTRY_RULES, Problem, find_problem
from assay_core.rig import Camera

__all__ = [
    "PLAN_FILE",
    "PLAN_SCHEMA_VERSION",
    "Plan",
    "PlanEntry",
    "entry_from_json",
    "load_plan",
    "plan_hash",
    "scene_key",
    "trial_id",
]

PLAN_FILE = "plan.yaml"
PLAN_SCHEMA_VERSION = 1
MAX_VALUES = 1_000_000
"""Most values of a plan that is not as `Plan.to_yaml` wrote it; an entry has ten."""


@dataclass(frozen=True)
class PlanEntry:
    """One planned trial: a realization (task, scene, epoch, seed) and its horizon.

    Raises:
        ConfigError: A value has the wrong type or lies outside its range.
    """

    index: int
    """Position in the plan, from 0."""
    task: str
    """E.g. ``kitchenbench/pour_pasta``."""
    task_version: str
    instance_id: str
    """Empty when the task has no instances."""
    scene_id: str
    scene_seed: int | None
    """The scene's own seed; None when it has none."""
    epoch: int
    """Index of the realization within its instance, from 0."""
    seed: int
    """Trial seed, 0..2^32-1."""
    max_steps: int
    """Horizon [control steps]."""

    def __post_init__(self) -> None:
        problem = find_problem(vars(self), ENTRY_RULES)
        if problem is not None:
            raise _config_error(f"plan entry {self.index!r}", problem)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-native content, in field order."""
        return dict(vars(self))

    def to_json(self) -> str:
        """Return the text that ``StartTrial.entry_json`` carries in a session whose plan is open."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


@dataclass(frozen=True)
class Plan:
    """What a session sets out to do.

    Raises:
        ConfigError: A value has the wrong type, lies outside its range or contradicts another.
    """

    schema_version: int
    """Always `PLAN_SCHEMA_VERSION`."""
    session_id: str
    created: str
    """RFC 3339 in UTC, e.g. ``2026-03-01T12:00:00Z``."""
    seed: int
    """Evaluation seed, from which every trial seed derives."""
    backend: str
    policies: tuple[str, ...]
    operator: str
    """Kind of operator console, e.g. ``auto``."""
    graders: tuple[str, ...]
    """Ids whose verdicts count; at least one."""
    operators: tuple[str, ...]
    """Ids that may answer ready, skip and abort."""
    cameras: tuple[Camera, ...]
    control_hz: float
    """Control rate [Hz]."""
    mode: str
    """``lockstep`` or ``paced``."""
    max_repeats: int
    """How many attempts that do not count are repeated per entry."""
    open: bool
    """True when entries are appended while the session runs, by ``StartTrial.entry_json``."""
    entries: tuple[PlanEntry, ...]
    software: Mapping[str, str]
    """Versions of what produced the session, by name."""
    launch: Mapping[str, str] = field(default_factory=dict)
    """Further launch arguments of the graph, so that a resumed session starts the same one."""
    clips: bool = True
    """Whether a clip of each trial is kept beside its last pictures."""
    contents: Mapping[str, str] = field(default_factory=dict)
    """SHA-256, hex, of what each scene says, by `scene_key`; empty in an open plan and in one that was made without."""

    def __post_init__(self) -> None:
        problem = find_problem(self.to_dict())
        if problem is not None:
            raise _config_error("plan", problem)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-native content, in field order."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("policies", "graders", "operators"):
            data[name] = list(data[name])
        data["cameras"] = [asdict(camera) for camera in self.cameras]
        data["entries"] = [entry.to_dict() for entry in self.entries]
        data["software"], data["launch"] = dict(self.software), dict(self.launch)
        data["contents"] = dict(self.contents)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Inverse of `to_dict`, for data that was checked before (a journal's plan event)."""
        return cls(
            **{
                **data,
                "policies": tuple(data["policies"]),
                "graders": tuple(data["graders"]),
                "operators": tuple(data["operators"]),
                "cameras": tuple(Camera(**camera) for camera in data["cameras"]),
                "control_hz": float(data["control_hz"]),
                "entries": tuple(PlanEntry(**entry) for entry in data["entries"]),
            }
        )

    def to_yaml(self) -> str:
        """Return the text of ``plan.yaml``: one line per entry, strings quoted, keys in field order."""
        lines = [f"# Plan of session {self.session_id}. Its SHA-256 is in the journal: do not edit a session's plan."]
        for key, value in self.to_dict().items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                lines.append(f"{key}:")
                lines.extend(f"  - {_flow(item)}" for item in value)
            elif isinstance(value, dict) and value:
                lines.append(f"{key}:")
                lines.extend(f"  {_quoted(k)}: {_flow(v)}" for k, v in value.items())
            else:
                lines.append(f"{key}: {_flow(value)}")
        return "\n".join(lines) + "\n"


def trial_id(index: int, attempt: int) -> str:
    """Return the id of one attempt at a plan entry: ``<plan index, 6 digits>-<attempt>``."""
    return f"{index:06d}-{attempt}"


def scene_key(task: str, scene_id: str) -> str:
    """Return the name of a scene within a plan, e.g. ``kitchenbench/stack: stack-cups``."""
    return f"{task}: {scene_id}"


def plan_hash(data: bytes) -> str:
    """Return the SHA-256, hex, of the bytes of ``plan.yaml``."""
    return hashlib.sha256(data).hexdigest()


def entry_from_json(text: str) -> PlanEntry:
    """Return the plan entry of ``StartTrial.entry_json``.

    Raises:
        ConfigError: The text is not JSON, or its content is not a plan entry.
    """
    names = [f.name for f in fields(PlanEntry)]
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ConfigError("entry_json", expected="a JSON object", got=str(error), fix="send a plan entry") from error
    if not isinstance(data, dict) or set(data) != set(names):
        got = ", ".join(sorted(data)) if isinstance(data, dict) else type(data).__name__
        raise ConfigError("entry_json", expected=f"an object with {', '.join(names)}", got=got, fix="send a plan entry")
    return PlanEntry(**data)


def load_plan(path: str | Path) -> Plan:
    """Read and check ``plan.yaml``.

    Args:
        path: The file, or the session directory that holds it.

    Raises:
        DataError: The file is missing or unreadable, is not YAML, or its content breaks a rule; the message names
            file, line, what was expected, what came and how to fix it.
    """
    path = Path(path)
    if path.is_dir():
        path = path / PLAN_FILE
    if path.exists() and not path.is_file():
        raise DataError(str(path), expected="a plan", got="no regular file", fix="put the original back")
    quick = _quick(path)
    if quick is not None and find_problem(quick) is None:
        return Plan.from_dict(quick)
    try:
        located = load_located(path, most_values=MAX_VALUES)
    except ConfigError as error:
        raise DataError(error.subject, expected=error.expected, got=error.got, fix=error.fix) from error
    problem = find_problem(located.data)
    if problem is not None:
        subject = f"{located.where(problem.path)}: {problem.where}"
        raise DataError(subject, expected=problem.expected, got=problem.got, fix=problem.fix)
    return Plan.from_dict(located.data)


_ENTRY_LINE = re.compile(
    r"  - \{"
    + ", ".join(
        rf'{f.name}: (null|-?\d+|"(?:[^"\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]|\\["\\/bfnrt]|\\u[0-9a-f]{{4}})*")'
        for f in fields(PlanEntry)
    )
    + r"\}\n"
)
"""An entry as `Plan.to_yaml` writes it; without its keys' places such a line is JSON."""


def _quick(path: Path) -> dict[str, Any] | None:
    """Return the content of a plan as `Plan.to_yaml` wrote it, or None where anything at all is different.

    A YAML parser takes about a millisecond an entry, and the benchmark node reads the plan while a runner waits.
    """
    try:
        text = read_regular(path).decode()
        before, found, rest = text.partition("\nentries:\n")
        if not found:
            return None
        names = [f.name for f in fields(PlanEntry)]
        entries, end = [], 0
        while (line := _ENTRY_LINE.match(rest, end)) is not None:
            entries.append(dict(zip(names, json.loads("[" + ",".join(line.groups()) + "]"), strict=True)))
            end = line.end()
        located = parse_located(str(path), f"{before}\nentries: []\n{rest[end:]}")
    except (OSError, ValueError, ConfigError):
        return None
    if not isinstance(located.data, dict) or not entries:
        return None
    return {**located.data, "entries": entries}


def _config_error(subject: str, problem: Problem) -> ConfigError:
    return ConfigError(f"{subject}: {problem.where}", expected=problem.expected, got=problem.got, fix=problem.fix)


def _quoted(text: str) -> str:
    """Return ``text`` as a double-quoted YAML scalar on one line, which any YAML reader gives back unchanged."""
    body = json.dumps(text, ensure_ascii=False)
    return "".join(ch if ch.isprintable() and ch != "\ufeff" else _escape(ord(ch)) for ch in body)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _flow(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    return repr(value)
