"""Lifecycle node `policy`: serves one policy to the bridge.

Services: ``policy/reset`` (assay_msgs/ResetPolicy), ``policy/infer`` (assay_msgs/InferPolicy).
Publishes: ``policy/chunk`` (assay_msgs/PolicyChunk, EVENT), one per inference; ``policy/serving``
(diagnostic_msgs/DiagnosticStatus, LATCHED), which policy for which rig, once configured; ``diagnostics``
(diagnostic_msgs/DiagnosticArray, EVENT), every 5 s.
Subscribes, while active, to what the policy reads (SENSOR): ``<arm>/joint_states``, ``cameras/<name>/image_raw``,
``world/privileged``.

An inference waits for exactly the samples that its request names. Slow policies run on a thread of their own, so that
the node keeps answering; built-in ones run at once.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from assay_core.errors import ConfigError
from assay_core.policy_names import check_policy_name
from assay_core.tracebacks import strangers_traceback
from assay_msgs.msg import PolicyChunk
from assay_msgs.srv import InferPolicy, ResetPolicy
from assay_policies.failures import FailureLog, sayable
from assay_policies.inference import PolicyServer
from assay_policies.parameters import PolicyParams
from assay_policies.registry import make_policy
from assay_policies.serving import serving_status
from assay_policies.streams import StreamStore, message_type
from assay_policies.worker import Worker
from assay_ros import node_main, qos, quiet
from assay_ros.deferred import DeferredService
from assay_ros.diagnostics import Diagnostics
from assay_ros.names import SERVING_TOPIC
from assay_ros.params import declare

__all__ = ["PolicyNode", "main"]

RESET_SERVICE = "policy/reset"
INFER_SERVICE = "policy/infer"
CHUNK_TOPIC = "policy/chunk"
WATCH_S = 0.1
"""Period at which the deadline of an inference in progress is looked at [s]."""


class PolicyNode(LifecycleNode):
    """Serves one policy; see the module."""

    def __init__(self, **node_kwargs: Any) -> None:
        super().__init__("policy", start_parameter_services=False, **node_kwargs)
        self._server: PolicyServer | None = None
        self._store: StreamStore | None = None
        self._worker: Worker | None = None
        self._streams: tuple[str, ...] = ()
        self._owned: list[Callable[[], Any]] = []
        """What `on_cleanup` destroys."""
        self._subscriptions_made: list[Any] = []
        self._watch: Any = None
        self._diagnostics: Diagnostics | None = None
        try:
            self._params = declare(self, PolicyParams)
            check_policy_name(self._params.policy)
        except ConfigError:
            self.destroy_node()
            raise

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002 (the signature is rclpy's)
        """Build the policy, and offer its services."""
        try:
            policy = make_policy(self._params.settings())
        except ConfigError as error:
            if trace := strangers_traceback(error):
                # A warning: whoever brings the graph up takes the newest error of a node for its reason.
                self.get_logger().warning(f"what the policy raised while it was built:\n{sayable(trace)}")
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        done = self.create_guard_condition(self._on_worker)
        self._worker = Worker(done.trigger)
        self._streams = policy.streams
        self._store = StreamStore(policy.streams, self._params.rig_cameras())
        chunks = self.create_lifecycle_publisher(PolicyChunk, CHUNK_TOPIC, qos.EVENT)
        self._server = PolicyServer(
            policy,
            self._store,
            self._worker,
            FailureLog(self.get_logger().warning),
            name=self._params.policy,
            label=self._params.label or policy.label,
            infer_deadline_s=self._params.infer_deadline_s,
            publish=chunks.publish,
            now=lambda: self.get_clock().now().to_msg(),
            describe=self._known_publishers,
        )
        serving = self.create_publisher(DiagnosticStatus, SERVING_TOPIC, qos.LATCHED, event_callbacks=quiet.PUBLISHER)
        serving.publish(serving_status(self._params))
        self._diagnostics = Diagnostics(self, self._server.readings)
        reset = DeferredService(self, ResetPolicy, RESET_SERVICE, self._server.reset)
        infer = DeferredService(self, InferPolicy, INFER_SERVICE, self._on_infer)
        self._watch = self.create_timer(WATCH_S, self._on_watch)
        self._watch.cancel()
        self._owned = [
            reset.destroy,
            infer.destroy,
            self._worker.close,
            lambda: self.destroy_guard_condition(done),
            lambda: self.destroy_publisher(chunks),
            lambda: self.destroy_publisher(serving),
            self._diagnostics.close,
            functools.partial(self.destroy_timer, self._watch),
        ]
        self.get_logger().info(f"policy '{self._params.policy}' reads {', '.join(self._streams) or 'nothing'}")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Subscribe to what the policy reads."""
        assert self._server is not None
        self._subscriptions_made = [
            self.create_subscription(
                message_type(name), name, self._keeper(name), qos.SENSOR, raw=True, event_callbacks=quiet.SUBSCRIPTION
            )
            for name in self._streams
        ]
        self._server.active = True
        self._tell("active")
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Answer what is in progress and stop listening."""
        self._stop_serving("policy node was deactivated")
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002 (the signature is rclpy's)
        """Give everything back."""
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:  # noqa: ARG002 (the signature is rclpy's)
        """Give everything back, from any state."""
        self._stop_serving("policy node is shutting down")
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back; the node can be configured again."""
        return self.on_shutdown(state)

    def stop(self) -> None:
        """Answer what is in progress before the process ends."""
        self._stop_serving("policy node is shutting down")

    def destroy_node(self) -> None:
        """Give everything back, the worker's thread included."""
        self.stop()
        self._release()
        super().destroy_node()

    def _keeper(self, name: str) -> Callable[[bytes], None]:
        assert self._store is not None
        assert self._server is not None
        add, advance = self._store.keeper(name), self._server.advance

        def keep(raw: bytes) -> None:
            add(raw)
            advance()

        return keep

    def _on_infer(self, request: Any, reply: Callable[[Any], None]) -> None:
        assert self._server is not None
        self._server.infer(request, reply)
        if self._server.next_deadline is not None:
            self._watch.reset()

    def _on_watch(self) -> None:
        assert self._server is not None
        self._server.advance()
        if self._server.next_deadline is None:
            self._watch.cancel()

    def _on_worker(self) -> None:
        if self._worker is not None:
            self._worker.collect()

    def _known_publishers(self, stream: str) -> str:
        infos = self.get_publishers_info_by_topic(self.resolve_topic_name(stream))
        names = sorted({info.node_name for info in infos})
        return f"published by {', '.join(names)}" if names else "no publisher"

    def _tell(self, state: str) -> None:
        if self._diagnostics is not None:
            self._diagnostics.state(state)

    def _stop_serving(self, why: str) -> None:
        self._tell("inactive")
        if self._server is not None:
            self._server.stop(why)
        for subscription in self._subscriptions_made:
            self.destroy_subscription(subscription)
        self._subscriptions_made = []

    def _release(self) -> None:
        for destroy in self._owned:
            destroy()
        self._owned = []
        self._server = self._store = self._worker = self._watch = self._diagnostics = None
        self._streams = ()


def main(argv: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code of the process."""
    return node_main.run(PolicyNode, argv)


if __name__ == "__main__":
    sys.exit(main())
