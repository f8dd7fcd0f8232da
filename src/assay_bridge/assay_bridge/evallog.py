"""Evaluation logs of Inspect Robots, derived from a journal.

The framework writes a log at the end of a run and loses it to many exceptions. Here the journal is the truth and the
log a view of it: the same journal gives the same bytes, whenever and however often it is derived. For a plan that ran
through without a repeat the logs equal what the framework's `eval` writes; where an entry was repeated, the log holds
the attempt that counts.

A session's records are more than a process may hold, so one is read at a time, and one task's log is made at a time.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import mean
from typing import Any

from inspect_robots.log import EvalLog, EvalResults, EvalSpec, EvalStats, SceneResult
from inspect_robots.rollout import TrialRecord
from inspect_robots.scorer import Score, reduce_scores, value_to_float
from inspect_robots.transcript import judgement_source

from assay_bridge.record import json_native, to_record
from assay_core.files import write_atomically
from assay_core.plan import Plan, PlanEntry

__all__ = ["ACTIONS_DIR", "LOGS_DIR", "LoggedTrial", "derive_logs", "write_logs"]

LOGS_DIR = "logs"
ACTIONS_DIR = "actions"

_SLUG = re.compile(r"[^a-z0-9]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SLUG_MAX = 200
_LABELS_KEY = "action_labels"


@dataclass(frozen=True)
class LoggedTrial:
    """One attempt as a log shows it."""

    entry: PlanEntry
    counted: bool
    """Whether it has an outcome; otherwise the log shows an errored trial."""
    read: Callable[[], Mapping[str, Any]]
    """Reads its record (see `assay_bridge.record`); that is empty when the runner died before it could send one."""
    reason: str
    """Why it does not count; empty when it does."""
    cancelled: bool = False
    """Whether a person ended it."""


@dataclass
class _Scene:
    """What is gathered for one scene, in the order of the plan."""

    metadata: dict[str, Any]
    instruction: str | None = None
    status: str = "success"
    error: str | None = None

    def __post_init__(self) -> None:
        self.scores: dict[str, list[Score]] = {}
        self.epochs: list[dict[str, float]] = []
        self.judgements: list[str | None] = []
        self.sources: list[str | None] = []
        self.notes: list[str | None] = []
        self.trial_metadata: list[dict[str, Any]] = []
        self.reasons: list[str | None] = []
        self.messages: list[tuple[dict[str, Any], ...]] = []
        self.transcripts: list[Any] = []

    def add_error(self, text: str) -> None:
        self.status = "error"
        self.error = text if self.error is None else f"{self.error}; {text}"


def derive_logs(
    plan: Plan, trials: Iterable[LoggedTrial], keep: Callable[[str, str], None] = lambda _path, _text: None
) -> Iterator[tuple[str, EvalLog]]:
    """Yield each task that has a trial with its log.

    Args:
        plan: The session's plan.
        trials: At most one attempt per plan entry, in the order of the plan.
        keep: Takes path under ``logs`` and text of each action side-car, before the log that points to it is yielded.
    """
    planned: dict[str, int] = {}
    for entry in plan.entries:
        planned[entry.task] = planned.get(entry.task, 0) + 1
    by_task: dict[str, list[LoggedTrial]] = {}
    for trial in trials:
        by_task.setdefault(trial.entry.task, []).append(trial)
    for task, found in by_task.items():
        yield task, _derive(plan, task, found, planned.get(task, len(found)), keep)


def write_logs(directory: Path, plan: Plan, trials: Iterable[LoggedTrial]) -> list[Path]:
    """Derive logs and side-cars and write them under ``directory``; files that are right already are left alone.

    Args:
        directory: Where the logs lie.
        plan: The session's plan.
        trials: As for `derive_logs`.

    Returns:
        The log files, one a task.

    Raises:
        OSError: A file cannot be written.
    """

    def keep(relative: str, text: str) -> None:
        _write(directory / relative, text, durable=False)

    paths = []
    for task, log in derive_logs(plan, trials, keep):
        path = directory / f"{_slug(task)}_{_short_id(plan.session_id, task)}.json"
        _write(path, json.dumps(json_native(log.to_dict()), indent=2, sort_keys=True, allow_nan=False))
        paths.append(path)
    return paths


def _derive(
    plan: Plan, task: str, trials: Sequence[LoggedTrial], planned: int, keep: Callable[[str, str], None]
) -> EvalLog:
    evaluation = _evaluation(trials)
    names: list[str] = list(evaluation.get("scorers", ()))
    reducer = evaluation.get("reducer", "mean")
    run = _run_stamp(plan, task)
    scenes: dict[str, _Scene] = {}
    status, error = "success", None
    times: list[tuple[int, int]] = []
    latencies = array("d")
    total_steps = errored = 0
    for trial in trials:
        scene = scenes.setdefault(trial.entry.scene_id, _Scene(metadata={}))
        data = trial.read()
        record = to_record(data) if data else _lost_record(trial)
        if "scene" in data:
            scene.instruction = data["scene"]["instruction"]
            scene.metadata = dict(data["scene"]["metadata"])
        if data:
            times.append((data["timing"]["started_ns"], data["timing"]["ended_ns"]))
        total_steps += len(record.steps)
        latencies.extend(record.inference_latencies)
        path, text = _action_log(record, run, data)
        keep(path, text)
        record.metadata["actions"] = path
        failures = _add_trial(scene, trial, data, record, names)
        errored += record.status == "error" or not (trial.counted or trial.cancelled)
        if failures and status == "success":
            status, error = "error", failures[0]
        if not trial.counted:
            scene.status, scene.error = ("cancelled" if trial.cancelled else "error"), trial.reason
            status, error = scene.status, trial.reason
    samples = []
    for scene_id, scene in scenes.items():
        reduced, problems = _reduce(scene, names, reducer)
        if problems and status == "success":
            status, error = "error", problems[0]
        samples.append(_sample(scene_id, scene, reduced))
    if status == "success" and trials and errored == len(trials):
        status, error = "error", f"all {len(trials)} trial(s) errored; nothing was scored"
    if status == "success" and len(trials) < planned:
        status, error = "cancelled", f"incomplete: {len(trials)} of {planned} planned trials ran"
    metrics = {
        name: mean(sample.reduced[name] for sample in samples if name in sample.reduced)
        for name in names
        if any(name in sample.reduced for sample in samples)
    }
    return EvalLog(
        version=EvalLog.SCHEMA_VERSION,
        status=status,
        eval=_spec(plan, task, trials, evaluation),
        results=EvalResults(
            total_scenes=len(samples), total_trials=len(trials), metrics=metrics, errored_trials=errored
        ),
        stats=_stats(plan, times, total_steps, latencies),
        samples=tuple(samples),
        error=error,
    )


def _evaluation(trials: Iterable[LoggedTrial]) -> Mapping[str, Any]:
    """Return what the first record that says it says of policy, rig, grader, scorers and reducer."""
    for trial in trials:
        found: Mapping[str, Any] | None = trial.read().get("evaluation")
        if found is not None:
            return found
    return {}


def _lost_record(trial: LoggedTrial) -> TrialRecord:
    entry = trial.entry
    return TrialRecord(scene_id=entry.scene_id, epoch=entry.epoch, seed=entry.seed, status="error", error=trial.reason)


def _add_trial(
    scene: _Scene, trial: LoggedTrial, data: Mapping[str, Any], record: TrialRecord, scorers: Sequence[str]
) -> tuple[str, ...]:
    """Append one trial to its scene; return what its scorers had to say, as the framework words it."""
    failures: tuple[str, ...] = ()
    scored = trial.counted and record.status == "success"
    if scored:
        values = {name: value for name, value in data["scores"].items() if name in scorers}
        for name, value in values.items():
            scene.scores.setdefault(name, []).append(Score(value=value))
        scene.epochs.append({name: value_to_float(values[name]) for name in scorers if name in values})
        failures = tuple(data["score_failures"])
        for failure in failures:
            scene.add_error(failure)
    else:
        scene.epochs.append({})
        if record.status == "error":
            scene.status, scene.error = "error", record.error
    scene.judgements.append(record.operator_judgement if scored else None)
    scene.sources.append(judgement_source(record) if scored else None)
    scene.notes.append(record.operator_note if scored else None)
    scene.trial_metadata.append(record.metadata)
    scene.reasons.append(record.termination_reason)
    scene.messages.append(
        tuple(
            {"t": event.t, "text": event.data["text"], "source": event.data.get("source", "console")}
            for event in record.events
            if event.kind == "operator_message"
        )
    )
    scene.transcripts.append(record.policy_transcript)
    return failures


def _reduce(scene: _Scene, names: Sequence[str], reducer: str) -> tuple[dict[str, float], list[str]]:
    reduced, failures = {}, []
    for name in names:
        scores = scene.scores.get(name)
        if not scores:
            continue
        try:
            reduced[name] = value_to_float(reduce_scores(reducer, scores).value)
        except (TypeError, ValueError, ArithmeticError) as error:
            failures.append(f"reducer {reducer!r} failed for scorer {name!r}: {error}")
            scene.add_error(failures[-1])
    return reduced, failures


def _sample(scene_id: str, scene: _Scene, reduced: dict[str, float]) -> SceneResult:
    return SceneResult(
        scene_id=scene_id,
        status=scene.status,
        reduced=reduced,
        epochs=tuple(scene.epochs),
        error=scene.error,
        instruction=scene.instruction,
        scene_metadata=scene.metadata,
        operator_judgements=tuple(scene.judgements),
        judgement_sources=tuple(scene.sources),
        operator_notes=tuple(scene.notes),
        trial_metadata=tuple(scene.trial_metadata),
        termination_reasons=tuple(scene.reasons),
        operator_messages=tuple(scene.messages),
        policy_transcripts=tuple(scene.transcripts),
    )


def _spec(plan: Plan, task: str, trials: Sequence[LoggedTrial], evaluation: Mapping[str, Any]) -> EvalSpec:
    return EvalSpec(
        task=task,
        policy=evaluation.get("policy", plan.policies[0]),
        embodiment=evaluation.get("embodiment", plan.backend),
        created=plan.created,
        inspect_robots_version=plan.software.get("inspect-robots", ""),
        git_commit=plan.software.get("git_commit"),
        policy_config=dict(evaluation.get("policy_config", {})),
        embodiment_info=dict(evaluation.get("embodiment_info", {})),
        seed=plan.seed,
        max_steps=trials[0].entry.max_steps,
        max_seconds=evaluation.get("max_seconds"),
        environment_id=evaluation.get("environment_id"),
        environment_revision=evaluation.get("environment_revision"),
        policy_checkpoint=evaluation.get("policy_checkpoint"),
        grader=evaluation.get("grader"),
        grader_config=dict(evaluation.get("grader_config", {})),
    )


def _stats(plan: Plan, times: Sequence[tuple[int, int]], total_steps: int, latencies: Sequence[float]) -> EvalStats:
    started = min((begun for begun, _ in times), default=0)
    ended = max((done for _, done in times), default=0)
    return EvalStats(
        started_at=_iso(started) if started else plan.created,
        completed_at=_iso(ended) if ended else plan.created,
        duration_s=(ended - started) / 1e9,
        total_steps=total_steps,
        mean_inference_latency_s=mean(latencies) if latencies else None,
    )


def _action_log(record: TrialRecord, run: str, data: Mapping[str, Any]) -> tuple[str, str]:
    """Return path and text of one trial's executed actions, one JSON object a line, as the framework writes them."""
    evaluation = data.get("evaluation", {})
    header = {
        "kind": "header",
        "run_id": run,
        "scene_id": record.scene_id,
        "epoch": record.epoch,
        "action_dim": evaluation.get("action_dim", 0),
        "labels": evaluation.get(_LABELS_KEY),
    }
    lines = [json.dumps(header, allow_nan=False)]
    lines.extend(
        json.dumps({"t": step.t, "action": step.action.data.tolist()}, allow_nan=False) for step in record.steps
    )
    name = f"{_safe(record.scene_id)}-e{record.epoch}.jsonl"
    return f"{ACTIONS_DIR}/{run}/{name}", "\n".join(lines) + "\n"


def _run_stamp(plan: Plan, task: str) -> str:
    created = datetime.fromisoformat(plan.created.replace("Z", "+00:00"))
    return created.strftime("%Y%m%d_%H%M%S") + "_" + _short_id(plan.session_id, task)


def _short_id(session_id: str, task: str) -> str:
    return hashlib.sha256(f"{session_id}\n{task}".encode()).hexdigest()[:8]


def _iso(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, tz=timezone.utc).isoformat()


def _slug(name: str) -> str:
    return _SLUG.sub("-", name.lower()).strip("-")[:_SLUG_MAX].strip("-") or "eval"


def _safe(name: str) -> str:
    """Return a file name for a scene id; one that had to be changed gets a checksum, so that two never meet."""
    safe = _UNSAFE.sub("-", name)
    return safe if safe == name else f"{safe}-{zlib.crc32(name.encode()) & 0xFFFFFFFF:08x}"


def _write(path: Path, text: str, *, durable: bool = True) -> None:
    """Write a file unless it holds the right bytes already.

    Side-cars are many and can be derived again, so they do not wait for the disk; sealing does that once for all.
    """
    data = text.encode()
    if path.is_file() and path.read_bytes() == data:
        return
    if durable:
        write_atomically(path, data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    new.replace(path)
