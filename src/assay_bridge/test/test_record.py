"""A trial record survives JSON with everything that scorers and logs read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from inspect_robots.approver import ClampApprover
from inspect_robots.controller import DefaultController
from inspect_robots.logging.sink import NullSink
from inspect_robots.mock import CubePickEmbodiment, ScriptedPolicy
from inspect_robots.rollout import TrialRecord, rollout
from inspect_robots.scene import Scene
from inspect_robots.scorer import episode_length, min_distance_to_goal, success_at_end
from inspect_robots.transcript import error_event

from assay_bridge import record as records
from assay_core.errors import DataError


def cubepick(max_steps: int = 80) -> TrialRecord:
    embodiment, policy = CubePickEmbodiment(), ScriptedPolicy()
    return rollout(
        policy,
        embodiment,
        Scene(id="s", instruction="reach", init_seed=3),
        max_steps=max_steps,
        seed=7,
        epoch=2,
        controller=DefaultController(policy.config.replan_interval),
        approver=ClampApprover(embodiment.info.action_space),
        sink=NullSink(),
    )


@pytest.mark.parametrize("max_steps", [1, 80], ids=["cut off by the horizon", "ended by the world"])
def test_record_reads_back_as_it_was(max_steps: int) -> None:
    before = cubepick(max_steps)
    before.metadata["assay"] = {"trial_id": "000000-0", "values": [1, 2.5]}
    after = records.to_record(json.loads(records.dumps(records.from_record(before))))

    for field in ("scene_id", "epoch", "seed", "status", "error", "terminated", "truncated", "termination_reason"):
        assert getattr(after, field) == getattr(before, field), field
    assert after.metadata == before.metadata
    assert after.inference_latencies == before.inference_latencies
    assert [(e.kind, e.t, dict(e.data)) for e in after.events] == [(e.kind, e.t, dict(e.data)) for e in before.events]
    for a, b in zip(after.steps, before.steps, strict=True):
        assert np.array_equal(a.action.data, np.asarray(b.action.data, dtype=np.float64).ravel())
        assert (a.result.reward, a.result.terminated, a.result.truncated, a.result.termination_reason) == (
            b.result.reward,
            b.result.terminated,
            b.result.truncated,
            b.result.termination_reason,
        )


@pytest.mark.parametrize("scorer", [success_at_end(), episode_length(), min_distance_to_goal()], ids=lambda s: s.name)
def test_a_stored_trial_scores_as_the_live_one(scorer: Any) -> None:
    before = cubepick()
    after = records.to_record(json.loads(records.dumps(records.from_record(before))))
    assert scorer(after, None).value == scorer(before, None).value


def test_two_runs_with_one_seed_give_one_record() -> None:
    first, second = records.from_record(cubepick()), records.from_record(cubepick())
    first.pop("timing")
    second.pop("timing")
    assert records.dumps(first) == records.dumps(second)


def test_only_json_is_kept() -> None:
    got = records.json_native(
        {
            "a": np.float32(1.5),
            "nan": float("nan"),
            "image": np.zeros((9, 9, 3), np.uint8),
            "v": np.arange(3),
            "o": object(),
        }
    )
    assert got == {"a": 1.5, "nan": None, "v": [0, 1, 2]}


def test_the_words_of_an_error_are_bounded() -> None:
    record = TrialRecord(scene_id="s", epoch=0, seed=1, status="error", error="PolicyError: " + "x" * 3_000_000)
    record.events.append(error_event(4, "PolicyError", "x" * 3_000_000))
    stored = records.from_record(record)
    assert len(records.dumps(stored)) < 10_000
    assert stored["error"].endswith("characters cut)")
    assert records.to_record(stored).events[0].data["message"].startswith("xxx")


def test_a_foreign_schema_is_named() -> None:
    with pytest.raises(DataError, match=r"trial record: expected schema 1, got 99"):
        records.to_record({"schema": 99})


def test_the_end_of_a_trial_wins_over_its_motion() -> None:
    assert records.merged({"steps": 3, "judgement": None}, {"judgement": "success"}) == {
        "steps": 3,
        "judgement": "success",
    }
