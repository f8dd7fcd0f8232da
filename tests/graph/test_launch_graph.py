"""The graph of eval.launch.yaml as our runner starts it: complete, private to this machine, and gone when stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

sys.path.insert(0, str(Path(__file__).parent))
from runs import bound

from assay_bringup import shm
from assay_bringup.launch import GraphProcesses, resolve
from assay_core.domains import TEST_DOMAINS, claim
from assay_ros import qos
from assay_ros.testing import graph as ros_graph
from assay_ros.testing import spin_until

pytestmark = pytest.mark.timeout(300)

NODES = {"world", "policy", "benchmark", "operator", "lifecycle_manager"}


@contextmanager
def running(tmp_path: Path, number: int, **arguments: str) -> Iterator[GraphProcesses]:
    """Run the graph without a task in a domain, ready."""
    environ = {"ROS_DOMAIN_ID": str(number)}
    graph = GraphProcesses.start(resolve("eval", arguments), env=environ, log_dir=tmp_path / f"log-{number}")
    try:
        graph.wait_ready()
        yield graph
    finally:
        graph.stop(now=True)


def segments(pid: int) -> set[str]:
    """Return the names of a process's shared-memory segments, and of the ports of its ROS domain.

    Ports from 7000 on belong to no domain: the next process of the machine may have taken them over.
    """
    maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
    found = set(re.findall(r"/dev/shm/((?:fastrtps|fastdds)_(?:[0-9a-f]{16}|port\d+))", maps))
    return {name for name in found if re.search(r"_port7[0-3]\d\d$", name) is None}


def test_the_graph_is_processes_that_listen_on_loopback_only_and_all_end(tmp_path: Path) -> None:
    with ros_graph() as (context, executor, number), running(tmp_path, number) as graph:
        pids = graph.running()
        assert set(pids) == NODES
        assert len(set(pids.values())) == len(NODES), "each node must be a process of its own"
        for label, pid in pids.items():
            addresses = bound(pid)
            assert addresses, f"{label} has no socket, so this test shows nothing"
            assert addresses == {"127.0.0.1"}, f"{label} can be reached from elsewhere: {addresses}"
            assert segments(pid), f"{label} does not use shared memory: large images would get lost"
        state = State(executor)
        spin_until(executor, lambda: state.last is not None, what="bringup/state")
        assert state.last is not None
        assert state.last.status[0].name == "graph"
        assert state.last.status[0].level == DiagnosticStatus.OK
        assert [s.name for s in state.last.status[1:]] == ["world", "policy", "benchmark"]
        processes = [psutil.Process(pid) for pid in pids.values()]
        ends = graph.stop()
        assert not any(process.is_running() for process in processes)
        assert [(end.label, end.message) for end in ends if end.returncode != 0 or end.escalated] == []
    del context


class State(Node):
    """Takes bringup/state."""

    def __init__(self, executor: SingleThreadedExecutor) -> None:
        super().__init__("screen", context=executor.context, start_parameter_services=False)
        self.last: DiagnosticArray | None = None
        self.create_subscription(DiagnosticArray, "bringup/state", self._take, qos.LATCHED)
        executor.add_node(self)

    def _take(self, message: DiagnosticArray) -> None:
        self.last = message


def test_a_killed_node_is_named_and_a_graph_that_was_all_killed_leaves_no_shared_memory(tmp_path: Path) -> None:
    with claim(pool=TEST_DOMAINS, deadline_s=20.0) as held, running(tmp_path, held.number) as graph:
        pids = graph.running()
        names = {name for pid in pids.values() for name in segments(pid)}
        os.kill(pids["policy"], signal.SIGKILL)
        graph.wait_change(0, 20.0)
        assert graph.dead() == f"policy (policy_node, pid {pids['policy']}) died: SIGKILL"
        assert set(graph.running()) == NODES - {"policy"}
        for pid in graph.running().values():
            os.kill(pid, signal.SIGKILL)
        graph.stop()
        assert names & set(shm.leftovers()) == set()


READINGS = {
    "world": {"steps", "stamps_refused", "faults_injected"},
    "policy": {"inferences", "errors"},
    "benchmark": {"commits", "commits_failed", "messages_refused"},
    "operator": {"messages_sent", "messages_resent", "answers", "refused", "given_up", "waiting"},
    "lifecycle_manager": {"nodes", "active", "lost"},
}


def test_every_node_says_how_it_is_doing_and_the_policy_what_it_serves(tmp_path: Path) -> None:
    with ros_graph() as (context, executor, number), running(tmp_path, number, cameras="1", policy="noop"):
        listener = Node("listener", context=context, start_parameter_services=False)
        executor.add_node(listener)
        heard: dict[str, DiagnosticStatus] = {}
        serving: list[DiagnosticStatus] = []

        def hear(message: DiagnosticArray) -> None:
            heard.update({status.name: status for status in message.status})

        listener.create_subscription(DiagnosticArray, "diagnostics", hear, qos.EVENT)
        listener.create_subscription(DiagnosticStatus, "policy/serving", serving.append, qos.LATCHED)
        spin_until(executor, lambda: set(heard) == NODES and bool(serving), what="diagnostics of every node")
        assert {name: {value.key for value in status.values} for name, status in heard.items()} == READINGS
        assert {status.message for status in heard.values()} == {"active"}
        assert {value.key: value.value for value in serving[0].values} == {
            "policy": "noop",
            "policy_args": "",
            "cameras": "1",
            "camera_width": "640",
            "camera_height": "360",
            "control_hz": "10.0",
            "mode": "lockstep",
        }


def test_two_graphs_side_by_side_do_not_meet(tmp_path: Path) -> None:
    with ExitStack() as stack:
        numbers = []
        for policy in ("noop", "random"):
            context, executor, number = stack.enter_context(ros_graph())
            stack.enter_context(running(tmp_path, number, policy=policy, cameras="0"))
            numbers.append((number, executor, context))
        assert numbers[0][0] != numbers[1][0]
        for _, executor, _ in numbers:
            screen = State(executor)
            spin_until(executor, lambda screen=screen: screen.last is not None, what="bringup/state")
            spin_until(executor, lambda screen=screen: set(screen.get_node_names()) >= NODES, what="every node")
            names = screen.get_node_names()
            assert names.count("world") == 1, f"the graphs hear each other: {names}"


def test_a_wrong_policy_is_named_with_its_node_before_anything_moves(tmp_path: Path) -> None:
    with claim(pool=TEST_DOMAINS, deadline_s=20.0) as held:
        done = subprocess.run(
            [sys.executable, "-m", "assay_bringup.cli", "eval", "policy:=scrpted", "task:=kitchenbench/pour_pasta"],
            cwd=tmp_path,
            env={**os.environ, "ROS_LOG_DIR": str(tmp_path / "log"), "ROS_DOMAIN_ID": str(held.number)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode not in (0, 130), done.stderr
    assert "scrpted" in done.stderr
    assert "did you mean scripted" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_launch_with_a_task_runs_the_session_and_ends_with_it(tmp_path: Path) -> None:
    with claim(pool=TEST_DOMAINS, deadline_s=20.0) as held:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "assay_bringup.cli", "eval", "task:=pour_pasta/full-box", "epochs:=1"),
                *("cameras:=0", f"session:={tmp_path / 's'}"),
            ],
            cwd=tmp_path,
            env={**os.environ, "ROS_LOG_DIR": str(tmp_path / "log"), "ROS_DOMAIN_ID": str(held.number)},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    told = done.stdout + done.stderr
    assert re.search(r"\[runner\] +pour_pasta/full-box +1 +1 +1\.00 +\[0\.03, 1\.00\]", told), told
    assert (tmp_path / "s" / "summary.json").is_file()
