"""The journal of a session: everything that was decided, append-only, hash-chained, on disk before it is acknowledged.

This module is what others import; the parts are `journal_format` (the file), `journal_writer`, `journal_reader` and
`results` (what the events add up to). docs/journal.md describes the file and the rules.
"""

from __future__ import annotations

from assay_core.journal_format import (
    JOURNAL_FILE,
    KINDS,
    VOLATILE_KEYS,
    JournalEvent,
    canonical_json,
    comparable,
    event_hash,
)
from assay_core.journal_reader import JournalReader
from assay_core.journal_writer import Entry, JournalWriter
from assay_core.results import Attempt, SessionFold, TrialResult, VerdictRecord
from assay_core.session_lock import SessionInUse

__all__ = [
    "JOURNAL_FILE",
    "KINDS",
    "VOLATILE_KEYS",
    "Attempt",
    "Entry",
    "JournalEvent",
    "JournalReader",
    "JournalWriter",
    "SessionFold",
    "SessionInUse",
    "TrialResult",
    "VerdictRecord",
    "canonical_json",
    "comparable",
    "event_hash",
]
