"""Says whether the environment is complete and made from what the checkout holds now.

Every verb asks this, so it must be quick: it reads the few files that a build depends on and starts nothing. Stamps
are written last and in one step (a file that is renamed into place), so that a setup which was killed anywhere leaves
either the old stamp or none, never one that promises too much.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay_tools.layout import Layout

__all__ = ["FORMAT", "build_fingerprint", "checked", "digest", "read_stamp", "write_stamp"]

FORMAT = 1
"""Raise it when setup itself changes in a way that asks for a new environment."""

_IGNORED = {"__pycache__", "test", "build", "install", "log"}
_DESCRIPTIONS = ("setup.py", "setup.cfg", "package.xml", "CMakeLists.txt")
_INTERFACES = ("msg", "srv", "action")


def write_stamp(path: Path, content: dict[str, Any]) -> None:
    """Write a stamp in one step; after a power cut it is the old one, the new one, or gone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as handle:
        json.dump(content, handle, indent=1, sort_keys=True)
        handle.flush()
        os.fsync(handle.fileno())
    temporary.replace(path)


def read_stamp(path: Path) -> dict[str, Any]:
    """Return the content of a stamp; empty when it is missing or damaged, which asks for the work to be done again."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def digest(*paths: Path) -> str:
    """Return a hash over the content of files; a missing file counts as empty."""
    total = hashlib.sha256()
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError:
            data = b""
        total.update(b"%d:" % len(data))
        total.update(data)
    return total.hexdigest()


def _names(folder: str, prefix: str) -> Iterator[str]:
    """Yield the relative names of all files below a folder, sorted, without what tools leave there."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name in _IGNORED or entry.name.startswith(".") or entry.name.endswith((".pyc", ".egg-info")):
            continue
        name = f"{prefix}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _names(entry.path, name)
        else:
            yield name


def build_fingerprint(layout: Layout) -> str:
    """Return a hash over everything that a colcon build takes in other than by symbolic link.

    The content of package descriptions and interface files counts. For packages built by CMake, which links file by
    file, and for the folders that they install, the names count too. An edited Python file changes nothing: the
    installed one is a link to it.
    """
    total = hashlib.sha256()

    def add(label: str, content: bytes = b"") -> None:
        total.update(f"{label}\0{len(content)}\0".encode())
        total.update(content)

    def add_file(path: str) -> None:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            add(path[len(root) :], os.read(handle, 1 << 22))
        finally:
            os.close(handle)

    root = str(layout.root)
    add_file(f"{root}/colcon.meta")
    for package in sorted(os.listdir(f"{root}/src")):
        folder = f"{root}/src/{package}"
        if not os.path.exists(f"{folder}/package.xml"):
            continue
        for name in _DESCRIPTIONS:
            add_file(f"{folder}/{name}")
        for kind in _INTERFACES:
            for name in _names(f"{folder}/{kind}", ""):
                add_file(f"{folder}/{kind}{name}")
        if os.path.exists(f"{folder}/CMakeLists.txt"):
            for name in _names(folder, package):
                add(name)
        else:
            for entry in sorted(os.listdir(folder)):
                if entry not in _IGNORED and not entry.startswith(".") and not entry.endswith(".egg-info"):
                    add(f"{package}/{entry}")
            for name in _names(f"{folder}/resource", f"{package}/resource"):
                add(name)
    for top in ("launch", "config", "urdf"):
        for name in _names(f"{root}/{top}", top):
            add(name)
    return total.hexdigest()


def checked(layout: Layout, mode: str) -> tuple[dict[str, Any], str]:
    """Return the stamp of a complete environment and an empty string, or an empty stamp and what is amiss.

    Args:
        layout: The checkout.
        mode: ``wheels``, or ``ros-DISTRO`` where ROS 2 is sourced.
    """
    stamp = read_stamp(layout.ready)
    if not stamp:
        return {}, "no environment yet"
    if stamp.get("root") != str(layout.root):
        return {}, f"the checkout was moved (it was at {stamp.get('root')})"
    if stamp.get("mode") != mode:
        return {}, f"it was made for {stamp.get('mode')}, now asked for {mode}"
    if stamp.get("format") != FORMAT:
        return {}, "setup itself has changed"
    if stamp.get("requirements") != digest(layout.requirements(mode.partition("-")[0])):
        return {}, "the locked packages have changed"
    if not os.access(layout.python, os.X_OK) or not layout.venv_ready.exists():
        return {}, "the virtual environment is incomplete"
    if not layout.build_ready.exists():
        return {}, "the build is incomplete"
    if stamp.get("build") != build_fingerprint(layout):
        return {}, "interfaces or package descriptions have changed"
    return stamp, ""
