"""The journal's file format: one SQLite file of hash-chained events that anybody can read without this code.

docs/journal.md describes the format, the kinds of events and their bodies; this module is its code. Kept apart from
reader and writer because both, and the audit, must agree on every byte.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay_core.errors import DataError
from assay_core.files import open_regular

__all__ = [
    "APPLICATION_ID",
    "GENESIS_HASH",
    "JOURNAL_FILE",
    "KINDS",
    "SCHEMA",
    "SCHEMA_VERSION",
    "VOLATILE_KEYS",
    "VOLATILE_KINDS",
    "JournalEvent",
    "canonical_json",
    "check_header",
    "comparable",
    "event_hash",
]

JOURNAL_FILE = "journal.sqlite"
APPLICATION_ID = 0x41735961
"""``AsYa``: tells our files from other SQLite files."""
SCHEMA_VERSION = 1
GENESIS_HASH = "0" * 64
"""``prev_hash`` of the first event."""

KINDS = (
    "plan",
    "session_opened",
    "trial_started",
    "world_ready",
    "operator_ready",
    "trial_advanced",
    "verdict",
    "skip",
    "abort",
    "runner_silent",
    "runner_back",
    "trial_ended",
    "trial_recorded",
    "session_closed",
)
"""Kinds of events, in the order in which docs/journal.md describes them."""

VOLATILE_KEYS = frozenset(
    {
        "asked_ns",
        "created",
        "decided_ns",
        "host",
        "pid",
        "plan_hash",
        "runner_id",
        "session_id",
        "silent_s",
        "supersedes",
        "timing",
        "uuid",
    }
)
"""Keys of event bodies, at any depth, that may differ between two runs of one plan with the same seed."""

VOLATILE_KINDS = frozenset({"runner_silent", "runner_back"})
"""Events that only say how fast a machine was."""

_TEXT = "CAST(body AS TEXT)"


def _field(path: str, table: str = "") -> str:
    prefix = f"{table}." if table else ""
    return f"json_extract(CAST({prefix}body AS TEXT), '$.{path}')"


_UTC = "strftime('%Y-%m-%dT%H:%M:%fZ', {}time_ns / 1e9, 'unixepoch')"

SCHEMA = f"""
CREATE TABLE events (
  idx INTEGER PRIMARY KEY,      -- 0, 1, 2, ... without a gap
  kind TEXT NOT NULL,
  trial_id TEXT NOT NULL,       -- empty for events of the session
  time_ns INTEGER NOT NULL,     -- wall time of the append [ns since 1970, UTC]
  body BLOB NOT NULL,           -- JSON in UTF-8: sorted keys, no spaces
  prev_hash TEXT NOT NULL,      -- hash of the event before; 64 zeros for the first
  hash TEXT NOT NULL            -- SHA-256, hex, of prev_hash, idx, time_ns, kind, trial_id (a newline after each), body
);
CREATE TRIGGER events_no_update BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'the journal is append-only: a correction is a new event'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'the journal is append-only: nothing is removed'); END;
CREATE VIEW plan_entries AS
  SELECT json_extract(entry.value, '$.index') AS plan_index, json_extract(entry.value, '$.task') AS task,
    json_extract(entry.value, '$.instance_id') AS instance_id, json_extract(entry.value, '$.scene_id') AS scene_id,
    json_extract(entry.value, '$.epoch') AS epoch, json_extract(entry.value, '$.seed') AS seed,
    json_extract(entry.value, '$.max_steps') AS max_steps
  FROM events, json_each({_TEXT}, '$.plan.entries') AS entry WHERE kind = 'plan'
  UNION
  SELECT {_field("entry.index")}, {_field("entry.task")}, {_field("entry.instance_id")}, {_field("entry.scene_id")},
    {_field("entry.epoch")}, {_field("entry.seed")}, {_field("entry.max_steps")}
  FROM events WHERE kind = 'trial_started' AND {_field("entry")} IS NOT NULL;
CREATE VIEW verdicts AS
  SELECT v.idx, v.trial_id, {_UTC.format("v.")} AS time, {_field("uuid", "v")} AS uuid,
    {_field("grader_id", "v")} AS grader_id, {_field("outcome", "v")} AS outcome, {_field("stage", "v")} AS stage,
    {_field("invalid_reason", "v")} AS invalid_reason, {_field("note", "v")} AS note,
    {_field("supersedes", "v")} AS supersedes,
    NOT EXISTS (SELECT 1 FROM events AS w WHERE w.kind = 'verdict' AND w.trial_id = v.trial_id AND w.idx > v.idx)
      AS in_force
  FROM events AS v WHERE v.kind = 'verdict';
