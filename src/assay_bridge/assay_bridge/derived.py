"""Logs and summary of a session directory, derived from its journal at any time.

They are views. Deleting them loses nothing, and deriving them again gives the same bytes, so a seal stays whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_bridge.evallog import LOGS_DIR, LoggedTrial, write_logs
from assay_bridge.grader import verdict_metadata
from assay_bridge.record import from_record, merged, to_record
from assay_bridge.scoring import apply_verdict, score_record, storable_score
from assay_bridge.summary import DONE, HALTED, INCOMPLETE, AttemptOutcome, summarise, tally, write_summary
from assay_core.errors import AssayError
from assay_core.journal import Attempt, JournalReader, SessionFold, VerdictRecord
from assay_core.plan import Plan
from assay_core.trial import State

if TYPE_CHECKING:
    from inspect_robots.task import Task

    from assay_core.plan import PlanEntry

__all__ = ["Derived", "rederive", "session_status"]

_CANCELLED = "cancelled"


@dataclass(frozen=True)
class Derived:
    """What was derived."""

    summary: Mapping[str, Any]
    """Content of ``summary.json``."""
    logs: tuple[Path, ...]
    """Evaluation logs, one per task."""
    complete: bool
    """Whether every plan entry has a result that counts."""
    problems: tuple[str, ...]
    """What could not be derived, one sentence each."""
    uncounted: Mapping[str, int] = field(default_factory=dict)
    """How many entries have a final result that does not count, by outcome: invalid, skipped, halted."""
    policy_errors: tuple[int, str] = (0, "")
    """How many trials count as failures because the policy failed, and what went wrong in the first of them."""


def rederive(directory: str | Path, *, status: str = "") -> Derived:
    """Derive ``logs/`` and ``summary.json`` of a session from its journal.

    Args:
        directory: Session directory.
        status: For a session with an open plan that is about to be closed: what it will be. Otherwise the journal says.

    Raises:
        DataError: The journal is missing, damaged or foreign.
        OSError: A file cannot be written.
    """
    directory = Path(directory)
    problems: list[str] = []
    with JournalReader(directory) as reader:
        fold = reader.fold()
        plan = _plan_of(reader)
        trials = _logged(fold, problems)
        logs = write_logs(directory / LOGS_DIR, plan, trials)
    summary = summarise(plan, tally(plan, _outcomes(fold)), status or session_status(fold))
    write_summary(directory, summary)
    counted = sum(trial.counted for trial in trials)
    uncounted = Counter(result.outcome for result in fold.results() if not result.counted)
    complete = counted == len(plan.entries) > 0
    return Derived(summary, tuple(logs), complete, tuple(problems), uncounted, _policy_errors(fold))


def session_status(fold: SessionFold) -> str:
    """Return ``done``, ``halted`` or ``incomplete``.

    A session is done when every entry of its plan has a final result; an open plan is done when it was closed so.
    """
    open_plan = fold.plan is not None and fold.plan.open
    if not fold.pending() and not (open_plan and fold.closed_status != DONE):
        return DONE
    attempts = list(fold.attempts.values())
    return HALTED if attempts and attempts[-1].state is State.HALTED else INCOMPLETE


def _plan_of(reader: JournalReader) -> Plan:
    """Return the plan with the entries that an open one got while it ran."""
    plan, entries = reader.plan(), reader.entries()
    return (
        plan
        if entries == plan.entries
        else Plan.from_dict({**plan.to_dict(), "entries": [entry.to_dict() for entry in entries]})
    )


def _outcomes(fold: SessionFold) -> list[AttemptOutcome]:
    found = []
    for attempt in fold.attempts.values():
        outcome, counted, reason = attempt.outcome()
        found.append(AttemptOutcome(attempt.entry, counted, counted and outcome == "success", (reason,)))
    return found


def _policy_errors(fold: SessionFold) -> tuple[int, str]:
    count, first = 0, ""
    for attempt in fold.attempts.values():
        outcome, counted, reason = attempt.outcome()
        if counted and outcome == "failure" and attempt.verdict is None:
            count, first = count + 1, first or reason
    return count, first


def _logged(fold: SessionFold, problems: list[str]) -> list[LoggedTrial]:
    """Return the attempt of each entry that its log shows: the one that decided, else the newest."""
    found = []
    tasks: dict[str, Task | None] = {}
    for entry in fold.entries():
        attempts = fold.attempts_of(entry.index)
        if not attempts:
            continue
        result = fold.result_of(entry)
        attempt = attempts[-1] if result is None else next(a for a in attempts if a.trial_id == result.trial_id)
        _, counted, reason = attempt.outcome()
        read = partial(_record_of, attempt, counted, tasks, problems)
        found.append(LoggedTrial(entry, counted, read, reason, cancelled=_was_cancelled(attempt)))
    return found


def _record_of(
    attempt: Attempt, counted: bool, tasks: dict[str, Task | None], problems: list[str]
) -> Mapping[str, Any]:
    record = attempt.record or {}
    return _judged(record, attempt, tasks, problems) if record and counted else record


def _was_cancelled(attempt: Attempt) -> bool:
    """Whether an attempt without result was ended by a person or by the death of runner or benchmark node."""
    return not attempt.ended or attempt.status == _CANCELLED or attempt.code == _CANCELLED.upper()


def _judged(
    record: Mapping[str, Any], attempt: Attempt, tasks: dict[str, Task | None], problems: list[str]
) -> Mapping[str, Any]:
    """Return the record with the verdict in force and the scores that follow from it."""
    verdict = attempt.verdict
    # What the runner wrote down is compared as a whole: the journal's verdict decides, not what was heard of it.
    stored = record.get("metadata", {}).get("assay", {}).get("verdict")
    noted = record.get("note") or ""
    same = verdict is None or (stored == verdict_metadata(verdict) and noted == verdict.note)
    up_to_date = "scores" in record and same
    if up_to_date and "evaluation" in record:
        return record
    task = _task(attempt.entry, tasks, problems)
    if task is None:
        return merged({"scores": {}, "score_failures": []}, record)
    return _rescored(record, attempt.entry, verdict, task)


def _rescored(
    record: Mapping[str, Any], entry: PlanEntry, verdict: VerdictRecord | None, task: Task
) -> Mapping[str, Any]:
    from assay_bridge.evaluation import describe_scene, describe_task

    trial = to_record(record)
    scene = next((scene for scene in task.scenes if scene.id == entry.scene_id), None)
    if verdict is not None:
        apply_verdict(trial, verdict.outcome, source=verdict.source, note=verdict.note)
        trial.metadata["assay"] = {
            **trial.metadata.get("assay", {}),
            "verdict": verdict_metadata(verdict),
        }
    again = from_record(trial)
    if trial.status == "success":
        scores, failures = score_record(trial, None if scene is None else scene.target, task.scorers)
        again["scores"] = {name: storable_score(value) for name, value in scores.items()}
        again["score_failures"] = list(failures)
    kept = {"evaluation": {**describe_task(task), **record.get("evaluation", {})}, "timing": record["timing"]}
    if scene is not None:
        kept["scene"] = record.get("scene", describe_scene(scene))
    return merged(again, kept)


def _task(entry: PlanEntry, tasks: dict[str, Task | None], problems: list[str]) -> Task | None:
    if entry.task not in tasks:
        from assay_benchmarks.catalog import resolve_task

        try:
            tasks[entry.task] = resolve_task(entry.task)
        except AssayError as error:
            tasks[entry.task] = None
            problems.append(f"scores of task '{entry.task}' could not be computed: {error}")
    return tasks[entry.task]
