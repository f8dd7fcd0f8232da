"""Lifecycle manager: configures and activates the nodes of the graph in order, and says which one failed and why.

The YAML launch front end has no lifecycle actions, so this node does it, the same under `ros2 launch` and our runner.

Publishes:
    bringup/state (diagnostic_msgs/DiagnosticArray, LATCHED, on change): first ``graph``, OK when every node is active,
        then one status for each node.
    diagnostics (diagnostic_msgs/DiagnosticArray, EVENT, every 5 s): how many nodes are as they should be.

Subscribes:
    <node>/transition_event (lifecycle_msgs/TransitionEvent, EVENT): what others do to the nodes.
    /rosout (rcl_interfaces/Log, LOG, while the graph comes up): why a node refused.

Calls:
    <node>/get_state, <node>/change_state (lifecycle_msgs).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from lifecycle_msgs.msg import Transition, TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Log
from rclpy.logging import LoggingSeverity
from rclpy.node import Node

from assay_bringup.bringup_plan import ASK, CONFIGURE, Limits, ManagedNode, stages_of
from assay_bringup.ready import STATE_FILE_VARIABLE, Bringup, renew, write_state
from assay_ros.diagnostics import Diagnostics, Readings
from assay_ros.node_main import run
from assay_ros.params import declare, param
from assay_ros.qos import EVENT, LATCHED, LOG

__all__ = ["LifecycleManager", "ManagerParams", "main"]

STATE_TOPIC = "bringup/state"
BRINGUP_PERIOD_S = 0.05
"""How often services are looked for while the graph comes up; answers lead to the next step at once [s]."""
RENEW_S = 1.0
"""How often whoever started the graph gets a sign of life while it comes up [s]."""
REASON_DEADLINE_S = 0.3
"""How long a failed node's own words are waited for [s]."""

_LEVELS = {"active": DiagnosticStatus.OK, "failed": DiagnosticStatus.ERROR, "lost": DiagnosticStatus.ERROR}


@dataclass(frozen=True)
class ManagerParams:
    """Read once, at the start."""

    stages: tuple[str, ...] = param(
        ("world policy benchmark",), "stages in order; each lists nodes, separated by spaces, that come up side by side"
    )
    appear_deadline_s: float = param(20.0, "longest wait for a node's process", unit="s", low=0.1, high=3600)
    transition_deadline_s: float = param(20.0, "longest configure or activate", unit="s", low=0.1, high=3600)
    deadlines: tuple[str, ...] = param((), "exceptions from transition_deadline_s, each 'NAME SECONDS'", unit="s")
    manual: tuple[str, ...] = param((), "nodes that, once lost, only a person brings up again, e.g. arm drivers")
    watch_period_s: float = param(0.5, "how often it is checked that every node is there", unit="s", low=0.05, high=60)


@dataclass
class _Handles:
    """What the manager holds of one node."""

    node: ManagedNode
    get_state: Any
    change_state: Any
    event_topic: str
    seen: frozenset[bytes] = frozenset()
    """Identities of the processes known to have published as this node."""
    failed_at: float = 0.0


