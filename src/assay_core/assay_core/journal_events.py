"""The bodies of the journal's events, built in one place, so that writer, reader and docs/journal.md cannot disagree.

Every event of a trial says in ``state`` which state is in force after it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay_core.journal_writer import Entry
from assay_core.plan import Plan, PlanEntry, trial_id
from assay_core.realization import TrialRealization
from assay_core.trial import State

__all__ = [
    "VerdictContent",
    "abort",
    "operator_ready",
    "plan",
    "runner_back",
    "runner_silent",
    "session_closed",
    "session_opened",
    "skip",
    "trial_advanced",
    "trial_ended",
    "trial_recorded",
    "trial_started",
    "verdict",
    "world_ready",
]


@dataclass(frozen=True)
class VerdictContent:
    """What a grader says."""

    uuid: str
    grader_id: str
    outcome: str
    """success, failure or invalid."""
    invalid_reason: str = ""
    """rig_fault, operator_error, scene_wrong, interference or other; empty unless invalid."""
    stage: int | None = None
    """0..4 by the task's rubric; None when the grader gives none."""
    note: str = ""
    source: str = ""
    supersedes: str = ""
    """UUID of the verdict that this one corrects; empty for a first one."""
    asked_ns: int = 0
    """When the grader was first asked [ns since 1970]; 0 when unknown."""
    decided_ns: int = 0


def plan(content: Plan, plan_hash: str) -> Entry:
    """First event of every journal: the plan, and the hash of ``plan.yaml``."""
    return Entry("plan", "", {"plan_hash": plan_hash, "plan": content.to_dict()})


def session_opened(session_id: str, runner_id: str, plan_hash: str, *, resumed: bool) -> Entry:
    """A runner opened the session, or took it up again."""
    body = {
        "session_id": session_id,
        "runner_id": runner_id,
        "plan_hash": plan_hash,
        "resumed": resumed,
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }
    return Entry("session_opened", "", body)


def trial_started(entry: PlanEntry, attempt: int, realization: TrialRealization, *, added: bool = False) -> Entry:
    """An attempt at a plan entry began; ``added`` for entries of an open plan, which no plan event holds."""
    body = {
        "state": State.ARRANGE.name,
        "plan_index": entry.index,
        "attempt": attempt,
        "entry": entry.to_dict() if added else None,
        "realization": realization.to_dict(),
        "content_hash": realization.content_hash(),
    }
    return Entry("trial_started", trial_id(entry.index, attempt), body)


def world_ready(trial: str, state: State, world_stamp_ns: int) -> Entry:
    """The world built the scene; ``world_stamp_ns`` is the stamp of its first frame set."""
    return Entry("world_ready", trial, {"state": state.name, "world_stamp_ns": world_stamp_ns})


def operator_ready(
    trial: str,
    state: State,
    *,
    uuid: str,
    operator_id: str,
    source: str = "",
    note: str = "",
    decided_ns: int = 0,
    picture: Mapping[str, str] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Entry:
    """An operator arranged the scene; ``picture`` names its file, format and SHA-256."""
    body = {
        "state": state.name,
        "uuid": uuid,
        "operator_id": operator_id,
        "source": source,
        "note": note,
        "decided_ns": decided_ns,
        "picture": dict(picture) if picture is not None else None,
    }
    return Entry("operator_ready", trial, body, files or {})


def trial_advanced(trial: str, state: State, record: Mapping[str, Any] | None = None) -> Entry:
    """The runner reached RUNNING, PARKING or JUDGE; the record so far comes with JUDGE."""
    return Entry("trial_advanced", trial, {"state": state.name, "record": record})


def verdict(trial: str, state: State, content: VerdictContent) -> Entry:
    """A grader judged the trial, or corrected an earlier verdict."""
    return Entry("verdict", trial, {"state": state.name, **vars(content)})


def skip(trial: str, *, uuid: str, operator_id: str, source: str, reason: str, note: str, decided_ns: int = 0) -> Entry:
    """An operator left the realization out; the trial's end follows in the same commit."""
    body = {
        "state": State.SKIPPED.name,
        "uuid": uuid,
        "operator_id": operator_id,
        "source": source,
        "reason": reason,
        "note": note,
        "decided_ns": decided_ns,
    }
    return Entry("skip", trial, body)


def abort(
    trial: str,
    state: State,
    *,
    uuid: str,
    operator_id: str,
    source: str,
    reason: str,
    scope: str,
    note: str,
    named_trial_id: str,
    decided_ns: int = 0,
) -> Entry:
    """An operator ended motion, the trial or the session; where the trial ends, its end follows in the same commit.

    ``trial`` is the trial in progress, empty between trials; ``named_trial_id`` is the one that the operator named,
    which differs only where a stop for safety named another one and was obeyed all the same.
    """
    body = {
        "state": state.name,
        "uuid": uuid,
        "operator_id": operator_id,
        "source": source,
        "reason": reason,
        "scope": scope,
        "note": note,
        "named_trial_id": named_trial_id,
        "decided_ns": decided_ns,
    }
    return Entry("abort", trial, body)


def runner_silent(trial: str, state: State, silent_s: float) -> Entry:
    """The runner's heartbeat stopped: the trial is paused."""
    return Entry("runner_silent", trial, {"state": state.name, "silent_s": silent_s})


def runner_back(trial: str, state: State) -> Entry:
    """The runner is heard again: the trial goes on."""
    return Entry("runner_back", trial, {"state": state.name})


def trial_ended(
    trial: str,
    state: State,
    *,
    status: str = "",
    code: str = "OK",
    message: str = "",
    error: str = "",
    record: Mapping[str, Any] | None = None,
) -> Entry:
    """The attempt is over.

    Args:
        trial: Trial id.
        state: DONE, SKIPPED, INVALID or HALTED.
        status: How the runner finished it; empty when it did not.
        code: Name of the ``ResultCode``; OK for DONE.
        message: Why, where the state is not DONE.
        error: The runner's error text.
        record: The whole trial record; None when the runner sent none.
    """
    body = {
        "state": state.name,
        "status": status,
        "code": code,
        "message": message,
        "error": error,
        "record": record,
    }
    return Entry("trial_ended", trial, body)


def trial_recorded(trial: str, state: State, *, status: str, error: str, record: Mapping[str, Any] | None) -> Entry:
    """The runner handed in the record of an attempt that had ended without it: by an operator, a deadline, a fault."""
    return Entry("trial_recorded", trial, {"state": state.name, "status": status, "error": error, "record": record})


def session_closed(status: str, reason: str) -> Entry:
    """The runner closed the session: done, incomplete or halted."""
    return Entry("session_closed", "", {"status": status, "reason": reason})
