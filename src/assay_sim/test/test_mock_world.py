"""The mock world's node against the protocol: lockstep, repeats, refusals, resets, paced mode."""

from __future__ import annotations

import array
import time

import cv2
import numpy as np
import pytest
from world_client import Bench, realization

from assay_benchmarks import catalog
from assay_core.rig import ARMS, action_high, joint_names
from assay_msgs.msg import ArmState, ResultCode
from assay_ros.convert import to_ns
from assay_ros.testing import graph, image_array
from assay_sim.camera_model import camera_model
from assay_sim.kinematics import arm_poses
from assay_sim.mock_dynamics import START_POSITION, MockDynamics
from assay_sim.scene import place_objects

DT = 100_000_000


@pytest.fixture
def make():
    """Yield a function that makes a world and a client in a graph of their own."""
    with graph() as (context, executor, _):
        made = []

        def start(cameras=0, **params):
            made.append(Bench(context, executor, cameras, **params))
            return made[-1]

        yield start
        for bench in made:
            bench.world.stop()


def test_an_oracle_succeeds_after_exactly_20_steps_on_the_graph(make):
    bench = make()
    stamp = bench.begin()
    assert stamp == 10**9
    goal = np.array(bench.client.got("world/privileged", stamp)[0].goal)
    assert goal == pytest.approx(MockDynamics(realization()).goal)
    for step in range(1, 21):
        stamp = bench.step(stamp, goal)
        (state,) = bench.client.got("world/task_state", stamp)
        assert state.step == step
        assert state.success == state.terminated == (step == 20)
        assert state.termination_reason == ("success" if step == 20 else "")
    assert state.progress == 1.0
    assert stamp == 10**9 + 20 * DT
    assert bench.client.values(stamp) == pytest.approx(goal, abs=1e-9)


def test_every_stream_carries_one_stamp_and_the_trial(make):
    bench = make(cameras=3)
    stamp = bench.step(bench.begin(), START_POSITION)
    for name in bench.client.needed:
        assert len(bench.client.got(name, stamp)) == 1, name
    for name in ("world/task_state", "world/privileged"):
        (message,) = bench.client.got(name, stamp)
        assert (message.session_id, message.trial_id) == ("s", "000000-0")
    for arm in ARMS:
        (joints,) = bench.client.got(f"{arm}/joint_states", stamp)
        assert list(joints.name) == list(joint_names(arm))
        assert len(joints.position) == len(joints.velocity) == 7


def test_streams_leave_in_the_documented_order_with_joint_states_last(make):
    bench = make(cameras=3)
    order = []
    streams = bench.world.core.streams

    def spy(publisher):
        real = publisher.publish

        def publish(message):
            order.append(publisher.topic_name.lstrip("/"))
            real(message)

        publisher.publish = publish

    for publisher in (*streams.image_pubs, *streams.info_pubs, streams._task_pub, streams._privileged_pub):
        spy(publisher)
    for publisher in streams.joint_pubs:
        spy(publisher)
    bench.begin()
    cameras = [f"cameras/{n}/{kind}" for n in ("top", "left", "right") for kind in ("image_raw", "camera_info")]
    judgement, joints = ["world/task_state", "world/privileged"], ["left/joint_states", "right/joint_states"]
    assert order == judgement + cameras + joints


def test_nothing_moves_until_both_commands_have_come(make):
    bench = make()
    stamp = bench.begin()
    bench.client.send(stamp, action_high(), arms=("left",))
    bench.until(lambda: bench.world.core.lockstep._pending == {0}, "the left command")
    assert bench.world.core.dynamics.steps == 0
    bench.client.send(stamp, action_high(), arms=("right",))
    bench.until(lambda: bench.client.complete(stamp + DT), "the step")
    assert bench.world.core.dynamics.steps == 1


def test_a_repeat_is_answered_again_without_moving(make):
    bench = make(cameras=1)
    start = bench.begin()
    stamp = bench.step(start, action_high())
    before = bench.client.values(stamp)
    picture = bytes(bench.client.got("cameras/top/image_raw", stamp)[0].data)
    for count in (2, 3):
        bench.client.send(start, np.zeros(14))
        bench.until(lambda n=count: all(len(bench.client.got(s, stamp)) == n for s in bench.client.needed), "repeat")
    assert np.array_equal(bench.client.values(stamp), before)
    assert bytes(bench.client.got("cameras/top/image_raw", stamp)[-1].data) == picture
    assert bench.world.core.dynamics.steps == 1


