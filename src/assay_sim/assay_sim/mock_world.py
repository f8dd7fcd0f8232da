"""Mock world: two YAM-shaped arms, up to three cameras and a hidden goal, on the topics of the hardware.

Publishes (profiles of `assay_ros.qos`; at every control step, all with the stamp of the state):

    cameras/{top,left,right}/image_raw, camera_info   sensor_msgs/Image (rgb8), CameraInfo   SENSOR
    world/task_state, world/privileged                assay_msgs/TaskState, Privileged       SENSOR
    left/joint_states, right/joint_states             sensor_msgs/JointState                 SENSOR, last of a step
    left/state, right/state                           assay_msgs/ArmState                    LATCHED, on change
    left/trace, right/trace                           assay_msgs/ArmTrace                    SENSOR, where asked for
    /clock                                            rosgraph_msgs/Clock                    SENSOR, where asked for
    diagnostics                                       diagnostic_msgs/DiagnosticArray        EVENT, every 5 s

Subscribes left/command and right/command (assay_msgs/ArmCommand, COMMAND_LOCKSTEP or COMMAND by mode).
Serves world/reset (assay_msgs/ResetWorld) and world/set_parameters (rcl_interfaces/SetParameters; for ``faults``).
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import cv2
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock

from assay_core.errors import ConfigError
from assay_core.rig import ARMS
from assay_msgs.msg import ArmCommand, ResultCode
from assay_msgs.srv import ResetWorld
from assay_ros import qos
from assay_ros.convert import from_ns
from assay_ros.deferred import DeferredService, Reply
from assay_ros.diagnostics import Diagnostics
from assay_ros.node_main import run
from assay_ros.params import declare
from assay_sim.faults import FaultSchedule, parse_faults
from assay_sim.lockstep import Answer
from assay_sim.mock_core import MockCore
from assay_sim.mock_params import MockWorldParams
from assay_sim.mock_streams import publisher

__all__ = ["MockWorld", "main"]

NODE_NAME = "world"


class MockWorld(LifecycleNode):
    """Carries a `MockCore`.

    Raises:
        ConfigError: A parameter is out of range, or ``faults`` cannot be read.
    """

    def __init__(self, **node_kwargs: Any) -> None:
        # rclpy's six parameter services would each be waited on at every step; setting is offered as one.
        super().__init__(NODE_NAME, start_parameter_services=False, **node_kwargs)
        self.params = declare(self, MockWorldParams)
        self._schedule = FaultSchedule(parse_faults(self.params.faults), self.params.seed)
        self.add_on_set_parameters_callback(self._on_parameters)
        self.core: MockCore | None = None
        self._subscriptions_held: list[Any] = []
        self._services_held: list[Any] = []
        self._clock_pub: Any = None
        self._timer: Any = None
        self._diagnostics: Diagnostics | None = None

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Draw the bench and open every topic and service."""
        # The steps' drawing calls are too small to share: threads would only compete with the other processes.
        cv2.setNumThreads(1)
        paced = self.params.mode == "paced"
        if self.params.publish_clock:
            self._clock_pub = publisher(self, Clock, "/clock", qos.SENSOR)
        try:
            self.core = MockCore(self, self.params, self._schedule, self._on_publish if self._clock_pub else None)
        except ConfigError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._diagnostics = Diagnostics(self, self.core.readings)
        profile = qos.COMMAND if paced else qos.COMMAND_LOCKSTEP
        handler = self.core.on_paced_command if paced else self._on_lockstep_command
        for k, arm in enumerate(ARMS):
            subscription = self.create_subscription(
                ArmCommand,
                f"{arm}/command",
                functools.partial(handler, k),
                profile,
                event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            )
            self._subscriptions_held.append(subscription)
        self._services_held.append(DeferredService(self, ResetWorld, "world/reset", self._on_reset).service)
        self._services_held.append(self.create_service(SetParameters, "~/set_parameters", self._on_set_parameters))
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Accept commands and resets; in paced mode, start to publish."""
        if self.core is None:
            return TransitionCallbackReturn.FAILURE
        self.core.activate()
        self._tell("active")
        if self.params.mode == "paced":
            self._timer = self.create_timer(1.0 / self.params.control_hz, self.core.tick)
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop: commands and resets are refused, nothing is published."""
        self.stop()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take everything off the graph."""
        self._close()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop for good."""
        self.stop()
        self._close()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop after an error in a transition; the node can be configured again."""
        self.stop()
        self._close()
        return super().on_error(state)

    def stop(self) -> None:
        """Come to rest; called before the process ends, too."""
        self._tell("inactive")
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        if self.core is not None:
            self.core.halt()

    def _tell(self, state: str) -> None:
        if self._diagnostics is not None:
            self._diagnostics.state(state)

    def _close(self) -> None:
        if self._diagnostics is not None:
            self._diagnostics.close()
            self._diagnostics = None
        for subscription in self._subscriptions_held:
            self.destroy_subscription(subscription)
        for service in self._services_held:
            self.destroy_service(service)
        self._subscriptions_held, self._services_held = [], []
        if self.core is not None:
            self.core.destroy()
        if self._clock_pub is not None:
            self.destroy_publisher(self._clock_pub)
        self.core = self._clock_pub = None

    # -- callbacks ---------------------------------------------------------------------------------------------------

    def _on_lockstep_command(self, arm: int, msg: ArmCommand) -> None:
        core = self.core
        if core is None or core.on_lockstep_command(arm, msg) is not Answer.WAIT:
            return
        # The other arm's command follows at once: taking it here saves a round of the executor on every step.
        other = 1 - arm
        handle = self._subscriptions_held[other].handle
        with handle:
            taken = handle.take_message(ArmCommand, False)
        if taken is not None:
            core.on_lockstep_command(other, taken[0])

    def _on_reset(self, request: ResetWorld.Request, reply: Reply) -> None:
        core = self.core
        if core is None or core.silent(request.realization.trial_id):
            return
        try:
            code, why, stamp_ns = core.reset(request.realization)
        except Exception as error:  # noqa: BLE001 (whatever it is, the caller must learn of it)
            code, why, stamp_ns = ResultCode.INTERNAL, f"world/reset: {type(error).__name__}: {error}", 0
        if code != ResultCode.OK:
            self.get_logger().error(why)
        reply(ResetWorld.Response(code=code, message=why, stamp=from_ns(stamp_ns)))
        if self.executor is not None:
            # Once the answer is on its way: what follows from it need not wait for the pictures.
            self.executor.create_task(core.publish_arranged)

    def _on_publish(self, stamp: Any) -> None:
        self._clock_pub.publish(Clock(clock=stamp))

    def _on_set_parameters(self, request: Any, response: Any) -> Any:
        response.results = [self.set_parameters([Parameter.from_parameter_msg(p)])[0] for p in request.parameters]
        return response

    def _on_parameters(self, changed: list[Parameter]) -> SetParametersResult:
        for parameter in changed:
            if parameter.name == "faults":
                try:
                    self._schedule = FaultSchedule(parse_faults(str(parameter.value)), self.params.seed)
                except ConfigError as error:
                    return SetParametersResult(successful=False, reason=str(error))
                if self.core is not None:
                    self.core.set_faults(self._schedule)
        return SetParametersResult(successful=True)


def main() -> int:
    """Run the mock world's node; return the exit code of its process."""
    return run(MockWorld)


if __name__ == "__main__":
    sys.exit(main())
