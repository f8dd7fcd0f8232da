"""Benchmark node, automatic operator and mock world as processes that die and come back; the test is the runner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lifecycle_msgs.srv import ChangeState

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "assay_bench" / "test"))
from console import Console, repeated
from test_benchmark_node import real_plan

from assay_core.journal import JournalReader
from assay_core.plan import PLAN_FILE
from assay_core.trial import State
from assay_ros.testing import graph, spin_until

pytestmark = pytest.mark.timeout(240)

MODULES = {
    "benchmark": "assay_bench.benchmark_node",
    "operator": "assay_operator.auto_operator",
    "world": "assay_sim.mock_world",
}
DEADLINE_S = 60.0


class Rig:
    """Processes of one domain, and the runner's side of them."""

    def __init__(self, context: Any, executor: Any, domain: int, directory: Path) -> None:
        self.context, self.executor, self.domain, self.directory = context, executor, domain, directory
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.console = Console(context, executor, directory)

    def start(self, name: str, *params: str, **environment: str) -> None:
        """Start a node; lifecycle nodes are configured and activated."""
        arguments = [word for param in params for word in ("-p", param)]
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", MODULES[name], "--ros-args", *arguments],
            env={**os.environ, "ROS_DOMAIN_ID": str(self.domain), **environment},
        )
        if name == "operator":
            return
        client = self.console.node.create_client(ChangeState, f"{name}/change_state")
        for transition in (1, 3):
            request = ChangeState.Request()
            request.transition.id = transition
            assert repeated(self.executor, client, request, f"{name}: transition {transition}").success
        self.console.node.destroy_client(client)
        if name == "benchmark":
            self.console.connect()

    def wait_dead(self, name: str) -> int:
        process = self.processes.pop(name)
        spin_until(self.executor, lambda: process.poll() is not None, DEADLINE_S, what=f"end of {name}")
        return process.wait()

    def end(self, name: str, signum: int = signal.SIGKILL) -> int:
        self.processes[name].send_signal(signum)
        return self.wait_dead(name)

    def to_judge(self, trial: str) -> None:
        """Wait for READY and go on to JUDGE without moving anything."""
        self.console.wait(State.READY, trial)
        for state in (State.RUNNING, State.PARKING, State.JUDGE):
            self.console.advance(state, trial)

    def wait_verdict(self) -> str:
        spin_until(self.executor, lambda: bool(self.console.trials[-1].verdict_uuid), DEADLINE_S, what="verdict")
        return str(self.console.trials[-1].verdict_uuid)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with graph() as (context, executor, domain):
        (tmp_path / PLAN_FILE).write_text(real_plan(2).to_yaml())
        rig = Rig(context, executor, domain, tmp_path)
        try:
            yield rig
        finally:
            for process in rig.processes.values():
                process.kill()
                process.wait()


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
def test_a_benchmark_node_killed_at_a_verdict_comes_back_and_answers_the_resend(rig: Rig, point: str) -> None:
    rig.start("world", "cameras:=0")
    rig.start("benchmark", "world:=true", ASSAY_TEST_KILL_AT=f"{point}:verdict:000000-0")
    rig.start("operator", "resend_s:=0.2")
    rig.console.open()
    rig.console.start(0)
    rig.to_judge("000000-0")
    assert rig.wait_dead("benchmark") == -signal.SIGKILL
    assert not any(receipt.kind == 2 for receipt in rig.console.receipts), "no receipt left before the crash"
    rig.console.trials.clear()
    rig.start("benchmark", "world:=true")
    kept = point == "after_commit"
    assert rig.console.open(resume=True).next_plan_index == (1 if kept else 0)
    if not kept:
        rig.console.start(0, 1)
        rig.to_judge("000000-1")
        rig.wait_verdict()
        rig.console.finish("000000-1")
    rig.console.start(1)
    rig.to_judge("000001-0")
    rig.wait_verdict()
    rig.console.finish("000001-0")
    rig.console.close()
    results = JournalReader(rig.directory).results()
    assert [r.trial_id for r in results] == ["000000-0" if kept else "000000-1", "000001-0"]
    assert {r.outcome for r in results} == {"failure"}, "nothing moved"


def test_an_operator_killed_before_its_verdict_judges_after_a_restart(rig: Rig) -> None:
    rig.start("world", "cameras:=0")
    rig.start("benchmark", "world:=true")
    rig.start("operator")
    rig.console.open()
    rig.console.start(0)
    rig.console.wait(State.READY, "000000-0")
    rig.end("operator")
    rig.to_judge("000000-0")
    rig.start("operator")
    rig.wait_verdict()
    verdict = JournalReader(rig.directory).verdicts()["000000-0"]
    assert verdict.outcome == "failure", "the world's state was lost with the operator"
    assert "after 0 steps" in verdict.note


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_journal_and_the_session_can_be_resumed(rig: Rig, signum: int) -> None:
    rig.start("benchmark")
    rig.console.open()
    rig.console.start(0)
    assert rig.end("benchmark", signum) == 0
    assert not (rig.directory / "journal.sqlite-wal").exists(), "the journal was not closed"
    reader = JournalReader(rig.directory)
    assert reader.events()[-1].kind == "trial_started"
    rig.start("benchmark")
    rig.console.open(resume=True)
    rig.console.trial(0, 1)
    rig.console.trial(1)
    rig.console.close()
