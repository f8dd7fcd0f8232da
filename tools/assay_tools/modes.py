"""Chooses between the two ways to get ROS 2, and the Python that goes with it.

Where ROS 2 is sourced it is used as it is, with the Python that its modules were built for. Elsewhere it comes from
wheels, which exist for some CPython versions on one platform.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping

from assay_tools.errors import SetupError

__all__ = ["WHEELS", "check_platform", "chosen_mode", "inside", "pick_python", "probe"]

WHEELS = "wheels"
INSIDE = "ASSAY_ENVIRONMENT"
"""Set inside the environment to its mode, so that a verb run from `./assay exec bash` finds the same one."""

WHEEL_VERSIONS = ((3, 10), (3, 13))
"""First and last CPython that the ROS 2 wheels were built for."""
WHEEL_GLIBC = (2, 28)
TOO_OLD = ("foxy", "galactic", "humble", "iron")
PROBE_S = 30.0


def chosen_mode(environ: Mapping[str, str]) -> str:
    """Return ``wheels``, or ``ros-DISTRO`` where ROS 2 is sourced.

    Raises:
        SetupError: The sourced ROS is too old, or was sourced in part.
    """
    if environ.get(INSIDE):
        return environ[INSIDE]
    distro = environ.get("ROS_DISTRO", "")
    if not distro or environ.get("ROS_VERSION") == "1":
        return WHEELS
    if distro in TOO_OLD:
        raise SetupError(
            f"ROS 2 {distro}",
            expected="jazzy or newer to be sourced, or none",
            got=f"ROS_DISTRO={distro}",
            fix="source /opt/ros/jazzy/setup.bash where it is installed; or leave ROS out, so that it comes from "
            "wheels: env -u ROS_DISTRO ./assay setup",
        )
    if not environ.get("AMENT_PREFIX_PATH"):
        raise SetupError(
            f"ROS 2 {distro}",
            expected="a sourced installation",
            got=f"ROS_DISTRO={distro} without AMENT_PREFIX_PATH",
            fix=f"source /opt/ros/{distro}/setup.bash; or unset ROS_DISTRO to use wheels",
        )
    return f"ros-{distro}"


def inside(environ: Mapping[str, str]) -> bool:
    """Say whether this process already runs inside the environment."""
    return bool(environ.get(INSIDE))


def probe(python: str, code: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Return what ``code`` prints under an interpreter, or None where it fails.

    Args:
        python: The interpreter.
        code: What to run.
        environ: Its environment; None runs it isolated from variables and user packages.
    """
    try:
        done = subprocess.run(
            [python, *(["-I"] if environ is None else []), "-c", code],
            env=dict(environ) if environ is not None else None,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield interpreters in the order of preference; the one that runs now comes first."""
    named = environ.get("ASSAY_PYTHON")
    if named:
        yield shutil.which(named, path=environ.get("PATH")) or named
        return
    yield getattr(sys, "_base_executable", "") or sys.executable
    names = ["python3", "python3.13", "python3.12", "python3.11", "python3.10", "/usr/bin/python3"]
    for name in names:
        found = shutil.which(name, path=environ.get("PATH"))
        if found:
            yield found


_DESCRIBE = (
    "import sys; print(getattr(sys, '_base_executable', None) or sys.executable, "
    "'%d.%d' % sys.version_info[:2], sys.implementation.name)"
)


def pick_python(mode: str, environ: Mapping[str, str]) -> str:
    """Return the interpreter that the virtual environment is made from.

    Raises:
        SetupError: None fits; the message lists those that were tried and why they do not.
    """
    tried: dict[str, str] = {}
    for candidate in _candidates(environ):
        described = probe(candidate, _DESCRIBE)
        if described is None:
            tried.setdefault(candidate, "does not run")
            continue
        path, version, implementation = described.rsplit(" ", 2)
        if path in tried:
            continue
        number = tuple(int(part) for part in version.split("."))
        if mode == WHEELS:
            low, high = WHEEL_VERSIONS
            if implementation == "cpython" and low <= number <= high:
                return path
            tried[path] = f"{implementation} {version}"
        else:
            if probe(path, "import rclpy", environ) is not None:
                return path
            tried[path] = f"Python {version}, cannot import rclpy"
    got = "; ".join(f"{path}: {why}" for path, why in tried.items()) or "no python3 on PATH"
    if mode == WHEELS:
        raise SetupError(
            "Python",
            expected="CPython 3.10 to 3.13, for which ROS 2 wheels exist",
            got=got,
            fix="install one (Debian package python3.12, say, with its -venv and -dev), or name one with "
            "ASSAY_PYTHON=/path/to/python3.12",
        )
    distro = mode.partition("-")[2]
    raise SetupError(
        f"Python of ROS 2 {distro}",
        expected="an interpreter that imports rclpy from the sourced ROS 2",
        got=got,
        fix=f"install ros-{distro}-ros-base and leave conda or pyenv environments, or name the interpreter with "
        "ASSAY_PYTHON=/usr/bin/python3; without ROS 2: env -u ROS_DISTRO ./assay setup",
    )


def check_platform() -> None:
    """Refuse a machine for which there are no ROS 2 wheels.

    Raises:
        SetupError: Not Linux with glibc on x86-64.
    """
    libc, version = platform.libc_ver()
    number = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if sys.platform == "linux" and platform.machine() == "x86_64" and libc == "glibc" and number >= WHEEL_GLIBC:
        return
    raise SetupError(
        "platform",
        expected="Linux on x86_64 with glibc 2.28 or newer, for which ROS 2 wheels exist",
        got=f"{sys.platform} on {platform.machine()} with {libc or 'another C library'} {version}".rstrip(),
        fix="install ROS 2 Jazzy from its distribution and source it; setup then uses that one (docs/install.md)",
    )
