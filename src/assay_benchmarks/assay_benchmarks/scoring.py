"""Scorer of KitchenBench: did the trial succeed, whoever judged it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspect_robots.scorer import Score, Scorer, is_affirmative_verdict

if TYPE_CHECKING:
    from inspect_robots.rollout import TrialRecord
    from inspect_robots.scene import Target

__all__ = ["task_success"]


@dataclass(frozen=True)
class _TaskSuccess:
    """True when the embodiment ended the trial with success, or a verdict says so."""

    name: str = "task_success"

    def __call__(self, record: TrialRecord, target: Target | None) -> Score:
        """Score one trial."""
        del target
        if record.termination_reason == "success":
            return Score(value=True, explanation="the embodiment ended the trial with success")
        if is_affirmative_verdict(record.operator_judgement):
            return Score(value=True, explanation=f"verdict {record.operator_judgement!r}")
        ended = record.termination_reason or "no reason"
        return Score(value=False, explanation=f"ended with {ended}, verdict {record.operator_judgement!r}")


def task_success() -> Scorer:
    """Return the scorer: 1 for termination ``success`` or a verdict of success, pass, yes, y, 1 or true."""
    return _TaskSuccess()
