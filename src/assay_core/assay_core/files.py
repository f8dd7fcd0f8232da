"""Writing files so that a kill or a power cut leaves either the old content or the new one, never half of it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["sync_directory", "write_atomically"]


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` and to disk; parent directories are created.

    Raises:
        OSError: The file cannot be written (disk full, read-only, ...); the old content, if any, stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    try:
        with new.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the names in ``directory`` durable.

    Raises:
        OSError: The directory cannot be opened.
    """
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