class LifecycleManager(Node):
    """The node. Works on timers; no callback blocks."""

    def __init__(self, **node_kwargs: Any) -> None:
        super().__init__("lifecycle_manager", start_parameter_services=False, **node_kwargs)
        params = declare(self, ManagerParams)
        limits = Limits(params.appear_deadline_s, params.transition_deadline_s)
        self.plan = stages_of(params.stages, limits, params.deadlines, params.manual)
        state_file = os.environ.get(STATE_FILE_VARIABLE, "")
        self._state_file = Path(state_file) if state_file else None
        self._watch_period_s = params.watch_period_s
        self._reasons: dict[str, str] = {}
        self._shown: Bringup | None = None
        self._renewed = 0.0
        self._watching = False
        self._state_publisher = self.create_publisher(DiagnosticArray, STATE_TOPIC, LATCHED)
        self._rosout = self.create_subscription(Log, "/rosout", self._on_log, LOG)
        self._handles = {node.name: self._open(node) for node in self.plan.nodes}
        self._timer = self.create_timer(BRINGUP_PERIOD_S, self._bring_up)
        self._diagnostics = Diagnostics(self, self._readings, self._problem)
        self._diagnostics.state("active")

    def destroy_node(self) -> None:
        """Take everything off the graph."""
        self._diagnostics.close()
        super().destroy_node()

    def _readings(self) -> Readings:
        states = [node.state for node in self.plan.nodes]
        return {"nodes": len(states), "active": states.count("active"), "lost": states.count("lost")}

    def _problem(self) -> str:
        shown = self._shown
        return "" if shown is None or shown.ready else shown.message

    def _open(self, node: ManagedNode) -> _Handles:
        name = node.name
        self.create_subscription(
            TransitionEvent, f"{name}/transition_event", lambda m: node.announced(m.goal_state.label), EVENT
        )
        return _Handles(
            node,
            self.create_client(GetState, f"{name}/get_state"),
            self.create_client(ChangeState, f"{name}/change_state"),
            self.resolve_topic_name(f"{name}/transition_event"),
        )

    def _bring_up(self) -> None:
        """Take the next step of every node of the current stage."""
        now = time.monotonic()
        for node in self.plan.current():
            handles = self._handles[node.name]
            failed = node.failed
            request = node.step(now, handles.get_state.service_is_ready() and handles.change_state.service_is_ready())
            if request is not None:
                self._send(handles, request)
            if node.failed and not failed:
                handles.failed_at = now
            node.blame(self._reasons.get(node.name, ""))
        if self._state_file is not None and self._shown is not None and now - self._renewed > RENEW_S:
            self._renewed = now
            renew(self._state_file)
        if self._show() and not self.plan.busy():
            self._settle()

    def _send(self, handles: _Handles, request: str) -> None:
        node = handles.node
        if request == ASK:
            question = node.question
            future = handles.get_state.call_async(GetState.Request())
            self._then(future, lambda r: node.answered_state(question, r.current_state.label))
            return
        transition = Transition.TRANSITION_CONFIGURE if request == CONFIGURE else Transition.TRANSITION_ACTIVATE
        message = ChangeState.Request(transition=Transition(id=transition))
        self._then(handles.change_state.call_async(message), lambda r: node.answered_transition(request, r.success))

    def _then(self, future: Any, take: Callable[[Any], None]) -> None:
        """Hand over the answer and go on at once."""

        def done(future: Any) -> None:
            if not future.cancelled() and future.exception() is None and future.result() is not None:
                take(future.result())
                self._bring_up()

        future.add_done_callback(done)

    def _settle(self) -> None:
        """Stop the fast timer: from now on only look whether every node is there."""
        if not self._watching:
            # Only now: while one node is brought up again another may be replaced, which the next look must notice.
            self._watching = True
            for handles in self._handles.values():
                handles.seen = self._processes(handles)
        if self._rosout is not None and self.plan.snapshot().ready:
            self.destroy_subscription(self._rosout)
            self._rosout = None
        self._retime(self._watch_period_s, self._watch)

    def _watch(self) -> None:
        """Notice nodes that went and nodes that came back. Reads the local discovery data only."""
        for handles in self._handles.values():
            present = self._processes(handles)
            if present - handles.seen:
                handles.node.returned()
            elif not present and handles.node.state != "lost":
                handles.node.lost()
            handles.seen = present | (handles.seen if present else frozenset())
        self._show()
        if self.plan.busy():
            self._retime(BRINGUP_PERIOD_S, self._bring_up)

    def _processes(self, handles: _Handles) -> frozenset[bytes]:
        infos = self.get_publishers_info_by_topic(handles.event_topic)
        return frozenset(bytes(info.endpoint_gid) for info in infos)

    def _retime(self, period_s: float, callback: Callable[[], None]) -> None:
        self.destroy_timer(self._timer)
        self._timer = self.create_timer(period_s, callback)

    def _on_log(self, message: Log) -> None:
        if message.level >= LoggingSeverity.ERROR:
            relative = message.name.replace(".", "/").removeprefix(self.get_namespace().lstrip("/") + "/")
            self._reasons[relative.lstrip("/")] = message.msg.strip()

    def _show(self) -> bool:
        """Publish, log and write the state where it changed; return False while a failure's reason is waited for."""
        now = time.monotonic()
        for name, handles in self._handles.items():
            if handles.node.failed and name not in self._reasons and now - handles.failed_at < REASON_DEADLINE_S:
                return False
        state = self.plan.snapshot()
        if state == self._shown:
            return True
        before, self._shown = self._shown, state
        self._state_publisher.publish(self._message(state))
        if self._state_file is not None:
            write_state(self._state_file, state)
        if before is None or (state.ready, state.failed) != (before.ready, before.failed):
            # rclpy wants one severity for each line that logs.
            if state.failed:
                self.get_logger().error(state.message)
            else:
                self.get_logger().info(state.message)
        return True

    def _message(self, state: Bringup) -> DiagnosticArray:
        level = DiagnosticStatus.OK if state.ready else DiagnosticStatus.WARN
        if state.failed or any(node.state == "lost" for node in state.nodes):
            level = DiagnosticStatus.ERROR
        message = DiagnosticArray(status=[DiagnosticStatus(level=level, name="graph", message=state.message)])
        message.header.stamp = self.get_clock().now().to_msg()
        for node in state.nodes:
            message.status.append(
                DiagnosticStatus(
                    level=_LEVELS.get(node.state, DiagnosticStatus.WARN),
                    name=node.name,
                    message=node.message or node.state,
                    values=[KeyValue(key="state", value=node.state)],
                )
            )
        return message


def main() -> int:
    """Run the node."""
    return run(LifecycleManager)
