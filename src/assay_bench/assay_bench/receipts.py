"""The memory of every operator message, by UUID: a resend gets its first receipt again, whatever happened since.

Receipts of accepted messages can be rebuilt from the journal, so they survive a restart. Refusals are not journaled;
the latest ones are remembered until the node stops.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay_core.journal import JournalEvent, canonical_json
from assay_msgs.msg import Receipt, ResultCode
from assay_ros.convert import from_ns

__all__ = ["KIND_OF_EVENT", "ReceiptBook", "content_digest"]

KIND_OF_EVENT: Mapping[str, int] = {
    "operator_ready": Receipt.KIND_READY,
    "verdict": Receipt.KIND_VERDICT,
    "skip": Receipt.KIND_SKIP,
    "abort": Receipt.KIND_ABORT,
}

_NOT_CONTENT = ("state", "decided_ns", "asked_ns")
"""Keys of a body that do not belong to what the operator said."""
_MAX_REFUSED = 256
_TRANSIENT = frozenset(
    {ResultCode.NOT_READY, ResultCode.SESSION_UNKNOWN, ResultCode.JOURNAL_FAILED, ResultCode.INTERNAL}
)
"""Refusals that a resend may overcome; they are not remembered."""


@dataclass(frozen=True)
class _Accepted:
    kind: int
    digest: bytes
    trial_id: str
    time_ns: int
    idx: int
    message: str


def content_digest(kind: int, trial_id: str, body: Mapping[str, Any]) -> bytes:
    """Return a digest of what an operator message says, from the body that is journaled for it."""
    content = {key: value for key, value in body.items() if key not in _NOT_CONTENT}
    if content.get("picture") is not None:
        content["picture"] = content["picture"]["sha256"]
    return hashlib.sha256(canonical_json({"kind": kind, "trial_id": trial_id, "content": content})).digest()


class ReceiptBook:
    """Receipts of one session."""

    def __init__(self, session_id: str = "") -> None:
        self.session_id = session_id
        self._accepted: dict[str, _Accepted] = {}
        self._refused: OrderedDict[str, tuple[bytes, Receipt]] = OrderedDict()

    def restore(self, event: JournalEvent) -> None:
        """Take up the receipt of one event of a journal, where it answered a message."""
        kind = KIND_OF_EVENT.get(event.kind)
        if kind is not None:
            given = event.body.get("named_trial_id", event.trial_id)
            digest = content_digest(kind, given, event.body)
            self._accepted[event.body["uuid"]] = _Accepted(kind, digest, given, event.time_ns, event.idx, "")

    def find(self, uuid: str, kind: int, digest: bytes) -> Receipt | None:
        """Return the receipt of a resend, or None for a UUID that is new.

        Raises:
            KeyError: The UUID was used before with other content.
        """
        accepted = self._accepted.get(uuid)
        if accepted is not None:
            if (accepted.kind, accepted.digest) != (kind, digest):
                raise KeyError(uuid)
            return self._receipt(uuid, accepted)
        refused = self._refused.get(uuid)
        if refused is None:
            return None
        if refused[0] != digest:
            raise KeyError(uuid)
        return refused[1]

    def accept(
        self, uuid: str, kind: int, digest: bytes, trial_id: str, time_ns: int, idx: int, message: str = ""
    ) -> Receipt:
        """Remember an accepted message and return its receipt.

        Args:
            uuid: Of the message.
            kind: ``Receipt.KIND_*``.
            digest: Of its content.
            trial_id: As the message gave it.
            time_ns: When the receipt is issued [ns since 1970].
            idx: Index of its journal event.
            message: Anything worth saying.
        """
        accepted = _Accepted(kind, digest, trial_id, time_ns, idx, message)
        self._accepted[uuid] = accepted
        return self._receipt(uuid, accepted)

    def refuse(
        self, uuid: str, kind: int, digest: bytes | None, trial_id: str, time_ns: int, *, code: int, message: str,
        conflicts_with: str = "",
    ) -> Receipt:  # fmt: skip
        """Return the receipt of a refused message, and remember it where a resend cannot change the answer.

        Args:
            uuid: Of the message; may be malformed.
            kind: ``Receipt.KIND_*``.
            digest: Of its content; None where the message is malformed or its UUID belongs to another one.
            trial_id: As the message gave it.
            time_ns: When the receipt is issued [ns since 1970].
            code: ``ResultCode``.
            message: Expected, got and fix.
            conflicts_with: UUID of the verdict that stands.
        """
        receipt = Receipt(
            session_id=self.session_id,
            trial_id=trial_id,
            uuid=uuid,
            kind=kind,
            accepted=False,
            code=code,
            message=message,
            journal_index=-1,
            conflicts_with=conflicts_with,
        )
        receipt.header.stamp = from_ns(time_ns)
        if digest is not None and code not in _TRANSIENT:
            self._refused[uuid] = (digest, receipt)
            while len(self._refused) > _MAX_REFUSED:
                self._refused.popitem(last=False)
        return receipt

    def _receipt(self, uuid: str, accepted: _Accepted) -> Receipt:
        receipt = Receipt(
            session_id=self.session_id,
            trial_id=accepted.trial_id,
            uuid=uuid,
            kind=accepted.kind,
            accepted=True,
            code=ResultCode.OK,
            message=accepted.message,
            journal_index=accepted.idx,
        )
        receipt.header.stamp = from_ns(accepted.time_ns)
        return receipt
