"""Whoever else publishes, and whatever: the runner names the stream and never goes on with a wrong sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fakes import PERIOD_NS, until
from rclpy.node import Node
from sensor_msgs.msg import JointState

from assay_core.errors import DeadlineError, RigFault
from assay_core.rig import cameras
from assay_msgs.msg import TrialState
from assay_ros import qos
from assay_ros.convert import from_ns

LEFT, TOP, JUDGED = "left/joint_states", "cameras/top/image_raw", "world/task_state"
FUTURE = 2**31 - 1


def started(client: Any, index: int = 3) -> Any:
    client.start_trial(index, 0)
    client.wait_for_state(TrialState.READY, deadline_s=5)
    frames = client.first_frames()
    client.advance(TrialState.RUNNING)
    return frames


def of(stream: str, change: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """Return what applies ``change`` to the messages of one stream."""
    return lambda name, message: change(message) if name == stream else message


def setting(**fields: Any) -> Callable[[Any], Any]:
    def change(message: Any) -> Any:
        for name, value in fields.items():
            setattr(message, name, value)
        return message

    return change


def intruding(fakes: Any, topic: str) -> tuple[Node, Any]:
    """Return a node of nobody's on the rig's graph, and its publisher on one of the rig's topics."""
    node = Node("intruder", context=fakes.context, start_parameter_services=False)
    fakes.executor.add_node(node)
    kind, profile = (TrialState, qos.LATCHED) if topic == "benchmark/trial" else (JointState, qos.SENSOR)
    return node, node.create_publisher(kind, topic, profile)


def test_a_flood_of_stamps_in_the_future_pushes_nothing_out(make_rig):
    fakes, client = make_rig(cameras(1, 64, 48))

    def flood(name: str, message: Any) -> Any:
        forged = type(message)()
        for i in range(20):
            forged.header.stamp.sec = FUTURE - i
            fakes.world._out[name].publish(forged)
        return message

    fakes.world.tamper = flood
    frames = started(client)
    for i in range(1, 11):
        after = client.step(np.full(14, 0.1 * i))
        assert after.stamp_ns == frames.stamp_ns + i * PERIOD_NS
        assert after.joint_pos == pytest.approx(np.full(14, 0.1 * i))
        assert (after.images["top_cam"] == i).all(), "a forged picture took the place of the camera's"


def test_a_paced_rig_recovers_from_one_stamp_in_the_future(make_rig):
    fakes, client = make_rig(mode="paced", control_hz=20.0, tolerance_s=5.0)
    fakes.world.run_paced()
    once: list[str] = []

    def forge(name: str, message: Any) -> Any:
        if name == LEFT and not once:
            once.append(name)
            message.header.stamp = from_ns(FUTURE * 10**9)
        return message

    client.start_trial(0, 0)
    client.wait_for_state(TrialState.READY, deadline_s=5)
    client.first_frames()
    fakes.world.tamper = forge
    until(lambda: bool(once), "the forged sample")

    def keep_stepping() -> None:
        for _ in range(100):
            client.step(np.zeros(14))

    with pytest.raises(RigFault, match=r"age of left/joint_states -\d+\.\d+ s: expected at most 5 s, in the past or"):
        keep_stepping()
    for _ in range(20):
        client._spinner.once()
    client.step(np.zeros(14))


