"""Session directories as a user meets them: found by name, listed, and checked before one is resumed."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay_bridge.preflight import why_not_written
from assay_core.errors import AssayError, ConfigError, DataError
from assay_core.files import read_regular
from assay_core.journal import JOURNAL_FILE, JournalReader
from assay_core.journal_leftover import remove_if_nothing_acknowledged
from assay_core.plan import PLAN_FILE, Plan, PlanEntry, load_plan, plan_hash
from assay_core.program import command
from assay_core.runner_id import runner_process_lives
from assay_core.seal_file import SEAL_FILE
from assay_core.session_lock import GOING_AWAY_S, LOCK_FILE, wait_until_free, writer_of
from assay_core.session_traces import SessionTraces, check_no_journal_lost

__all__ = [
    "SESSIONS_DIR",
    "Resumable",
    "check_resumable",
    "describe_session",
    "find_session",
    "list_sessions",
    "where_it_stands",
]

SESSIONS_DIR = Path("sessions")
"""Where sessions lie unless the user says otherwise, relative to the working directory."""


@dataclass(frozen=True)
class Resumable:
    """A session that can go on."""

    directory: Path
    plan: Plan
    plan_hash: str
    """SHA-256, hex, of ``plan.yaml``."""
    pending: tuple[tuple[PlanEntry, int], ...]
    """Entries without a result, each with the number of its next attempt."""
    finished: tuple[tuple[PlanEntry, bool | None], ...]
    """Entries with a result and whether it is a success; None where it does not count."""
    has_journal: bool
    """False when the session died before its first event."""


def find_session(name: str, root: Path = SESSIONS_DIR) -> Path:
    """Return the directory of a session.

    Args:
        name: A path, or the name of a directory under ``root``.
        root: Where sessions lie.

    Raises:
        ConfigError: There is none, with near matches.
    """
    for candidate in (Path(name), root / name) if name.strip() else ():
        if os.path.isdir(candidate):  # noqa: PTH112 (False for a name that is too long, where Path raises)
            return candidate
    file = name.strip() and os.path.exists(name)  # noqa: PTH110
    if file and (Path(name).parent / PLAN_FILE).exists():
        fix = f"name its session: {command('resume', Path(name).parent)}"
        raise ConfigError(f"session '{name}'", expected="a session directory", got="a file", fix=fix)
    known = [path.name for path in _directories(root)]
    near = difflib.get_close_matches(Path(name).name, known, n=3, cutoff=0.4)
    raise ConfigError(
        f"session '{name}'",
        expected=f"a session directory, or the name of one under {root}/",
        got="a file" if file else "no such directory",
        fix=f"did you mean {' or '.join(near)}?" if near else f"see {command('list', 'sessions')}",
    )


def list_sessions(root: Path = SESSIONS_DIR) -> list[dict[str, Any]]:
    """Return what is known of every session under ``root``, oldest first."""
    return [describe_session(path) for path in _directories(root)]


def describe_session(directory: Path) -> dict[str, Any]:
    """Return path, id, time, status and counts of one session; what is wrong with it, where that is all there is."""
    shown: dict[str, Any] = {"path": str(directory)}
    try:
        plan = load_plan(directory)
        shown |= {"session_id": plan.session_id, "created": plan.created, "seed": plan.seed}
        shown |= {"backend": plan.backend, "policies": list(plan.policies), "planned": len(plan.entries)}
        status, trials = _status(directory)
        shown |= {"status": status, "trials": trials, "sealed": (directory / SEAL_FILE).exists()}
    except AssayError as error:
        shown |= {"status": "damaged", "problem": str(error)}
    return shown


def check_resumable(
    directory: Path, *, tell: Callable[[str], None] = lambda _: None, deadline_s: float = GOING_AWAY_S
) -> Resumable:
    """Check that a session can go on, and say from where. Changes nothing that matters.

    Args:
        directory: Session directory.
        tell: Takes a sentence when another process still writes the journal and its end is waited for.
        deadline_s: Longest wait for that [s].

    Raises:
        ConfigError: It is sealed, or its plan is not ours to resume.
        SessionInUse: Another process runs it.
        DataError: Plan or journal are missing, foreign, damaged, older than what lies beside them, contradict each
            other, or cannot be written.
    """
    plan_path = directory / PLAN_FILE
    if not plan_path.is_file():
        raise DataError(
            f"session '{directory}'", expected=f"a file {PLAN_FILE}", got="none", fix="check that this is a session"
        )
    plan = load_plan(directory)
    digest = plan_hash(read_regular(plan_path))
    if (directory / SEAL_FILE).exists():
        raise ConfigError(
            f"session '{directory}'",
            expected="an unsealed session",
            got="a sealed one: every planned trial has its result",
            fix=f"start a new session with {command('eval')}",
        )
    if plan.open:
        raise ConfigError(
            f"session '{directory}'",
            expected=f"a session of {command('eval')}",
            got="one whose plan was written trial by trial from elsewhere",
            fix="run it again from where it was started",
        )
    if writer_of(directory) and _runner_lives(directory):
        deadline_s = 0.0  # it is not on its way out
    wait_until_free(directory, deadline_s=deadline_s, tell=tell)
    _check_writable(directory)
    journal = directory / JOURNAL_FILE
    if not journal.exists():
        check_no_journal_lost(directory)
        _check_tasks(plan)
        return _from_the_beginning(directory, plan, digest)
    traces = SessionTraces.of(directory)
    reader = JournalReader(directory)
    if not reader.count and remove_if_nothing_acknowledged(directory):
        _check_tasks(plan)
        return _from_the_beginning(directory, plan, digest)
    fold = reader.fold()
    if fold.plan_hash != digest or reader.plan().session_id != plan.session_id:
        raise DataError(
            str(plan_path),
            expected=f"the plan that the journal was opened with (SHA-256 {fold.plan_hash[:12]}...)",
            got=f"another one ({digest[:12]}...)",
            fix="put the original plan.yaml back",
        )
    traces.check(fold)
    _check_tasks(plan)
    return Resumable(directory, plan, digest, *where_it_stands(reader), True)


def where_it_stands(
    reader: JournalReader,
) -> tuple[tuple[tuple[PlanEntry, int], ...], tuple[tuple[PlanEntry, bool | None], ...]]:
    """Return what is pending of a session and what is finished, as in `Resumable`."""
    finished = tuple((r.entry, r.outcome == "success" if r.counted else None) for r in reader.results())
    return reader.pending(), finished


def _from_the_beginning(directory: Path, plan: Plan, digest: str) -> Resumable:
    return Resumable(directory, plan, digest, tuple((entry, 0) for entry in plan.entries), (), False)


def _runner_lives(directory: Path) -> bool:
    """Return whether the runner that opened the session last is known to run."""
    runner_id = ""
    try:
        for event in JournalReader(directory).events():
            if event.kind == "session_opened":
                runner_id = str(event.body.get("runner_id", ""))
    except DataError:
        return False
    return runner_process_lives(runner_id)


def _check_writable(directory: Path) -> None:
    """Check that a journal could be written, before anything starts."""
    for path in (directory, directory / LOCK_FILE, directory / JOURNAL_FILE):
        if path.exists() and not os.access(path, os.W_OK):
            fix = "check its permissions and how its disk is mounted, or resume a copy"
            raise DataError(f"session '{directory}'", expected=f"to write to {path}", got="read-only", fix=fix)
    problem = why_not_written(directory)
    if problem:
        fix = "change quota, disk or the limit of file sizes (ulimit -f), or resume a copy"
        raise DataError(f"session '{directory}'", expected=f"to write to {directory}", got=problem, fix=fix)


def _check_tasks(plan: Plan) -> None:
    """Check that tasks, as far as they state a version, and scenes are still what was planned."""
    from assay_benchmarks.catalog import resolve_task, task_version
    from assay_benchmarks.pins import check_scenes

    planned = {entry.task: entry.task_version for entry in plan.entries}
    for name, version in planned.items():
        now = task_version(resolve_task(name))
        if now != version:
            raise ConfigError(
                f"task '{name}'",
                expected=f"version {version or '(none)'} of the plan",
                got=f"version {now or '(none)'}",
                fix="resume with the release that planned it, or start a new session",
            )
    check_scenes(plan, resolve_task)


def _status(directory: Path) -> tuple[str, int]:
    """Return status and number of trials that count."""
    if (directory / SEAL_FILE).exists():
        # A sealed summary needs no reading of the whole journal; the audit checks that they agree.
        try:
            summary = json.loads(read_regular(directory / "summary.json"))
            return str(summary["status"]), int(summary["trials"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
    running = bool(writer_of(directory))
    traces = SessionTraces.of(directory)
    if not (directory / JOURNAL_FILE).exists():
        check_no_journal_lost(directory)
        return ("running" if running else "incomplete"), 0
    from assay_bridge.derived import session_status

    fold = JournalReader(directory).fold()
    traces.check(fold)
    trials = sum(result.counted for result in fold.results())
    return ("running" if running else session_status(fold)), trials


def _directories(root: Path) -> Sequence[Path]:
    if not root.is_dir():
        return []
    return sorted((path for path in root.iterdir() if (path / PLAN_FILE).exists()), key=lambda path: path.name)
