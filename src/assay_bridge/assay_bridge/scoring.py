"""Scores of one trial, computed the way the framework's own `eval` does.

The session runner scores a trial as it ends; a log derived later from a journal may have to score again, after a
corrected verdict or a runner that died before it could. Both call this, so both give the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_robots.errors import EmbodimentFault, SafetyAbort
from inspect_robots.rollout import TrialRecord
from inspect_robots.scene import Target
from inspect_robots.scorer import Scorer, ScoreValue, value_to_float
from inspect_robots.transcript import operator_event

from assay_core.errors import bounded

__all__ = ["apply_verdict", "score_record", "storable_score", "stored_score"]

_JUDGEMENTS = {"success": "success", "failure": "failure"}


def apply_verdict(record: TrialRecord, outcome: str, *, source: str, note: str | None) -> None:
    """Write a verdict into a record, as a grader of the framework does.

    Args:
        record: The trial.
        outcome: ``success``, ``failure`` or ``invalid``; an invalid trial has no judgement.
        source: Where the verdict came from, e.g. ``checker`` or ``rqt``.
        note: The grader's words.
    """
    judgement = _JUDGEMENTS.get(outcome)
    record.operator_judgement = judgement
    record.operator_note = note or None
    if judgement is not None or note:
        # "skip" is the framework's word for an event without a judgement.
        record.events.append(
            operator_event(t=len(record.steps), verdict=judgement or "skip", source=source, note=note or None)
        )


def score_record(
    record: TrialRecord, target: Target | None, scorers: Sequence[Scorer]
) -> tuple[dict[str, ScoreValue], tuple[str, ...]]:
    """Return the raw score of every scorer that gave one, and a sentence for every one that failed.

    Raises:
        EmbodimentFault, SafetyAbort: A scorer raised it; a halt is not a scoring error.
    """
    scores: dict[str, ScoreValue] = {}
    failures: list[str] = []
    for scorer in scorers:
        try:
            value = scorer(record, target).value
            value_to_float(value)
        except (SafetyAbort, EmbodimentFault):
            raise
        except Exception as error:  # noqa: BLE001 - scorers are plug-ins; one that fails must not lose the trial
            failures.append(bounded(f"scorer {scorer.name!r} failed: {error}"))
        else:
            scores[scorer.name] = value
    return scores, tuple(failures)


def storable_score(value: ScoreValue) -> ScoreValue:
    """Return a score that JSON can hold: infinities and NaN become text that `float` reads back."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def stored_score(scores: Mapping[str, Any], name: str) -> float:
    """Return the number of one stored score, as the framework's metrics see it."""
    return value_to_float(scores[name])
