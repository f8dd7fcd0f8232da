"""One writer per session, and any number of people who look at it without being in its way."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assay_core import session_lock
from assay_core.errors import DataError
from assay_core.seal_file import SEAL_FILE
from assay_core.session_lock import (
    LOCK_FILE,
    SessionInUse,
    SessionLock,
    SessionSealed,
    wait_until_free,
    writer_of,
)


@pytest.fixture
def at_first_poll(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Return a function that has something happen between the first look at a lock and the second."""

    def plan(happen: Callable[[], None]) -> None:
        pending = [happen]
        monkeypatch.setattr(session_lock.time, "sleep", lambda _s: pending.pop()() if pending else None)

    return plan


def test_looking_changes_nothing(tmp_path: Path) -> None:
    assert writer_of(tmp_path) == ""
    assert list(tmp_path.iterdir()) == [], "a look must not leave a file behind"
    lock = SessionLock(tmp_path)
    path = tmp_path / LOCK_FILE
    assert writer_of(tmp_path) == f"process {os.getpid()} on {os.uname().nodename}"
    lock.release()
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    assert writer_of(tmp_path) == ""
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert before[0], "who wrote last is lost"


def test_looks_do_not_see_each_other(tmp_path: Path) -> None:
    SessionLock(tmp_path).release()
    fd = os.open(tmp_path / LOCK_FILE, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    assert writer_of(tmp_path) == "", "somebody who looks was taken for a writer"
    os.close(fd)


def test_a_writer_that_meets_somebody_who_looks_tries_again(tmp_path: Path, at_first_poll: Callable[..., None]) -> None:
    SessionLock(tmp_path).release()
    fd = os.open(tmp_path / LOCK_FILE, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    at_first_poll(lambda: os.close(fd))
    SessionLock(tmp_path).release()


def test_a_session_that_is_sealed_meanwhile_is_not_written(tmp_path: Path, at_first_poll: Callable[..., None]) -> None:
    """Whoever seals deletes the lock file; a lock on what was deleted must not count, nor be left behind anew."""
    sealer = SessionLock(tmp_path)

    def seal() -> None:
        (tmp_path / SEAL_FILE).write_text("{}")
        sealer.release(remove=True)

    at_first_poll(seal)
    with pytest.raises(SessionSealed, match="sealed session"):
        SessionLock(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [SEAL_FILE]


def test_a_lock_whose_file_was_deleted_excludes_others_all_the_same(
    tmp_path: Path, at_first_poll: Callable[..., None]
) -> None:
    first = SessionLock(tmp_path)
    at_first_poll(lambda: first.release(remove=True))
    second = SessionLock(tmp_path)
    with pytest.raises(SessionInUse):
        SessionLock(tmp_path)
    second.release()


def test_a_writer_that_goes_away_is_waited_for(tmp_path: Path, at_first_poll: Callable[..., None]) -> None:
    lock, told = SessionLock(tmp_path), []
    at_first_poll(lock.release)
    wait_until_free(tmp_path, tell=told.append)
    assert told == [
        f"session '{tmp_path}': waiting up to 10 s for the writer of its journal "
        f"(process {os.getpid()} on {os.uname().nodename}) to end"
    ]
    wait_until_free(tmp_path, tell=told.append)
    assert len(told) == 1, "there was nothing to wait for"


def test_a_writer_that_stays_is_named(tmp_path: Path) -> None:
    lock = SessionLock(tmp_path)
    with pytest.raises(SessionInUse, match=rf"got one is running \(process {os.getpid()} on "):
        wait_until_free(tmp_path, deadline_s=0.01)
    lock.release()


def test_an_unreadable_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).symlink_to(LOCK_FILE)
    with pytest.raises(DataError, match=r"journal.lock: expected a readable lock, got Too many levels"):
        writer_of(tmp_path)
    with pytest.raises(DataError, match="expected a writable session directory"):
        SessionLock(tmp_path)
    shutil.rmtree(tmp_path)
