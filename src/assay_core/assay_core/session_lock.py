"""One writer per session directory, enforced by the kernel, so that a crash never leaves a stale lock behind.

Who only wants to know whether somebody writes asks with a shared lock for an instant, without writing a byte; a writer
that starts in that very instant tries again rather than fail.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from assay_core.errors import DataError
from assay_core.files import open_regular
from assay_core.seal_file import SEAL_FILE

__all__ = ["LOCK_FILE", "SessionInUse", "SessionLock", "SessionSealed", "wait_until_free", "writer_of"]

LOCK_FILE = "journal.lock"

GLANCE_S = 0.5
"""A lock that is held for longer than this is held by a writer, not by somebody who looks [s]."""

GOING_AWAY_S = 10.0
"""Longest wait for the writer of a session whose runner was killed to end, as it is told to [s]."""

_POLL_S = 0.02


class SessionInUse(DataError):
    """Another process writes this session's journal."""


class SessionSealed(DataError):
    """The session was sealed; nothing may write it any more."""


class SessionLock:
    """An exclusive lock on a session directory, held until `release` or the end of the process.

    Raises:
        SessionInUse: Another process holds it; the message names its process id and host.
        SessionSealed: The session is sealed, perhaps while this waited for the lock.
        DataError: The directory is missing or not writable.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / LOCK_FILE
        end = time.monotonic() + GLANCE_S
        while not self._take(directory):
            if time.monotonic() >= end:
                holder = _holder(self._fd)
                os.close(self._fd)
                raise _in_use(directory, holder)
            os.close(self._fd)
            time.sleep(_POLL_S)
        if (directory / SEAL_FILE).exists():
            self.release(remove=True)
            fix = "start a new session; later gradings go to addenda"
            raise SessionSealed(f"session '{directory}'", expected="no seal", got="a sealed session", fix=fix)
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        except OSError:
            pass  # who holds the lock is a courtesy; on a full disk the lock itself still counts

    def _take(self, directory: Path) -> bool:
        """Open the lock file and lock it; return whether the lock is that of the file which has the name now."""
        try:
            self._fd = open_regular(self.path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            fix = f"check that the directory exists, that you may write to it, and what {LOCK_FILE} is"
            got = error.strerror or str(error)
            raise DataError(f"{directory}", expected="a writable session directory", got=got, fix=fix) from error
        try:
            if not _locked(self._fd, fcntl.LOCK_EX):
                return False
        except OSError as error:
            os.close(self._fd)
            fix = "put the session on a file system that has locks"
            raise DataError(f"{self.path}", expected="a lock", got=error.strerror or str(error), fix=fix) from error
        # Whoever seals a session deletes the file: a lock on it would exclude nobody.
        ours = os.fstat(self._fd)
        try:
            named = self.path.stat()
        except FileNotFoundError:
            return False
        return (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)

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


def writer_of(directory: Path) -> str:
    """Return who writes a session's journal, e.g. ``process 12 on rig``; empty when nobody does.

    Changes nothing: it works on a directory that may only be read.

    Raises:
        DataError: The lock file is there and cannot be read.
    """
    path = directory / LOCK_FILE
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return ""
    except OSError as error:
        got = error.strerror or str(error)
        fix = "remove it, or check its permissions"
        raise DataError(f"{path}", expected="a readable lock", got=got, fix=fix) from error
    try:
        return "" if _locked(fd, fcntl.LOCK_SH) else _holder(fd)
    finally:
        os.close(fd)


def wait_until_free(
    directory: Path, *, deadline_s: float = GOING_AWAY_S, tell: Callable[[str], None] = lambda _: None
) -> None:
    """Wait until nobody writes a session's journal.

    The benchmark node of a runner that was killed is told to end, and closes the journal first; to come a moment too
    early is no reason to be refused.

    Args:
        directory: Session directory.
        deadline_s: Longest wait [s]; 0 only looks.
        tell: Takes the sentence that says what is waited for, once, where there is something to wait for.

    Raises:
        SessionInUse: The process that writes it stays.
    """
    holder = writer_of(directory)
    if not holder:
        return
    if deadline_s > 0:
        tell(f"session '{directory}': waiting up to {deadline_s:g} s for the writer of its journal ({holder}) to end")
    if not _within(deadline_s, lambda: not writer_of(directory)):
        raise _in_use(directory, writer_of(directory) or holder)


def _locked(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _within(deadline_s: float, done: Callable[[], bool]) -> bool:
    end = time.monotonic() + deadline_s
    while not done():
        if time.monotonic() >= end:
            return False
        time.sleep(_POLL_S)
    return True


def _in_use(directory: Path, holder: str) -> SessionInUse:
    return SessionInUse(
        f"session '{directory}'",
        expected="no other process to write its journal",
        got=f"one is running ({holder})",
        fix="wait for it to end, or stop it, then resume",
    )


def _holder(fd: int) -> str:
    try:
        data = json.loads(os.pread(fd, 1000, 0))
        return f"process {int(data['pid'])} on {data['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "process unknown"
