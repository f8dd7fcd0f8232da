"""The floor under one lockstep step: bare rclpy processes that exchange the same messages and do nothing else.

Each role stands for one process of the mock graph, with the same topics, message types, sizes, QoS and number of
subscribers, the default executor, and callbacks that only store what came. The real graph does this exchange and,
besides, dynamics, pictures, checks and conversion. The floor is what a program takes that uses rclpy as it comes, not
the least that is possible: with our executor, and pictures taken as bytes, a ratio may lie below 1.

Run as a process: ``python -m assay_cli.bench.floor ROLE CAMERAS WIDTH HEIGHT``.
"""

from __future__ import annotations

import array
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CameraInfo, Image, JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from assay_core import rig
from assay_msgs.msg import ArmCommand, Heartbeat, PolicyChunk, Privileged, StreamStamp, TaskState
from assay_msgs.srv import InferPolicy
from assay_ros import qos

__all__ = ["ROLES", "FloorClient", "main"]

ROLES = ("world", "policy", "benchmark", "operator", "lifecycle_manager")
"""One process each, besides the client."""

CONTROL_HZ = 10.0
CHUNK_STEPS = 10
STEP_DEADLINE_S = 10.0
REPUBLISH_S = 1.0


def _stamp(message: Any, index: int) -> None:
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(index, 1_000_000_000)


def _index(message: Any) -> int:
    return int(message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec)


def _image(camera: rig.Camera) -> Image:
    pixels = np.random.default_rng(0).integers(0, 256, camera.width * camera.height * 3, dtype=np.uint8)
    message = Image(height=camera.height, width=camera.width, encoding="rgb8", step=camera.width * 3)
    message.header.frame_id = f"{camera.name}_camera"
    message.data = array.array("B", pixels.tobytes())
    return message


class _World:
    """Answers each pair of commands with every stream of the rig."""

    def __init__(self, node: Node, cameras: tuple[rig.Camera, ...]) -> None:
        self._outputs: list[tuple[Any, Any]] = []
        self._seen = dict.fromkeys(rig.ARMS, -1)
        for camera in cameras:
            self._output(node, Image, camera.topic, _image(camera))
            info = CameraInfo(height=camera.height, width=camera.width, distortion_model="plumb_bob", d=[0.0] * 5)
            self._output(node, CameraInfo, f"cameras/{camera.name}/camera_info", info)
        self._output(node, TaskState, "world/task_state", TaskState(session_id="s" * 20, trial_id="000000-0"))
        n = rig.ACTION_DIM
        privileged = Privileged(
            labels=list(rig.ACTION_LABELS), position=[0.0] * n, goal=[0.0] * n, step_limit=[0.05] * n
        )
        self._output(node, Privileged, "world/privileged", privileged)
        for arm in rig.ARMS:
            state = JointState(name=list(rig.joint_names(arm)), position=[0.0] * 7, velocity=[0.0] * 7)
            self._output(node, JointState, f"{arm}/joint_states", state)
        for arm in rig.ARMS:
            node.create_subscription(ArmCommand, f"{arm}/command", self._on_command(arm), qos.COMMAND_LOCKSTEP)

    def _output(self, node: Node, kind: Any, topic: str, message: Any) -> None:
        self._outputs.append((node.create_publisher(kind, topic, qos.SENSOR), message))

    def _on_command(self, arm: str) -> Callable[[ArmCommand], None]:
        def callback(message: ArmCommand) -> None:
            index = _index(message)
            self._seen[arm] = index
            if all(seen == index for seen in self._seen.values()):
                for publisher, output in self._outputs:
                    _stamp(output, index + 1)
                    publisher.publish(output)

        return callback


