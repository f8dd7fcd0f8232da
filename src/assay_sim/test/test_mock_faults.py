"""Injected faults do on the graph what they say, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from world_client import Bench, call, realization

from assay_ros.convert import to_ns
from assay_ros.testing import graph, image_array
from assay_sim.mock_dynamics import START_POSITION

DT = 100_000_000
TARGET = START_POSITION + 0.5


@pytest.fixture
def make():
    with graph() as (context, executor, _):
        made = []

        def start(cameras=1, **params):
            made.append(Bench(context, executor, cameras, **params))
            return made[-1]

        yield start
        for bench in made:
            bench.world.stop()


def step(bench, stamp, without):
    """Make a step in which some streams do not come, and return its stamp."""
    bench.client.send(stamp, TARGET)
    bench.until(lambda: bench.client.complete(stamp + DT, without), "the other streams")
    return stamp + DT


def test_a_dropped_frame_is_missing_while_everything_else_comes(make):
    bench = make(faults="drop:camera=top,at=2")
    stamp = bench.step(bench.begin(), TARGET)
    stamp = step(bench, stamp, without=("cameras/top/image_raw",))
    assert not bench.client.got("cameras/top/image_raw", stamp)
    bench.client.send(stamp - DT, TARGET)
    bench.until(lambda: len(bench.client.got("right/joint_states", stamp)) == 2, "the repeat")
    assert not bench.client.got("cameras/top/image_raw", stamp), "the repeat drops it too"
    bench.step(stamp, TARGET)


def test_a_frame_dropped_once_comes_with_the_repeat(make):
    bench = make(faults="drop:camera=top,at=1,once=true")
    stamp = step(bench, bench.begin(), without=("cameras/top/image_raw",))
    bench.client.send(stamp - DT, TARGET)
    bench.until(lambda: bench.client.complete(stamp), "the repeat")


def test_a_frozen_camera_repeats_its_picture_with_new_stamps(make):
    bench = make(faults="freeze:camera=top,from=2")
    stamp = bench.begin()
    stamps = [stamp := bench.step(stamp, TARGET) for _ in range(3)]
    pictures = [bytes(bench.client.got("cameras/top/image_raw", s)[0].data) for s in stamps]
    assert pictures[0] == pictures[1] == pictures[2]


def test_a_frozen_camera_can_keep_its_stamp(make):
    bench = make(faults="freeze:camera=top,from=2,stamp=old")
    first = bench.step(bench.begin(), TARGET)
    second = step(bench, first, without=("cameras/top/image_raw",))
    bench.until(lambda: len(bench.client.got("cameras/top/image_raw", first)) == 2, "the old picture")
    assert not bench.client.got("cameras/top/image_raw", second)


def test_a_torn_frame_is_recognised_as_one(make):
    bench = make(faults="torn:camera=top,at=1")
    stamp = bench.step(bench.begin(), TARGET)
    with pytest.raises(ValueError, match="expected rgb8 360x640"):
        image_array(bench.client.got("cameras/top/image_raw", stamp)[0])
    stamp = bench.step(stamp, TARGET)
    assert image_array(bench.client.got("cameras/top/image_raw", stamp)[0]).shape == (360, 640, 3)


def test_a_frame_of_the_wrong_size_is_whole_but_small(make):
    bench = make(faults="wrong_size:camera=top,at=1")
    stamp = bench.step(bench.begin(), TARGET)
    assert image_array(bench.client.got("cameras/top/image_raw", stamp)[0]).shape == (180, 320, 3)


def test_late_joint_states_come_some_steps_later_with_their_own_stamp(make):
    bench = make(cameras=0, faults="late:arm=left,steps=2,at=1")
    stamp = step(bench, bench.begin(), without=("left/joint_states",))
    assert not bench.client.got("left/joint_states", stamp)
    second = bench.step(stamp, TARGET)
    assert not bench.client.got("left/joint_states", stamp)
    bench.step(second, TARGET)
    bench.until(lambda: len(bench.client.got("left/joint_states", stamp)) == 1, "the late state")


def test_late_joint_states_can_be_late_by_seconds(make):
    bench = make(cameras=0, faults="late:arm=both,seconds=0.2,at=1")
    stamp = step(bench, bench.begin(), without=("left/joint_states", "right/joint_states"))
    bench.until(lambda: bench.client.complete(stamp), "the late states")


def test_a_silent_world_answers_neither_commands_nor_resets(make):
    bench = make(cameras=0, faults="silent:from=1")
    stamp = bench.step(bench.begin(), TARGET)
    bench.client.send(stamp, TARGET)
    bench.client.send(stamp - DT, TARGET)
    _set(bench, "")
    bench.step(stamp, TARGET)
    assert bench.world.core.dynamics.steps == 2, "commands sent meanwhile are lost, later ones are followed"


def test_a_silent_world_does_not_answer_a_reset(make):

    from assay_msgs.srv import ResetWorld
    from assay_ros.convert import realization_to_msg

    bench = make(cameras=0, faults="silent:trial=000001-0")
    bench.begin()
    msg = realization_to_msg(realization(epoch=1), session_id="s", trial_id="000001-0")
    future = bench.client.resets.call_async(ResetWorld.Request(realization=msg))
    assert bench.reset().code == 1, "other trials are answered"
    assert not future.done()


def _set(bench, value, name="faults"):
    client = bench.client.create_client(SetParameters, "world/set_parameters")
    bench.until(client.service_is_ready, "world/set_parameters")
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    return call(bench.executor, client, request).results[0]


def test_faults_can_be_set_at_run_time_and_mistakes_are_refused(make):
    bench = make()
    stamp = bench.begin()
    assert _set(bench, "drop:camera=top").successful
    stamp = step(bench, stamp, without=("cameras/top/image_raw",))
    refused = _set(bench, "drop:camera=front")
    assert not refused.successful
    assert "one of top, left, right, all" in refused.reason
    stamp = step(bench, stamp, without=("cameras/top/image_raw",))
    assert _set(bench, "").successful
    bench.step(stamp, TARGET)


def test_the_documented_call_sets_faults(make):
    text = (Path(__file__).parents[3] / "docs" / "mock-world.md").read_text()
    service, kind, content = re.search(r'ros2 service call (\S+) (\S+) "([^"]+)"', text).groups()
    assert (service, kind) == ("/world/set_parameters", "rcl_interfaces/srv/SetParameters")
    (given,) = yaml.safe_load(content)["parameters"]
    message = ParameterMsg(name=given["name"], value=ParameterValue(**given["value"]))
    bench = make()
    client = bench.client.create_client(SetParameters, service)
    bench.until(client.service_is_ready, service)
    (result,) = call(bench.executor, client, SetParameters.Request(parameters=[message])).results
    assert result.successful, result.reason
    assert bench.world.get_parameter("faults").value.startswith("drop:camera=top,")


def test_other_parameters_stay_as_they_are(make):
    assert not _set(make(cameras=0), 50.0, name="control_hz").successful


def test_stamps_stay_in_order_with_faults(make):
    bench = make(faults="drop:camera=top,probability=0.3", seed=4)
    stamp = bench.begin()
    for _ in range(10):
        stamp = step(bench, stamp, without=("cameras/top/image_raw",))
    bench.until(lambda: bench.client.complete(stamp, ("cameras/top/image_raw",)), "the last step")
    stamps = [to_ns(m.header.stamp) for m in bench.client.got("cameras/top/image_raw")]
    assert stamps == sorted(set(stamps))
    assert 3 <= len(stamps) < 11
