"""Samples of the rig's streams, kept by stamp and decoded only when an inference names them.

A policy looks at one frame set in ten or so; decoding every picture of every step would cost a core. Messages are
therefore taken as bytes, of which only the stamp is read on arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image, JointState

from assay_core.errors import RigFault
from assay_core.rig import ACTION_DIM, ACTION_LABELS, ARM_DIM, ARMS, Camera, joint_names
from assay_msgs.msg import Privileged
from assay_policies.api import PRIVILEGED, Inputs, Oracle
from assay_ros.measured import by_label, camera_pixels
from assay_ros.stamps import StampBuffer

__all__ = ["StreamStore", "message_type"]

KEEP = 16
"""Samples kept per stream: more than the steps between two inferences need not be, since requests name recent ones."""


def message_type(stream: str) -> Any:
    """Return the message type of one of the rig's streams, by its topic."""
    if stream == PRIVILEGED:
        return Privileged
    return Image if stream.startswith("cameras/") else JointState


class StreamStore:
    """The last samples of each stream that the policy reads, and which of those that a request named are missing.

    Args:
        streams: Topics, relative to the rig's namespace.
        cameras: Cameras of the rig.
    """

    def __init__(self, streams: Sequence[str], cameras: Sequence[Camera]) -> None:
        self._cameras = {camera.topic: camera for camera in cameras}
        self.missing: set[str] = set()
        """Streams whose wanted sample has not arrived."""
        self._buffers = {name: StampBuffer(name, self.missing, KEEP) for name in streams}

    def keeper(self, stream: str) -> Callable[[bytes], None]:
        """Return what stores one serialized message of a stream."""
        return self._buffers[stream].add

    def want(self, stamps: Mapping[str, int]) -> None:
        """Wait for these samples, by stamp [ns] of each stream, and keep them until others are wanted."""
        self.missing.clear()
        for name, ns in stamps.items():
            self._buffers[name].want(ns)

    def seen(self, stream: str) -> str:
        """Return in words what has arrived of a stream."""
        buffer = self._buffers[stream]
        told = "none received" if buffer.latest_ns is None else f"newest stamp {buffer.latest_ns / 1e9:.9f}"
        return told + (f"; {buffer.torn} torn messages" if buffer.torn else "")

    def inputs(self, stamps: Mapping[str, int], step: int, instruction: str) -> Inputs:
        """Return the named samples, decoded.

        Args:
            stamps: Stamp [ns] by stream, as wanted; every sample has arrived.
            step: Control steps executed so far.
            instruction: Goal sentence.

        Raises:
            RigFault: A sample is torn, of another size, not finite, or carries other joints.
        """
        joint_pos: npt.NDArray[np.float64] | None = None
        images, image_stamps, oracle = {}, {}, None
        for stream, ns in stamps.items():
            raw = self._buffers[stream].samples[ns]
            if stream in self._cameras:
                camera = self._cameras[stream]
                images[camera.key] = camera_pixels(raw, camera, "the policy node")
                image_stamps[camera.key] = ns
                continue
            message = _message(stream, raw)
            if stream == PRIVILEGED:
                oracle = _oracle(message)
            else:
                joint_pos = np.zeros(ACTION_DIM) if joint_pos is None else joint_pos
                _joints_into(joint_pos, stream.split("/")[0], message)
        return Inputs(step, instruction, dict(stamps), joint_pos, images, image_stamps, oracle)


def _message(stream: str, raw: bytes) -> Any:
    try:
        return deserialize_message(raw, message_type(stream))
    except Exception as error:  # noqa: BLE001 (whatever the middleware raises for bytes that are none of its own)
        raise RigFault(f"{stream}: torn or foreign message of {len(raw)} bytes: {error}") from None


def _joints_into(out: npt.NDArray[np.float64], arm: str, message: Any) -> None:
    first = ARMS.index(arm) * ARM_DIM
    stream = f"{arm}/joint_states"
    out[first : first + ARM_DIM] = by_label(stream, message.name, message.position, joint_names(arm))


def _oracle(message: Any) -> Oracle:
    fields = (message.position, message.goal, message.step_limit)
    position, goal, limit = (by_label(PRIVILEGED, message.labels, values, ACTION_LABELS) for values in fields)
    return Oracle(position, goal, limit)