def _policy(node: Node) -> None:
    # What the scripted policy of the real graph reads; the benchmark checks that both graphs have equal subscribers.
    node.create_subscription(Privileged, "world/privileged", lambda _message: None, qos.SENSOR)
    chunks = node.create_publisher(PolicyChunk, "policy/chunk", qos.EVENT)
    chunk = PolicyChunk(steps=CHUNK_STEPS, dim=rig.ACTION_DIM, actions=[0.0] * (CHUNK_STEPS * rig.ACTION_DIM))
    chunk.inputs = [StreamStamp(stream="left/joint_states"), StreamStamp(stream="right/joint_states")]

    def infer(_request: InferPolicy.Request, response: InferPolicy.Response) -> InferPolicy.Response:
        response.chunk = chunk
        chunks.publish(chunk)
        return response

    node.create_service(InferPolicy, "policy/infer", infer)


def _benchmark(node: Node) -> None:
    node.create_subscription(Heartbeat, "session/heartbeat", lambda _message: None, qos.EVENT)


def _operator(node: Node) -> None:
    node.create_subscription(TaskState, "world/task_state", lambda _raw: None, qos.SENSOR, raw=True)


class FloorClient:
    """The client's side: publishes both commands of a step and spins until every stream has answered.

    Args:
        domain: ROS domain of the floor's processes.
        cameras: Cameras that the floor's world publishes.
    """

    def __init__(self, domain: int, cameras: tuple[rig.Camera, ...]) -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node("floor_client", context=self._context, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._streams = [camera.topic for camera in cameras] + ["world/task_state"]
        self._streams += [f"{arm}/joint_states" for arm in rig.ARMS]
        self._got = dict.fromkeys(self._streams, -1)
        for topic in self._streams:
            kind = Image if topic.startswith("cameras") else TaskState if "task" in topic else JointState
            self.node.create_subscription(kind, topic, self._keep(topic), qos.SENSOR)
        self._commands = []
        for arm in rig.ARMS:
            message = ArmCommand(session_id="s" * 20, trial_id="000000-0", lease="floor")
            message.trajectory.joint_names = list(rig.joint_names(arm))
            message.trajectory.points = [JointTrajectoryPoint(positions=[0.0] * rig.ARM_DIM)]
            publisher = self.node.create_publisher(ArmCommand, f"{arm}/command", qos.COMMAND_LOCKSTEP)
            self._commands.append((publisher, message))
        self._index = 0

    def _keep(self, topic: str) -> Callable[[Any], None]:
        def callback(message: Any) -> None:
            self._got[topic] = _index(message)

        return callback

    def step(self) -> float:
        """Make one step and return its duration [s].

        Raises:
            TimeoutError: A stream did not answer; the message names it.
        """
        start = time.perf_counter()
        self._send()
        target = self._index + 1
        again = start + REPUBLISH_S
        while not all(index == target for index in self._got.values()):
            self._executor.spin_once(timeout_sec=0.1)
            now = time.perf_counter()
            if now > start + STEP_DEADLINE_S:
                missing = [topic for topic, index in self._got.items() if index != target]
                raise TimeoutError(f"floor: no answer from {', '.join(missing)} in {STEP_DEADLINE_S} s")
            if now > again:
                self._send()
                again += REPUBLISH_S
        self._index = target
        return time.perf_counter() - start

    def _send(self) -> None:
        for publisher, message in self._commands:
            _stamp(message, self._index)
            publisher.publish(message)

    def close(self) -> None:
        """Leave the graph."""
        self.node.destroy_node()
        self._executor.shutdown()
        rclpy.shutdown(context=self._context)


def main(argv: list[str] | None = None) -> int:
    """Run one role until SIGINT or SIGTERM; returns 0."""
    role, count, width, height = (argv if argv is not None else sys.argv[1:])[:4]
    stopping: list[int] = []
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda number, _frame: stopping.append(number))
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = Node(f"floor_{role}", start_parameter_services=False)
    if role == "world":
        _World(node, rig.cameras(int(count), int(width), int(height)))
    elif role in ("policy", "benchmark", "operator"):
        {"policy": _policy, "benchmark": _benchmark, "operator": _operator}[role](node)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not stopping:
        executor.spin_once(timeout_sec=0.5)
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
