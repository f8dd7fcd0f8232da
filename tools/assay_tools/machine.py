"""Looks at what the machine must have before anything is built, and installs what is missing where it may.

A missing header is found here in a second, by name, instead of after minutes in the middle of a compiler's output.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay_tools.console import say
from assay_tools.descriptions import depends
from assay_tools.errors import SetupError
from assay_tools.modes import WHEELS, probe

__all__ = ["Need", "check_disk", "ensure", "is_debian", "missing"]

DISK_BYTES = 2_000_000_000
"""Packages (0.7 GB), their cache, the build and room to work in."""
OS_RELEASE = Path("/etc/os-release")
COMPILE_S = 60.0
APT_S = 1800.0
"""Longest `apt-get update` or `install`; a minute or two is usual."""


@dataclass(frozen=True)
class Need:
    """Something that is missing on this machine."""

    what: str
    """What is missing, as a person calls it."""
    why: str
    """What it is needed for."""
    packages: tuple[str, ...]
    """The Debian packages that bring it; empty where none does (an interpreter from elsewhere)."""


def is_debian(os_release: Path = OS_RELEASE) -> bool:
    """Say whether this is Debian, Ubuntu or one of their kin."""
    try:
        lines = os_release.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    kin = f"{values.get('ID', '')} {values.get('ID_LIKE', '')}".replace('"', " ").split()
    return "debian" in kin or "ubuntu" in kin


def _named_in_vain(variable: str, expected: str, got: str, environ: Mapping[str, str]) -> SetupError:
    """Return the error for a compiler that the user named."""
    return SetupError(
        f"{variable}={environ[variable]}",
        expected=expected,
        got=got,
        fix=f"correct {variable}, or unset it to use the compiler of this machine",
    )


def _compiler(variable: str, names: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the command of a compiler: the one that a variable names, with its arguments, else the first on PATH.

    Args:
        variable: ``CC`` or ``CXX``, as CMake reads them.
        names: Where it is not set, what the compiler may be called.
        environ: Environment variables.

    Returns:
        The command; empty where nothing is named and nothing found.

    Raises:
        SetupError: The variable names no program.
    """
    path = environ.get("PATH")
    if not environ.get(variable):
        found = next((each for each in (shutil.which(name, path=path) for name in names) if each), None)
        return [found] if found else []
    expected = "a compiler, with its arguments if it needs any"
    try:
        words = shlex.split(environ[variable])
    except ValueError as error:  # a quotation that does not end
        raise _named_in_vain(variable, expected, str(error), environ) from None
    found = shutil.which(words[0], path=path) if words else None
    if found is None:
        got = "only spaces" if not words else "no such program" + ("" if os.sep in words[0] else " on PATH")
        raise _named_in_vain(variable, expected, got, environ)
    return [found, *words[1:]]


