"""One control step: commands out, one complete frame set back.

In lockstep, simulated time waits for the commands and every stream answers with one stamp; in paced mode the rig runs
on and the newest samples count. Both end in a complete `FrameSet` or in an error that names the stream that is missing.
"""

from __future__ import annotations

import array
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from rclpy.node import Node
from sensor_msgs.msg import Image, JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from assay_bridge.client_types import ClientConfig
from assay_bridge.frames import TASK_STATE, FrameSet, build_frames, stream_names
from assay_bridge.publishers import publishers_of, require_one, wait_for_one
from assay_bridge.spinner import Spinner, quiet_publisher, quiet_subscription
from assay_core.errors import DeadlineError, RigFault
from assay_core.rig import ACTION_DIM, ARM_DIM, ARMS, joint_names
from assay_msgs.msg import ArmCommand, TaskState
from assay_ros import qos
from assay_ros.direct import take
from assay_ros.stamps import StampBuffer

__all__ = ["LockstepMotion", "Motion", "PacedMotion", "nodes_on_graph", "seconds"]

KEEP = 8
"""Samples kept per stream; the QoS depth of measured streams is smaller."""

TRIAL_STATE = "benchmark/trial"
"""Where the benchmark node says how the trial stands, which may end the motion."""

RESEND_FRACTION, RESEND_S = 0.1, 0.5
"""Commands are sent again after this fraction of the step's deadline but at most that many seconds, and then each time
after twice as long, since a world that is only slow must not be given more to do."""


def seconds(ns: int) -> str:
    """Return a stamp as text in seconds."""
    return f"{ns // 1_000_000_000}.{ns % 1_000_000_000:09d}"


