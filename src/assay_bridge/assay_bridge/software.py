"""Which versions produce a session: part of its plan, so that a result can be traced to the code behind it."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["software_versions"]

_PRODUCING = ("src", "launch", "config", "urdf", "tools", "colcon.meta")
"""Where a new file may change what a session does, relative to the checkout."""


def software_versions() -> dict[str, str]:
    """Return the versions of what produces a session, by name."""
    found = {"python": platform.python_version()}
    for name in ("inspect-robots", "numpy"):
        found[name] = version(name)
    try:
        found["assay"] = version("assay_bridge")
    except PackageNotFoundError:
        found["assay"] = "unknown"
    commit = _git_commit()
    if commit:
        found["git_commit"] = commit
    return found


def _git_commit() -> str | None:
    """Return HEAD of the checkout that this code runs from, with ``-dirty`` when it has changes; None without one.

    Changes are those of any tracked file, and new files where code, launch files or configuration lie: what a user puts
    beside them (reports, notes) produces no session. Never that of the user's working directory, for the same reason.
    """
    root = _checkout()
    if root is None or _git(root, "rev-parse", "--show-toplevel") != str(root):
        return None
    head = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    added = _git(root, "status", "--porcelain", "--untracked-files=normal", "--", *_PRODUCING)
    if not head or changed is None or added is None:
        return None
    return f"{head}-dirty" if changed or added else head


def _checkout() -> Path | None:
    """Return the workspace's top directory: where the entry script says, else above this file."""
    named = os.environ.get("ASSAY_ROOT")
    candidates = [Path(named)] if named else list(Path(__file__).resolve().parents)
    return next((path.resolve() for path in candidates if (path / "src" / "assay_bridge").is_dir()), None)


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=2.0, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
