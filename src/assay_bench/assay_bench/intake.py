"""Turns operator messages into checked, plain content: whatever anybody publishes, the desk sees what is well formed.

`Intake` is the same for all four messages, so that receipts, resends and refusals are handled in one place. Its body
is what goes into the journal.
"""

from __future__ import annotations

import hashlib
import re
import uuid as uuids
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay_bench.refusal import Refusal
from assay_core.journal_events import VerdictContent
from assay_msgs.msg import Abort, Ready, Receipt, ResultCode, Skip, Verdict
from assay_ros import names
from assay_ros.convert import to_ns

__all__ = ["Intake", "raw_intake", "read_abort", "read_ready", "read_skip", "read_verdict"]

MAX_TEXT = 20_000
MAX_PICTURE = 32 * 1024 * 1024
_FORMAT = re.compile(r"[a-z0-9]{1,8}")


@dataclass(frozen=True)
class Intake:
    """One well-formed operator message."""

    kind: int
    """``Receipt.KIND_*``."""
    uuid: str
    session_id: str
    """As the message gave it."""
    trial_id: str
    """As the message gave it."""
    person: str
    """Operator or grader id."""
    body: Mapping[str, Any]
    """What is journaled, without ``state``."""
    picture: bytes = b""
    verdict: VerdictContent | None = field(default=None)


def raw_intake(kind: int, message: Any) -> Intake:
    """Return an intake that only identifies a message, for the receipt of one that is malformed."""
    return Intake(kind, message.uuid[:200], message.session_id[:200], message.trial_id[:200], "", {})


def read_ready(message: Ready) -> Intake:
    """Return the content of a ready message.

    Raises:
        Refusal: It is malformed.
    """
    _common("ready", message, message.operator_id)
    data = bytes(message.picture.data)
    picture = None
    if data:
        if len(data) > MAX_PICTURE:
            raise _malformed("ready: picture", f"at most {MAX_PICTURE} bytes", f"{len(data)}", "send a smaller picture")
        found = _FORMAT.search(message.picture.format.lower())
        kind = found.group() if found else ""
        if kind not in ("jpeg", "jpg", "png", "webp"):
            raise _malformed("ready: picture.format", "jpeg, png or webp", repr(message.picture.format), "name it")
        picture = {"format": kind, "sha256": hashlib.sha256(data).hexdigest()}
    body = {
        "uuid": message.uuid,
        "operator_id": message.operator_id,
        "source": message.source,
        "note": message.note,
        "decided_ns": to_ns(message.header.stamp),
        "picture": picture,
    }
    return Intake(
        Receipt.KIND_READY, message.uuid, message.session_id, message.trial_id, message.operator_id, body, data
    )


def read_verdict(message: Verdict) -> Intake:
    """Return the content of a verdict.

    Raises:
        Refusal: It is malformed: unknown outcome, a stage above 4, invalid without a reason, a bad UUID, ...
    """
    _common("verdict", message, message.grader_id)
    outcome = _choice("verdict: outcome", message.outcome, names.OUTCOMES)
    reason = ""
    if outcome == "invalid":
        reason = _choice("verdict: invalid_reason of an invalid trial", message.invalid_reason, names.INVALID_REASONS)
    elif message.invalid_reason not in (Verdict.INVALID_NONE, Verdict.INVALID_UNKNOWN):
        raise _malformed(
            "verdict: invalid_reason", f"INVALID_NONE with {outcome}", f"{message.invalid_reason}", "leave it out"
        )
    if message.has_stage and message.stage > 4:
        raise _malformed("verdict: stage", "0 to 4", f"{message.stage}", "give a stage of the task's rubric")
    if message.supersedes:
        _uuid("verdict: supersedes", message.supersedes)
    content = VerdictContent(
        uuid=message.uuid,
        grader_id=message.grader_id,
        outcome=outcome,
        invalid_reason=reason,
        stage=int(message.stage) if message.has_stage else None,
        note=message.note,
        source=message.source,
        supersedes=message.supersedes,
        asked_ns=to_ns(message.asked_at),
        decided_ns=to_ns(message.header.stamp),
    )
    return Intake(
        Receipt.KIND_VERDICT,
        message.uuid,
        message.session_id,
        message.trial_id,
        message.grader_id,
        dict(vars(content)),
        verdict=content,
    )


def read_skip(message: Skip) -> Intake:
    """Return the content of a skip.

    Raises:
        Refusal: It is malformed.
    """
    _common("skip", message, message.operator_id)
    body = {
        "uuid": message.uuid,
        "operator_id": message.operator_id,
        "source": message.source,
        "reason": _choice("skip: reason", message.reason, names.SKIP_REASONS),
        "note": message.note,
        "decided_ns": to_ns(message.header.stamp),
    }
    return Intake(Receipt.KIND_SKIP, message.uuid, message.session_id, message.trial_id, message.operator_id, body)


def read_abort(message: Abort) -> Intake:
    """Return the content of an abort.

    Raises:
        Refusal: It is malformed.
    """
    _common("abort", message, message.operator_id)
    body = {
        "uuid": message.uuid,
        "operator_id": message.operator_id,
        "source": message.source,
        "reason": _choice("abort: reason", message.reason, names.ABORT_REASONS),
        "scope": _choice("abort: scope", message.scope, names.ABORT_SCOPES),
        "note": message.note,
        "decided_ns": to_ns(message.header.stamp),
        "named_trial_id": message.trial_id,
    }
    return Intake(Receipt.KIND_ABORT, message.uuid, message.session_id, message.trial_id, message.operator_id, body)


def _common(kind: str, message: Any, person: str) -> None:
    _uuid(f"{kind}: uuid", message.uuid)
    if not person.strip():
        raise _malformed(f"{kind}: operator or grader id", "an id of the plan's list", "none", "give one")
    texts = {"source": message.source, "note": message.note, "id": person}
    texts |= {"session": message.session_id, "trial": message.trial_id}
    for name, text in texts.items():
        if len(text) > MAX_TEXT:
            raise _malformed(f"{kind}: {name}", f"at most {MAX_TEXT} characters", f"{len(text)}", "shorten it")


def _uuid(subject: str, text: str) -> None:
    try:
        value = uuids.UUID(text)
    except ValueError:
        value = None
    if value is None or value.int == 0 or str(value) != text.lower():
        raise _malformed(subject, "a UUID like 9f0c2b3e-...", repr(text[:60]), "make a fresh one for each intent")


def _choice(subject: str, value: int, words: Mapping[int, str]) -> str:
    if value not in words:
        expected = "one of " + ", ".join(f"{number} ({word})" for number, word in words.items())
        raise _malformed(subject, expected, str(value), "choose one")
    return words[value]


def _malformed(subject: str, expected: str, got: str, fix: str) -> Refusal:
    return Refusal(ResultCode.INVALID_ARGUMENT, subject, expected=expected, got=got, fix=fix)
