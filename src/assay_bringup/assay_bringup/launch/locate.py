"""Finds packages, executables and our own launch files the way ROS 2 does: through ``AMENT_PREFIX_PATH``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from assay_core.errors import ConfigError, unknown_name
from assay_core.program import PROGRAM

__all__ = [
    "executable",
    "launch_file",
    "launch_files",
    "package_prefix",
    "package_share",
    "packages",
    "program",
    "share_directory",
]

PACKAGE = "assay_bringup"
SUFFIXES = (".launch.yaml", ".launch.yml")
_INDEX = Path("share", "ament_index", "resource_index", "packages")


def _prefixes(environ: Mapping[str, str]) -> list[Path]:
    return [Path(entry) for entry in environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]


def packages(environ: Mapping[str, str]) -> list[str]:
    """Return the names of all installed packages."""
    names: set[str] = set()
    for prefix in _prefixes(environ):
        index = prefix / _INDEX
        if index.is_dir():
            names.update(entry.name for entry in index.iterdir())
    return sorted(names)


def package_prefix(name: str, environ: Mapping[str, str]) -> Path:
    """Return the install prefix of a package.

    Raises:
        ConfigError: It is not installed; the message has near matches.
    """
    for prefix in _prefixes(environ):
        if (prefix / _INDEX / name).is_file():
            return prefix
    raise unknown_name("package", name, packages(environ))


def package_share(name: str, environ: Mapping[str, str]) -> Path:
    """Return the share directory of a package."""
    return package_prefix(name, environ) / "share" / name


def executable(package: str, name: str, environ: Mapping[str, str]) -> Path:
    """Return the path of an executable of a package.

    Raises:
        ConfigError: Package or executable does not exist; the message has near matches.
    """
    directory = package_prefix(package, environ) / "lib" / package
    path = directory / name
    if path.is_file() and os.access(path, os.X_OK):
        return path
    known = [p.name for p in directory.iterdir() if os.access(p, os.X_OK)] if directory.is_dir() else []
    raise unknown_name(f"executable of package {package}", name, known)


def program(name: str, environ: Mapping[str, str]) -> Path:
    """Return the path of a program on ``PATH``, or of one given by path.

    Raises:
        ConfigError: There is none.
    """
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    if found is None:
        raise ConfigError(
            f"program '{name}'", expected="an executable file or a name on PATH", got="neither", fix="install it"
        )
    return Path(found)


def share_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory that holds our ``launch`` and ``config``: the checkout's, or the installed one.

    Raises:
        ConfigError: There is neither.
    """
    checkout = Path(__file__).resolve().parents[4]
    candidates = [checkout] + [prefix / "share" / PACKAGE for prefix in _prefixes(environ)]
    for candidate in candidates:
        if (candidate / "launch" / "eval.launch.yaml").is_file():
            return candidate
    raise ConfigError(
        "launch files",
        expected=f"package {PACKAGE} in AMENT_PREFIX_PATH",
        got=environ.get("AMENT_PREFIX_PATH", "") or "an empty AMENT_PREFIX_PATH",
        fix=f"run through {PROGRAM}, or source install/setup.bash",
    )


def launch_files(environ: Mapping[str, str]) -> dict[str, Path]:
    """Return our launch files by short name, e.g. ``eval``."""
    directory = share_directory(environ) / "launch"
    return {
        path.name.removesuffix(suffix): path
        for suffix in SUFFIXES
        for path in sorted(directory.iterdir())
        if path.name.endswith(suffix)
    }


def launch_file(name: str | os.PathLike[str], environ: Mapping[str, str]) -> Path:
    """Return the path of a launch file given by path, by file name or by short name.

    Raises:
        ConfigError: There is none; the message has near matches.
    """
    text = os.fspath(name)
    path = Path(text)
    if path.is_file():
        return path.absolute()
    if len(path.parts) == 1:
        known = launch_files(environ)
        short = next((text.removesuffix(suffix) for suffix in SUFFIXES if text.endswith(suffix)), text)
        if short in known:
            return known[short]
        raise unknown_name("launch file", text, known)
    raise ConfigError(f"launch file {text}", expected="a file", got="none there", fix="check the path")
