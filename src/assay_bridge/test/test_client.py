"""The graph client against a rig of fakes: the protocol in order, and an error that names whoever fails it."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from fakes import PERIOD_NS, started

from assay_bridge.client_types import ClientConfig
from assay_core.errors import ConfigError, DeadlineError, RigFault
from assay_core.rig import cameras
from assay_msgs.msg import ResultCode, TrialState
from assay_msgs.srv import CloseSession, FinishTrial


def test_one_trial_from_start_to_seal(make_rig):
    fakes, client = make_rig(cameras(2, 64, 48))
    realization = client.start_trial(3, 1)
    assert (realization.instruction, client.trial_id) == ("reach the mark", "000003-1")
    client.wait_for_state(TrialState.READY, deadline_s=5)
    frames = client.first_frames()
    assert set(frames.images) == {"top_cam", "left_cam"}
    assert frames.images["top_cam"].shape == (48, 64, 3)
    assert set(frames.stamps.values()) == {frames.stamp_ns}, "one set mixes samples of different times"
    assert client.reset_policy({"id": "toy/reach/0"}, 0, 7, "reach the mark") == tuple(fakes.policy.streams)
    client.advance(TrialState.RUNNING)
    chunk = client.infer(frames, 0, "reach the mark")
    assert chunk.actions.shape == (3, 14)
    named = {item.stream: item.stamp.sec for item in fakes.policy.inferences[0].inputs}
    assert set(named) == set(fakes.policy.streams), "the request must name every stream that the policy reads"
    for i in range(5):
        after = client.step(np.full(14, 0.1 * i))
        assert after.stamp_ns == frames.stamp_ns + (i + 1) * PERIOD_NS
        assert after.joint_pos == pytest.approx(np.full(14, 0.1 * i))
        assert (after.images["left_cam"] == i + 1).all()
    assert after.task_state.success
    assert after.task_state.reason == "success"
    client.advance(TrialState.PARKING)
    assert client.observe().stamp_ns == after.stamp_ns
    client.advance(TrialState.JUDGE, '{"steps":5}')
    verdict = client.wait_for_verdict(5)
    assert (verdict.outcome, verdict.stage, verdict.grader_id) == ("success", 4, "checker")
    assert client.finish_trial(FinishTrial.Request.STATUS_COMPLETED) == TrialState.DONE
    client.close_session(CloseSession.Request.STATUS_DONE)
    assert fakes.benchmark.of("advance_trial")[-1].record_json == '{"steps":5}'
    sequence = [name for name, _ in fakes.benchmark.calls]
    assert sequence == ["open_session", "start_trial", *["advance_trial"] * 3, "finish_trial", "close_session"]


def test_heartbeats_tell_the_benchmark_node_where_the_runner_is(make_rig):
    fakes, client = make_rig(world={"success_at": 10_000})
    started(client)
    end = time.monotonic() + 60.0
    while len(fakes.benchmark.heartbeats) < 3:
        client.step(np.zeros(14))
        assert time.monotonic() < end, "no heartbeats"
    last = fakes.benchmark.heartbeats[-1]
    assert (last.session_id, last.runner_id, last.trial_id) == ("s", client.config.runner_id, "000003-0")
    assert last.step > 0


def test_lost_commands_are_sent_again(make_rig):
    fakes, client = make_rig(step_s=2.0)
    started(client)
    fakes.world.ignore = 1
    client.step(np.full(14, 0.5))
    assert fakes.world.ignore == 0, "the first commands were lost"
    assert len(fakes.world.commands) == 1, "a repeat must not move the arms twice"


def test_a_lost_frame_is_published_again(make_rig):
    fakes, client = make_rig(cameras(1, 64, 48), step_s=2.0)
    frames = started(client)
    fakes.world.withhold_once.add("cameras/top/image_raw")
    assert client.step(np.zeros(14)).stamp_ns == frames.stamp_ns + PERIOD_NS


def test_lost_first_frames_are_published_again(make_rig):
    fakes, client = make_rig(cameras(1, 64, 48), step_s=2.0)
    fakes.world.withhold_once.add("cameras/top/image_raw")
    assert started(client).images["top_cam"].shape == (48, 64, 3)


def test_a_missing_stream_is_named(make_rig):
    fakes, client = make_rig(cameras(2, 64, 48), step_s=0.5)
    started(client)
    fakes.world.withhold.add("cameras/left/image_raw")
    with pytest.raises(DeadlineError) as error:
        client.step(np.zeros(14))
    text = str(error.value)
    assert "missing cameras/left/image_raw (published by world; newest stamp 2.000000000)" in text
    assert "joint_states" not in text, "streams that arrived must not be blamed"


def test_a_dead_process_ends_the_wait_at_once_and_is_named(make_rig):
    dead: list[str] = []
    fakes, client = make_rig(step_s=600.0, liveness=lambda: dead[0] if dead else None)
    started(client)
    fakes.world.ignore = 10**9
    dead.append("world (mock_world, pid 12) died: SIGKILL")
    with pytest.raises(RigFault, match=r"world \(mock_world, pid 12\) died: SIGKILL"):
        client.step(np.zeros(14))


def test_a_world_that_left_the_graph_is_named(make_rig):
    fakes, client = make_rig(step_s=1.0)
    started(client)
    fakes.remove(fakes.world.node)
    with pytest.raises(
        DeadlineError, match=r"left/joint_states \(no publisher; .*nodes on the graph: benchmark, policy"
    ):
        client.step(np.zeros(14))


def test_torn_and_foreign_pictures_are_refused(make_rig):
    fakes, client = make_rig(cameras(1, 64, 48))
    started(client)

    def tear(name, message):
        if name.startswith("cameras"):
            message.data = message.data[:-7]
        return message

    fakes.world.tamper = tear
    with pytest.raises(RigFault, match="cameras/top/image_raw: torn or foreign picture"):
        client.step(np.zeros(14))


def test_a_picture_of_another_size_is_refused(make_rig):
    fakes, client = make_rig(cameras(1, 64, 48))
    started(client)
    fakes.world.cameras = cameras(1, 32, 48)
    with pytest.raises(RigFault, match=r"cameras/top/image_raw: expected uint8 \(48, 64, 3\), got \(48, 32, 3\)"):
        client.step(np.zeros(14))


def test_joints_are_taken_by_name(make_rig):
    fakes, client = make_rig()
    started(client)

    def shuffle(name, message):
        if name == "right/joint_states":
            message.name, message.position = list(message.name)[::-1], list(message.position)[::-1]
        if name == "left/joint_states":
            message.name = ["a", *list(message.name)[1:]]
        return message

    fakes.world.tamper = lambda name, message: shuffle(name, message) if name.startswith("right") else message
    action = np.linspace(0.0, 0.9, 14)
    assert client.step(action).joint_pos == pytest.approx(action)
    fakes.world.tamper = shuffle
    with pytest.raises(RigFault, match="left/joint_states: expected 7 values named left_joint1"):
        client.step(action)


@pytest.mark.parametrize("action", [np.zeros(7), np.full(14, np.nan)])
def test_a_malformed_action_never_leaves(make_rig, action):
    fakes, client = make_rig()
    started(client)
    with pytest.raises(RigFault, match="action: expected 14 finite values"):
        client.step(action)
    assert fakes.world.commands == []


def test_a_second_runner_is_told_who_holds_the_rig(make_rig):
    fakes, client = make_rig()
    fakes.benchmark.codes["open_session"] = (ResultCode.SESSION_OTHER_OPEN, "session 'other' is open, runner pc-7")
    with pytest.raises(ConfigError, match=r"session 'other' is open, runner pc-7 \[SESSION_OTHER_OPEN\]"):
        client.open_session("/tmp/x", "0" * 64, resume=False)


def test_a_graph_that_is_just_starting_is_waited_for(make_rig):
    fakes, client = make_rig()
    fakes.benchmark.codes["open_session"] = (ResultCode.NOT_READY, "benchmark node: not active")
    fakes.benchmark.once.add("open_session")
    assert client.open_session("/tmp/x", "0" * 64, resume=False).next_plan_index == 3


def test_a_node_that_nobody_activates_is_named(make_rig):
    fakes, client = make_rig()
    client._benchmark._config = replace(client.config, connect_s=0.5)
    fakes.benchmark.codes["open_session"] = (ResultCode.NOT_READY, "benchmark node: not active. fix: activate it")
    with pytest.raises(RigFault, match=r"benchmark node: not active. fix: activate it \[NOT_READY\]"):
        client.open_session("/tmp/x", "0" * 64, resume=False)


def test_a_silent_service_names_its_node(make_rig):
    fakes, client = make_rig(service_s=0.5)
    fakes.benchmark.silent.add("start_trial")
    with pytest.raises(DeadlineError, match=r"start_trial: no answer within 0.5 s \(benchmark node: on the graph"):
        client.start_trial(0, 0)
    fakes.remove(fakes.benchmark.node)
    with pytest.raises(DeadlineError, match=r"benchmark node: not on the graph; nodes on the graph: policy, world"):
        client.start_trial(0, 0)


@pytest.mark.parametrize("name", ["start_trial", "advance_trial", "finish_trial", "close_session"])
def test_a_lost_answer_of_the_benchmark_node_costs_a_repeat(make_rig, name):
    fakes, client = make_rig(service_s=4.0)
    fakes.benchmark.silent_once.add(name)
    started(client)
    client.advance(TrialState.JUDGE)
    assert client.finish_trial(FinishTrial.Request.STATUS_COMPLETED) == TrialState.DONE
    client.close_session(CloseSession.Request.STATUS_INCOMPLETE)
    [first, second] = fakes.benchmark.of(name)[:2]
    assert first == second


def test_an_incomplete_graph_is_described(make_rig):
    fakes, client = make_rig(connect_s=0.5)
    fakes.remove(fakes.world.node)
    with pytest.raises(DeadlineError) as error:
        client.connect()
    assert "left/joint_states (no publisher)" in str(error.value)
    assert "left/command (no subscriber)" in str(error.value)


def test_an_interrupt_in_a_wait_leaves_the_client_usable(make_rig):
    interrupt: list[bool] = []

    def liveness():
        if interrupt:
            interrupt.clear()
            raise KeyboardInterrupt
        return

    fakes, client = make_rig(step_s=600.0, liveness=liveness)
    started(client)
    fakes.world.ignore = 10**9
    interrupt.append(True)
    with pytest.raises(KeyboardInterrupt):
        client.step(np.zeros(14))
    assert client.finish_trial(FinishTrial.Request.STATUS_CANCELLED, "cancelled") == TrialState.INVALID
    client.close_session(CloseSession.Request.STATUS_INCOMPLETE, "cancelled")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"mode": "fast"}, "mode: expected lockstep or paced, got 'fast'"),
        ({"control_hz": 0.0}, "control_hz: expected 0.1 to 1000 Hz, got 0"),
        ({"step_s": float("nan")}, r"step_s: expected a number \[s\], got nan"),
        ({"has_world": False}, "mode lockstep: expected a simulated world"),
    ],
)
def test_a_bad_configuration_is_named(change, text):
    with pytest.raises(ConfigError, match=text):
        ClientConfig(**change)


@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is not signal.default_int_handler, reason="this process handles SIGINT itself"
)
def test_ctrl_c_at_any_instant_leaves_the_client_usable(make_rig):
    _, client = make_rig(world={"success_at": 10**9})
    chance = random.Random(20261130)
    for index in range(25):
        started(client, index)
        with pytest.raises(KeyboardInterrupt):
            step_until_interrupted(client, chance.uniform(0.0005, 0.02))
        assert client.finish_trial(FinishTrial.Request.STATUS_CANCELLED, "cancelled") == TrialState.INVALID
    client.close()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def step_until_interrupted(client, after_s):
    """Step for ever, with a Ctrl-C on its way."""
    timer = threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    while True:
        client.step(np.zeros(14))
