"""Writing files so that a kill or a power cut leaves either the old content or the new one, never half of it.

And opening what lies in a directory that came from elsewhere: a named pipe in place of a file would be waited for, for
ever, by whoever opens it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["open_regular", "read_regular", "sync_directory", "write_atomically"]


def open_regular(path: Path, flags: int, mode: int = 0o644) -> int:
    """Open a file as `os.open` does and return its descriptor, without waiting.

    Raises:
        OSError: It cannot be opened, or is a named pipe, a device or a directory.
    """
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, mode)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return fd


def read_regular(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: It cannot be read, or is a named pipe, a device or a directory.
    """
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()


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
