"""The policy node on a graph: what it reads, when it answers, and what it says when it cannot."""

from __future__ import annotations

import array
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from inspect_robots.policy import PolicyBase, PolicyInfo
from inspect_robots.registry import policy as register
from inspect_robots.spaces import ActionSemantics, Box, CameraSpec, ObservationSpace
from inspect_robots.types import Action, ActionChunk
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Image, JointState

from assay_core.errors import ConfigError
from assay_core.rig import ACTION_LABELS, ARMS, action_high, action_low, joint_names
from assay_msgs.msg import PolicyChunk, Privileged, ResultCode, StreamStamp
from assay_msgs.srv import InferPolicy, ResetPolicy
from assay_policies.policy_node import PolicyNode
from assay_ros import qos
from assay_ros.convert import from_ns
from assay_ros.testing import graph, spin_until

T0 = 2_000_000_000


class Bench:
    """A policy node and a node that stands for rig and runner."""

    def __init__(self, context, executor: SingleThreadedExecutor, **parameters) -> None:
        self.executor = executor
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        self.policy = PolicyNode(context=context, parameter_overrides=overrides)
        self.rig = Node("rig", context=context)
        executor.add_node(self.policy)
        executor.add_node(self.rig)
        self.publishers = {
            name: self.rig.create_publisher(kind, name, qos.SENSOR)
            for name, kind in (
                ("left/joint_states", JointState),
                ("right/joint_states", JointState),
                ("world/privileged", Privileged),
                ("cameras/top/image_raw", Image),
            )
        }
        self.chunks: list[PolicyChunk] = []
        self.rig.create_subscription(PolicyChunk, "policy/chunk", self.chunks.append, qos.EVENT)
        self.reset_client = self.rig.create_client(ResetPolicy, "policy/reset")
        self.infer_client = self.rig.create_client(InferPolicy, "policy/infer")

    def up(self) -> Bench:
        assert self.policy.trigger_configure() == TransitionCallbackReturn.SUCCESS
        assert self.policy.trigger_activate() == TransitionCallbackReturn.SUCCESS
        spin_until(self.executor, self.infer_client.service_is_ready, what="policy/infer")
        spin_until(self.executor, self.reset_client.service_is_ready, what="policy/reset")
        for name in self.policy._streams:
            spin_until(self.executor, lambda name=name: self.publishers[name].get_subscription_count() > 0, what=name)
        return self

    def call(self, client, request):
        future = client.call_async(request)
        spin_until(self.executor, future.done, what=client.srv_name)
        return future.result()

    def reset(self, seed=7, trial="000000-0", **change):
        data = {"scene_id": "s", "instruction": "go", "scene_json": '{"id":"s"}', "action_labels": list(ACTION_LABELS)}
        request = ResetPolicy.Request(session_id="a", trial_id=trial, seed=seed, **{**data, **change})
        return self.call(self.reset_client, request)

    def request(self, streams, ns=T0, trial="000000-0", deadline_s=10.0, step=0):
        named = [StreamStamp(stream=name, stamp=from_ns(ns)) for name in streams]
        return InferPolicy.Request(
            session_id="a", trial_id=trial, step=step, inputs=named, instruction="go", deadline_s=deadline_s
        )

    def infer(self, streams, **change):
        return self.call(self.infer_client, self.request(streams, **change))

    def publish_joints(self, ns=T0, value=0.5):
        for arm in ARMS:
            message = JointState(name=list(joint_names(arm)), position=[value] * 7)
            message.header.stamp = from_ns(ns)
            self.publishers[f"{arm}/joint_states"].publish(message)

    def publish_privileged(self, ns=T0):
        message = Privileged(
            labels=list(ACTION_LABELS)[::-1], position=[0.0] * 14, goal=[1.0] * 13 + [0.2], step_limit=[0.05] * 14
        )
        message.header.stamp = from_ns(ns)
        self.publishers["world/privileged"].publish(message)

    def publish_picture(self, ns=T0, width=64, height=48):
        message = Image(width=width, height=height, encoding="rgb8", step=width * 3)
        message.data = array.array("B", bytes(width * height * 3))
        message.header.stamp = from_ns(ns)
        self.publishers["cameras/top/image_raw"].publish(message)


