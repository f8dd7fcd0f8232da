"""The checker judges by the last state of the trial, and waits where it cannot know that it has it."""

from __future__ import annotations

import pytest

from assay_operator.checker import Checker, Judgement, WorldState


class World:
    """Hands out states and counts how often it was asked to repeat one."""

    def __init__(self) -> None:
        self.state: WorldState | None = None
        self.asked = 0
        self.checker = Checker(lambda: self.state, self._ask, grace_s=0.5, give_up_s=10.0)

    def _ask(self) -> None:
        self.asked += 1

    def at(self, step: int, *, success: bool = False, reason: str = "", trial: str = "t", session: str = "s") -> None:
        self.state = WorldState((session, trial), step, 1.0 if success else step / 100, success, bool(reason), reason)

    def judge(self, now_s: float, *, rubric: bool = False, horizon: int = 60) -> Judgement | None:
        return self.checker.judge(("s", "t"), horizon, rubric, now_s)


@pytest.fixture
def world() -> World:
    return World()


def test_a_state_that_ends_the_trial_is_judged_at_once(world: World) -> None:
    world.at(20, success=True, reason="success")
    assert world.judge(0.0) == Judgement("success", None, "progress 1.000 after 20 steps (success)")


def test_the_horizon_is_judged_at_once_too(world: World) -> None:
    world.at(60)
    judgement = world.judge(0.0)
    assert judgement is not None
    assert judgement.outcome == "failure"


def test_a_stage_is_given_only_where_it_is_known(world: World) -> None:
    world.at(20, success=True, reason="success")
    assert world.judge(0.0, rubric=True).stage == 4  # type: ignore[union-attr]
    world.at(60)
    assert world.judge(0.0, rubric=True).stage is None  # type: ignore[union-attr]


def test_a_trial_of_another_session_is_another_trial(world: World) -> None:
    """Trials of all sessions have the same ids, and a graph may serve one session after the other."""
    world.at(20, success=True, reason="success")
    assert world.judge(0.0) is not None
    assert world.checker.judge(("s2", "t"), 60, False, 100.0) is None, "judged by what another session's world said"
    world.at(60, session="s2")
    judgement = world.checker.judge(("s2", "t"), 60, False, 100.1)
    assert judgement is not None
    assert judgement.outcome == "failure"


def test_a_state_that_may_not_be_the_last_is_waited_over(world: World) -> None:
    world.at(19)
    assert world.judge(0.0) is None
    assert world.judge(0.4) is None
    world.at(20, success=True, reason="success")
    judgement = world.judge(0.45)
    assert judgement is not None
    assert judgement.outcome == "success", "the news of JUDGE overtook the last state"


def test_a_trial_that_was_stopped_early_is_judged_by_its_newest_state(world: World) -> None:
    world.at(19)
    assert world.judge(0.0) is None
    judgement = world.judge(0.6)
    assert judgement == Judgement("failure", None, "progress 0.190 after 19 steps (not ended by the world)")


def test_a_world_that_runs_on_is_not_waited_for_for_ever(world: World) -> None:
    for i in range(1000):
        world.at(i)
        if world.judge(i * 0.1, horizon=0) is not None:
            assert i * 0.1 < 3.0
            return
    pytest.fail("never judged")


def test_a_state_of_another_trial_does_not_count(world: World) -> None:
    world.at(20, success=True, reason="success", trial="before")
    assert world.judge(0.0) is None
    assert world.asked == 0
    assert world.judge(0.6) is None
    assert world.asked == 1, "it was not asked for the state"
    assert world.judge(0.7) is None
    assert world.asked == 1, "not at every look"
    assert world.judge(1.2) is None
    assert world.asked == 2, "a question that nobody heard must not cost the trial"
    world.at(20, success=True, reason="success")
    judgement = world.judge(1.3)
    assert judgement is not None
    assert judgement.outcome == "success"


def test_without_any_state_the_trial_is_invalid_not_failed(world: World) -> None:
    assert world.judge(0.0) is None
    judgement = world.judge(10.1)
    assert judgement is not None
    assert judgement.outcome == "invalid"
    assert "world/task_state" in judgement.note
