"""Reads a journal without changing a byte of it, and refuses one that is foreign, damaged or tampered with."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from assay_core.errors import DataError
from assay_core.journal_format import GENESIS_HASH, JOURNAL_FILE, KINDS, JournalEvent, check_header, event_hash
from assay_core.plan import Plan, PlanEntry
from assay_core.results import Attempt, SessionFold, TrialResult, VerdictRecord
from assay_core.seal_file import SEAL_FILE

__all__ = ["JournalReader", "read_events"]

_FIX = "restore the journal from a copy; what lies before the damage can still be read with the sqlite3 program"
_SELECT = "SELECT idx, kind, trial_id, time_ns, body, prev_hash, hash FROM events"


class JournalReader:
    """The journal of one session, as it stands when it is opened.

    Opening reads every event once and keeps none: the records of thousands of trials are more than a process may hold.
    Events, records and realizations are read from the file again at every access, so it must stay where it is; what was
    altered since is refused. Within a ``with`` the file stays open between accesses to records and realizations, which
    is quicker for many; nobody can seal the session meanwhile.

    A sealed journal is opened as immutable, so that reading leaves its bytes and its directory alone. One that a crash
    left behind is read together with its write-ahead log. Reading beside a running writer is fine.

    Args:
        path: Session directory or journal file.

    Raises:
        DataError: The journal is missing, foreign, of another version, damaged, or its hash chain is broken; the
            message names the file.
    """

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        self.path = path / JOURNAL_FILE if path.is_dir() else path
        self.count = 0
        """Number of events."""
        self.head_hash = GENESIS_HASH
        """Hash of the last event; zeros when there is none."""
        self._file = _File(self.path)
        self._fold = SessionFold(subject=str(self.path), read_body=self._file.body)
        self._contradiction: DataError | None = None
        for event in self._file.events():
            self._add(event)

    def __enter__(self) -> JournalReader:
        self._file.hold()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.let_go()

    def _add(self, event: JournalEvent) -> None:
        self.count, self.head_hash = event.idx + 1, event.hash
        if self._contradiction is None:
            try:
                self._fold.apply(event)
            except DataError as error:
                self._contradiction = error

    def verify(self) -> str:
        """Read the file again, check its pages and every hash, and return the hash of the last event.

        Raises:
            DataError: Anything does not agree.
        """
        head = GENESIS_HASH
        for event in self._file.events(pages=True):
            head = event.hash
        return head

    def events(self) -> Iterator[JournalEvent]:
        """Read the file again and yield, in order, the events that it held when it was opened.

        Raises:
            DataError: While iterating: the file is gone, damaged, or holds other events by now.
        """
        head = GENESIS_HASH
        for event in self._file.events(count=self.count):
            yield event
            head = event.hash
        if head != self.head_hash:
            raise _damaged(self.path, f"other events than the {self.count} that were there when it was opened")

    def fold(self) -> SessionFold:
        """Return the session that the events add up to.

        Raises:
            DataError: An event contradicts the ones before it.
        """
        if self._contradiction is not None:
            raise self._contradiction
        return self._fold

    def plan(self) -> Plan:
        """Return the plan as it was when the session was opened.

        Raises:
            DataError: The journal holds no plan: it ended before anything was recorded.
        """
        plan = self.fold().plan
        if plan is None:
            raise DataError(f"{self.path}", expected="a plan", got="an empty journal", fix="start the session anew")
        return plan

    def entries(self) -> tuple[PlanEntry, ...]:
        """Return the plan's entries, with those that an open plan got while it ran."""
        return self.fold().entries()

    def attempts(self) -> tuple[Attempt, ...]:
        """Return every attempt that was started, in order."""
        return tuple(self.fold().attempts.values())

    def verdicts(self) -> dict[str, VerdictRecord]:
        """Return the verdict in force of each trial that has one, by trial id."""
        return {a.trial_id: a.verdict for a in self.attempts() if a.verdict is not None}

    def results(self) -> tuple[TrialResult, ...]:
        """Return the final result of every plan entry that has one, in plan order."""
        return self.fold().results()

    def pending(self) -> tuple[tuple[PlanEntry, int], ...]:
        """Return the plan entries without a final result, each with the number of its next attempt."""
        return self.fold().pending()

    def next_plan_index(self) -> int:
        """Return the first plan index without a final result, or the plan's length when there is none."""
        return self.fold().next_plan_index()


