"""A grader of Inspect Robots that returns the verdict of whoever judges on the graph.

A person at a console or a checker publishes the verdict; the benchmark node journals it before anybody sees it here.
The framework loses a whole run when a grader raises, so this one never does: a trial without verdict stays ungraded.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

from assay_bridge import link as links
from assay_bridge.record import dumps, from_record
from assay_bridge.scoring import apply_verdict
from assay_core.errors import AssayError

if TYPE_CHECKING:
    from inspect_robots.rollout import TrialRecord
    from inspect_robots.scene import Scene

    from assay_bridge.client_types import VerdictData
    from assay_bridge.link import Link
    from assay_core.results import VerdictRecord

__all__ = ["AssayGrader", "take_verdict", "verdict_metadata"]


def verdict_metadata(verdict: VerdictData | VerdictRecord) -> dict[str, Any]:
    """Return what a trial's metadata says about its verdict, JSON-native."""
    return {
        "outcome": verdict.outcome,
        "invalid_reason": verdict.invalid_reason,
        "stage": verdict.stage,
        "grader_id": verdict.grader_id,
        "uuid": verdict.uuid,
    }


def take_verdict(record: TrialRecord, verdict: VerdictData) -> None:
    """Write a verdict into a record: judgement, note, event and metadata."""
    apply_verdict(record, verdict.outcome, source=verdict.source, note=verdict.note)
    record.metadata.setdefault("assay", {})["verdict"] = verdict_metadata(verdict)


class AssayGrader:
    """Waits for the verdict on the trial that just ended.

    Works with embodiment `assay`, which it finds by itself.

    Args:
        link: The bridge's shared state; None takes that of the embodiment made last.
    """

    name = "assay"

    def __init__(self, link: Link | None = None) -> None:
        self._link = link

    def config(self) -> dict[str, Any]:
        """Return nothing: who may judge is part of the session's plan."""
        return {}

    def grade(self, record: TrialRecord, scene: Scene) -> None:  # noqa: ARG002 (the signature is the framework's)
        """Have the trial judged; leave the record as it is when that fails."""
        link = self._link or links.current()
        if link is None or link.client is None:
            warnings.warn("grader 'assay' works with embodiment 'assay' only; trial left ungraded", stacklevel=2)
            return
        try:
            verdict = self._verdict(link, record)
        except AssayError as error:
            link.failure = error
            warnings.warn(f"grader 'assay': {error}; trial left ungraded", stacklevel=2)
        else:
            take_verdict(record, verdict)

    def _verdict(self, link: Link, record: TrialRecord) -> VerdictData:
        client = link.client
        assert client is not None
        if link.verdict is None:
            client.judge(dumps(from_record(record, ended_ns=time.time_ns())))
            link.verdict = client.wait_for_verdict()
        return link.verdict