def _compiles(compiler: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Say whether a C++ compiler makes a program: it may be there without its linker or library."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        source = Path(folder) / "probe.cpp"
        source.write_text("#include <string>\nint main() { return std::string().size(); }\n", encoding="utf-8")
        try:
            done = subprocess.run(
                [*compiler, str(source), "-o", str(source.with_suffix(""))],
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=COMPILE_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0


def _ros_packages(src: Path) -> list[str]:
    """Return the ROS packages that the workspace's package.xml files name and the workspace does not hold itself."""
    own = {path.parent.name for path in src.glob("*/package.xml")}
    named: set[str] = set()
    for path in src.glob("*/package.xml"):
        named |= depends(path.read_text(encoding="utf-8"))
    return sorted(name for name in named - own if "-" not in name)


def _in_ament_index(package: str, environ: Mapping[str, str]) -> bool:
    prefixes = environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return any(
        prefix and Path(prefix, "share/ament_index/resource_index/packages", package).exists() for prefix in prefixes
    )


_MODULES = {
    "numpy": "python3-numpy",
    "cv2": "python3-opencv",
    "em": "python3-empy",
    "lark": "python3-lark",
    "catkin_pkg": "python3-catkin-pkg-modules",
}
"""Modules that come from Debian beside a sourced ROS 2, because ROS's own compiled modules were built against them."""


def missing(mode: str, python: str, environ: Mapping[str, str], src: Path) -> list[Need]:
    """Return what is missing for the build.

    Args:
        mode: ``wheels`` or ``ros-DISTRO``.
        python: The interpreter that the virtual environment is made from.
        environ: Environment variables; ``PATH`` says where programs are looked for.
        src: The folder of the workspace's packages.

    Raises:
        SetupError: ``CC`` or ``CXX`` names a compiler that is not there or does not work: no package helps, and CMake
            would use no other.
    """
    needs: list[Need] = []
    debian_python = python.startswith(("/usr/bin/", "/bin/"))
    version = probe(python, "import sys; print('%d.%d' % sys.version_info[:2])") or "3"

    def of_python(kind: str) -> tuple[str, ...]:
        return (f"python{version}-{kind}",) if debian_python else ()

    cxx, cc = _compiler("CXX", ("c++", "g++"), environ), _compiler("CC", ("cc", "gcc"), environ)
    if not cxx or not _compiles(cxx, environ):
        if environ.get("CXX"):
            raise _named_in_vain("CXX", "a C++ compiler that makes a program", "one that does not", environ)
        needs.append(Need("a working C++ compiler", "to compile the message types", ("g++",)))
    if not cc:
        needs.append(Need("a C compiler", "to compile the message types", ("gcc",)))
    header = "import sysconfig, os; p = sysconfig.get_paths()['include']; print(os.path.exists(p + '/Python.h'))"
    if probe(python, header) != "True":
        needs.append(Need(f"Python.h of {python}", "to compile the Python side of the message types", of_python("dev")))
    if probe(python, "import venv, ensurepip") is None:
        needs.append(Need(f"venv and ensurepip of {python}", "to make the virtual environment", of_python("venv")))
    if mode == WHEELS:
        return needs
    distro = mode.partition("-")[2]
    if not shutil.which("cmake", path=environ.get("PATH")):
        needs.append(Need("cmake", "to build the message types", ("cmake",)))
    for package in _ros_packages(src):
        if not _in_ament_index(package, environ):
            debian = f"ros-{distro}-{package.replace('_', '-')}"
            needs.append(Need(f"ROS package {package}", "named in a package.xml of this workspace", (debian,)))
    for module, package in _MODULES.items():
        if probe(python, f"import {module}", environ) is None:
            needs.append(Need(f"Python module {module}", "used beside ROS 2", (package,)))
    return needs


def _explained(needs: Sequence[Need], apt: str = "") -> SetupError:
    """Return the error for what is missing.

    Args:
        needs: What is missing.
        apt: Why an installation failed, if one was tried.
    """
    got = "; ".join(f"no {need.what} ({need.why})" for need in needs)
    if apt:
        got += f"; apt-get failed: {apt}"
    packages = sorted({package for need in needs for package in need.packages})
    loose = [need.what for need in needs if not need.packages]
    fixes = []
    if packages:
        fixes.append(f"install the Debian packages {' '.join(packages)} (sudo apt-get install {' '.join(packages)})")
    if loose:
        fixes.append(
            f"the interpreter did not come from Debian: install {', '.join(loose)} the way it was installed, or name "
            "another interpreter with ASSAY_PYTHON"
        )
    return SetupError("tool chain", expected="everything that the build needs", got=got, fix="; ".join(fixes))


def _apt_install(packages: Sequence[str], environ: Mapping[str, str]) -> str:
    """Install Debian packages as root; return an empty string or the last lines of what apt said."""
    env = {**environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-qy", "--no-install-recommends", *packages]):
        try:
            done = subprocess.run(
                command,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=APT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{' '.join(command[:2])} did not end within {APT_S / 60:g} min: does another apt hold its lock?"
        except OSError as error:
            return str(error)
        if done.returncode != 0:
            return " / ".join(line for line in done.stdout.splitlines()[-3:] if line)
    return ""


def ensure(
    look: Callable[[], list[Need]],
    environ: Mapping[str, str],
    *,
    root_user: bool | None = None,
    os_release: Path = OS_RELEASE,
) -> None:
    """Make sure that nothing is missing: as root on Debian install it, otherwise say what and why.

    Args:
        look: Returns what is missing now; called again after an installation.
        environ: Environment variables.
        root_user: Whether this user may install packages; None asks the system.
        os_release: The file that names the distribution.

    Raises:
        SetupError: Something is missing and was not, or could not be, installed.
    """
    needs = look()
    if not needs:
        return
    packages = sorted({package for need in needs for package in need.packages})
    as_root = os.geteuid() == 0 if root_user is None else root_user
    if not packages or not as_root or not is_debian(os_release):
        raise _explained(needs)
    for need in needs:
        say(f"      missing: {need.what} ({need.why})")
    say(f"      installing Debian packages as root: {' '.join(packages)}")
    failure = _apt_install(packages, environ)
    needs = look()
    if needs:
        raise _explained(needs, failure)


def check_disk(folder: Path, needed: int = DISK_BYTES) -> None:
    """Refuse to start where the disk cannot hold the environment.

    Raises:
        SetupError: Too little free space, or the folder cannot be written.
    """
    if not os.access(folder, os.W_OK):
        raise SetupError(
            str(folder), expected="a folder that this user can write", got="no permission", fix="clone it elsewhere"
        )
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SetupError(
            f"free disk space at {folder}",
            expected=f"at least {needed / 1e9:.1f} GB",
            got=f"{free / 1e9:.2f} GB",
            fix="free some space, or clone the workspace to a larger disk",
        )
