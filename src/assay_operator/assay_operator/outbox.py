"""Messages that must not get lost: each is sent again, with the same UUID, until its receipt is there.

A console that died, or a benchmark node that did, costs a resend and nothing else, because the benchmark node gives
a UUID that it knows its first receipt again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay_msgs.msg import Receipt, ResultCode

__all__ = ["Outbox", "stable_uuid"]

_NAMESPACE = uuid.UUID("6f3f7a4e-5b1c-5d0e-9a55-0c1a2b3d4e5f")

TRANSIENT = frozenset(
    {ResultCode.SESSION_UNKNOWN, ResultCode.NOT_READY, ResultCode.JOURNAL_FAILED, ResultCode.INTERNAL}
)
"""Refusals that time may cure: the message is sent again."""


def stable_uuid(*parts: str) -> str:
    """Return the UUID of an intent, the same after a restart: of session, trial, kind and what is said."""
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join(parts)))


@dataclass
class _Letter:
    message: Any
    publish: Callable[[Any], None]
    first_s: float
    last_s: float
    why: str = "no receipt"


class Outbox:
    """Unanswered messages.

    Args:
        resend_s: An unanswered message is sent again after this [s].
        give_up_s: And given up after this [s].
        warn: Takes a sentence for the log.
    """

    def __init__(self, resend_s: float, give_up_s: float, warn: Callable[[str], None]) -> None:
        self._resend_s, self._give_up_s, self._warn = resend_s, give_up_s, warn
        self._letters: dict[str, _Letter] = {}
        self.sent = self.resent = self.answers = self.refused = self.given_up = 0
        """Messages since the start: sent first, sent again, accepted or refused for good, refused, given up."""

    def __len__(self) -> int:
        return len(self._letters)

    def __contains__(self, uuid_text: str) -> bool:
        return uuid_text in self._letters

    def send(self, message: Any, publish: Callable[[Any], None], now_s: float) -> None:
        """Send a message, and again until it is answered; one that is under way already is left alone."""
        if message.uuid not in self._letters:
            self._letters[message.uuid] = _Letter(message, publish, now_s, now_s)
            self.sent += 1
            publish(message)

    def answered(self, receipt: Receipt) -> None:
        """Take a receipt, of whoever's message."""
        letter = self._letters.get(receipt.uuid)
        if letter is None:
            return
        if not receipt.accepted and receipt.code in TRANSIENT:
            letter.why = receipt.message
            return
        del self._letters[receipt.uuid]
        self.answers += 1
        if not receipt.accepted:
            self.refused += 1
            self._warn(f"trial {receipt.trial_id}: refused: {receipt.message}")

    def keep_only(self, session_id: str, trial_id: str) -> None:
        """Forget what concerns other trials: it is too late for it."""
        of_it = (session_id, trial_id)
        letters = self._letters.items()
        self._letters = {k: v for k, v in letters if (v.message.session_id, v.message.trial_id) == of_it}

    def tick(self, now_s: float) -> None:
        """Send again what is due, give up what is overdue."""
        for key, letter in list(self._letters.items()):
            if now_s - letter.first_s > self._give_up_s:
                del self._letters[key]
                self.given_up += 1
                name = type(letter.message).__name__.lower()
                trial = letter.message.trial_id
                self._warn(
                    f"trial {trial}: expected a receipt of the {name} within {self._give_up_s:g} s, got {letter.why}. "
                    "fix: check that the benchmark node runs"
                )
            elif now_s - letter.last_s > self._resend_s:
                letter.last_s = now_s
                self.resent += 1
                letter.publish(letter.message)
