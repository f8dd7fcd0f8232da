"""Samples of the rig's streams, kept by stamp and decoded only when an inference names them.

A policy looks at one frame set in ten or so; decoding every picture of every step would cost a core. Messages are
therefore taken as bytes, of which only the stamp is read on arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image, JointState

from assay_core.errors import RigFault
from assay_core.rig import ACTION_DIM, ACTION_LABELS, ARM_DIM, ARMS, Camera, joint_names
from assay_msgs.msg import Privileged
from assay_policies.api import PRIVILEGED, Inputs, Oracle
from assay_ros.raw import image_pixels, stamp_of

__all__ = ["StreamStore", "message_type"]

KEEP = 16
"""Samples kept per stream: more than the steps between two inferences need not be, since requests name recent ones."""


def message_type(stream: str) -> Any:
    """Return the message type of one of the rig's streams, by its topic."""
    if stream == PRIVILEGED:
        return Privileged
    return Image if stream.startswith("cameras/") else JointState


class StreamStore:
    """The newest samples of each stream that the policy reads.

    Args:
        streams: Topics, relative to the rig's namespace.
        cameras: Cameras of the rig.
    """

    def __init__(self, streams: Sequence[str], cameras: Sequence[Camera]) -> None:
        self._cameras = {camera.topic: camera for camera in cameras}
        self._samples: dict[str, dict[int, bytes]] = {name: {} for name in streams}

    def add(self, stream: str, raw: bytes) -> int:
        """Store one serialized message and return its stamp [ns]."""
        samples = self._samples[stream]
        ns = stamp_of(raw)
        samples[ns] = raw
        if len(samples) > KEEP:
            del samples[min(samples)]
        return ns

    def missing(self, stamps: Mapping[str, int]) -> list[str]:
        """Return the streams whose named sample has not arrived."""
        return [name for name, ns in stamps.items() if ns not in self._samples.get(name, {})]

    def newest_ns(self, stream: str) -> int | None:
        """Return the newest stamp of a stream [ns]; None when nothing arrived."""
        return max(self._samples.get(stream, {}), default=None)

    def inputs(self, stamps: Mapping[str, int], step: int, instruction: str) -> Inputs:
        """Return the named samples, decoded.

        Args:
            stamps: Stamp [ns] by stream; every sample has arrived.
            step: Control steps executed so far.
            instruction: Goal sentence.

        Raises:
            RigFault: A sample is torn, of another size, or carries other joints.
        """
        joint_pos: npt.NDArray[np.float64] | None = None
        images, image_stamps, oracle = {}, {}, None
        for stream, ns in stamps.items():
            raw = self._samples[stream][ns]
            if stream in self._cameras:
                camera = self._cameras[stream]
                images[camera.key], image_stamps[camera.key] = _picture(camera, raw), ns
                continue
            message = deserialize_message(raw, message_type(stream))
            if stream == PRIVILEGED:
                oracle = _oracle(message)
            else:
                joint_pos = np.zeros(ACTION_DIM) if joint_pos is None else joint_pos
                _joints_into(joint_pos, stream.split("/")[0], message)
        return Inputs(step, instruction, dict(stamps), joint_pos, images, image_stamps, oracle)


def _by_label(stream: str, names: Sequence[str], values: Sequence[float], wanted: Sequence[str]) -> list[float]:
    at = {name: i for i, name in enumerate(names)}
    if len(values) != len(names) or not set(wanted) <= set(at):
        raise RigFault(
            stream,
            expected=f"values named {', '.join(wanted)}",
            got=f"{len(values)} values named {', '.join(names) or '(none)'}",
            fix="correct the names of the node that publishes it",
        )
    return [values[at[name]] for name in wanted]


def _joints_into(out: npt.NDArray[np.float64], arm: str, message: Any) -> None:
    first = ARMS.index(arm) * ARM_DIM
    names = joint_names(arm)
    out[first : first + ARM_DIM] = _by_label(f"{arm}/joint_states", message.name, message.position, names)


def _oracle(message: Any) -> Oracle:
    fields = (message.position, message.goal, message.step_limit)
    position, goal, limit = (
        np.array(_by_label(PRIVILEGED, message.labels, values, ACTION_LABELS)) for values in fields
    )
    return Oracle(position, goal, limit)


def _picture(camera: Camera, raw: bytes) -> npt.NDArray[np.uint8]:
    try:
        image = image_pixels(raw)
    except ValueError as error:
        raise RigFault(f"{camera.topic}: torn or foreign picture: {error}") from None
    if image.shape != (camera.height, camera.width, 3):
        raise RigFault(
            camera.topic,
            expected=f"uint8 ({camera.height}, {camera.width}, 3)",
            got=str(image.shape),
            fix="give the camera node and the policy node the same camera size",
        )
    return image