CREATE VIEW trials AS
  SELECT s.trial_id, {_field("plan_index", "s")} AS plan_index, {_field("attempt", "s")} AS attempt,
    {_field("realization.task", "s")} AS task, {_field("realization.instance_id", "s")} AS instance_id,
    {_field("realization.epoch", "s")} AS epoch, {_field("realization.seed", "s")} AS seed,
    {_field("state", "e")} AS ended_in, {_field("code", "e")} AS code, {_field("message", "e")} AS message,
    (SELECT outcome FROM verdicts WHERE verdicts.trial_id = s.trial_id AND in_force) AS verdict,
    {_UTC.format("s.")} AS started, {_UTC.format("e.")} AS ended
  FROM events AS s LEFT JOIN events AS e ON e.kind = 'trial_ended' AND e.trial_id = s.trial_id
  WHERE s.kind = 'trial_started';
"""


@dataclass(frozen=True)
class JournalEvent:
    """One event as stored."""

    idx: int
    kind: str
    trial_id: str
    """Empty for events of the session."""
    time_ns: int
    """Wall time of the append [ns since 1970, UTC]."""
    body: Mapping[str, Any]
    raw: bytes
    """The stored bytes of the body."""
    prev_hash: str
    hash: str


def canonical_json(body: Mapping[str, Any]) -> bytes:
    """Return the bytes that are stored and hashed: sorted keys, no spaces, UTF-8.

    Raises:
        ValueError: The body holds NaN, infinity or text that is not Unicode.
        TypeError: The body is not JSON-native.
    """
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def event_hash(prev_hash: str, idx: int, time_ns: int, kind: str, trial_id: str, raw: bytes) -> str:
    """Return the hash, hex, of one event.

    The hashed bytes are five lines (the hash before, index, time, kind, trial id) and then the stored body, so that
    ``sqlite3`` and ``sha256sum`` are enough to check it. Kind and trial id hold no newline.
    """
    return hashlib.sha256(f"{prev_hash}\n{idx}\n{time_ns}\n{kind}\n{trial_id}\n".encode() + raw).hexdigest()


_LOG_HEADER = 32
"""Bytes before the first page of a write-ahead log. Source: SQLite file format, section 4.1."""

_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


def check_header(path: Path) -> None:
    """Refuse a file that is not one of our journals, from its first 100 bytes and the first of its write-ahead log.

    Raises:
        DataError: The file is missing, unreadable, no SQLite file, of another application, or of another version.
    """
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"{path}", expected="a journal", got="no regular file", fix="check the session directory")
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            head = file.read(100)
    except FileNotFoundError as error:
        fix = "check the session directory; restore the journal from a copy, with its -wal file if it has one"
        raise DataError(f"{path}", expected="a journal", got="no such file", fix=fix) from error
    except OSError as error:
        raise DataError(
            f"{path}", expected="a readable journal", got=error.strerror or str(error), fix="check its permissions"
        ) from error
    fix = "check that this is a session directory of assay; restore the journal from a copy if it was damaged"
    if len(head) < 100 or not head.startswith(b"SQLite format 3\x00"):
        got = "an empty file" if not head else "a damaged or foreign file"
        raise DataError(f"{path}", expected="a journal (an SQLite file)", got=got, fix=fix)
    application, version = int.from_bytes(head[68:72], "big"), int.from_bytes(head[60:64], "big")
    if application != APPLICATION_ID:
        got = f"an SQLite file of another application (id {application:#x})"
        raise DataError(f"{path}", expected="a journal of assay", got=got, fix=fix)
    if version != SCHEMA_VERSION:
        fix = "read it with the version of assay that wrote it"
        raise DataError(f"{path}", expected=f"journal version {SCHEMA_VERSION}", got=str(version), fix=fix)
    _check_log(path.with_name(path.name + "-wal"), fix)


def _check_log(path: Path, fix: str) -> None:
    """Refuse a write-ahead log that is none: SQLite would pass over it without a word, and over what it held."""
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            head = file.read(_LOG_HEADER)
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"{path}", expected="a readable log", got=error.strerror or str(error), fix=fix) from error
    # A power cut may leave a part of the header, or zeros; nothing in such a log was acknowledged.
    if len(head) == _LOG_HEADER and head.strip(b"\0") and head[:4] not in _LOG_MAGIC:
        raise DataError(f"{path}", expected="a write-ahead log", got="a damaged or foreign file", fix=fix)


def comparable(events: Iterable[JournalEvent]) -> list[dict[str, Any]]:
    """Return what two runs of one plan with the same seed must have in common.

    Drops events of `VOLATILE_KINDS`, times and hashes of the others and, at any depth of their bodies,
    `VOLATILE_KEYS`; nothing else.
    """
    kept = (event for event in events if event.kind not in VOLATILE_KINDS)
    return [{"kind": event.kind, "trial_id": event.trial_id, "body": _stable(event.body)} for event in kept]


def _stable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _stable(item) for key, item in value.items() if key not in VOLATILE_KEYS}
    if isinstance(value, list):
        return [_stable(item) for item in value]
    return value