def test_stamps_from_before_and_after_are_refused_and_counted(make):
    bench = make()
    first = bench.begin()
    stamp = bench.step(bench.step(first, START_POSITION), START_POSITION)
    for bad, word in ((first, "old"), (stamp + DT, "ahead")):
        bench.client.send(bad, START_POSITION)
        states = [f"{arm}/state" for arm in ARMS]
        bench.until(lambda s=states, w=word: all(w in bench.client.got(n)[-1].message for n in s), word)
    assert bench.world.core.lockstep.refused == 4
    assert bench.client.got("left/state")[-1].limits & ArmState.LIMIT_REFUSED
    assert "2 refused" in bench.client.got("left/state")[-1].message
    bench.step(stamp, START_POSITION)
    bench.until(lambda: bench.client.got("left/state")[-1].message == "", "the all-clear")


def test_malformed_commands_are_refused_and_the_world_waits_for_good_ones(make):
    bench = make()
    stamp = bench.begin()
    bad = np.full(14, np.nan)
    bench.client.send(stamp, bad)
    bench.until(lambda: "expected finite values" in bench.client.got("right/state")[-1].message, "refusal")
    bench.client.send(stamp, START_POSITION, session_id="s", trial_id="000009-0")
    bench.until(lambda: "expected trial '000000-0'" in bench.client.got("right/state")[-1].message, "refusal")
    bench.client.send(stamp, START_POSITION, session_id="another", trial_id="000000-0")
    bench.until(lambda: "of session 'another'" in bench.client.got("right/state")[-1].message, "refusal")
    assert bench.world.core.dynamics.steps == 0
    stamp = bench.step(stamp, START_POSITION)
    bench.client.send(stamp, START_POSITION, lease="somebody else")
    bench.until(lambda: "'runner' holds the lease" in bench.client.got("right/state")[-1].message, "refusal")
    bench.step(stamp, START_POSITION)


def test_commands_before_the_first_reset_are_refused(make):
    bench = make()
    bench.client.send(10**9, START_POSITION)
    bench.until(lambda: "no trial" in (bench.client.got("left/state") or [ArmState()])[-1].message, "refusal")
    assert not bench.client.got("world/task_state")


def test_a_reset_sent_again_gets_the_same_answer_and_the_frames_again(make):
    bench = make(cameras=1)
    stamp = bench.begin()
    again = bench.reset()
    assert (again.code, to_ns(again.stamp)) == (ResultCode.OK, stamp)
    bench.until(lambda: all(len(bench.client.got(n, stamp)) == 2 for n in bench.client.needed), "frames again")
    moved = bench.step(stamp, action_high())
    assert to_ns(bench.reset().stamp) == stamp
    assert bench.world.core.dynamics.steps == 1, "a late repeat of the reset must not undo motion"
    bench.step(moved, action_high())


def test_stamps_never_decrease_over_trials_and_sessions(make):
    bench = make()
    for trial in ("000000-0", "000000-1", "000002-0", "000001-0", "free name"):
        bench.step(bench.begin(trial_id=trial), START_POSITION)
    bench.step(bench.begin(trial_id="000000-0", session_id="another"), START_POSITION)
    for name in bench.client.needed:
        stamps = [to_ns(m.header.stamp) for m in bench.client.got(name)]
        assert stamps == sorted(set(stamps)), name


def test_each_trial_starts_from_the_start_pose_with_its_own_goal(make):
    bench = make()
    goals = set()
    for k in range(3):
        stamp = bench.begin(realization(epoch=k), trial_id=f"00000{k}-0")
        assert bench.client.values(stamp).tolist() == START_POSITION.tolist()
        goals.add(tuple(bench.client.got("world/privileged", stamp)[-1].goal))
        bench.step(stamp, action_high())
    assert len(goals) == 3


def test_resets_that_cannot_be_served_say_why(make):
    bench = make()
    answer = bench.reset(content_hash="0" * 64)
    assert answer.code == ResultCode.REALIZATION_MISMATCH
    assert realization().content_hash() in answer.message
    assert "0" * 64 in answer.message
    assert bench.reset(instruction="something else").code == ResultCode.REALIZATION_MISMATCH
    assert bench.reset(trial_id="").code == ResultCode.INVALID_ARGUMENT
    assert bench.reset(layout_json="{").code == ResultCode.INVALID_ARGUMENT
    assert bench.reset().code == ResultCode.OK
    other = bench.reset(realization(epoch=1))
    assert other.code == ResultCode.INVALID_ARGUMENT
    assert "another realization" in other.message