@contextmanager
def bench(**parameters):
    with graph() as (context, executor, _):
        yield Bench(context, executor, **parameters)


class Slow(PolicyBase):
    """A policy of the framework that answers when a test lets it."""

    def __init__(self):
        space = Box((14,), action_low(), action_high(), ActionSemantics("joint_pos", gripper="continuous"))
        observed = ObservationSpace((CameraSpec("top_cam", 48, 64),), {"joint_pos"})
        self.info = PolicyInfo("slow", space, observed)
        self.go = threading.Event()
        self.go.set()
        self.rows = [np.full(14, 0.3)]
        self.threads = []

    def act(self, observation):
        self.threads.append(threading.current_thread().name)
        self.go.wait(60)
        return ActionChunk([Action(row) for row in self.rows])


@pytest.fixture
def slow():
    made = Slow()
    register("test_slow")(lambda: made)
    yield made
    made.go.set()


SLOW = {"policy": "inspect:test_slow", "camera_width": 64, "camera_height": 48}
SLOW_STREAMS = ("left/joint_states", "right/joint_states", "cameras/top/image_raw")


def test_the_oracle_answers_with_steps_towards_the_goal():
    with bench(label="A") as b:
        b.up()
        answer = b.reset()
        assert (answer.code, answer.policy_label, list(answer.streams)) == (ResultCode.OK, "A", ["world/privileged"])
        b.publish_privileged()
        answer = b.infer(["world/privileged"])
        assert answer.code == ResultCode.OK, answer.message
        chunk = answer.chunk
        actions = np.array(chunk.actions).reshape(chunk.steps, chunk.dim)
        assert actions.shape == (10, 14)
        assert actions[:, 0] == pytest.approx(np.minimum(0.05 * np.arange(1, 11), 0.2)), "labels give the order"
        assert actions[:, 1] == pytest.approx(0.05 * np.arange(1, 11))
        assert (chunk.session_id, chunk.trial_id, chunk.chunk_id, chunk.policy_label) == ("a", "000000-0", 1, "A")
        assert np.isnan(chunk.control_hz)
        assert chunk.latency_s > 0
        spin_until(b.executor, lambda: b.chunks, what="policy/chunk")
        assert b.chunks[0].header.stamp.sec > 0
        assert b.chunks[0].actions == chunk.actions
        assert b.chunks[0].inputs[0].stream == "world/privileged"


def test_only_what_the_policy_reads_is_subscribed():
    with bench(policy="random") as b:
        b.up()
        assert all(publisher.get_subscription_count() == 0 for publisher in b.publishers.values())
        b.reset()
        assert b.infer([]).code == ResultCode.OK
    with bench(policy="noop") as b:
        b.up()
        subscribed = {name for name, publisher in b.publishers.items() if publisher.get_subscription_count()}
        assert subscribed == {"left/joint_states", "right/joint_states"}
        b.policy.trigger_deactivate()
        spin_until(b.executor, lambda: not any(p.get_subscription_count() for p in b.publishers.values()), what="quiet")


def test_an_inference_waits_for_exactly_the_samples_that_it_names():
    with bench(policy="noop") as b:
        b.up()
        b.reset()
        b.publish_joints(ns=T0 - 1, value=0.1)
        future = b.infer_client.call_async(b.request(["left/joint_states", "right/joint_states"]))
        b.publish_joints(ns=T0 + 1, value=0.9)
        b.publish_joints(ns=T0, value=0.5)
        spin_until(b.executor, future.done, what="the named samples")
        assert np.array(future.result().chunk.actions) == pytest.approx(np.full(140, 0.5))


