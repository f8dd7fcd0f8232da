"""Real time: the bridge keeps its own schedule, takes the newest samples and refuses stale ones."""

from __future__ import annotations

import time

import numpy as np
import pytest

from assay_bridge.spinner import Spinner
from assay_core.errors import DeadlineError, RigFault
from assay_core.rig import cameras
from assay_msgs.msg import TrialState


def started(make_rig, *args, streams=True, **config):
    fakes, client = make_rig(*args, mode="paced", control_hz=20.0, **config)
    if streams:
        fakes.world.run_paced()
    client.start_trial(0, 0)
    client.wait_for_state(TrialState.READY, deadline_s=5)
    return fakes, client


def test_steps_follow_an_absolute_schedule(make_rig):
    _, client = started(make_rig)
    client.first_frames()
    client.step(np.zeros(14))
    begin = time.monotonic()
    stamps = [client.step(np.zeros(14)).stamp_ns for _ in range(20)]
    took = time.monotonic() - begin
    assert took >= 20 * 0.05 - 0.05, "a step must not end before its control period"
    assert stamps == sorted(stamps)
    assert len(set(stamps)) > 5, "each step must see new samples"


def test_a_slow_caller_starts_a_new_schedule_instead_of_catching_up(make_rig):
    _, client = started(make_rig)
    client.first_frames()
    client.step(np.zeros(14))
    pause = time.monotonic() + 0.3
    while time.monotonic() < pause:
        client.observe()
    begin = time.monotonic()
    client.step(np.zeros(14))
    assert time.monotonic() - begin >= 0.045, "after a pause the arms must get a whole period again"


def test_ages_are_measured_against_the_wall_clock(make_rig):
    _, client = started(make_rig, cameras(1, 64, 48))
    frames = client.first_frames()
    assert set(frames.ages) == set(client.motion.streams)
    assert all(-0.5 <= age <= 0.5 for age in frames.ages.values())
    assert abs(frames.stamp_ns - time.time_ns()) < 5e9


def test_commands_carry_the_time_of_sending(make_rig):
    fakes, client = started(make_rig)
    seen = []
    fakes.world._on = lambda arm, message: seen.append(message)
    client.first_frames()
    client.step(np.full(14, 0.2))
    assert seen[0].header.stamp.sec > 1_000_000_000
    assert {message.lease for message in seen} == {client.config.runner_id}


def test_a_frozen_camera_ends_the_trial_and_is_named(make_rig):
    fakes, client = started(make_rig, cameras(1, 64, 48), tolerance_s=0.6)
    client.first_frames()
    fakes.world.withhold.add("cameras/top/image_raw")

    def keep_stepping():
        for _ in range(100):
            client.step(np.zeros(14))

    with pytest.raises(RigFault, match=r"age of cameras/top/image_raw \d\.\d+ s: expected at most 0.6 s") as error:
        keep_stepping()
    assert "published by world" in str(error.value)


def test_a_rig_that_never_speaks_is_named(make_rig):
    _, client = started(make_rig, streams=False, step_s=0.4)
    with pytest.raises(DeadlineError, match=r"first frames: incomplete after 0.4 s, missing left/joint_states"):
        client.first_frames()


def test_a_pause_ends_on_time(make_rig):
    _, client = started(make_rig)
    spinner: Spinner = client._spinner
    for seconds in (0.0, 0.01, 0.12):
        until = time.monotonic() + seconds
        spinner.pause(until)
        assert time.monotonic() >= until
