"""What lies beside a journal and proves that there was more of it.

A journal that was deleted, or replaced by an older copy, is whole by itself: its hash chain cannot show what it lacks.
Taking it up would begin acknowledged trials anew and put their pictures beside other attempts. Everything that follows
from an event is written after that event was on disk, so whatever names a trial or a verdict that the journal does not
know proves that it is not the newest. Logs and summary are views: where they cannot be read they prove nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay_core.errors import DataError
from assay_core.files import read_regular
from assay_core.journal_format import JOURNAL_FILE
from assay_core.results import SessionFold
from assay_core.seal_file import SEAL_FILE

__all__ = ["RESULTS", "SessionTraces", "check_no_journal_lost", "results_in"]

RESULTS = ("trials", "logs", "summary.json", SEAL_FILE, "addenda")
"""What a session directory holds only after something was journaled, relative to it."""

_COMPANIONS = tuple(JOURNAL_FILE + tail for tail in ("-wal", "-shm", "-journal"))
"""What SQLite keeps beside a journal that exists."""

_TRIAL_ID = re.compile(r"\d{6,}-\d+")
_SHOWN = 3
_FIX = (
    f"restore the newest copy of {JOURNAL_FILE}, with its -wal file if it has one; nothing was changed. "
    "If there is no copy, start a new session"
)


def results_in(directory: Path) -> tuple[str, ...]:
    """Return which of `RESULTS` a session directory holds; an empty directory is none."""
    return tuple(name for name in RESULTS if _holds_something(directory / name))


def check_no_journal_lost(directory: Path) -> None:
    """Check that a session without journal never had one.

    Args:
        directory: Session directory in which there is no journal.

    Raises:
        DataError: Something is there that only a session with a journal leaves.
    """
    found = (*results_in(directory), *(name for name in _COMPANIONS if (directory / name).exists()))
    if found:
        raise DataError(
            f"{directory / JOURNAL_FILE}",
            expected="the journal of this session",
            got=f"none, beside {', '.join(found)}",
            fix=_FIX,
        )


@dataclass(frozen=True)
class SessionTraces:
    """What a directory says of its journal. Read it before the journal: a session that runs goes on meanwhile."""

    trials: frozenset[str]
    """Ids of trials that were started."""
    verdicts: frozenset[str]
    """UUIDs of verdicts that were accepted."""
    attempts: int
    """How many attempts there were at least."""

    @classmethod
    def of(cls, directory: Path) -> SessionTraces:
        """Return the traces in a session directory."""
        trials, verdicts = set(_trial_directories(directory / "trials")), set()
        for metadata in _logged(directory / "logs"):
            if isinstance(trial := metadata.get("trial_id"), str):
                trials.add(trial)
            verdict = metadata.get("verdict")
            if isinstance(verdict, dict) and isinstance(uuid := verdict.get("uuid"), str):
                verdicts.add(uuid)
        summary = _json(directory / "summary.json")
        counts = [summary.get(name) for name in ("trials", "invalid")] if isinstance(summary, dict) else []
        attempts = sum(count for count in counts if isinstance(count, int))
        return cls(frozenset(trials), frozenset(verdicts), attempts)

    def check(self, fold: SessionFold) -> None:
        """Check that a journal knows everything that the directory proves.

        Args:
            fold: What the journal adds up to.

        Raises:
            DataError: It does not: it is an older copy, or a part of it is lost.
        """
        known = {verdict.uuid for attempt in fold.attempts.values() for verdict in attempt.verdicts}
        missing = [f"trial {name}" for name in sorted(self.trials - set(fold.attempts))]
        missing += [f"verdict {uuid}" for uuid in sorted(self.verdicts - known)]
        if not missing and self.attempts > len(fold.attempts):
            missing = [f"{self.attempts - len(fold.attempts)} of the {self.attempts} attempts in summary.json"]
        if missing:
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            raise DataError(
                fold.subject,
                expected="a journal that knows every trial and verdict of which trials, logs or summary.json speak",
                got=f"an older copy or a part of it, without {', '.join(missing[:_SHOWN])}{more}",
                fix=_FIX,
            )


def _trial_directories(root: Path) -> Iterator[str]:
    if root.is_dir():
        yield from (path.name for path in root.iterdir() if _TRIAL_ID.fullmatch(path.name))


def _logged(root: Path) -> Iterator[dict[str, Any]]:
    """Yield what each trial in the logs says of itself under ``assay``."""
    for path in root.glob("*.json") if root.is_dir() else ():
        log = _json(path)
        samples = log.get("samples") if isinstance(log, dict) else None
        for sample in samples if isinstance(samples, list) else ():
            trials = sample.get("trial_metadata") if isinstance(sample, dict) else None
            for trial in trials if isinstance(trials, list) else ():
                if isinstance(trial, dict) and isinstance(found := trial.get("assay"), dict):
                    yield found


def _json(path: Path) -> Any:
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return None


def _holds_something(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()