def test_a_sample_that_does_not_come_is_named():
    with bench(policy="noop") as b:
        b.up()
        b.reset()
        b.publish_joints(ns=T0)
        answer = b.infer(["left/joint_states", "right/joint_states"], ns=T0 + 5, deadline_s=0.4)
        assert answer.code == ResultCode.STREAM_MISSING
        assert "left/joint_states at 2.000000005 (newest stamp 2.000000000; published by rig)" in answer.message
        assert b.infer(["left/joint_states", "right/joint_states"], ns=T0).code == ResultCode.OK


def test_requests_out_of_place_are_refused_with_what_to_do():
    with bench(policy="noop") as b:
        assert b.policy.trigger_configure() == TransitionCallbackReturn.SUCCESS
        spin_until(b.executor, b.reset_client.service_is_ready, what="policy/reset")
        spin_until(b.executor, b.infer_client.service_is_ready, what="policy/infer")
        answer = b.reset()
        assert (answer.code, "not active" in answer.message) == (ResultCode.NOT_READY, True)
        b.policy.trigger_activate()
        streams = ["left/joint_states", "right/joint_states"]
        answer = b.infer(streams)
        assert (answer.code, "policy/reset first" in answer.message) == (ResultCode.NOT_READY, True)
        b.reset()
        answer = b.infer(streams, trial="000001-0")
        assert "expected 000000-0, got '000001-0'" in answer.message
        answer = b.infer(["left/joint_states"])
        assert answer.code == ResultCode.INVALID_ARGUMENT
        assert "expected left/joint_states, right/joint_states, got left/joint_states." in answer.message
        answer = b.reset(action_labels=["joint1"])
        assert (answer.code, "action_labels" in answer.message) == (ResultCode.INVALID_ARGUMENT, True)
        answer = b.reset(scene_json="{")
        assert (answer.code, "scene_json: expected JSON" in answer.message) == (ResultCode.INVALID_ARGUMENT, True)


def test_the_same_seed_gives_the_same_chunks_after_a_restart():
    def chunks(trials):
        with bench(policy="random") as b:
            b.up()
            out = {}
            for index, seed in trials:
                b.reset(seed=seed, trial=f"{index:06d}-0")
                out[index] = [list(b.infer([], trial=f"{index:06d}-0").chunk.actions) for _ in range(2)]
            return out

    whole, resumed = chunks([(0, 11), (1, 12)]), chunks([(1, 12)])
    assert whole[1] == resumed[1], "a resumed session must equal an uninterrupted one"
    assert whole[0] != whole[1]


def test_a_policy_of_the_framework_runs_beside_the_nodes_thread(slow):
    with bench(**SLOW) as b:
        b.up()
        answer = b.reset()
        assert (answer.code, tuple(answer.streams)) == (ResultCode.OK, SLOW_STREAMS)
        slow.go.clear()
        b.publish_joints()
        b.publish_picture()
        future = b.infer_client.call_async(b.request(SLOW_STREAMS))
        spin_until(b.executor, lambda: slow.threads, what="the inference to start")
        answer = b.infer(SLOW_STREAMS, step=1)
        assert (answer.code, "step 0 is being inferred" in answer.message) == (ResultCode.BUSY, True)
        assert not future.done(), "the node must answer others while a policy thinks"
        slow.go.set()
        spin_until(b.executor, future.done, what="the inference")
        assert np.array(future.result().chunk.actions) == pytest.approx(np.full(14, 0.3))
        assert set(slow.threads) == {"policy-worker"}


