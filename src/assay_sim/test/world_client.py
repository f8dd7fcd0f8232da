"""A lockstep client of the mock world for tests: its own subscriptions, no code shared with the bridge."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import CameraInfo, Image, JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from assay_benchmarks import catalog
from assay_core.realization import TrialRealization
from assay_core.rig import ARMS, joint_names
from assay_core.seeds import scene_seed, trial_seed
from assay_msgs.msg import ArmCommand, ArmState, ArmTrace, Privileged, TaskState
from assay_msgs.srv import ResetWorld
from assay_ros import qos
from assay_ros.convert import realization_to_msg, to_ns
from assay_ros.testing import spin_until
from assay_sim.mock_world import MockWorld


def realization(instance_id: str = "pour_pasta/full-box", epoch: int = 0, eval_seed: int = 0) -> TrialRealization:
    """Return the realization that the benchmark node would publish."""
    task = catalog.resolve_task("kitchenbench/" + instance_id.split("/")[0])
    scene = next(s for s in task.scenes if s.metadata["instance_id"] == instance_id)
    seed = trial_seed(eval_seed, scene_seed(instance_id), epoch)
    return catalog.realize_trial(task, scene, epoch=epoch, seed=seed, control_hz=10.0)


RETRY_S = 2.0


def call(executor, client, request, deadline_s: float = 20.0):
    """Call an idempotent service until it answers; discovery may lose an early answer."""
    end = time.monotonic() + deadline_s
    while True:
        future = client.call_async(request)
        try:
            spin_until(executor, future.done, min(RETRY_S, max(0.1, end - time.monotonic())), client.srv_name)
        except TimeoutError:
            if time.monotonic() > end:
                raise
            continue
        return future.result()


class Client(Node):
    """Collects every stream in arrival order."""

    def __init__(self, context, cameras: int = 0, lockstep: bool = True) -> None:
        super().__init__("client", context=context, start_parameter_services=False)
        self.log: list[tuple[str, Any]] = []
        streams: list[tuple[Any, str, Any]] = [
            (TaskState, "world/task_state", qos.SENSOR),
            (Privileged, "world/privileged", qos.SENSOR),
        ]
        for name in ("top", "left", "right")[:cameras]:
            streams.append((Image, f"cameras/{name}/image_raw", qos.SENSOR))
            streams.append((CameraInfo, f"cameras/{name}/camera_info", qos.SENSOR))
        for arm in ARMS:
            streams.append((JointState, f"{arm}/joint_states", qos.SENSOR))
            streams.append((ArmState, f"{arm}/state", qos.LATCHED))
            streams.append((ArmTrace, f"{arm}/trace", qos.SENSOR))
        self.needed = [name for _, name, profile in streams if profile is qos.SENSOR and not name.endswith("/trace")]
        for kind, name, profile in streams:
            self.create_subscription(kind, name, lambda m, n=name: self.log.append((n, m)), profile)
        profile = qos.COMMAND_LOCKSTEP if lockstep else qos.COMMAND
        self.pubs = {arm: self.create_publisher(ArmCommand, f"{arm}/command", profile) for arm in ARMS}
        self.resets = self.create_client(ResetWorld, "world/reset")
        self.sequence = 0

    def ready(self, world: Node) -> bool:
        """Return whether discovery is complete on both sides."""
        return (
            self.resets.service_is_ready()
            and all(p.get_subscription_count() for p in self.pubs.values())
            and all(world.count_subscribers(n) > 0 and self.count_publishers(n) > 0 for n in self.needed)
            and all(p.get_subscription_count() > 0 for p in world.core.streams.joint_pubs)
            and all(p.get_subscription_count() > 0 for p in world.core.streams.image_pubs)
            and world.core.streams._privileged_pub.get_subscription_count() > 0
        )

    def send(self, stamp_ns: int, targets, arms=ARMS, **fields: Any) -> None:
        """Publish commands with one stamp."""
        self.sequence += 1
        for arm in arms:
            at = ARMS.index(arm) * 7
            point = JointTrajectoryPoint(positions=[float(x) for x in targets[at : at + 7]])
            message = ArmCommand(sequence=self.sequence, lease=fields.get("lease", "runner"))
            message.session_id, message.trial_id = fields.get("session_id", ""), fields.get("trial_id", "")
            message.trajectory = JointTrajectory(joint_names=list(joint_names(arm)), points=[point])
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
            self.pubs[arm].publish(message)

    def got(self, stream: str, stamp_ns: int | None = None) -> list[Any]:
        """Return the messages of a stream, of one stamp where given."""
        return [m for n, m in self.log if n == stream and (stamp_ns is None or to_ns(m.header.stamp) == stamp_ns)]

    def complete(self, stamp_ns: int, without: tuple[str, ...] = ()) -> bool:
        """Return whether every stream has a sample of this stamp."""
        return all(self.got(n, stamp_ns) for n in self.needed if n not in without)

    def values(self, stamp_ns: int):
        """Return the 14 joint values of a stamp."""
        return np.array([x for arm in ARMS for x in self.got(f"{arm}/joint_states", stamp_ns)[-1].position])


class Bench:
    """A world and a client in one executor."""

    def __init__(self, context, executor, cameras: int = 0, **params: Any) -> None:
        overrides = [Parameter(name, value=value) for name, value in {"cameras": cameras, **params}.items()]
        self.world = MockWorld(context=context, parameter_overrides=overrides)
        self.client = Client(context, cameras, params.get("mode", "lockstep") == "lockstep")
        self.executor = executor
        for node in (self.world, self.client):
            executor.add_node(node)
        self.world.trigger_configure()
        self.world.trigger_activate()
        spin_until(executor, lambda: self.client.ready(self.world), what="discovery")

    def until(self, condition, what: str = "") -> None:
        spin_until(self.executor, condition, what=what)

    def reset(self, data: TrialRealization | None = None, trial_id: str = "000000-0", **change: Any):
        """Call world/reset; return its response."""
        msg = realization_to_msg(data or realization(), session_id="s", trial_id=trial_id)
        for key, value in change.items():
            setattr(msg, key, value)
        return call(self.executor, self.client.resets, ResetWorld.Request(realization=msg))

    def begin(self, *args: Any, **kwargs: Any) -> int:
        """Reset, wait for the first frame set, and return its stamp [ns]."""
        response = self.reset(*args, **kwargs)
        assert response.code == 1, response.message
        stamp = to_ns(response.stamp)
        self.until(lambda: self.client.complete(stamp), "first frame set")
        return stamp

    def step(self, stamp_ns: int, targets, period_ns: int = 100_000_000) -> int:
        """Make one step and return its stamp [ns]."""
        self.client.send(stamp_ns, targets)
        after = stamp_ns + period_ns
        self.until(lambda: self.client.complete(after), f"frame set {after}")
        return after
