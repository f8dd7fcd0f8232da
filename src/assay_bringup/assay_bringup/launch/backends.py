"""Back ends: the launch files that say what moves the arms and fills the cameras.

A back end is one of our launch files that sets `backend_nodes` and `backend_world`; ``eval.launch.yaml`` includes the
one that its argument ``backend`` names. The files are the only list of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay_bringup.launch.actions import read
from assay_bringup.launch.locate import launch_files
from assay_core.errors import ConfigError, unknown_name

__all__ = ["ABOUT", "NODES", "WORLD", "Backend", "backend", "backends"]

NODES = "backend_nodes"
"""Variable: its lifecycle nodes, separated by spaces."""

WORLD = "backend_world"
"""Variable: ``true`` where one of them is a simulated world, which serves ``world/reset`` and judges progress."""

ABOUT = "backend_about"
"""Variable: what it is, in a line, for those who choose."""


@dataclass(frozen=True)
class Backend:
    """What its launch file says of a back end."""

    name: str
    has_world: bool
    """Whether one of its nodes is a simulated world."""
    about: str = ""
    """What it is, in a line; empty where the file does not say."""


def backends(environ: Mapping[str, str]) -> dict[str, Backend]:
    """Return our back ends by name, in the order of their names.

    Raises:
        ConfigError: A launch file that sets `backend_nodes` is malformed.
    """
    found = (_read(name, path) for name, path in sorted(launch_files(environ).items()))
    return {each.name: each for each in found if each is not None}


def backend(name: str, environ: Mapping[str, str]) -> Backend:
    """Return one back end.

    Raises:
        ConfigError: There is none of that name; the message has near matches.
    """
    known = backends(environ)
    if name not in known:
        raise unknown_name("back end", name, known)
    return known[name]


def _read(name: str, path: Path) -> Backend | None:
    """Return what a launch file says of a back end; None where it is not one."""
    if NODES not in path.read_text(encoding="utf-8", errors="replace"):
        return None  # a draft of something else must not be in the way
    texts: dict[str, str | None] = {}
    for action in read(path):
        if action.kind == "let":
            variable = action.entry.texts["name"].literal or ""
            texts[variable] = action.entry.texts["value"].literal
    if NODES not in texts:
        return None
    world = texts.get(WORLD)
    if world not in ("true", "false"):
        raise ConfigError(
            f"{path}: variable '{WORLD}'",
            expected='"true" or "false"',
            got="none" if WORLD not in texts else "a substitution" if world is None else repr(world),
            fix=f'set it beside {NODES}: - let: {{name: {WORLD}, value: "true"}}',
        )
    return Backend(name, world == "true", texts.get(ABOUT) or "")
