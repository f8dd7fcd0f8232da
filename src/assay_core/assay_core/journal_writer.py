"""Appends to the journal, and says so only when the bytes are on disk.

The writer has a thread of its own, because a commit waits for the disk and nothing that answers a robot may. Events
that arrive while a commit is under way are committed together by the next one.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay_core.errors import DataError
from assay_core.files import sync_directory, write_atomically
from assay_core.journal_format import (
    APPLICATION_ID,
    GENESIS_HASH,
    JOURNAL_FILE,
    KINDS,
    SCHEMA,
    SCHEMA_VERSION,
    JournalEvent,
    canonical_json,
    check_header,
    event_hash,
)
from assay_core.journal_reader import read_events
from assay_core.seal_file import SEAL_FILE
from assay_core.session_lock import SessionLock
from assay_core.session_traces import check_no_journal_lost

__all__ = ["Entry", "JournalLost", "JournalWriter", "Probe"]

_INSERT = "INSERT INTO events (idx, kind, trial_id, time_ns, body, prev_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?)"
_BUSY_TIMEOUT_S = 5.0

CLOSE_S = 5.0
"""Longest wait for the last commit when the journal is closed [s]; a disk that takes longer does not answer."""


class JournalLost(DataError):
    """The file at the journal's path is another one, or gone: whatever is written from now on, nobody would find."""


