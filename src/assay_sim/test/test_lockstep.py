"""The rules of lockstep as a table."""

from __future__ import annotations

import numpy as np
import pytest

from assay_sim.lockstep import FIRST_STAMP_NS, Answer, Lockstep, trial_epoch_ns

DT = 100_000_000
LEFT, RIGHT = 0, 1
ONES = np.ones(7)


@pytest.fixture
def clock():
    made = Lockstep(DT)
    made.start("000000-0")
    return made


def make_step(clock):
    at = clock.now_ns
    assert clock.offer(LEFT, at, ONES) is Answer.WAIT
    assert clock.offer(RIGHT, at, ONES * 2) is Answer.STEP
    return clock.advance()


def test_world_time_starts_at_one_second(clock):
    assert clock.now_ns == FIRST_STAMP_NS == 10**9


def test_a_pair_in_either_order_makes_one_step_of_one_period(clock):
    assert make_step(clock) == FIRST_STAMP_NS + DT
    at = clock.now_ns
    assert clock.offer(RIGHT, at, ONES) is Answer.WAIT
    assert clock.offer(LEFT, at, ONES * 3) is Answer.STEP
    assert clock.command.tolist() == [3.0] * 7 + [1.0] * 7


def test_one_arm_alone_never_steps_and_its_newest_command_counts(clock):
    for value in (1.0, 2.0, 5.0):
        assert clock.offer(LEFT, clock.now_ns, ONES * value) is Answer.WAIT
    assert clock.offer(RIGHT, clock.now_ns, ONES) is Answer.STEP
    assert clock.command[0] == 5.0


def test_a_repeated_pair_is_answered_once_however_often_it_comes(clock):
    make_step(clock)
    before = clock.now_ns - DT
    for _ in range(3):
        assert clock.offer(LEFT, before, ONES) is Answer.REPEAT
        assert clock.offer(RIGHT, before, ONES) is Answer.COVERED
    assert clock.offer(RIGHT, before, ONES) is Answer.REPEAT
    assert clock.offer(RIGHT, before, ONES) is Answer.REPEAT
    assert clock.now_ns == before + DT


def test_a_repeat_does_not_touch_the_command_under_way(clock):
    make_step(clock)
    clock.offer(LEFT, clock.now_ns, ONES * 7)
    clock.offer(LEFT, clock.now_ns - DT, ONES * 9)
    assert clock.offer(RIGHT, clock.now_ns, ONES) is Answer.STEP
    assert clock.command[0] == 7.0


def test_older_and_later_stamps_are_refused_and_counted(clock):
    make_step(clock)
    make_step(clock)
    assert clock.offer(LEFT, clock.now_ns - 2 * DT, ONES) is Answer.OLD
    assert clock.offer(LEFT, clock.now_ns - 1, ONES) is Answer.OLD
    assert clock.offer(RIGHT, clock.now_ns + DT, ONES) is Answer.AHEAD
    assert clock.refused == 3


def test_a_new_trial_has_no_step_to_repeat(clock):
    make_step(clock)
    clock.start("000001-0")
    assert clock.offer(LEFT, clock.now_ns - DT, ONES) is Answer.OLD


def test_a_new_trial_forgets_half_a_pair(clock):
    clock.offer(LEFT, clock.now_ns, ONES)
    clock.start("000001-0")
    assert clock.offer(RIGHT, clock.now_ns, ONES) is Answer.WAIT


def test_nothing_is_taken_before_the_first_trial_or_after_the_last():
    clock = Lockstep(DT)
    assert clock.offer(LEFT, clock.now_ns, ONES) is Answer.NO_TRIAL
    clock.start("000000-0")
    clock.stop()
    assert clock.offer(LEFT, clock.now_ns, ONES) is Answer.NO_TRIAL


def test_stamps_grow_over_trials_whatever_their_ids(clock):
    stamps = [clock.now_ns]
    for trial in ("000003-0", "000001-2", "any name", "000003-0", "999999-0", "000004-1"):
        make_step(clock)
        stamps.append(clock.start(trial))
    assert stamps == sorted(set(stamps))


def test_a_restarted_world_goes_on_later_than_the_one_before():
    first, second = Lockstep(DT), Lockstep(DT)
    first.start("000004-0")
    for _ in range(200):
        last = make_step(first)
    assert second.start("000004-1") > last
    assert first.start("000005-0") == Lockstep(DT).start("000005-0")


@pytest.mark.parametrize(
    ("trial", "seconds"), [("000000-0", 1), ("000002-1", 21001), ("x", 0), ("", 0), ("999999-0", 0)]
)
def test_each_trial_has_its_own_stretch_of_time(trial, seconds):
    assert trial_epoch_ns(trial) == seconds * 10**9
