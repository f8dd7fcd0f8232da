"""Conversion between messages and the plain data of the ROS-free packages.

Kept in one place because stamps, image buffers and array fields each have one fast and several slow ways: an image
buffer must reach rclpy as `array.array`, and stamps are compared as integers.
"""

from __future__ import annotations

import json

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue

from assay_core.journal_events import VerdictContent
from assay_core.realization import TrialRealization
from assay_msgs.msg import Realization, Verdict
from assay_ros.names import INVALID_REASON_NUMBERS, OUTCOME_NUMBERS

__all__ = [
    "from_ns",
    "realization_from_msg",
    "realization_to_msg",
    "to_ns",
    "verdict_to_msg",
]


def to_ns(stamp: Time) -> int:
    """Return a stamp as integer nanoseconds."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def from_ns(ns: int) -> Time:
    """Return nanoseconds as a stamp."""
    sec, nanosec = divmod(ns, 1_000_000_000)
    return Time(sec=sec, nanosec=nanosec)


def realization_to_msg(
    data: TrialRealization, *, session_id: str, trial_id: str, stamp: Time | None = None
) -> Realization:
    """Return the message of a realization; ``content_hash`` is `TrialRealization.content_hash`."""
    msg = Realization(
        session_id=session_id,
        trial_id=trial_id,
        task=data.task,
        task_version=data.task_version,
        instance_id=data.instance_id,
        scene_id=data.scene_id,
        epoch=data.epoch,
        seed=data.seed,
        instruction=data.instruction,
        target_kind=data.target_kind,
        checklist=list(data.checklist),
        values=[KeyValue(key=k, value=json.dumps(data.values[k])) for k in sorted(data.values)],
        layout_json="" if data.layout is None else json.dumps(data.layout, sort_keys=True),
        rubric=list(data.rubric),
        max_steps=data.max_steps,
        horizon_s=data.horizon_s,
        content_hash=data.content_hash(),
    )
    if stamp is not None:
        msg.header.stamp = stamp
    return msg


def realization_from_msg(msg: Realization) -> TrialRealization:
    """Return the realization of a message. Compare its `content_hash` with ``msg.content_hash``.

    Raises:
        ValueError: ``layout_json`` or a value is not JSON.
    """
    return TrialRealization(
        task=msg.task,
        task_version=msg.task_version,
        instance_id=msg.instance_id,
        scene_id=msg.scene_id,
        epoch=int(msg.epoch),
        seed=int(msg.seed),
        instruction=msg.instruction,
        target_kind=msg.target_kind,
        checklist=tuple(msg.checklist),
        values={kv.key: json.loads(kv.value) for kv in msg.values},
        layout=json.loads(msg.layout_json) if msg.layout_json else None,
        rubric=tuple(msg.rubric),
        max_steps=int(msg.max_steps),
        horizon_s=float(msg.horizon_s),
    )


def verdict_to_msg(data: VerdictContent, session_id: str, trial_id: str) -> Verdict:
    """Return the message of a verdict, as its grader sent it."""
    msg = Verdict(
        uuid=data.uuid,
        session_id=session_id,
        trial_id=trial_id,
        grader_id=data.grader_id,
        source=data.source,
        asked_at=from_ns(data.asked_ns),
        outcome=OUTCOME_NUMBERS[data.outcome],
        invalid_reason=INVALID_REASON_NUMBERS.get(data.invalid_reason, Verdict.INVALID_NONE),
        has_stage=data.stage is not None,
        stage=data.stage or 0,
        note=data.note,
        supersedes=data.supersedes,
    )
    msg.header.stamp = from_ns(data.decided_ns)
    return msg
