"""The words for the numbers in messages: one table for journal, logs, errors and everything a person reads.

Messages carry numbers, and people compare a log with the journal and a console. They can only do so when every node
uses the same word for the same number.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from assay_msgs.msg import Abort, ResultCode, Skip, TrialState, Verdict

__all__ = [
    "ABORT_REASONS",
    "ABORT_SCOPES",
    "INVALID_REASONS",
    "INVALID_REASON_NUMBERS",
    "OUTCOMES",
    "OUTCOME_NUMBERS",
    "SERVING_TOPIC",
    "SKIP_REASONS",
    "code_name",
    "policy_served",
    "serves_policy",
    "state_name",
]


def _constants(kind: Any, prefix: str = "", leave_out: tuple[str, ...] = ()) -> Mapping[int, str]:
    """Return the names of a message's constants by number, without ``prefix``."""
    names = [name for name in dir(kind) if name.isupper() and name.startswith(prefix) and name not in leave_out]
    return MappingProxyType(
        {getattr(kind, name): name.removeprefix(prefix) for name in names if isinstance(getattr(kind, name), int)}
    )


def _words(kind: Any, prefix: str, *leave_out: str) -> Mapping[int, str]:
    found = _constants(kind, prefix, tuple(prefix + name for name in ("UNKNOWN", *leave_out)))
    return MappingProxyType({number: name.lower() for number, name in sorted(found.items())})


OUTCOMES = _words(Verdict, "OUTCOME_")
"""``success``, ``failure``, ``invalid`` by `Verdict.outcome`."""

OUTCOME_NUMBERS: Mapping[str, int] = MappingProxyType({word: number for number, word in OUTCOMES.items()})
"""The other way round."""

INVALID_REASONS = _words(Verdict, "INVALID_", "NONE")
"""Why a trial does not count, e.g. ``rig_fault``, by `Verdict.invalid_reason`."""

INVALID_REASON_NUMBERS: Mapping[str, int] = MappingProxyType({word: number for number, word in INVALID_REASONS.items()})
"""The other way round."""

SKIP_REASONS = _words(Skip, "REASON_")
"""E.g. ``missing_object``, by `Skip.reason`."""

ABORT_REASONS = _words(Abort, "REASON_")
"""E.g. ``early_stop``, by `Abort.reason`."""

ABORT_SCOPES = _words(Abort, "SCOPE_")
"""``trial``, ``session`` by `Abort.scope`."""

_CODES = _constants(ResultCode)
_STATES = _constants(TrialState)

_SERVES = "serves "

SERVING_TOPIC = "policy/serving"
"""Where the policy node says what it serves before anybody asks it for anything."""


def code_name(code: int) -> str:
    """Return the name of a result code, e.g. ``TRIAL_STATE``."""
    return _CODES.get(code, f"CODE_{code}")


def state_name(state: int) -> str:
    """Return the name of a trial state, e.g. ``RUNNING``."""
    return _STATES.get(state, f"STATE_{state}")


def serves_policy(name: str) -> str:
    """Return the sentence with which a policy node says in an OK answer of policy/reset which policy it serves.

    The label in that answer is for operators and may hide the name. The sentence is for the runner alone, which must
    not credit one policy's results to another.
    """
    return _SERVES + name


def policy_served(message: str) -> str:
    """Return the name in a sentence of `serves_policy`; empty when it is none."""
    return message.removeprefix(_SERVES) if message.startswith(_SERVES) else ""