class Motion:
    """The streams and commands of one rig.

    Args:
        spinner: Spins the node while a step waits.
        config: Cameras, rate, deadlines.
    """

    def __init__(self, spinner: Spinner, config: ClientConfig) -> None:
        self._spinner = spinner
        self.config = config
        self.streams = stream_names(config.cameras, task_state=config.has_world)
        self._missing: set[str] = set()
        self._buffers = {name: StampBuffer(name, self._missing, KEEP) for name in self.streams}
        self._rests_on = (*self.streams, TRIAL_STATE)
        self.trial_id = ""
        self.steps = 0
        self._subscriptions: dict[str, Any] = {}
        node = spinner.node
        for name, buffer in self._buffers.items():
            picture = name.startswith("cameras/")
            kind: Any = TaskState if name == TASK_STATE else Image if picture else JointState
            self._subscriptions[name] = node.create_subscription(
                kind, name, buffer.add, qos.SENSOR, raw=picture, event_callbacks=quiet_subscription()
            )
        profile = qos.COMMAND_LOCKSTEP if config.mode == "lockstep" else qos.COMMAND
        self._commands: list[tuple[Any, ArmCommand, npt.NDArray[np.float64]]] = []
        for arm in ARMS:
            values = array.array("d", [0.0] * ARM_DIM)
            message = ArmCommand(session_id=config.session_id, lease=config.runner_id)
            message.trajectory.joint_names = list(joint_names(arm))
            message.trajectory.points = [JointTrajectoryPoint(positions=values)]
            publisher = node.create_publisher(ArmCommand, f"{arm}/command", profile, event_callbacks=quiet_publisher())
            # The view writes into the message's own buffer: no allocation per step.
            view = np.frombuffer(message.trajectory.points[0].positions, dtype=np.float64)
            self._commands.append((publisher, message, view))

    def begin(self, trial_id: str) -> None:
        """Start a trial: later commands carry its id, and steps count from 0.

        Raises:
            RigFault: Somebody else publishes on a topic that the trial rests on.
        """
        wait_for_one(self._spinner, self._rests_on)
        self.trial_id, self.steps = trial_id, 0
        for _, message, _ in self._commands:
            message.trial_id = trial_id

    def connected(self) -> list[str]:
        """Return what of the rig is not on the graph yet, in words."""
        node = self._spinner.node
        missing = [f"{name} (no publisher)" for name in self.streams if node.count_publishers(name) == 0]
        for publisher, _, _ in self._commands:
            if publisher.get_subscription_count() == 0:
                missing.append(f"{publisher.topic} (no subscriber)")
        return missing

    def _require_one_voice(self) -> None:
        """Check, once the motion is over, that nobody mixed samples or states of their own into it.

        Raises:
            RigFault: A topic has several publishers.
        """
        require_one(self._spinner, self._rests_on)

    def _send(self, action: npt.NDArray[np.float64], stamp_ns: int) -> None:
        sec, nanosec = divmod(stamp_ns, 1_000_000_000)
        at = 0
        for _, message, view in self._commands:
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = sec, nanosec
            message.sequence += 1
            view[:] = action[at : at + ARM_DIM]
            at += ARM_DIM
        self._publish()

    def _publish(self) -> None:
        with self._spinner.guard:
            for publisher, message, _ in self._commands:
                publisher.publish(message)

    def resend(self) -> None:
        """Send the last commands again; a lockstep world answers by publishing that step's streams again."""
        self._publish()

    def _checked(self, action: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if action.shape != (ACTION_DIM,) or not np.isfinite(action).all():
            raise RigFault(
                "action",
                expected=f"{ACTION_DIM} finite values",
                got=f"shape {action.shape}, {action.tolist()}",
                fix="clamp and check actions before they reach the rig",
            )
        return action

    def explain(self, names: list[str]) -> str:
        """Return what is known about streams that did not arrive."""
        node = self._spinner.node
        parts = []
        for name in names:
            owners = sorted(set(publishers_of(node, name)))
            newest, torn = self._buffers[name].latest_ns, self._buffers[name].torn
            seen = "none received" if newest is None else f"newest stamp {seconds(newest)}"
            seen += f"; {torn} torn messages" if torn else ""
            parts.append(f"{name} ({'published by ' + ', '.join(owners) if owners else 'no publisher'}; {seen})")
        return ", ".join(parts) + f". {nodes_on_graph(node)}"


def nodes_on_graph(node: Node) -> str:
    """Return a sentence with the nodes that discovery knows, without this one."""
    names = sorted(set(node.get_node_names()) - {node.get_name()})
    return "nodes on the graph: " + (", ".join(names) or "none")


class LockstepMotion(Motion):
    """Steps a simulated world: its time stands still until both arms' commands for it have come."""

    def __init__(self, spinner: Spinner, config: ClientConfig) -> None:
        super().__init__(spinner, config)
        self._now_ns = 0
        self._begun = False
        self._period_ns = config.period_ns
        self._ages = dict.fromkeys(self.streams, 0.0)

    def first(self, stamp_ns: int, republish: Callable[[], None]) -> FrameSet:
        """Return the frame set that the world published when it built the scene.

        Args:
            stamp_ns: Its stamp, from TrialState.world_stamp [ns].
            republish: Has the world publish it again, for streams that were lost.

        Raises:
            DeadlineError: A stream did not arrive in time; the message names it.
        """
        if stamp_ns <= 0:
            raise RigFault(
                "benchmark/trial",
                expected="the stamp of the world's first frame set in READY",
                got="none",
                fix="run a world node, or start the benchmark node with a world",
            )
        if stamp_ns < self._now_ns:
            raise RigFault(
                "benchmark/trial",
                expected=f"a first frame set no older than the last one, {seconds(self._now_ns)}",
                got=seconds(stamp_ns),
                fix="restart the world and the benchmark node, then resume: time must not run backwards in a session",
            )
        self._begun = True
        return self._gather(stamp_ns, republish)

    def step(self, action: npt.NDArray[np.float64]) -> FrameSet:
        """Send one action and return the frame set one control period later.

        Args:
            action: Absolute joint targets, shape (14,) [rad, gripper 0..1].

        Raises:
            DeadlineError: A stream did not arrive in time; the message names it.
            RigFault: The action is malformed, or a sample is torn.
        """
        self._must_have_begun("step")
        self._send(self._checked(action), self._now_ns)
        frames = self._gather(self._now_ns + self._period_ns, self.resend)
        self.steps += 1
        return frames

    def observe(self) -> FrameSet:
        """Return the current frame set; time stands still, so it is as fresh as can be.

        Raises:
            RigFault: There were no first frames, a sample is torn, or somebody else publishes on a topic of the trial.
        """
        self._must_have_begun("observe")
        self._require_one_voice()
        return self._gather(self._now_ns, self.resend)

    def _must_have_begun(self, what: str) -> None:
        if not self._begun:
            raise RigFault(
                what, expected="the first frame set of a trial before it", got="none", fix="call reset first"
            )

    def _gather(self, stamp_ns: int, again: Callable[[], None]) -> FrameSet:
        missing, spin = self._missing, self._spinner.once
        missing.clear()
        for buffer in self._buffers.values():
            buffer.want(stamp_ns)
        if missing:
            start = time.monotonic()
            end = start + self.config.step_s
            resend_s = min(self.config.step_s * RESEND_FRACTION, RESEND_S)
            look = start + resend_s
            while missing:
                spin()
                self._take_rest()
                now = time.monotonic()
                if now > look and missing:
                    if now > end:
                        self._give_up(stamp_ns)
                    resend_s *= 2.0
                    look = min(now + resend_s, end)
                    again()
        samples = {name: buffer.samples[stamp_ns] for name, buffer in self._buffers.items()}
        self._now_ns = stamp_ns
        stamps = dict.fromkeys(self.streams, stamp_ns)
        return build_frames(samples, self.config.cameras, stamps=stamps, ages=self._ages, trial_id=self.trial_id)

    def _take_rest(self) -> None:
        """Take the rest of a step that has arrived already: a world publishes its streams one right after the other."""
        with self._spinner.guard:
            for name in tuple(self._missing):
                message = take(self._subscriptions[name])
                if message is not None:
                    self._buffers[name].add(message)

    def _give_up(self, stamp_ns: int) -> None:
        raise DeadlineError(
            f"step to {seconds(stamp_ns)}: incomplete after {self.config.step_s:g} s, missing "
            f"{self.explain(sorted(self._missing))}"
        )


class PacedMotion(Motion):
    """Follows a rig that runs in real time: one step per control period on an absolute schedule."""

    def __init__(self, spinner: Spinner, config: ClientConfig) -> None:
        super().__init__(spinner, config)
        self._next = 0.0

    def first(self, stamp_ns: int, republish: Callable[[], None]) -> FrameSet:  # noqa: ARG002 (time runs on)
        """Return the first complete frame set, none of whose samples is older than ``stamp_ns`` or the tolerance.

        Raises:
            DeadlineError: A stream did not arrive in time; the message names it.
        """
        self._next = 0.0
        floor_ns = max(stamp_ns, time.time_ns() - round(self.config.tolerance_s * 1e9))
        stale: list[str] = []

        def fresh() -> bool:
            stale[:] = [name for name, buffer in self._buffers.items() if (buffer.latest_ns or 0) < floor_ns]
            return not stale

        self._spinner.wait(
            fresh,
            self.config.step_s,
            lambda: f"first frames: incomplete after {self.config.step_s:g} s, missing {self.explain(stale)}",
        )
        return self._newest()

    def step(self, action: npt.NDArray[np.float64]) -> FrameSet:
        """Send one action, wait for the end of the control period and return the newest frame set.

        Args:
            action: Absolute joint targets, shape (14,) [rad, gripper 0..1].

        Raises:
            RigFault: The action is malformed, a sample is torn, or a stream is older than the tolerance.
        """
        self._send(self._checked(action), time.time_ns())
        period_s = 1.0 / self.config.control_hz
        now = time.monotonic()
        self._next += period_s
        if now >= self._next:
            # The caller took longer than a period, as inference may: the schedule starts anew.
            self._next = now + period_s
        self._spinner.pause(self._next)
        self._spinner.check()
        self.steps += 1
        return self._newest()

    def observe(self) -> FrameSet:
        """Return the newest frame set; arms hold their last command.

        Raises:
            RigFault: A stream is older than the tolerance, or somebody else publishes on a topic of the trial.
        """
        self._require_one_voice()
        self._spinner.pause(time.monotonic() + 1.0 / self.config.control_hz)
        return self._newest()

    def _newest(self) -> FrameSet:
        now_ns, tolerance_s = time.time_ns(), self.config.tolerance_s
        stamps = {name: buffer.latest_ns or 0 for name, buffer in self._buffers.items()}
        ages = {name: (now_ns - ns) / 1e9 for name, ns in stamps.items()}
        stale = [name for name, age in ages.items() if not -tolerance_s <= age <= tolerance_s]
        if stale:
            told = ", ".join(f"{name} {ages[name]:.3f} s" for name in stale)
            raise RigFault(
                f"age of {told}: expected at most {tolerance_s:g} s, in the past or the future. "
                f"missing {self.explain(stale)}. fix: see the log of the node that publishes it"
            )
        samples = {name: buffer.samples[stamps[name]] for name, buffer in self._buffers.items()}
        return build_frames(samples, self.config.cameras, stamps=stamps, ages=ages, trial_id=self.trial_id)
