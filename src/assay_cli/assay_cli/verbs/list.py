"""`./assay list tasks|policies|backends|sessions`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_cli.console import DONE, Parser, Whole, complain, page, say
from assay_core.errors import ConfigError, unknown_name
from assay_core.program import command

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from assay_bringup.launch.backends import Backend

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """List one kind of thing."""
    parser = Parser("list", "List what there is: " + ", ".join(KINDS) + ".")
    parser.add_argument("kind", metavar="KIND", help=" | ".join(KINDS))
    parser.add_argument("directory", nargs="?", metavar="DIR", help="sessions: where they lie (default sessions)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args(list(argv))
    if asked.kind not in KINDS:
        raise unknown_name("kind", asked.kind, KINDS)
    if asked.directory is not None and asked.kind != "sessions":
        what = command("list", asked.kind)
        raise ConfigError(what, expected="no further argument", got=repr(asked.directory), fix="leave it out")
    data, view = KINDS[asked.kind](asked.directory)
    if asked.json:
        say(json.dumps(data, indent=2))
        return DONE
    page(view(data))
    return DONE


def _tasks(_directory: str | None) -> tuple[Any, Callable[[Any], RenderableType]]:
    from assay_benchmarks.cli_views import tasks_data, tasks_view

    data = tasks_data()
    for line in data.get("warnings", ()):
        complain(f"warning: {line}")
    return data, tasks_view


def _policies(_directory: str | None) -> tuple[Any, Callable[[Any], RenderableType]]:
    from assay_benchmarks.catalog import register_ours
    from assay_core.policy_names import policy_names

    register_ours()
    return list(policy_names()), _policies_view


def _policies_view(names: list[str]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from assay_bridge.planning import policy_misfit
    from assay_core.policy_names import BUILTIN_POLICIES

    shown = _columns("policy", "fits the rig", "what it is, or why it does not fit")
    for name in names:
        why = policy_misfit(name)
        shown.add_row(
            name, "no" if why else "yes", Text(why or BUILTIN_POLICIES.get(name, "registered with Inspect Robots"))
        )
    rig = "The rig: two arms, 14 absolute joint targets, up to three cameras. Arguments: policy_args:='key=value ...'"
    return Group(shown, Text(rig))


def _backends(_directory: str | None) -> tuple[Any, Callable[[Any], RenderableType]]:
    from assay_bringup.launch.backends import backends

    found = backends(os.environ)
    return list(found), lambda names: _backends_view([found[name] for name in names])


def _backends_view(found: Sequence[Backend]) -> RenderableType:
    from rich.text import Text

    shown = _columns("back end", "what it is")
    for each in found:
        shown.add_row(each.name, Text(each.about))
    return shown


def _columns(*names: str) -> Table:
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(names):  # a name is there to be copied
        shown.add_column(name, no_wrap=i == 0, overflow="fold")
    return shown


def _sessions(directory: str | None) -> tuple[Any, Callable[[Any], RenderableType]]:
    from assay_bridge.sessions import SESSIONS_DIR, list_sessions

    if directory is not None and not Path(directory).is_dir():
        got = "a file" if Path(directory).exists() else "no such directory"
        fix = f"name the directory that holds sessions, or leave it out for {SESSIONS_DIR}/"
        raise ConfigError(f"directory '{directory}'", expected="a directory of sessions", got=got, fix=fix)
    return list_sessions(SESSIONS_DIR if directory is None else Path(directory)), _sessions_view


def _sessions_view(found: list[dict[str, Any]]) -> RenderableType:
    if not found:
        return "no sessions"
    from rich.console import Group
    from rich.text import Text

    shown = _columns("session", "status", "trials", "policy", "backend", "created")
    for one in found:
        if "session_id" not in one:
            shown.add_row(one["path"], one["status"], "", "", "", "")
            continue
        status = f"{one['status']}, sealed" if one.get("sealed") else one["status"]
        # A session of the framework's own command line plans trial by trial.
        trials = f"{one.get('trials', '?')}/{one['planned']}" if one["planned"] else str(one.get("trials", "?"))
        shown.add_row(one["path"], status, trials, ", ".join(one["policies"]), one["backend"], one["created"])
    for column in shown.columns:
        column.no_wrap = True
    damaged = [(one["path"], one["problem"]) for one in found if "problem" in one]
    reasons = (why if path in why else f"{path}: {why}" for path, why in damaged)
    problems = [Text(line, no_wrap=True, overflow="ignore") for line in reasons]
    return Group(Whole(shown), Text("trials: those that count, of those planned. created: UTC."), *problems)


KINDS: dict[str, Callable[[str | None], tuple[Any, Callable[[Any], RenderableType]]]] = {
    "tasks": _tasks,
    "policies": _policies,
    "backends": _backends,
    "sessions": _sessions,
}
