"""Repairs the CMake files of the ROS 2 wheels.

They hold absolute paths of the machine that built them: ``/opt/python/cpXY-cpXY`` alone, with ``include/pythonX.Y``
and with ``lib/pythonX.Y/site-packages``. CMake refuses to generate until these point into this environment.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Paths", "repair", "repaired"]

_INCLUDE = re.compile(r"/opt/python/cp\d+-cp\d+/include/python\d\.\d+")
_SITE = re.compile(r"/opt/python/cp\d+-cp\d+/lib/python\d\.\d+/site-packages")
_PREFIX = re.compile(r"/opt/python/cp\d+-cp\d+")


@dataclass(frozen=True)
class Paths:
    """Where this environment keeps what the wheels look for."""

    prefix: str
    """The virtual environment."""
    include: str
    """The folder that holds Python.h."""
    site: str
    """The environment's site-packages."""


def repaired(text: str, paths: Paths) -> str:
    """Return ``text`` with every path of the building machine replaced; the longer ones first."""
    text = _INCLUDE.sub(lambda _: paths.include, text)
    text = _SITE.sub(lambda _: paths.site, text)
    return _PREFIX.sub(lambda _: paths.prefix, text)


def repair(share: Path, paths: Paths) -> int:
    """Repair all CMake files below a folder; return how many were changed.

    A repaired file replaces the old one under its name: the installer may have linked the old one to its cache, which
    must keep what the wheel holds.
    """
    changed = 0
    for folder, _, names in os.walk(share):
        for name in names:
            if not name.endswith((".cmake", ".txt")):
                continue
            path = Path(folder, name)
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
            new = repaired(text, paths)
            if new != text:
                temporary = path.with_name(f".{name}.assay-tmp")
                temporary.write_text(new, encoding="utf-8", errors="surrogateescape")
                temporary.replace(path)
                changed += 1
    return changed
