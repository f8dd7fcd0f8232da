"""One writer per session directory, enforced by the kernel, so that a crash never leaves a stale lock behind."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from pathlib import Path

from assay_core.errors import DataError

__all__ = ["LOCK_FILE", "SessionInUse", "SessionLock"]

LOCK_FILE = "journal.lock"


class SessionInUse(DataError):
    """Another process writes this session's journal."""


class SessionLock:
    """An exclusive lock on a session directory, held until `release` or the end of the process.

    Raises:
        SessionInUse: Another process holds it; the message names its process id and host.
        DataError: The directory is missing or not writable.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / LOCK_FILE
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            fix = "check that the directory exists and that you may write to it"
            got = error.strerror or str(error)
            raise DataError(f"{directory}", expected="a writable session directory", got=got, fix=fix) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _holder(self._fd)
            os.close(self._fd)
            raise SessionInUse(
                f"session '{directory}'",
                expected="no other process to write its journal",
                got=f"one is running ({holder})",
                fix="wait for it to end, or stop it, then resume",
            ) from error
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        except OSError:
            pass  # who holds the lock is a courtesy; on a full disk the lock itself still counts

    def release(self, *, remove: bool = False) -> None:
        """Let go of the lock.

        Args:
            remove: Delete the lock file too, for a directory that will never be written again.
        """
        if self._fd < 0:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = -1


def _holder(fd: int) -> str:
    try:
        data = json.loads(os.pread(fd, 1000, 0))
        return f"process {int(data['pid'])} on {data['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "process unknown"
