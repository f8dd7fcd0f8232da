"""The lifecycle manager against real lifecycle nodes, in one process and in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter

from assay_bringup.lifecycle_manager import STATE_TOPIC, LifecycleManager
from assay_bringup.ready import STATE_FILE_VARIABLE, read_state, renewed_ns
from assay_core.errors import ConfigError
from assay_ros import qos
from assay_ros.testing import graph, spin_until


class Managed(LifecycleNode):
    """A node that notes its transitions."""

    def __init__(self, name: str, order: list[str], *, refuse: str = "", **kwargs: Any) -> None:
        super().__init__(name, start_parameter_services=False, **kwargs)
        self.order, self.refuse = order, refuse

    def on_configure(self, _state: Any) -> TransitionCallbackReturn:
        self.order.append(f"configure {self.get_name()}")
        if self.refuse:
            self.get_logger().error(self.refuse)
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        self.order.append(f"activate {self.get_name()}")
        return super().on_activate(state)


class Screen(Node):
    """Shows what the manager publishes."""

    def __init__(self, context: Context) -> None:
        super().__init__("screen", context=context, start_parameter_services=False)
        self.last: DiagnosticArray | None = None
        self.create_subscription(DiagnosticArray, STATE_TOPIC, self._take, qos.LATCHED)

    def _take(self, message: DiagnosticArray) -> None:
        self.last = message

    def level(self, name: str) -> bytes | None:
        found = [status for status in (self.last.status if self.last else []) if status.name == name]
        return found[0].level if found else None

    def message(self, name: str) -> str:
        return next((s.message for s in (self.last.status if self.last else []) if s.name == name), "")


def manager(context: Context, **parameters: Any) -> LifecycleManager:
    overrides = [Parameter(name, value=value) for name, value in parameters.items()]
    return LifecycleManager(context=context, parameter_overrides=overrides)


def add(executor: SingleThreadedExecutor, *nodes: Node) -> None:
    for node in nodes:
        executor.add_node(node)


def test_nodes_come_up_in_stages_and_a_late_subscriber_sees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_FILE_VARIABLE, str(tmp_path / "state.json"))
    order: list[str] = []
    with graph() as (context, executor, _):
        add(executor, *[Managed(name, order, context=context) for name in ("c", "b", "a")])
        add(executor, manager(context, stages=["a b", "c"]))
        spin_until(executor, lambda: "activate c" in order, what="the last node to be activated")
        screen = Screen(context)
        add(executor, screen)
        spin_until(executor, lambda: screen.level("graph") == DiagnosticStatus.OK, what="the graph to be ready")
    assert set(order[:4]) == {f"{what} {name}" for what in ("configure", "activate") for name in "ab"}
    assert order[4:] == ["configure c", "activate c"], "a stage must wait for the one before"
    assert screen.last is not None
    assert [status.name for status in screen.last.status] == ["graph", "a", "b", "c"]
    state = read_state(tmp_path / "state.json")
    assert state is not None
    assert state.ready


def test_a_node_that_refuses_is_named_with_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_FILE_VARIABLE, str(tmp_path / "state.json"))
    order: list[str] = []
    with graph() as (context, executor, _):
        add(executor, Managed("good", order, context=context))
        add(executor, Managed("bad", order, refuse="camera 'top': no such device", context=context))
        screen = Screen(context)
        add(executor, screen, manager(context, stages=["good bad"]))
        spin_until(executor, lambda: screen.level("graph") == DiagnosticStatus.ERROR, what="the failure to be told")
        assert screen.message("graph") == "bad: configure was refused: camera 'top': no such device"
        spin_until(executor, lambda: screen.level("good") == DiagnosticStatus.OK, what="the other node to come up")
    state = read_state(tmp_path / "state.json")
    assert state is not None
    assert (state.failed, state.ready) == (True, False)


def test_a_node_that_never_appears_is_named() -> None:
    with graph() as (context, executor, _):
        screen = Screen(context)
        add(executor, screen, manager(context, stages=["ghost"], appear_deadline_s=0.2))
        spin_until(executor, lambda: screen.level("graph") == DiagnosticStatus.ERROR, what="the failure to be told")
    assert screen.message("graph") == "ghost: did not appear within 0.2 s; is its process running?"


def test_it_gives_signs_of_life_while_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_FILE_VARIABLE, str(tmp_path / "state.json"))
    monkeypatch.setattr("assay_bringup.lifecycle_manager.RENEW_S", 0.1)
    with graph() as (context, executor, _):
        add(executor, manager(context, stages=["ghost"], appear_deadline_s=600.0))
        seen: set[int] = set()

        def often() -> bool:
            seen.add(renewed_ns(tmp_path / "state.json"))
            return len(seen) > 4

        spin_until(executor, often, what="signs of life")


def test_a_namespace_moves_manager_and_nodes_together() -> None:
    order: list[str] = []
    with graph() as (context, executor, _):
        add(executor, Managed("a", order, context=context, namespace="rig"))
        overrides = [Parameter("stages", value=["a"])]
        add(executor, LifecycleManager(context=context, namespace="rig", parameter_overrides=overrides))
        spin_until(executor, lambda: order == ["configure a", "activate a"], what="the node to come up")


def test_contradictory_parameters_are_refused() -> None:
    with graph() as (context, _executor, _), pytest.raises(ConfigError, match="each node once"):
        manager(context, stages=["a a"])


NODE = """
import sys
from rclpy.lifecycle import LifecycleNode
from assay_ros.node_main import run
class Plain(LifecycleNode):
    def __init__(self):
        super().__init__(sys.argv[1], start_parameter_services=False)
    def on_activate(self, state):
        print("activated", flush=True)
        return super().on_activate(state)