def test_an_inactive_world_is_not_ready_and_a_reactivated_one_needs_a_reset(make):
    bench = make()
    stamp = bench.begin()
    bench.world.trigger_deactivate()
    bench.until(lambda: bench.client.got("left/state")[-1].mode == ArmState.MODE_DISARMED, "disarmed")
    assert bench.reset(trial_id="000001-0").code == ResultCode.NOT_READY
    bench.world.trigger_activate()
    bench.client.send(stamp, START_POSITION)
    bench.until(lambda: "no trial" in bench.client.got("left/state")[-1].message, "refusal")
    assert bench.begin(trial_id="000001-0") > stamp


def test_a_world_can_be_cleaned_up_and_configured_again(make):
    bench = make(cameras=1)
    bench.begin()
    bench.world.trigger_deactivate()
    bench.world.trigger_cleanup()
    assert bench.world.core is None
    bench.until(lambda: not bench.client.resets.service_is_ready(), "the service to go")
    bench.client.log.clear()
    bench.world.trigger_configure()
    bench.world.trigger_activate()
    bench.until(lambda: bench.client.ready(bench.world), "discovery")
    bench.step(bench.begin(), START_POSITION)


def test_arm_state_is_latched_and_says_who_armed(make):
    bench = make()
    bench.until(lambda: bench.client.got("left/state") and bench.client.got("right/state"), "arm states")
    for arm in ARMS:
        state = bench.client.got(f"{arm}/state")[-1]
        assert (state.arm, state.mode, state.fault_code) == (arm, ArmState.MODE_ARMED, ArmState.FAULT_NONE)
        assert state.armed_by == "mock_world"
    stamp = bench.begin()
    count = len(bench.client.got("left/state"))
    for _ in range(5):
        stamp = bench.step(stamp, START_POSITION)
    bench.until(lambda: bench.client.got("left/state")[-1].lease == "runner", "the lease")
    assert len(bench.client.got("left/state")) == count + 1, "published on change only"


def test_pictures_carry_the_realization_and_camera_info_projects_onto_it(make):
    bench = make(cameras=3)
    data = realization("open_container/bottle-cap")
    stamp = bench.begin(data)
    (item,) = place_objects(catalog.blueprint_of(data))
    empty = bench.begin(
        realization("place_cutlery/far-reach"), trial_id="000001-0"
    )  # Another scene: the bottle must be gone.
    for camera in bench.world.core.streams.cameras:
        (message,) = bench.client.got(f"cameras/{camera.name}/image_raw", stamp)
        (info,) = bench.client.got(f"cameras/{camera.name}/camera_info", stamp)
        model = camera_model(camera)
        assert message.header.frame_id == info.header.frame_id == f"{camera.name}_camera_optical_frame"
        assert (message.encoding, message.width, message.height, message.step) == ("rgb8", 640, 360, 1920)
        assert isinstance(message.data, array.array)
        assert (info.width, info.height) == (640, 360)
        local = model.rotation @ (np.array([item.x, item.y, item.size[2] * 0.5]) - model.eye)
        u, v, w = np.array(info.k).reshape(3, 3) @ local
        other = image_array(bench.client.got(f"cameras/{camera.name}/image_raw", empty)[0]).astype(int)
        area = (slice(int(v / w) - 3, int(v / w) + 4), slice(int(u / w) - 3, int(u / w) + 4))
        difference = np.abs(image_array(message).astype(int) - other)[area]
        assert difference.max(axis=2).mean() > 20, f"no bottle where camera_info of {camera.name} says"


def test_pictures_follow_the_arms(make):
    bench = make(cameras=1)
    stamp = bench.begin()
    first = image_array(bench.client.got("cameras/top/image_raw", stamp)[0]).copy()
    goal = START_POSITION.copy()
    goal[0] += 0.5
    for _ in range(10):
        stamp = bench.step(stamp, goal)
    after = image_array(bench.client.got("cameras/top/image_raw", stamp)[0])
    model = camera_model(bench.world.core.streams.cameras[0])
    (u, v) = model.project(arm_poses(goal).points[0, 6:7])[0][0]
    changed = np.abs(first.astype(int) - after.astype(int)).max(axis=2) > 30
    assert changed[int(v) - 6 : int(v) + 7, int(u) - 6 : int(u) + 7].any()
    right_half = cv2.countNonZero(changed[:, 360:].astype(np.uint8))
    assert right_half == 0, "the right arm did not move"


def test_a_task_without_a_layout_shows_bench_and_arms(make):
    bench = make(cameras=1)
    data = realization()
    plain = type(data).from_dict(
        {**data.to_dict(), "task": "other/task", "instance_id": "", "layout": None, "target_kind": ""}
    )
    stamp = bench.begin(plain)
    assert image_array(bench.client.got("cameras/top/image_raw", stamp)[0]).std() > 20


