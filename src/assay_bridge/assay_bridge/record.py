"""The trial record: all of one trial that outlives the process, as JSON.

The framework keeps a `TrialRecord` in memory and writes only what its log aggregates, so a session that dies takes its
trials along, and nothing can be scored again. This record goes to the journal before a verdict is asked for. From it
come the evaluation logs, the action side-cars and any later scoring. Everything that differs between two runs with the
same seeds sits under ``timing``, except ids. docs/journal.md describes every key.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from inspect_robots.rollout import StepRecord, TrialRecord
from inspect_robots.transcript import Event, inference_event, step_event
from inspect_robots.types import Action, Observation, StepResult

from assay_core.errors import DataError, bounded

__all__ = ["RECORD_SCHEMA", "dumps", "from_record", "json_native", "judged_part", "merged", "to_record"]

RECORD_SCHEMA = 1

_PER_STEP_EVENTS = frozenset({"step", "inference"})


def from_record(record: TrialRecord, *, started_ns: int = 0, ended_ns: int = 0) -> dict[str, Any]:
    """Return the JSON-native record of one trial of the framework.

    Images and observations are left out; pictures lie under ``trials/``, the streams in the bags.

    Args:
        record: What `inspect_robots.rollout.rollout` returned, or the partial record of its error.
        started_ns: Wall time at which the trial started [ns since 1970].
        ended_ns: Wall time at which its motion ended [ns since 1970].
    """
    rewards = [step.result.reward for step in record.steps]
    inferences = [event for event in record.events if event.kind == "inference"]
    return {
        "schema": RECORD_SCHEMA,
        "scene_id": record.scene_id,
        "epoch": record.epoch,
        "seed": record.seed,
        "status": record.status,
        "error": None if record.error is None else bounded(record.error),
        "terminated": record.terminated,
        "truncated": record.truncated,
        "termination_reason": record.termination_reason,
        "steps": len(record.steps),
        "actions": _pack([step.action.data for step in record.steps]),
        "rewards": json_native(rewards) if any(value is not None for value in rewards) else None,
        "info": [json_native(step.result.info) for step in record.steps],
        "last_step": _last_step(record),
        "inferences": [[event.t, event.data["chunk_len"]] for event in inferences],
        **judged_part(record),
        "transcript": json_native(record.policy_transcript),
        "timing": {
            "started_ns": started_ns,
            "ended_ns": ended_ns,
            "latencies_s": json_native([event.data["latency_s"] for event in inferences]),
        },
    }


def judged_part(record: TrialRecord) -> dict[str, Any]:
    """Return the keys of a record that a verdict changes; the others are known when motion has ended."""
    return {
        "events": [
            {"kind": event.kind, "t": event.t, "data": _event_data(event)}
            for event in record.events
            if event.kind not in _PER_STEP_EVENTS
        ],
        "judgement": record.operator_judgement,
        "note": record.operator_note,
        "metadata": json_native(record.metadata),
    }


def _event_data(event: Event) -> Any:
    data = json_native(event.data)
    if event.kind == "error":
        return {key: bounded(value) if isinstance(value, str) else value for key, value in data.items()}
    return data


def to_record(data: Mapping[str, Any]) -> TrialRecord:
    """Return the framework's record for scoring again; observations are empty.

    Raises:
        DataError: ``data`` is not a record of a schema known here.
    """
    if data.get("schema") != RECORD_SCHEMA:
        raise DataError(
            "trial record",
            expected=f"schema {RECORD_SCHEMA}",
            got=repr(data.get("schema")),
            fix="read it with the version of assay that wrote it",
        )
    actions = _unpack(data["actions"])
    rewards: Sequence[float | None] = data["rewards"] or [None] * len(actions)
    blank = Observation(images={}, state={})
    last, ending = len(actions) - 1, data["last_step"]
    steps = []
    for t, (values, reward, info) in enumerate(zip(actions, rewards, data["info"], strict=True)):
        result = StepResult(
            observation=blank, reward=reward, info=dict(info), **(ending if t == last and ending is not None else {})
        )
        steps.append(StepRecord(t=t, observation=blank, action=Action(data=np.asarray(values)), result=result))
    latencies = data["timing"]["latencies_s"]
    return TrialRecord(
        scene_id=data["scene_id"],
        epoch=data["epoch"],
        seed=data["seed"],
        steps=steps,
        terminated=data["terminated"],
        truncated=data["truncated"],
        termination_reason=data["termination_reason"],
        status=data["status"],
        error=data["error"],
        inference_latencies=[value for value in latencies if value is not None],
        operator_judgement=data["judgement"],
        operator_note=data["note"],
        events=_events(data, steps, latencies),
        metadata=dict(data["metadata"]),
        policy_transcript=data["transcript"],
    )


def _last_step(record: TrialRecord) -> dict[str, Any] | None:
    """Return how the last step said that the trial ended; a horizon or a policy's own stop is not among it."""
    if not record.steps:
        return None
    result = record.steps[-1].result
    return {
        "terminated": result.terminated,
        "truncated": result.truncated,
        "termination_reason": result.termination_reason,
    }


def merged(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return one record from what came with JUDGE and what came with the end of the trial; the later key wins."""
    return {**before, **after}


def dumps(data: Mapping[str, Any]) -> str:
    """Return a record as compact JSON with sorted keys."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def json_native(value: Any) -> Any:
    """Return ``value`` with only JSON types; NaN and infinities become None, mapping items of other types drop out."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, np.ndarray):
        return json_native(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): json_native(item) for key, item in value.items() if _storable(item)}
    if isinstance(value, (list, tuple)):
        return [json_native(item) for item in value]
    return None


def _storable(value: Any) -> bool:
    plain = (type(None), bool, str, int, float, np.integer, np.floating, Mapping, list, tuple)
    # An image in an info dictionary would fill the journal; small vectors are data.
    return isinstance(value, plain) or (isinstance(value, np.ndarray) and value.size <= 64)


def _pack(rows: Sequence[Any]) -> dict[str, Any]:
    """Return action rows as little-endian float64 in base64: exact, and quick to write at 50 Hz x minutes."""
    if not rows:
        return {"dim": 0, "float64": ""}
    table = np.stack([np.asarray(row, dtype="<f8").ravel() for row in rows])
    return {"dim": int(table.shape[1]), "float64": base64.b64encode(table.tobytes()).decode("ascii")}


def _unpack(packed: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not packed["dim"]:
        return np.empty((0, 0), dtype=np.float64)
    flat = np.frombuffer(base64.b64decode(packed["float64"]), dtype="<f8")
    return flat.reshape(-1, packed["dim"]).astype(np.float64)


def _events(data: Mapping[str, Any], steps: Sequence[StepRecord], latencies: Sequence[float | None]) -> list[Event]:
    """Return the transcript in the order in which the rollout wrote it."""
    kept = [Event(kind=event["kind"], t=event["t"], data=event["data"]) for event in data["events"]]
    inferred = [
        inference_event(t, latency, length) for (t, length), latency in zip(data["inferences"], latencies, strict=True)
    ]
    stepped = [
        step_event(step.t, step.result.terminated, step.result.truncated, step.result.termination_reason)
        for step in steps
    ]
    order = {"reset": 0, "operator_message": 1, "inference": 2, "approval": 3, "step": 4, "operator": 5, "error": 6}
    return sorted([*kept, *inferred, *stepped], key=lambda event: (event.t, order.get(event.kind, 7)))
