"""Resolves the wanted packages to locks with hashes; run by a developer who changes ``tools/requirements.in``.

Two locks come from the one list. ``wheels`` holds everything, ROS 2 included. ``ros`` leaves out what a sourced ROS 2
and its distribution bring, because ROS's compiled modules were built against exactly those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay_tools import environment
from assay_tools.console import say
from assay_tools.errors import SetupError
from assay_tools.layout import Layout
from assay_tools.packages import explain_failure
from assay_tools.process import run_logged

__all__ = ["update", "without_ros"]

FROM_ROS = ("numpy", "opencv-python-headless", "opencv-python", "empy", "catkin-pkg", "lark", "lark-parser", "cmake")
"""What a robot PC has from its distribution: never installed beside a sourced ROS 2."""
HEADER = """\
# Written by ./assay setup --update-lock from tools/requirements.in; change that file, not this one.
"""


def without_ros(wanted: str) -> str:
    """Return a list of requirements without those that a sourced ROS 2 brings."""
    kept = []
    for line in wanted.splitlines():
        name = re.match(r"[A-Za-z0-9][\w.-]*", line)
        if name and (name.group(0).startswith("ros-") or name.group(0) in (*FROM_ROS, "cv-bridge")):
            continue
        kept.append(line)
    return "\n".join(kept) + "\n"


def update(layout: Layout, stamp: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Write both lock files anew.

    Raises:
        SetupError: A list is missing, or no set of versions satisfies it.
    """
    source = layout.tools / "requirements.in"
    if not source.is_file():
        raise SetupError(str(source), expected="the list of wanted packages", got="no file", fix="restore it from git")
    env = environment.apply(stamp["environment"], environ)
    env["UV_CACHE_DIR"] = str(layout.cache / "uv")
    ros = layout.state / "requirements-ros.in"
    ros.write_text(without_ros(source.read_text(encoding="utf-8")), encoding="utf-8")
    constraints = layout.tools / "constraints-ros.txt"
    _resolve(layout, source, "wheels", "3.10", [], env)
    _resolve(layout, ros, "ros", "3.12", ["--constraints", str(constraints), *_not_emitted()], env)
    say("assay: both lock files written; ./assay setup installs them")


def _not_emitted() -> list[str]:
    return [option for name in FROM_ROS for option in ("--no-emit-package", name)]


def _resolve(
    layout: Layout, source: Path, kind: str, python: str, options: list[str], environ: Mapping[str, str]
) -> None:
    say(f"assay: resolving {kind} for Python {python} and newer")
    target = layout.requirements(kind)
    new = layout.state / f"{target.name}.new"
    command = [str(layout.venv / "bin" / "uv"), "pip", "compile", "--universal", "--python-version", python]
    command += ["--generate-hashes", "--no-emit-index-url", "--no-annotate", "--no-header", "--quiet"]
    # Of what exists as source alone, only this one is wanted.
    command += ["--only-binary", ":all:", "--no-binary", "empy"]
    command += [*options, "--output-file", str(new), str(source)]
    if target.exists():
        # Pins that still fit stay as they are.
        new.write_text(target.read_text(encoding="utf-8"), encoding="utf-8")
    log = layout.logs / "lock.log"
    code, output = run_logged(command, environ=environ, log=log, doing="resolving", cwd=layout.root)
    if code != 0:
        raise explain_failure(output, f"the lock of {kind}")
    text = new.read_text(encoding="utf-8")
    pins = [line for line in text.splitlines() if not line.startswith("#")]
    target.write_text(HEADER + "\n".join(pins) + "\n", encoding="utf-8")
    new.unlink()
