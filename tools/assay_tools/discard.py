"""Removes folders in one step as far as anyone can see: a half-removed one must never be taken for a complete one."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from assay_tools.layout import Layout

__all__ = ["discard", "empty_trash"]


def discard(layout: Layout, path: Path) -> None:
    """Remove a file, a link or a folder; the folder is renamed away first, so that a kill leaves it whole or gone."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    if not path.exists():
        return
    layout.trash.mkdir(parents=True, exist_ok=True)
    away = layout.trash / f"{path.name}-{os.getpid()}-{time.time_ns()}"
    try:
        path.rename(away)
    except OSError:
        # A mount point, or another disk behind it: take what says "complete" out first.
        for stamp in path.glob(".assay-ready.json"):
            stamp.unlink()
        away = path
    shutil.rmtree(away)


def empty_trash(layout: Layout) -> None:
    """Remove what an interrupted removal left."""
    shutil.rmtree(layout.trash, ignore_errors=True)