class _File:
    """The file of a journal: opened for each reading, or held open for all readings of a body."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack = ExitStack()
        self._held: sqlite3.Connection | None = None

    def hold(self) -> None:
        self._held = self._stack.enter_context(_connect(self.path))

    def let_go(self) -> None:
        """Close what is held, whatever went wrong meanwhile: that says nothing of the file."""
        self._held = None
        self._stack.close()

    def events(self, *, count: int | None = None, pages: bool = False) -> Iterator[JournalEvent]:
        """Yield all events, or the first ``count``, checked."""
        with _connect(self.path) as connection:
            connection.execute("BEGIN")
            yield from read_events(connection, self.path, count=count, pages=pages)

    def body(self, idx: int, digest: str) -> Mapping[str, Any]:
        """Return the body of one event.

        Raises:
            DataError: The file is gone or damaged, or the event is not the one with this hash.
        """
        with _connect(self.path) if self._held is None else nullcontext(self._held) as connection:
            try:
                row = connection.execute(f"{_SELECT} WHERE idx = ?", (idx,)).fetchone()
            except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
                raise _damaged(self.path, str(error)) from error
        if row is None:
            raise _damaged(self.path, f"no event {idx}, which was there when it was opened")
        event = _event(self.path, row)
        if digest != event_hash(event.prev_hash, event.idx, event.time_ns, event.kind, event.trial_id, event.raw):
            raise _damaged(self.path, f"event {idx} ({event.kind}) does not match its hash: it was altered")
        return event.body


def read_events(
    connection: sqlite3.Connection, path: Path, *, count: int | None = None, pages: bool = False
) -> Iterator[JournalEvent]:
    """Yield all events of an open journal, checking order and hashes.

    Args:
        connection: Open connection.
        path: The file, for messages.
        count: Stop after so many.
        pages: Also check the structure of the file.

    Raises:
        DataError: The file is damaged or the chain is broken.
    """
    head, expected = GENESIS_HASH, 0
    try:
        if pages:
            problems = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
            if problems != ["ok"]:
                raise _damaged(path, "; ".join(map(str, problems)))
        # -1 is no limit.
        for row in connection.execute(f"{_SELECT} ORDER BY idx LIMIT ?", (-1 if count is None else count,)):
            event = _event(path, row)
            if event.idx != expected:
                raise _damaged(path, f"event {event.idx} where {expected} should be")
            digest = event_hash(head, event.idx, event.time_ns, event.kind, event.trial_id, event.raw)
            if event.prev_hash != head or event.hash != digest:
                raise _damaged(path, f"event {event.idx} ({event.kind}) does not match its hash: it was altered")
            yield event
            head, expected = event.hash, expected + 1
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        # A damaged file can make even SQLite's own error text unreadable.
        raise _damaged(path, str(error)) from error


def _event(path: Path, row: tuple[object, ...]) -> JournalEvent:
    idx, kind, trial_id, time_ns, raw, prev_hash, digest = row
    if not (
        isinstance(idx, int)
        and isinstance(kind, str)
        and isinstance(trial_id, str)
        and isinstance(time_ns, int)
        and isinstance(raw, bytes)
        and isinstance(prev_hash, str)
        and isinstance(digest, str)
    ):
        raise _damaged(path, f"event {idx} has columns of other types")
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"the body of event {idx} is not JSON ({error})") from error
    if not isinstance(body, dict) or kind not in KINDS:
        raise _damaged(path, f"event {idx} is of unknown kind '{kind}'")
    return JournalEvent(idx, kind, trial_id, time_ns, body, raw, prev_hash, digest)


def _damaged(path: Path, got: str) -> DataError:
    return DataError(f"{path}", expected="a whole journal", got=got, fix=_FIX)


@contextmanager
def _connect(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a journal for reading, in the way that its state and its directory allow."""
    check_header(path)
    directory = path.parent
    log, undo = (path.with_name(path.name + tail) for tail in ("-wal", "-journal"))
    sealed = (directory / SEAL_FILE).exists() and not log.exists()
    try:
        if undo.exists():
            # A crash while the journal was settled for its seal. SQLite must write to undo that: do so to a copy.
            way = _connect_copy(path, (log, undo), "mode=rw")
        elif sealed or (not log.exists() and not os.access(directory, os.W_OK)):
            way = _connect_uri(path, path, "immutable=1")
        elif os.access(directory, os.W_OK):
            way = _connect_uri(path, path, "mode=ro")
        else:
            # SQLite cannot read a write-ahead log in a directory that it may not write to.
            way = _connect_copy(path, (log,), "mode=ro")
        with way as connection:
            yield connection
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from error


@contextmanager
def _connect_copy(path: Path, companions: tuple[Path, ...], options: str) -> Iterator[sqlite3.Connection]:
    with tempfile.TemporaryDirectory(prefix="assay-journal-") as copy:
        for file in (path, *(companion for companion in companions if companion.exists())):
            shutil.copyfile(file, Path(copy) / file.name)
        with _connect_uri(Path(copy) / path.name, path, options) as connection:
            yield connection


@contextmanager
def _connect_uri(file: Path, shown: Path, options: str) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(f"file:{quote(str(file.absolute()))}?{options}", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise _damaged(shown, str(error)) from error
    try:
        yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _damaged(shown, str(error)) from error
    finally:
        connection.close()
