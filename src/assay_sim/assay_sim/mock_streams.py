"""Publishers and messages of the mock world, allocated once and filled in place.

rclpy's cost per step is dominated by making messages. Here every message of a step exists from the start: all headers
share one stamp, joint values are written through numpy views of the messages' own arrays, and pictures are drawn
straight into the buffers of image messages that cv_bridge made.
"""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from builtin_interfaces.msg import Time
from cv_bridge import CvBridge
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Header

from assay_core.rig import ACTION_LABELS, ARM_DIM, ARMS, Camera, joint_names
from assay_msgs.msg import Privileged, TaskState
from assay_ros.qos import SENSOR
from assay_sim.camera_model import CameraModel
from assay_sim.mock_dynamics import Judgement, MockDynamics
from assay_sim.mock_render import MockRenderer

__all__ = ["WorldStreams", "publisher"]

Array = npt.NDArray[np.float64]


def publisher(node: Node, kind: Any, name: str, profile: Any) -> Any:
    """Return a publisher without event handlers, each of which would be one more entity that the executor waits on."""
    return node.create_publisher(
        kind, name, profile, event_callbacks=PublisherEventCallbacks(use_default_callbacks=False)
    )


class WorldStreams:
    """Everything that the world publishes at each step.

    Args:
        node: Owner of the publishers.
        cameras: Of the rig, in its order.
        renderer: Draws their pictures.
        rate_hz: Control rate [Hz], for velocities.
    """

    def __init__(self, node: Node, cameras: Sequence[Camera], renderer: MockRenderer, rate_hz: float) -> None:
        self.renderer = renderer
        self.cameras = tuple(cameras)
        self.stamp = Time()
        """Of every message; shared by all headers."""
        self._rate_hz = rate_hz
        self._previous: Array = np.zeros(len(ACTION_LABELS))
        self._velocity: Array = np.zeros(len(ACTION_LABELS))
        self._drawn_at, self._posed_at = [-1] * len(cameras), -1
        self._make_cameras(node)
        self._task_pub = publisher(node, TaskState, "world/task_state", SENSOR)
        self._privileged_pub = publisher(node, Privileged, "world/privileged", SENSOR)
        self.task = TaskState(header=Header(stamp=self.stamp, frame_id="bench"))
        self.privileged = Privileged(header=Header(stamp=self.stamp, frame_id="bench"), labels=list(ACTION_LABELS))
        self._privileged_views = {}
        for field in ("position", "goal", "step_limit"):
            setattr(self.privileged, field, array.array("d", bytes(8 * len(ACTION_LABELS))))
            self._privileged_views[field] = np.frombuffer(getattr(self.privileged, field), dtype=np.float64)
        self.joint_pubs, self.joints, self._joint_views = [], [], []
        for arm in ARMS:
            self.joint_pubs.append(publisher(node, JointState, f"{arm}/joint_states", SENSOR))
            message = JointState(header=Header(stamp=self.stamp, frame_id=f"{arm}_base"), name=list(joint_names(arm)))
            message.position = array.array("d", bytes(8 * ARM_DIM))
            message.velocity = array.array("d", bytes(8 * ARM_DIM))
            self.joints.append(message)
            views = tuple(np.frombuffer(x, dtype=np.float64) for x in (message.position, message.velocity))
            self._joint_views.append(views)

    def _make_cameras(self, node: Node) -> None:
        bridge = CvBridge()
        self.image_pubs, self.info_pubs, self.images, self._infos, self._pictures = [], [], [], [], []
        for camera, view in zip(self.cameras, self.renderer.views, strict=True):
            self.image_pubs.append(publisher(node, Image, camera.topic, SENSOR))
            self.info_pubs.append(publisher(node, CameraInfo, f"cameras/{camera.name}/camera_info", SENSOR))
            header = Header(stamp=self.stamp, frame_id=view.model.frame_id)
            message = bridge.cv2_to_imgmsg(np.zeros((camera.height, camera.width, 3), dtype=np.uint8), "rgb8")
            message.header = header
            picture = bridge.imgmsg_to_cv2(message)
            pixels = np.frombuffer(message.data, dtype=np.uint8)
            if not np.shares_memory(picture, pixels):
                picture = pixels.reshape(picture.shape)
            self.images.append(message)
            self._pictures.append(picture)
            self._infos.append(_camera_info(view.model, header))

    def begin(self, session_id: str, trial_id: str, dynamics: MockDynamics) -> None:
        """Name the trial in later messages and forget the motion before it."""
        for message in (self.task, self.privileged):
            message.session_id, message.trial_id = session_id, trial_id
        self.task.terminated, self.task.termination_reason = False, ""
        self._previous[:] = dynamics.position
        self._privileged_views["goal"][:] = dynamics.goal
        self._privileged_views["step_limit"][:] = dynamics.limit
        self._drawn_at, self._posed_at = [-1] * len(self.cameras), -1

    def fill(self, stamp_ns: int, dynamics: MockDynamics, judgement: Judgement) -> None:
        """Write the state of one step into all messages but the pictures, which are drawn when they are needed."""
        self.stamp.sec, self.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
        task, position = self.task, dynamics.position
        task.step, task.progress, task.success = dynamics.steps, judgement.progress, judgement.success
        if judgement.success and not task.terminated:
            task.terminated, task.termination_reason = True, "success"
        self._privileged_views["position"][:] = position
        np.subtract(position, self._previous, out=self._velocity)
        self._velocity *= self._rate_hz
        self._previous[:] = position
        at = 0
        for values, velocities in self._joint_views:
            values[:] = position[at : at + ARM_DIM]
            velocities[:] = self._velocity[at : at + ARM_DIM]
            at += ARM_DIM

    def draw(self, camera: int) -> None:
        """Draw one camera's picture of the step that `fill` took, unless it is drawn already."""
        step = self.task.step
        if self._drawn_at[camera] == step:
            return
        if self._posed_at != step:
            self.renderer.pose(self._privileged_views["position"], step)
            self._posed_at = step
        self.renderer.draw(camera, self._pictures[camera])
        self._drawn_at[camera] = step

    def publish_camera(self, camera: int) -> None:
        """Publish one camera's picture and camera_info, where anybody listens."""
        if self.image_pubs[camera].get_subscription_count() > 0:
            self.draw(camera)
            self.image_pubs[camera].publish(self.images[camera])
        self.publish_info(camera)

    def publish_info(self, camera: int) -> None:
        """Publish one camera's camera_info, where anybody listens."""
        if self.info_pubs[camera].get_subscription_count() > 0:
            self.info_pubs[camera].publish(self._infos[camera])

    def publish_judgement(self) -> None:
        """Publish world/task_state and world/privileged."""
        self._task_pub.publish(self.task)
        if self._privileged_pub.get_subscription_count() > 0:
            self._privileged_pub.publish(self.privileged)

    def publish_joints(self, arm: int) -> None:
        """Publish one arm's joint states."""
        self.joint_pubs[arm].publish(self.joints[arm])

    def publish(self) -> None:
        """Publish the step: joint states last, so that who has these has the rest.

        The judgement comes first: its readers are done with it while the pictures are drawn.
        """
        self.publish_judgement()
        for camera in range(len(self.cameras)):
            self.publish_camera(camera)
        for arm in range(len(ARMS)):
            self.publish_joints(arm)

    def destroy(self, node: Node) -> None:
        """Take the publishers off the graph."""
        for item in (*self.image_pubs, *self.info_pubs, self._task_pub, self._privileged_pub, *self.joint_pubs):
            node.destroy_publisher(item)


def _camera_info(model: CameraModel, header: Header) -> CameraInfo:
    message = CameraInfo(header=header, height=model.height, width=model.width, distortion_model="plumb_bob")
    intrinsics = model.intrinsics()
    message.d = [0.0] * 5
    message.k = intrinsics.ravel().tolist()
    message.r = np.eye(3).ravel().tolist()
    message.p = np.column_stack([intrinsics, np.zeros(3)]).ravel().tolist()
    return message
