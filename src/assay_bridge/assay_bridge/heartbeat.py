"""The runner's heartbeat: the benchmark node pauses a trial whose runner falls silent, and lets another take over."""

from __future__ import annotations

from rclpy.node import Node

from assay_bridge.spinner import quiet_publisher
from assay_msgs.msg import Heartbeat
from assay_ros import qos

__all__ = ["Heart"]


class Heart:
    """Publishes session/heartbeat while a session is open.

    Args:
        node: Publishes.
        session_id: Of the session that is run.
        runner_id: Of this runner.
    """

    def __init__(self, node: Node, session_id: str, runner_id: str) -> None:
        self._clock = node.get_clock()
        self._message = Heartbeat(session_id=session_id, runner_id=runner_id)
        self._publisher = node.create_publisher(
            Heartbeat, "session/heartbeat", qos.EVENT, event_callbacks=quiet_publisher()
        )
        self.beating = False
        """Whether a session is open."""
        self.trial_id = ""
        self.step = 0
        """Control steps executed in this trial."""

    def beat(self) -> None:
        """Say that the runner is alive, when there is a session to say it for."""
        if self.beating:
            self._message.trial_id, self._message.step = self.trial_id, self.step
            self._message.header.stamp = self._clock.now().to_msg()
            self._publisher.publish(self._message)