def test_trace_holds_every_step_in_batches_of_20(make):
    bench = make(publish_trace=True)
    stamp = bench.begin()
    goal = np.array(bench.client.got("world/privileged", stamp)[0].goal)
    target = goal.copy()
    for k in range(25):
        # Never arrives, so that the trial does not end in success.
        target[6] = 0.9 if k % 2 else 2.0
        stamp = bench.step(stamp, target)
    bench.begin(trial_id="000001-0")
    for arm in ARMS:
        bench.until(lambda a=arm: len(bench.client.got(f"{a}/trace")) == 2, "both batches")
        full, rest = bench.client.got(f"{arm}/trace")
        assert (full.samples, rest.samples, full.joints) == (20, 5, 7)
        assert full.trial_id == rest.trial_id == "000000-0"
        assert to_ns(full.header.stamp) == 10**9 + DT
        assert list(full.stamp_offset_ns) == [k * DT for k in range(20)]
        assert list(full.command_sequence) == list(range(1, 21))
        measured = np.array(full.measured).reshape(20, 7)
        for k in (0, 7, 19):
            (state,) = bench.client.got(f"{arm}/joint_states", 10**9 + (k + 1) * DT)
            assert measured[k].tolist() == list(state.position)
        assert len(rest.commanded) == len(rest.applied) == len(rest.effort) == 35
    left = bench.client.got("left/trace")[0]
    assert left.commanded[6] == 2.0
    assert left.applied[6] <= 1.0
    assert left.limits[0] & ArmState.LIMIT_POSITION


def test_paced_mode_runs_on_the_wall_clock_and_takes_the_newest_command(make):
    bench = make(mode="paced", control_hz=50.0)
    before = time.time_ns()
    bench.until(lambda: len(bench.client.got("left/joint_states")) > 3, "streams without a trial")
    first = bench.client.got("world/task_state")[0]
    assert first.trial_id == ""
    assert abs(to_ns(first.header.stamp) - before) < 20 * 10**9
    stamp = bench.begin()
    assert not bench.client.got("world/task_state", stamp)[0].terminated
    goal = np.array(bench.client.got("world/privileged", stamp)[0].goal)
    held = [m for m in bench.client.got("left/joint_states") if to_ns(m.header.stamp) >= stamp]
    assert list(held[-1].position) == START_POSITION[:7].tolist(), "holds without a command"
    bench.client.send(time.time_ns(), START_POSITION)
    bench.client.send(time.time_ns(), goal)
    bench.until(lambda: bench.client.got("world/task_state")[-1].success, "success")
    stamps = [to_ns(m.header.stamp) for m in bench.client.got("left/joint_states")]
    assert stamps == sorted(set(stamps))
    states = [m for m in bench.client.got("world/task_state") if m.trial_id]
    assert next(m.step for m in states if m.success) >= 20


def test_paced_mode_follows_a_chunk_over_time(make):
    from trajectory_msgs.msg import JointTrajectoryPoint

    bench = make(mode="paced", control_hz=50.0)
    bench.begin()
    client, message = bench.client, None
    real = client.pubs["left"].publish

    def chunked(made):
        nonlocal message
        target = list(made.trajectory.points[0].positions)
        points = [JointTrajectoryPoint(positions=[0.0, 1.25, 1.25, -1.25, 0.0, 0.0, x]) for x in (1.0, 0.0)]
        points[1].time_from_start.sec = 1
        assert len(target) == 7
        made.trajectory.points = points
        message = made
        real(made)

    client.pubs["left"].publish = chunked
    client.send(time.time_ns(), START_POSITION, arms=("left",))
    bench.until(lambda: client.got("left/joint_states")[-1].position[6] < 0.02, "the end of the chunk")
    gripper = [m.position[6] for m in client.got("left/joint_states")]
    assert sum(0.1 < x < 0.9 for x in gripper) >= 10, "the chunk was jumped over"


def test_clock_is_published_only_where_asked_for(make):
    from rosgraph_msgs.msg import Clock

    from assay_ros import qos

    bench = make(publish_clock=True)
    seen = []
    bench.client.create_subscription(Clock, "/clock", lambda m: seen.append(to_ns(m.clock)), qos.SENSOR)
    bench.until(lambda: bench.world.core is not None and bench.world._clock_pub.get_subscription_count() > 0, "clock")
    stamp = bench.step(bench.begin(), START_POSITION)
    bench.until(lambda: stamp in seen, "clock")
    other = make(cameras=0)
    assert other.world._clock_pub is None
