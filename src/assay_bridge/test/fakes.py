"""A small rig for the bridge's tests: a world, a benchmark node and a policy node that do what a test tells them."""

from __future__ import annotations

import array
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import Image, JointState

from assay_core.realization import TrialRealization
from assay_core.rig import ACTION_DIM, ARM_DIM, ARMS, Camera, joint_names
from assay_msgs.msg import ArmCommand, Heartbeat, ResultCode, TaskState, TrialState, Verdict
from assay_msgs.srv import (
    AdvanceTrial,
    CloseSession,
    FinishTrial,
    InferPolicy,
    OpenSession,
    ResetPolicy,
    ResetWorld,
    StartTrial,
)
from assay_ros import qos
from assay_ros.convert import from_ns, realization_to_msg, to_ns
from assay_ros.names import serves_policy

PERIOD_NS = 100_000_000


class FakeWorld:
    """Moves straight to what it is told; success after ``success_at`` steps."""

    def __init__(self, context: Context, cameras: tuple[Camera, ...] = (), success_at: int = 5) -> None:
        self.node = Node("world", context=context, start_parameter_services=False)
        self.cameras = cameras
        self.success_at = success_at
        self.now_ns = 1_000_000_000
        self.steps = 0
        self.commands: list[tuple[int, np.ndarray]] = []
        self.q = np.zeros(ACTION_DIM)
        self.trial_id = ""
        self.ignore = 0
        """Number of commands (pairs) to lose."""
        self.withhold: set[str] = set()
        """Streams that are not published."""
        self.withhold_once: set[str] = set()
        self.tamper: Callable[[str, Any], Any] = lambda name, message: message
        self._pending: dict[str, ArmCommand] = {}
        self._out = {}
        for arm in ARMS:
            name = f"{arm}/joint_states"
            self._out[name] = self.node.create_publisher(JointState, name, qos.SENSOR)
            self.node.create_subscription(
                ArmCommand, f"{arm}/command", lambda m, arm=arm: self._on(arm, m), qos.COMMAND_LOCKSTEP
            )
        for camera in cameras:
            self._out[camera.topic] = self.node.create_publisher(Image, camera.topic, qos.SENSOR)
        self._out["world/task_state"] = self.node.create_publisher(TaskState, "world/task_state", qos.SENSOR)
        self.node.create_service(ResetWorld, "world/reset", self._on_reset)

    def _on_reset(self, request: Any, response: Any) -> Any:
        self.reset(request.realization.trial_id)
        response.code, response.stamp = ResultCode.OK, from_ns(self.now_ns)
        return response

    def reset(self, trial_id: str) -> int:
        if trial_id != self.trial_id:
            self.trial_id, self.steps = trial_id, 0
            self.now_ns += 10 * PERIOD_NS
            self.q[:] = 0
        self.publish(self.now_ns)
        return self.now_ns

    def _on(self, arm: str, message: ArmCommand) -> None:
        self._pending[arm] = message
        if len(self._pending) < 2:
            return
        stamps = {to_ns(m.header.stamp) for m in self._pending.values()}
        if len(stamps) > 1:
            return
        pair, self._pending = self._pending, {}
        if self.ignore > 0:
            self.ignore -= 1
            return
        stamp = stamps.pop()
        if stamp == self.now_ns:
            self.q = np.concatenate([np.array(pair[arm].trajectory.points[0].positions) for arm in ARMS])
            self.commands.append((stamp, self.q.copy()))
            self.now_ns += PERIOD_NS
            self.steps += 1
        elif stamp != self.now_ns - PERIOD_NS:
            return
        self.publish(self.now_ns)

    def run_paced(self, period_s: float = 0.02) -> None:
        """Publish in real time, with wall stamps, whatever the commands say."""
        self.node.create_timer(period_s, lambda: self.publish(time.time_ns()))

    def publish(self, stamp_ns: int) -> None:
        stamp = from_ns(stamp_ns)
        messages: dict[str, Any] = {}
        for camera in self.cameras:
            pixels = np.full((camera.height, camera.width, 3), self.steps % 256, dtype=np.uint8)
            image = Image(height=camera.height, width=camera.width, encoding="rgb8", step=camera.width * 3)
            image.data = array.array("B", pixels.tobytes())
            messages[camera.topic] = image
        done = self.steps >= self.success_at
        messages["world/task_state"] = TaskState(
            trial_id=self.trial_id,
            step=self.steps,
            progress=min(1.0, self.steps / self.success_at),
            success=done,
            terminated=done,
            termination_reason="success" if done else "",
        )
        for i, arm in enumerate(ARMS):
            position = self.q[i * ARM_DIM : (i + 1) * ARM_DIM].tolist()
            messages[f"{arm}/joint_states"] = JointState(name=list(joint_names(arm)), position=position)
        for name, message in messages.items():
            if name in self.withhold:
                continue
            if name in self.withhold_once:
                self.withhold_once.discard(name)
                continue
            message.header.stamp = stamp
            self._out[name].publish(self.tamper(name, message))