sys.exit(run(Plain))
"""


@contextmanager
def process(name: str, number: int) -> Iterator[subprocess.Popen[str]]:
    environ = {**os.environ, "ROS_DOMAIN_ID": str(number)}
    with subprocess.Popen([sys.executable, "-c", NODE, name], env=environ, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def activated(executor: SingleThreadedExecutor, child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    descriptor = child.stdout.fileno()
    os.set_blocking(descriptor, False)
    said: list[bytes] = []

    def condition() -> bool:
        with contextlib.suppress(BlockingIOError):
            said.append(os.read(descriptor, 4096))
        return b"activated" in b"".join(said)

    spin_until(executor, condition, what="the node to be activated")


def test_a_killed_node_is_brought_up_again_but_an_arm_driver_waits_for_a_person() -> None:
    with graph() as (context, executor, number):
        screen = Screen(context)
        add(executor, screen, manager(context, stages=["policy arm"], manual=["arm"], watch_period_s=0.05))
        with process("policy", number) as policy, process("arm", number) as arm:
            activated(executor, policy)
            activated(executor, arm)
            spin_until(executor, lambda: screen.level("graph") == DiagnosticStatus.OK, what="the graph to be ready")
            policy.send_signal(signal.SIGKILL)
            arm.send_signal(signal.SIGKILL)
            policy.wait(timeout=20)
            arm.wait(timeout=20)
            with process("policy", number) as policy_again, process("arm", number) as arm_again:
                activated(executor, policy_again)
                spin_until(
                    executor, lambda: "an operator has to bring it up" in screen.message("arm"), what="the arm to wait"
                )
                spin_until(
                    executor, lambda: screen.level("policy") == DiagnosticStatus.OK, what="the policy to be told"
                )
                assert screen.level("graph") == DiagnosticStatus.WARN
                assert arm_again.poll() is None


def test_a_node_that_ends_by_itself_is_told_at_once() -> None:
    with graph() as (context, executor, number):
        screen = Screen(context)
        add(executor, screen, manager(context, stages=["policy"], watch_period_s=0.05))
        with process("policy", number) as policy:
            spin_until(executor, lambda: screen.level("graph") == DiagnosticStatus.OK, what="the graph to be ready")
            policy.send_signal(signal.SIGINT)
            policy.wait(timeout=20)
            spin_until(executor, lambda: screen.level("graph") == DiagnosticStatus.ERROR, what="the loss to be told")
    assert screen.message("graph") == "policy: its process is gone"


def test_a_half_written_state_file_is_not_taken_for_a_state(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert read_state(path) is None
    path.write_text(json.dumps({"ready": True})[:-3], encoding="utf-8")
    assert read_state(path) is None