@pytest.mark.parametrize(
    ("stream", "change", "told"),
    [
        (LEFT, setting(position=[0.0] * 6), "expected 7 values named left_joint1.*got 6 values"),
        (LEFT, setting(position=[0.0] * 700), "expected 7 values named left_joint1.*got 700 values"),
        (LEFT, setting(position=[]), "expected 7 values named left_joint1.*got 0 values"),
        (LEFT, setting(name=["left_joint1"] * 7), "got 7 values named left_joint1, left_joint1"),
        (LEFT, setting(position=[0.0, float("nan"), *[0.0] * 5]), "expected 7 finite joint values, got .*nan"),
        (LEFT, setting(position=[float("inf")] * 7), "expected 7 finite joint values, got .*inf"),
        (TOP, setting(encoding="bgr8"), "torn or foreign picture: .*got bgr8"),
        (TOP, setting(step=0), "torn or foreign picture"),
        (TOP, setting(height=2**31), "torn or foreign picture"),
        (TOP, setting(data=[]), "torn or foreign picture: .*and 0 bytes"),
        (JUDGED, setting(progress=float("nan")), "expected progress from 0 to 1, got nan"),
        (JUDGED, setting(progress=1.5), "expected progress from 0 to 1, got 1.5"),
        (JUDGED, setting(trial_id="000009-0"), "expected progress of trial 000003-0, got that of trial 000009-0"),
    ],
)
def test_a_wrong_sample_ends_the_step_and_is_named(make_rig, stream, change, told):
    fakes, client = make_rig(cameras(1, 64, 48))
    started(client)
    fakes.world.tamper = of(stream, change)
    with pytest.raises(RigFault, match=f"^{stream}: .*{told}"):
        client.step(np.zeros(14))


@pytest.mark.parametrize("raw", [b"", b"\0\1\0\0", b"\0\1\0\0\1\0"])
def test_bytes_that_are_no_message_are_told_at_the_deadline(make_rig, raw):
    fakes, client = make_rig(cameras(1, 64, 48), step_s=0.5)
    started(client)
    fakes.world.tamper = of(TOP, lambda _message: raw)
    with pytest.raises(DeadlineError, match=r"missing cameras/top/image_raw \(published by world.*torn messages\)"):
        client.step(np.zeros(14))


@pytest.mark.parametrize("topic", ["benchmark/trial", LEFT])
def test_a_trial_does_not_start_while_a_second_node_publishes(make_rig, monkeypatch, topic):
    monkeypatch.setattr("assay_bridge.publishers.LEASE_S", 0.3)
    fakes, client = make_rig()
    intruder, _ = intruding(fakes, topic)
    until(lambda: client.node.count_publishers(topic) == 2, "the intruder to be discovered")
    with pytest.raises(RigFault, match=rf"^{topic}: expected one publisher, got .*intruder"):
        client.start_trial(3, 0)
    fakes.remove(intruder)
    until(lambda: client.node.count_publishers(topic) == 1, "the intruder to be gone")
    started(client)


def test_a_forged_trial_state_in_mid_motion_is_noticed_before_the_judgement(make_rig):
    fakes, client = make_rig()
    started(client)
    _, publisher = intruding(fakes, "benchmark/trial")
    forged = TrialState(session_id="s", trial_id=client.trial_id, state=TrialState.JUDGE, revision=2**31)
    publisher.publish(forged)
    until(lambda: client.node.count_publishers("benchmark/trial") == 2, "the intruder to be discovered")
    with pytest.raises(RigFault, match=r"^benchmark/trial: expected one publisher, got benchmark, intruder"):
        client.observe()


def test_first_frames_from_before_the_last_ones_are_refused(make_rig):
    fakes, client = make_rig()
    frames = started(client)
    client.step(np.zeros(14))
    fakes.world.now_ns = frames.stamp_ns - 20 * PERIOD_NS
    client.start_trial(4, 0)
    client.wait_for_state(TrialState.READY, deadline_s=5)
    with pytest.raises(RigFault, match=r"^benchmark/trial: expected a first frame set no older than the last one"):
        client.first_frames()


@pytest.mark.parametrize("call", [lambda client: client.step(np.zeros(14)), lambda client: client.observe()])
def test_motion_before_the_first_frames_is_refused_at_once(make_rig, call):
    fakes, client = make_rig(step_s=600.0)
    with pytest.raises(RigFault, match="expected the first frame set of a trial before it, got none"):
        call(client)
    assert fakes.world.commands == []