def realization(**change: Any) -> TrialRealization:
    data: dict[str, Any] = {
        "task": "toy/reach",
        "task_version": "1",
        "instance_id": "",
        "scene_id": "toy/reach/0",
        "epoch": 0,
        "seed": 7,
        "instruction": "reach the mark",
        "target_kind": "",
        "checklist": (),
        "values": {},
        "layout": None,
        "rubric": (),
        "max_steps": 20,
        "horizon_s": 2.0,
    }
    return TrialRealization(**{**data, **change})


class FakeBenchmark:
    """Carries the trial states; the world's reset and the verdict follow at once."""

    def __init__(self, context: Context, world: FakeWorld | None) -> None:
        self.node = Node("benchmark", context=context, start_parameter_services=False)
        self.world = world
        self.realization = realization()
        self.calls: list[tuple[str, Any]] = []
        self.codes: dict[str, tuple[int, str]] = {}
        """Answers other than OK, by service."""
        self.once: set[str] = set()
        """Services whose answer in ``codes`` is given once."""
        self.silent: set[str] = set()
        self.silent_once: set[str] = set()
        """Services that lose one answer: they do what is asked, and nobody hears of it."""
        self.deaf_once: set[str] = set()
        """Services that lose one request."""
        self.verdict: int | None = Verdict.OUTCOME_SUCCESS
        self.end_in_arrange: int | None = None
        self.heartbeats: list[Heartbeat] = []
        self.state = TrialState()
        self._trial = self.node.create_publisher(TrialState, "benchmark/trial", qos.LATCHED)
        self.node.create_subscription(Heartbeat, "session/heartbeat", self.heartbeats.append, qos.EVENT)
        for kind, name, handler in (
            (OpenSession, "open_session", self._open),
            (StartTrial, "start_trial", self._start),
            (AdvanceTrial, "advance_trial", self._advance),
            (FinishTrial, "finish_trial", self._finish),
            (CloseSession, "close_session", lambda request, response: response),
        ):
            self.node.create_service(kind, f"benchmark/{name}", self._served(name, handler))

    def _served(self, name: str, handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def serve(request: Any, response: Any) -> Any:
            self.calls.append((name, request))
            if name in self.silent or name in self.deaf_once:
                self.deaf_once.discard(name)
                raise SystemExit
            response.code, response.message = self.codes.get(name, (ResultCode.OK, ""))
            if name in self.once:
                self.codes.pop(name, None)
            answer = handler(request, response) if response.code == ResultCode.OK else response
            if name in self.silent_once:
                self.silent_once.discard(name)
                raise SystemExit
            return answer

        return serve

    def _open(self, request: Any, response: Any) -> Any:
        self.state.session_id = request.session_id
        response.next_plan_index = 3
        response.head_hash = "ab" * 32
        return response

    def _start(self, request: Any, response: Any) -> Any:
        self.state = TrialState(session_id=request.session_id, trial_id=request.trial_id)
        response.realization = realization_to_msg(
            self.realization, session_id=request.session_id, trial_id=request.trial_id
        )
        self.set(TrialState.ARRANGE)
        if self.end_in_arrange is not None:
            self.state.message, self.state.code = "told to", ResultCode.CANCELLED
            self.set(self.end_in_arrange)
            return response
        if self.world is not None:
            self.state.world_stamp = from_ns(self.world.reset(request.trial_id))
        self.set(TrialState.READY)
        return response

    def _advance(self, request: Any, response: Any) -> Any:
        self.set(request.state)
        if request.state == TrialState.JUDGE and self.verdict is not None:
            self.give_verdict(self.verdict)
        response.state = request.state
        return response

    def give_verdict(self, outcome: int) -> None:
        verdict = Verdict(
            uuid="u-1", trial_id=self.state.trial_id, grader_id="checker", source="checker", outcome=outcome
        )
        verdict.has_stage, verdict.stage, verdict.note = True, 4, "fine"
        self.state.has_verdict, self.state.verdict = True, verdict
        self.set(self.state.state)

    def _finish(self, request: Any, response: Any) -> Any:
        self.set(TrialState.DONE if request.status == FinishTrial.Request.STATUS_COMPLETED else TrialState.INVALID)
        response.state = self.state.state
        return response

    def set(self, state: int) -> None:
        self.state.previous_state, self.state.state = self.state.state, state
        self.state.revision += 1
        self._trial.publish(self.state)

    def of(self, name: str) -> list[Any]:
        return [request for called, request in self.calls if called == name]


class FakePolicy:
    """Answers each inference with ``rows`` actions of one value."""

    def __init__(self, context: Context) -> None:
        self.node = Node("policy", context=context, start_parameter_services=False)
        self.name = "scripted"
        self.rows = 3
        self.value = 0.25
        self.streams = ["left/joint_states", "right/joint_states", "world/privileged"]
        self.reset_code = (ResultCode.OK, "")
        self.infer_code = (ResultCode.OK, "")
        self.infer_once: tuple[int, str] | None = None
        self.reset_once: tuple[int, str] | None = None
        self.silent = False
        self.resets: list[Any] = []
        self.inferences: list[Any] = []
        self.actions: list[float] | None = None
        self.node.create_service(ResetPolicy, "policy/reset", self._reset)
        self.node.create_service(InferPolicy, "policy/infer", self._infer)

    def _reset(self, request: Any, response: Any) -> Any:
        self.resets.append(request)
        if self.silent:
            raise SystemExit
        response.code, response.message = self.reset_code
        if self.reset_once is not None:
            (response.code, response.message), self.reset_once = self.reset_once, None
        if response.code == ResultCode.OK:
            response.message = serves_policy(self.name) if self.name else ""
        response.policy_label, response.streams = "fake", self.streams
        return response

    def _infer(self, request: Any, response: Any) -> Any:
        self.inferences.append(request)
        if self.silent:
            raise SystemExit
        response.code, response.message = self.infer_code
        if self.infer_once is not None:
            (response.code, response.message), self.infer_once = self.infer_once, None
        response.chunk.chunk_id = len(self.inferences)
        response.chunk.policy_label = "fake"
        response.chunk.steps, response.chunk.dim = self.rows, ACTION_DIM
        response.chunk.actions = [self.value] * (self.rows * ACTION_DIM) if self.actions is None else self.actions
        response.chunk.control_hz, response.chunk.latency_s = float("nan"), 0.003
        return response


class Rig:
    """The fakes, spun by a thread of their own in a context of their own."""

    def __init__(self, domain: int, cameras: tuple[Camera, ...] = (), **world: Any) -> None:
        self.context = Context()
        rclpy.init(args=[], context=self.context, domain_id=domain)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.world = FakeWorld(self.context, cameras, **world)
        self.benchmark = FakeBenchmark(self.context, self.world)
        self.policy = FakePolicy(self.context)
        for node in (self.world.node, self.benchmark.node, self.policy.node):
            self.executor.add_node(node)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        while not self._stop.is_set():
            try:
                self.executor.spin_once(0.05)
            except SystemExit:
                # A service that was told to be silent: no answer leaves.
                continue

    def remove(self, node: Node) -> None:
        """Take a node off the graph."""
        self._stop.set()
        self._thread.join()
        self.executor.remove_node(node)
        node.destroy_node()
        self._stop.clear()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        for node in self.executor.get_nodes():
            node.destroy_node()
        self.executor.shutdown()
        rclpy.shutdown(context=self.context)


@contextmanager
def rig(domain: int, cameras: tuple[Camera, ...] = (), **world: Any) -> Iterator[Rig]:
    built = Rig(domain, cameras, **world)
    try:
        yield built
    finally:
        built.close()


def until(condition: Callable[[], bool], what: str, deadline_s: float = 20.0) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + deadline_s
    turn = threading.Event()
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {deadline_s} s")
        turn.wait(0.005)


def started(client: Any, index: int = 3) -> Any:
    """Start a trial and return its first frames, with everything ready for motion."""
    client.start_trial(index, 0)
    client.wait_for_state(TrialState.READY, deadline_s=5)
    frames = client.first_frames()
    client.reset_policy({"id": "toy/reach/0"}, 0, 7, "reach the mark")
    client.advance(TrialState.RUNNING)
    return frames
