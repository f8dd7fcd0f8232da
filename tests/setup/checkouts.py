"""Writes the small checkouts that the tests of setup, test and lint work on."""

from __future__ import annotations

import stat
from pathlib import Path


def write(path: Path, text: str = "", *, executable: bool = False) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if executable:
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