def test_a_policy_that_hangs_is_given_up_and_named(slow):
    with bench(infer_deadline_s=0.2, **SLOW) as b:
        b.up()
        b.reset()
        slow.go.clear()
        b.publish_joints()
        b.publish_picture()
        answer = b.infer(SLOW_STREAMS)
        assert answer.code == ResultCode.DEADLINE_EXCEEDED
        assert "policy 'test_slow' did not answer within 0." in answer.message
        assert answer.message.endswith("fix: look at the policy and its server; infer_deadline_s is 0.2")
        answer = b.reset(trial="000001-0")
        assert answer.code == ResultCode.BUSY
        assert "hangs: inference of trial 000000-0 at step 0 has been running" in answer.message
        slow.go.set()
        spin_until(b.executor, lambda: not b.policy._worker.busy, what="the policy to come back")
        assert b.reset(trial="000001-0").code == ResultCode.OK, "it may be used again once it came back"
        assert b.chunks == [], "a late answer is nobody's"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([np.full(14, np.nan)], "14 values that are not finite"),
        ([np.zeros(8)], "got shape (1, 8)"),
        ([np.zeros(14), np.zeros(8)], "actions of 8, 14 values"),
        ([], "ActionChunk must contain at least one action"),
    ],
)
def test_a_malformed_chunk_is_the_policys_failure(slow, rows, text):
    with bench(**SLOW) as b:
        b.up()
        b.reset()
        slow.rows = rows
        b.publish_joints()
        b.publish_picture()
        answer = b.infer(SLOW_STREAMS)
        assert (answer.code, text in answer.message) == (ResultCode.POLICY_FAILED, True), answer.message


def test_a_torn_picture_never_reaches_the_policy(slow):
    with bench(**SLOW) as b:
        b.up()
        b.reset()
        b.publish_joints()
        b.publish_picture(width=32)
        answer = b.infer(SLOW_STREAMS)
        assert answer.code == ResultCode.POLICY_UNREACHABLE
        assert "cameras/top/image_raw: expected uint8 (48, 64, 3), got (48, 32, 3)" in answer.message
        assert slow.threads == []


def test_a_policy_that_does_not_fit_is_refused_at_reset(slow):
    with bench(cameras=0, **SLOW) as b:
        b.up()
        answer = b.reset()
        assert answer.code == ResultCode.INVALID_ARGUMENT
        assert "[missing_camera]" in answer.message


def test_an_unknown_policy_ends_the_process_before_it_is_configured():
    with graph() as (context, _, _), pytest.raises(ConfigError, match="unknown policy 'scriptd'"):
        PolicyNode(context=context, parameter_overrides=[Parameter("policy", value="scriptd")])


def test_a_policy_that_cannot_be_built_fails_the_transition():
    with bench(policy="inspect:random", policy_args="speed=3") as b:
        assert b.policy.trigger_configure() == TransitionCallbackReturn.FAILURE


def test_the_node_can_be_cleaned_up_and_used_again():
    with bench(policy="random") as b:
        for _ in range(2):
            b.up()
            b.reset()
            assert b.infer([]).code == ResultCode.OK
            b.policy.trigger_deactivate()
            assert b.infer([]).code == ResultCode.NOT_READY
            b.policy.trigger_cleanup()
        assert b.policy.trigger_shutdown() == TransitionCallbackReturn.SUCCESS


def test_a_node_that_goes_away_drops_what_its_policy_still_thinks(slow):
    with bench(**SLOW) as b:
        b.up()
        b.reset()
        slow.go.clear()
        b.publish_joints()
        b.publish_picture()
        future = b.infer_client.call_async(b.request(SLOW_STREAMS))
        spin_until(b.executor, lambda: slow.threads, what="the inference to start")
        worker = b.policy._worker
        b.policy.trigger_deactivate()
        spin_until(b.executor, future.done, what="an answer")
        assert (future.result().code, future.result().message) == (ResultCode.CANCELLED, "policy node was deactivated")
        b.policy.trigger_cleanup()
        slow.go.set()
        worker._thread.join(20)
        assert not worker._thread.is_alive()


def test_where_a_policy_hangs_is_in_the_log_once(slow, capfd):
    with bench(infer_deadline_s=0.2, **SLOW) as b:
        b.up()
        b.reset()
        slow.go.clear()
        b.publish_joints()
        b.publish_picture()
        assert b.infer(SLOW_STREAMS).code == ResultCode.DEADLINE_EXCEEDED
        assert [b.reset(trial="000001-0").code for _ in range(3)] == [ResultCode.BUSY] * 3
    said = capfd.readouterr().err
    assert said.count("inference of trial 000000-0 at step 0 has been running for") == 1
    assert "self.go.wait(60)" in said
    assert said.index("in act") < said.index("self.go.wait(60)")
