"""Computes, once after a build, what a process needs in its environment, and applies it before each command.

Sourcing colcon's own script takes about a second; a verb must start in a fraction of that. So it is sourced once, what
it changed is kept as data, and each verb applies the data.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay_tools import transport
from assay_tools.errors import SetupError
from assay_tools.layout import Layout
from assay_tools.modes import INSIDE, WHEELS

__all__ = ["apply", "base_environ", "compute"]

_LISTS = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH")
_DROPPED = ("PYTHONHOME", "__PYVENV_LAUNCHER__")
SOURCE_S = 120.0


def base_environ(layout: Layout, mode: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which colcon finds ROS 2: the virtual environment active, the workspace not yet.

    Args:
        layout: The checkout.
        mode: ``wheels`` or ``ros-DISTRO``.
        environ: The user's environment; of a sourced ROS 2 in ``ros`` mode.
    """
    env = {key: value for key, value in environ.items() if key not in _DROPPED}
    env["VIRTUAL_ENV"] = str(layout.venv)
    env["PATH"] = os.pathsep.join([str(layout.venv / "bin"), env.get("PATH") or os.defpath])
    if mode != WHEELS:
        # A user's own packages would hide those that ROS 2 was built against.
        env["PYTHONNOUSERSITE"] = "1"
        return env
    for name in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        env[name] = str(layout.venv)
    for name in ("PYTHONPATH", "COLCON_PREFIX_PATH", "ROS_DISTRO", "ROS_VERSION", "ROS_PYTHON_VERSION"):
        env.pop(name, None)
    libraries = [str(layout.venv / "lib")]
    libraries += sorted(str(path) for path in layout.venv.glob("lib/python3*/site-packages/ros_*.libs"))
    env["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
    # The wheels start Python a second time to set the library path, unless they are told that it is set.
    env["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
    return env


def _sourced(layout: Layout, base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment after colcon's script."""
    script = layout.install / "local_setup.sh"
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", '. "$0" && exec env -0', str(script)],
            env={**base, "COLCON_CURRENT_PREFIX": str(layout.install)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SOURCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        got = str(error)
    else:
        items = done.stdout.decode(errors="surrogateescape").split("\0")
        after = {key: value for key, _, value in (item.partition("=") for item in items) if key}
        if done.returncode == 0 and after:
            return after
        got = done.stderr.decode(errors="replace").strip()[-300:] or f"exit code {done.returncode}"
    raise SetupError(
        "environment", expected=f"{script} to run", got=got, fix="remove install/ and run ./assay setup again", code=1
    )


def compute(layout: Layout, mode: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what to apply to a process's environment: variables to set, and entries to put before lists.

    Args:
        layout: The checkout, built.
        mode: ``wheels`` or ``ros-DISTRO``.
        environ: The environment of setup.
    """
    clean = {key: environ[key] for key in ("HOME", "USER", "LANG", "TERM", "PATH") if key in environ}
    if mode != WHEELS:
        clean = dict(environ)
    base = base_environ(layout, mode, clean)
    after = _sourced(layout, base)
    before_user = {name: set(clean.get(name, "").split(os.pathsep)) for name in _LISTS}
    prepend: dict[str, list[str]] = {}
    for name in _LISTS:
        entries = [entry for entry in after.get(name, "").split(os.pathsep) if entry]
        # What lies in the checkout is ours even where the user's shell has it already (an activated environment).
        ours = (entry for entry in entries if entry not in before_user[name] or entry.startswith(f"{layout.root}/"))
        new = list(dict.fromkeys(ours))
        if new:
            prepend[name] = new
    values: dict[str, str] = {
        name: base[name]
        for name in ("VIRTUAL_ENV", "PYTHONNOUSERSITE", "_ROS_WHEELS_BOOTSTRAP_COMPLETE")
        if name in base
    }
    values[INSIDE] = mode
    values["ASSAY_ROOT"] = str(layout.root)
    return {"set": values, "prepend": prepend}


def apply(kept: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """Return a process's environment.

    Args:
        kept: What `compute` returned.
        environ: The user's environment.

    Raises:
        SetupError: See `transport.settings`.
    """
    env = {key: value for key, value in environ.items() if key not in _DROPPED}
    env.update(kept["set"])
    for name, entries in kept["prepend"].items():
        old = [entry for entry in env.get(name, "").split(os.pathsep) if entry and entry not in entries]
        env[name] = os.pathsep.join([*entries, *old])
    for name, value in transport.settings(Path(env["ASSAY_ROOT"]), env[INSIDE], environ).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    if env.pop("PYTHONDONTWRITEBYTECODE", ""):
        # Who wants no bytecode beside sources gets none there. Without any, each of a graph's processes would compile
        # rclpy and its messages anew, which doubles the time that the graph takes to come up.
        env.setdefault("PYTHONPYCACHEPREFIX", str(Path(env["ASSAY_ROOT"], ".assay", "pycache")))
    return env
