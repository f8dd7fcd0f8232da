"""Publishes a step of the mock world the way its faults say, instead of the way it should be.

Apart from the healthy path, so that a world without faults pays nothing for them.
"""

from __future__ import annotations

import array
import copy
import os
import signal
from collections import deque
from typing import Any

from rclpy.node import Node

from assay_core.rig import ARMS
from assay_sim.faults import Fault, FaultSchedule
from assay_sim.mock_streams import WorldStreams

__all__ = ["FaultInjector"]


class FaultInjector:
    """Stands in for `WorldStreams.publish` while there are faults.

    Args:
        node: For timers and the log.
        streams: What to publish.
        schedule: Which faults there are.
    """

    def __init__(self, node: Node, streams: WorldStreams, schedule: FaultSchedule) -> None:
        self._node, self._streams, self._schedule = node, streams, schedule
        self._frozen: dict[int, Any] = {}
        self._late: list[deque[tuple[int, Any]]] = [deque() for _ in ARMS]
        self._timers: list[Any] = []
        self._told: set[tuple[int, str, str]] = set()
        self.injected = 0
        """Publications and answers that a fault changed, since the start."""

    def begin(self) -> None:
        """Start a trial: nothing of the one before is published any more."""
        self._frozen.clear()
        for queue in self._late:
            queue.clear()
        self._cancel()

    def silent(self, trial_id: str, step: int) -> bool:
        """Return whether the world does not answer now."""
        return self._fires("silent", "", trial_id, step, repeat=False) is not None

    def publish(self, *, repeat: bool) -> None:
        """Publish the step that the streams hold, with its faults.

        Args:
            repeat: Whether this step was published before.
        """
        streams, trial_id, step = self._streams, self._streams.task.trial_id, int(self._streams.task.step)
        if self._fires("die", "", trial_id, step, repeat=repeat):
            os.kill(os.getpid(), signal.SIGKILL)
        streams.publish_judgement()
        for camera in range(len(streams.cameras)):
            self._publish_camera(camera, trial_id, step, repeat)
        for arm in range(len(ARMS)):
            self._publish_joints(arm, trial_id, step, repeat)

    def _publish_camera(self, camera: int, trial_id: str, step: int, repeat: bool) -> None:
        streams, name = self._streams, self._streams.cameras[camera].name
        publish = streams.image_pubs[camera].publish
        if self._fires("drop", name, trial_id, step, repeat=repeat):
            streams.publish_info(camera)
        elif self._fires("torn", name, trial_id, step, repeat=repeat):
            streams.draw(camera)
            message = _shallow(streams.images[camera])
            message.data = message.data[: len(message.data) * 2 // 3]
            publish(message)
            streams.publish_info(camera)
        elif self._fires("wrong_size", name, trial_id, step, repeat=repeat):
            streams.draw(camera)
            publish(_halved(streams.images[camera]))
            streams.publish_info(camera)
        elif fault := self._fires("freeze", name, trial_id, step, repeat=repeat):
            if camera not in self._frozen:
                streams.draw(camera)
                self._frozen[camera] = copy.deepcopy(streams.images[camera])
            message = _shallow(self._frozen[camera])
            if not fault.old_stamp:
                message.header = streams.images[camera].header
            publish(message)
            streams.publish_info(camera)
        else:
            streams.draw(camera)
            self._frozen[camera] = copy.deepcopy(streams.images[camera])
            streams.publish_camera(camera)

    def _publish_joints(self, arm: int, trial_id: str, step: int, repeat: bool) -> None:
        streams, queue = self._streams, self._late[arm]
        if fault := self._fires("late", ARMS[arm], trial_id, step, repeat=repeat):
            message = copy.deepcopy(streams.joints[arm])
            if fault.seconds > 0.0:
                self._after(fault.seconds, arm, message)
            else:
                queue.append((step + fault.steps, message))
        else:
            streams.publish_joints(arm)
        while queue and queue[0][0] <= step:
            streams.joint_pubs[arm].publish(queue.popleft()[1])

    def _after(self, seconds: float, arm: int, message: Any) -> None:
        def fire() -> None:
            self._timers.remove(timer)
            self._node.destroy_timer(timer)
            self._streams.joint_pubs[arm].publish(message)

        timer = self._node.create_timer(seconds, fire)
        self._timers.append(timer)

    def _fires(self, kind: str, target: str, trial_id: str, step: int, *, repeat: bool) -> Fault | None:
        fault = self._schedule.firing(kind, target, trial_id, step, repeat=repeat)
        self.injected += fault is not None
        if fault is not None and (fault.index, target, trial_id) not in self._told:
            self._told.add((fault.index, target, trial_id))
            at = f" of {target}" if target else ""
            self._node.get_logger().warning(f"fault injected: {kind}{at} at step {step} of trial '{trial_id}'")
        return fault

    def _cancel(self) -> None:
        for timer in self._timers:
            self._node.destroy_timer(timer)
        self._timers.clear()

    def close(self) -> None:
        """Cancel what is still to come."""
        self._cancel()


def _shallow(message: Any) -> Any:
    """Return a message with the same fields and buffers, whose fields can be replaced."""
    other = type(message)()
    for field in message.get_fields_and_field_types():
        setattr(other, field, getattr(message, field))
    return other


def _halved(image: Any) -> Any:
    """Return an image of the top left quarter of another one: half its width and height."""
    message = _shallow(image)
    message.height, message.width = image.height // 2, image.width // 2
    message.step = message.width * 3
    rows = (image.data[r * image.step : r * image.step + message.step] for r in range(message.height))
    message.data = array.array("B", b"".join(row.tobytes() for row in rows))
    return message
