"""Reads a journal without changing a byte of it, and refuses one that is foreign, damaged or tampered with."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from assay_core.errors import DataError
from assay_core.journal_format import GENESIS_HASH, JOURNAL_FILE, KINDS, JournalEvent, check_header, event_hash
from assay_core.plan import Plan, PlanEntry
from assay_core.results import Attempt, SessionFold, TrialResult, VerdictRecord
from assay_core.seal_file import SEAL_FILE

__all__ = ["JournalReader", "read_events"]

_FIX = "restore the journal from a copy; what lies before the damage can still be read with the sqlite3 program"


class JournalReader:
    """The journal of one session, as it stands when it is opened.

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
        check_header(self.path)
        self._events = tuple(_read(self.path))
        self._fold: SessionFold | None = None

    def __enter__(self) -> JournalReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def verify(self) -> str:
        """Read the file again, check its pages and every hash, and return the hash of the last event.

        Raises:
            DataError: Anything does not agree.
        """
        head = GENESIS_HASH
        for event in _read(self.path, pages=True):
            head = event.hash
        return head

    def events(self) -> tuple[JournalEvent, ...]:
        """Return all events in order."""
        return self._events

    @property
    def head_hash(self) -> str:
        """Hash of the last event; zeros when there is none."""
        return self._events[-1].hash if self._events else GENESIS_HASH

    def fold(self) -> SessionFold:
        """Return the session that the events add up to.

        Raises:
            DataError: An event contradicts the ones before it.
        """
        if self._fold is None:
            fold = SessionFold(subject=str(self.path))
            for event in self._events:
                fold.apply(event)
            self._fold = fold
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


def read_events(connection: sqlite3.Connection, path: Path, *, pages: bool = False) -> Iterator[JournalEvent]:
    """Yield all events of an open journal, checking order and hashes.

    Args:
        connection: Open connection.
        path: The file, for messages.
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
        rows = connection.execute("SELECT idx, kind, trial_id, time_ns, body, prev_hash, hash FROM events ORDER BY idx")
        for row in rows:
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


def _read(path: Path, *, pages: bool = False) -> Iterator[JournalEvent]:
    directory = path.parent
    log, undo = (path.with_name(path.name + tail) for tail in ("-wal", "-journal"))
    sealed = (directory / SEAL_FILE).exists() and not log.exists()
    try:
        if undo.exists():
            # A crash while the journal was settled for its seal. SQLite must write to undo that: do so to a copy.
            yield from _read_copy(path, (log, undo), "mode=rw", pages)
        elif sealed or (not log.exists() and not os.access(directory, os.W_OK)):
            yield from _read_uri(path, path, "immutable=1", pages)
        elif os.access(directory, os.W_OK):
            yield from _read_uri(path, path, "mode=ro", pages)
        else:
            # SQLite cannot read a write-ahead log in a directory that it may not write to.
            yield from _read_copy(path, (log,), "mode=ro", pages)
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from error


def _read_copy(path: Path, companions: tuple[Path, ...], options: str, pages: bool) -> Iterator[JournalEvent]:
    with tempfile.TemporaryDirectory(prefix="assay-journal-") as copy:
        for file in (path, *(companion for companion in companions if companion.exists())):
            shutil.copyfile(file, Path(copy) / file.name)
        yield from _read_uri(Path(copy) / path.name, path, options, pages)


def _read_uri(file: Path, shown: Path, options: str, pages: bool) -> Iterator[JournalEvent]:
    try:
        connection = sqlite3.connect(f"file:{quote(str(file.absolute()))}?{options}", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise _damaged(shown, str(error)) from error
    try:
        connection.execute("BEGIN")
        yield from read_events(connection, shown, pages=pages)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _damaged(shown, str(error)) from error
    finally:
        connection.close()
