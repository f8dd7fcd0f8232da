"""The mock world's promise: an oracle needs exactly 20 steps, and nobody else succeeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_core.errors import RigFault
from assay_core.realization import TrialRealization
from assay_core.rig import action_high, action_low
from assay_sim.kinematics import arm_poses
from assay_sim.mock_dynamics import GOAL_STEPS, START_POSITION, STEP_LIMIT, MockDynamics, check_targets

seeds = st.integers(min_value=0, max_value=2**32 - 1)


def trial(seed=0, instance_id="pour_pasta/full-box", scene_id="scene"):
    return TrialRealization(
        task="t", task_version="1", instance_id=instance_id, scene_id=scene_id, epoch=0, seed=seed, instruction="i",
        target_kind="", checklist=(), values={}, layout=None, rubric=(), max_steps=100, horizon_s=10.0,
    )  # fmt: skip


def run(world, commands, limit=1000):
    """Return the number of steps until success, or None."""
    for count, command in enumerate(commands):
        if world.judge().success:
            return count
        if count == limit:
            return None
        world.step(command)
    return None


def endless(value):
    while True:
        yield value


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_an_oracle_that_commands_the_goal_needs_exactly_20_steps(seed):
    world = MockDynamics(trial(seed))
    assert run(world, endless(world.goal)) == GOAL_STEPS == 20


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_an_oracle_that_interpolates_needs_exactly_20_steps(seed):
    world = MockDynamics(trial(seed))

    def interpolated():
        while True:
            yield world.position + np.clip(world.goal - world.position, -world.limit, world.limit)

    assert run(world, interpolated()) == 20


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_the_goal_lies_exactly_20_steps_away_within_the_limits_and_clear_of_the_bench(seed):
    goal = MockDynamics(trial(seed)).goal
    assert np.abs(goal - START_POSITION).max() == 20 * STEP_LIMIT
    assert (goal >= action_low()).all()
    assert (goal <= action_high()).all()
    assert arm_poses(goal).points[:, 3:, 2].min() >= 0.02


@pytest.mark.parametrize("seed", range(5))
def test_random_targets_never_succeed(seed):
    rng = np.random.default_rng(seed)
    world = MockDynamics(trial(seed))
    draws = (rng.uniform(action_low(), action_high()) for _ in iter(int, 1))
    assert run(world, draws) is None


@pytest.mark.parametrize("seed", range(20))
def test_doing_nothing_never_succeeds_and_makes_no_progress(seed):
    world = MockDynamics(trial(seed))
    before = world.judge()
    assert run(world, endless(START_POSITION), limit=200) is None
    assert world.judge() == before
    assert before.progress == 0.0


def test_progress_grows_by_one_twentieth_a_step_and_is_exactly_one_at_success():
    world = MockDynamics(trial(7))
    seen = [world.judge().progress]
    for _ in range(20):
        world.step(world.goal)
        seen.append(world.judge().progress)
    assert seen == pytest.approx(np.linspace(0.0, 1.0, 21), abs=1e-9)
    assert seen[-1] == 1.0
    assert seen[-2] < 1.0


def test_a_replay_of_the_commands_gives_the_same_states_bit_for_bit():
    rng = np.random.default_rng(0)
    commands = [rng.uniform(-4, 4, 14) for _ in range(200)]
    first, second = MockDynamics(trial(5)), MockDynamics(trial(5))
    for command in commands:
        first.step(command)
    for command in commands:
        second.step(command)
    assert first.position.tobytes() == second.position.tobytes()
    assert first.goal.tobytes() == second.goal.tobytes()


def test_no_value_moves_faster_than_the_step_limit_or_beyond_the_joint_limits():
    rng = np.random.default_rng(1)
    world = MockDynamics(trial())
    for _ in range(300):
        before = world.position.copy()
        world.step(rng.uniform(-10, 10, 14))
        assert np.abs(world.position - before).max() <= STEP_LIMIT + 1e-12
        assert (world.position >= action_low()).all()
        assert (world.position <= action_high()).all()


def test_limits_that_acted_are_told_per_arm():
    world = MockDynamics(trial())
    command = world.position.copy()
    command[0] = 9.0
    command[7] += 0.02
    world.step(command)
    assert world.clamped == (True, False)
    assert world.slowed == (True, False)
    assert np.array_equal(world.applied, world.position)


def test_the_goal_depends_on_the_scene_and_on_the_trial():
    goals = [
        MockDynamics(t).goal for t in (trial(0), trial(1), trial(0, "stack/cups"), trial(0, "", "a"), trial(0, "", "b"))
    ]
    assert len({goal.tobytes() for goal in goals}) == len(goals)


def test_without_a_trial_there_is_nothing_to_succeed_at():
    world = MockDynamics()
    assert not world.judge().success
    assert world.judge().progress == 0.0


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.zeros(6), "expected 7 values, got 6"),
        (np.zeros(0), "expected 7 values, got 0"),
        (np.array([0, 0, np.nan, 0, 0, 0, 0]), "expected finite values, got nan at index 2"),
        (np.array([0, 0, 0, 0, 0, 0, np.inf]), "expected finite values, got inf at index 6"),
    ],
)
def test_malformed_targets_are_refused_with_a_reason(values, text):
    assert text in check_targets(values)


def test_a_refused_command_leaves_the_state_alone():
    world = MockDynamics(trial())
    command = world.goal.copy()
    command[9] = np.nan
    with pytest.raises(RigFault, match=r"right/command: expected finite values, got nan at index 2"):
        world.step(command)
    with pytest.raises(RigFault, match="left/command"):
        world.step(np.zeros(3))
    assert np.array_equal(world.position, START_POSITION)
    assert world.steps == 0
