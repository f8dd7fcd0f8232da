"""Makes the virtual environment, and tells one that is complete from one that was interrupted or moved."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from assay_tools.console import say
from assay_tools.discard import discard
from assay_tools.errors import SetupError
from assay_tools.layout import Layout
from assay_tools.modes import WHEELS, probe
from assay_tools.process import run_logged
from assay_tools.repair import Paths
from assay_tools.stamps import FORMAT, read_stamp, write_stamp

__all__ = ["complete", "create", "paths_of", "reusable"]


def reusable(layout: Layout, mode: str, python: str, requirements: str) -> str:
    """Return an empty string if the virtual environment can be kept, else why not."""
    if not layout.venv.exists():
        return "there is none"
    stamp = read_stamp(layout.venv_ready)
    if not stamp:
        return "it was not completed"
    if stamp.get("root") != str(layout.root):
        return f"it was made at {stamp.get('root')}"
    if stamp.get("mode") != mode:
        return f"it was made for {stamp.get('mode')}"
    if stamp.get("format") != FORMAT:
        return "setup itself has changed"
    if stamp.get("python") != python:
        return f"it was made from {stamp.get('python')}"
    if stamp.get("requirements") != requirements:
        return "the locked packages have changed"
    if stamp.get("version") != version_of(python) or probe(str(layout.python), "pass") is None:
        return "its Python was replaced"
    return ""


def complete(layout: Layout, mode: str, python: str, requirements: str) -> None:
    """Say that the virtual environment holds everything; called last."""
    write_stamp(
        layout.venv_ready,
        {
            "root": str(layout.root),
            "mode": mode,
            "format": FORMAT,
            "python": python,
            "version": version_of(python),
            "requirements": requirements,
        },
    )


def version_of(python: str) -> str:
    """Return the full version of an interpreter, empty if it does not run."""
    return probe(python, "import platform; print(platform.python_version())") or ""


def create(layout: Layout, mode: str, python: str, environ: Mapping[str, str], lock_fd: int | None = None) -> None:
    """Make a fresh virtual environment in place of what is there.

    A folder ``.venv`` that setup did not make is moved aside, not deleted.

    Args:
        layout: The checkout.
        mode: ``wheels`` or ``ros-DISTRO``.
        python: The interpreter to make it from.
        environ: Environment variables.
        lock_fd: The held setup lock, inherited by the command that makes it.

    Raises:
        SetupError: The environment could not be made.
    """
    if layout.venv.exists() or layout.venv.is_symlink():
        if layout.venv.is_symlink() or layout.venv_created.exists() or not any(layout.venv.iterdir()):
            discard(layout, layout.venv)
        else:
            aside = next(
                path
                for path in (layout.root / f".venv-before-assay-{number}" for number in range(1, 1000))
                if not path.exists()
            )
            say(f"      .venv was not made by setup: moved to {aside.name}")
            layout.venv.rename(aside)
    layout.venv.mkdir()
    layout.venv_created.touch()
    # colcon would take the environment for a part of the workspace.
    (layout.venv / "COLCON_IGNORE").touch()
    command = [python, "-m", "venv", *([] if mode == WHEELS else ["--system-site-packages"]), str(layout.venv)]
    code, output = run_logged(
        command,
        environ={key: value for key, value in environ.items() if key != "PYTHONPATH"},
        log=layout.logs / "packages.log",
        doing="virtual environment",
        keep_fd=lock_fd,
    )
    if code != 0 or not os.access(layout.python, os.X_OK):
        last = " / ".join(line for line in output.splitlines()[-3:] if line)
        raise SetupError(
            "virtual environment",
            expected=f"{python} -m venv to make {layout.venv}",
            got=f"exit code {code}: {last or 'no output'}",
            fix="see the message; on Debian and Ubuntu the package python3-venv is often missing",
        )


def paths_of(layout: Layout) -> Paths:
    """Return where the environment keeps headers and packages.

    Raises:
        SetupError: The environment's Python does not run.
    """
    code = "import json, sys, sysconfig; p = sysconfig.get_paths(); "
    code += "print(json.dumps([sys.prefix, p['include'], p['purelib']]))"
    printed = probe(str(layout.python), code)
    if printed is None:
        raise SetupError(
            "virtual environment",
            expected=f"{layout.python} to run",
            got="an error",
            fix=f"remove {Path('.venv')} and run ./assay setup again",
        )
    prefix, include, site = json.loads(printed)
    return Paths(prefix=prefix, include=include, site=site)
