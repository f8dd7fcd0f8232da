"""``./assay --version``: what a report of a problem should name, from the sources alone."""

from __future__ import annotations

import platform
import re
import subprocess

from assay_tools.layout import Layout

__all__ = ["text"]

_GIT_S = 5.0
"""Longest wait for git [s]."""


def text(layout: Layout) -> str:
    """Return release, commit and Python, e.g. ``assay 0.1.0 (commit 0a1b2c3d4e, with changes), Python 3.12.3``."""
    manifest = (layout.root / "src" / "assay_cli" / "package.xml").read_text(encoding="utf-8")
    found = re.search(r"<version>([^<]+)</version>", manifest)
    commit = _commit(layout)
    said = f" (commit {commit})" if commit else ""
    return f"assay {found[1] if found else 'unknown'}{said}, Python {platform.python_version()}"


def _commit(layout: Layout) -> str:
    head = _git(layout, "rev-parse", "--short=10", "HEAD")
    changes = _git(layout, "status", "--porcelain")
    return f"{head}, with changes" if head and changes else head


def _git(layout: Layout, *arguments: str) -> str:
    """Return what git says of this checkout; empty where it is none, or git is missing."""
    if not (layout.root / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(layout.root), *arguments], capture_output=True, text=True, timeout=_GIT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