@dataclass(frozen=True)
class Entry:
    """One event to append."""

    kind: str
    trial_id: str
    body: Mapping[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that the event refers to, by path relative to the session directory; on disk before the event is."""


Probe = Callable[[str, Entry], None]
"""Called on the writer's thread as ``probe(point, entry)``; point is ``before_commit`` or ``after_commit``."""


@dataclass(frozen=True)
class _Request:
    entries: tuple[Entry, ...]
    raw: tuple[bytes, ...]
    future: Future[list[JournalEvent]]


class JournalWriter:
    """The one writer of a session's journal. Use `create` or `resume`.

    All methods may be called from any thread.
    """

    def __init__(
        self,
        directory: Path,
        connection: sqlite3.Connection,
        lock: SessionLock,
        head: tuple[int, str],
        clock: Callable[[], int],
        probe: Probe | None,
    ) -> None:
        self.directory = directory
        self.path = directory / JOURNAL_FILE
        self._connection, self._lock, self._clock, self._probe = connection, lock, clock, probe
        self._head = head
        self._inode = _inode(self.path)
        self._lost: JournalLost | None = None
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    @classmethod
    def create(
        cls, directory: str | Path, *, clock: Callable[[], int] = time.time_ns, probe: Probe | None = None
    ) -> JournalWriter:
        """Create the journal of a new session.

        Args:
            directory: Existing session directory.
            clock: Wall time [ns since 1970].
            probe: Called around each commit; for tests.

        Raises:
            SessionInUse: Another process writes this session.
            DataError: There is a journal already, or results of one that was lost, or the directory cannot be written
                (missing, read-only, full).
        """
        directory = Path(directory)
        path = directory / JOURNAL_FILE
        lock = SessionLock(directory)
        try:
            if path.exists():
                fix = "resume this session, or choose another directory"
                raise DataError(f"{path}", expected="no journal yet", got="an existing journal", fix=fix)
            check_no_journal_lost(directory)
            _write_empty(path)
            return cls(directory, _open(path), lock, (-1, GENESIS_HASH), clock, probe)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def resume(
        cls,
        directory: str | Path,
        *,
        clock: Callable[[], int] = time.time_ns,
        probe: Probe | None = None,
        take: Callable[[JournalEvent], None] = lambda _: None,
    ) -> JournalWriter:
        """Open the journal of an unsealed session to append to it, after checking every event in it.

        Args:
            directory: Session directory.
            clock: Wall time [ns since 1970].
            probe: Called around each commit; for tests.
            take: Called with each event, in order; what it raises is passed on, and the session let go. A long
                journal takes its time to read: who needs its events gets them here.

        Raises:
            SessionInUse: Another process writes this session.
            DataError: The journal is missing, foreign, damaged or sealed, or cannot be written.
        """
        directory = Path(directory)
        path = directory / JOURNAL_FILE
        check_header(path)
        if (directory / SEAL_FILE).exists():
            fix = "start a new session; later gradings go to addenda"
            raise DataError(f"session '{directory}'", expected="an unsealed session", got="a seal", fix=fix)
        lock = SessionLock(directory)
        try:
            connection = _open(path)
            try:
                head = (-1, GENESIS_HASH)
                for event in read_events(connection, path):
                    head = (event.idx, event.hash)
                    take(event)
            except BaseException:
                connection.close()
                raise
            return cls(directory, connection, lock, head, clock, probe)
        except BaseException:
            lock.release()
            raise

    @property
    def head(self) -> tuple[int, str]:
        """Index and hash of the last committed event; (-1, zeros) when there is none."""
        return self._head

    def append(self, kind: str, trial_id: str, body: Mapping[str, Any]) -> Future[int]:
        """Append one event.

        Returns:
            A future of the event's index, completed on the writer's thread after the commit, or failed with a
            `DataError` that names the file when the commit failed (disk full, I/O error); a later append may succeed.
            Not so after a `JournalLost`: once the file was deleted, moved or replaced, every append fails.

        Raises:
            ValueError: Unknown kind, newline in the trial id, or a body that is not JSON.
        """
        future: Future[int] = Future()
        inner = self.append_all([Entry(kind, trial_id, body)])

        def forward(done: Future[list[JournalEvent]]) -> None:
            error = done.exception()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(done.result()[0].idx)

        inner.add_done_callback(forward)
        return future

    def append_all(self, entries: Sequence[Entry]) -> Future[list[JournalEvent]]:
        """Append several events in one transaction: all of them or none. See `append`.

        Returns:
            A future of the events as stored.
        """
        for entry in entries:
            if entry.kind not in KINDS or "\n" in entry.trial_id:
                raise ValueError(f"journal event '{entry.kind}' of trial {entry.trial_id!r}: unknown kind or bad id")
        try:
            raw = tuple(canonical_json(entry.body) for entry in entries)
        except (TypeError, RecursionError) as error:
            raise ValueError(f"journal event body: {error}") from error
        future: Future[list[JournalEvent]] = Future()
        with self._closing:
            if self._closed:
                future.set_exception(self._error("closed"))
            else:
                self._queue.put(_Request(tuple(entries), raw, future))
        return future

    def close(self, *, remove_lock: bool = False) -> None:
        """Commit what was appended, write everything into the main file, and let go of the session.

        Args:
            remove_lock: Delete the lock file, for a session that gets sealed.

        Raises:
            DataError: The disk does not answer; the session stays locked until this process ends.
        """
        with self._closing:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join(CLOSE_S)
        if self._thread.is_alive():
            got = f"none within {CLOSE_S:g} s"
            fix = "see whether the disk answers; nothing that was acknowledged is lost; then resume the session"
            raise DataError(f"{self.path}", expected="the last commit", got=got, fix=fix)
        self._lock.release(remove=remove_lock)

    def _run(self) -> None:
        stop = False
        while not stop:
            batch = []
            request = self._queue.get()
            while True:
                if request is None:
                    stop = True
                else:
                    batch.append(request)
                try:
                    request = self._queue.get_nowait()
                except queue.Empty:
                    break
            self._commit(batch)
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:
            pass  # a full disk: the next one who opens the journal recovers it from the -wal file
        self._connection.close()

    def _commit(self, batch: list[_Request]) -> None:
        if self._is_lost(batch):
            return
        batch = [request for request in batch if self._store_files(request)]
        if not batch:
            return
        head, stored = self._head, []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for request in batch:
                events = []
                for entry, raw in zip(request.entries, request.raw, strict=True):
                    idx, now = head[0] + 1, self._clock()
                    digest = event_hash(head[1], idx, now, entry.kind, entry.trial_id, raw)
                    events.append(JournalEvent(idx, entry.kind, entry.trial_id, now, entry.body, raw, head[1], digest))
                    head = (idx, digest)
                self._connection.executemany(
                    _INSERT, [(e.idx, e.kind, e.trial_id, e.time_ns, e.raw, e.prev_hash, e.hash) for e in events]
                )
                stored.append(events)
            self._probe_all("before_commit", batch)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            try:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                pass  # the transaction is gone already; a next append says so if it is not
            for request in batch:
                request.future.set_exception(self._error(str(error)))
            return
        if self._head[0] < 0:
            # From here on a main file without events proves that nothing was ever acknowledged, whatever became of the
            # write-ahead log; `remove_if_nothing_acknowledged` relies on it.
            try:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                self._head = head
                for request in batch:
                    request.future.set_exception(self._error(str(error)))
                return
        self._head = head
        self._probe_all("after_commit", batch)
        if self._is_lost(batch):
            return
        for request, events in zip(batch, stored, strict=True):
            request.future.set_result(events)

    def _is_lost(self, batch: list[_Request]) -> bool:
        """Fail a batch when the journal at its path is not the one that is open, for good; costs one stat."""
        if self._lost is None:
            found = _inode(self.path)
            if found == self._inode:
                return False
            self._lost = JournalLost(
                f"{self.path}",
                expected="the journal of the session that is running",
                got="no such file" if found is None else "another file",
                fix="put the session's directory back, then resume the session; leave it alone while it runs",
            )
        for request in batch:
            request.future.set_exception(self._lost)
        return True

    def _store_files(self, request: _Request) -> bool:
        try:
            for entry in request.entries:
                for name, data in entry.files.items():
                    write_atomically(self.directory / name, data)
        except OSError as error:
            request.future.set_exception(self._error(f"{error.filename or ''}: {error.strerror or error}"))
            return False
        return True

    def _probe_all(self, point: str, batch: list[_Request]) -> None:
        if self._probe is not None:
            for request in batch:
                for entry in request.entries:
                    self._probe(point, entry)

    def _error(self, got: str) -> DataError:
        fix = "free space or repair the disk; nothing that was acknowledged is lost; then resume the session"
        return DataError(f"{self.path}", expected="to commit an event", got=got, fix=fix)


def _inode(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from every other one; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _write_empty(path: Path) -> None:
    """Create an empty journal so that a crash leaves either none or a whole one."""
    new = path.with_name(path.name + ".new")
    try:
        for leftover in (new, *(new.with_name(new.name + tail) for tail in ("-wal", "-shm", "-journal"))):
            leftover.unlink(missing_ok=True)
        connection = sqlite3.connect(new, isolation_level=None)
        try:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.executescript(SCHEMA)
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        new.rename(path)
        sync_directory(path.parent)
    except (OSError, sqlite3.Error) as error:
        fix = "check free space and permissions of the directory"
        raise DataError(f"{path}", expected="to create a journal", got=str(error), fix=fix) from error


def _open(path: Path) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=16
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, UnicodeDecodeError) as error:
        fix = "check that it is whole and that you may write to it; restore it from a copy if it was damaged"
        raise DataError(f"{path}", expected="a writable journal", got=str(error), fix=fix) from error
    return connection
