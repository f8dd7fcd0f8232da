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
from rclpy.executors import SingleThreadedExecutor

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "assay_bench" / "test"))
from console import Console, repeated
from test_benchmark_node import real_plan

from assay_bridge.client import GraphClient
from assay_bridge.client_types import ClientConfig
from assay_core.journal import JournalReader
from assay_core.plan import PLAN_FILE
from assay_core.trial import State
from assay_msgs.msg import Receipt, Verdict
from assay_msgs.srv import FinishTrial
from assay_ros.testing import graph, spin_until

pytestmark = pytest.mark.timeout(240)

MODULES = {
    "benchmark": "assay_bench.benchmark_node",
    "operator": "assay_operator.auto_operator",
    "world": "assay_sim.mock_world",
}
DEADLINE_S = 60.0


class Died(Exception):
    """The watched process has ended."""


class Executor(SingleThreadedExecutor):
    """Does not wait for the answers of a process that has ended."""

    watched: subprocess.Popen[bytes] | None = None

    def spin_once(self, timeout_sec: float | None = None) -> None:
        super().spin_once(timeout_sec)
        if self.watched is not None and self.watched.poll() is not None:
            raise Died


class Rig:
    """Processes of one domain, and the runner's side of them."""

    def __init__(self, context: Any, domain: int, directory: Path) -> None:
        self.context, self.domain, self.directory = context, domain, directory
        self.executor = Executor(context=context)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.console = Console(context, self.executor, directory)

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

    def until_death(self, index: int) -> None:
        """Run a trial, in whose course the benchmark node dies."""
        self.executor.watched = self.processes["benchmark"]
        with pytest.raises(Died):
            self.whole_trial(index)
        self.executor.watched = None
        assert self.wait_dead("benchmark") == -signal.SIGKILL

    def whole_trial(self, index: int, attempt: int = 0) -> None:
        """Run a trial without moving anything."""
        trial = f"{index:06d}-{attempt}"
        self.console.start(index, attempt)
        self.to_judge(trial)
        self.wait_verdict()
        self.console.finish(trial)

    def heard(self, trial: str, kind: int) -> list[Receipt]:
        """Return the receipts of a trial that have reached this process."""
        return [r for r in self.console.receipts if (r.trial_id, r.kind) == (trial, kind) and r.accepted]

    def check_receipts(self, events: list[Any]) -> None:
        """Everything acknowledged is in the journal, where its receipt says."""
        for receipt in self.console.receipts:
            if receipt.accepted:
                event = events[receipt.journal_index]
                found = (event.trial_id, event.body["uuid"])
                assert found == (receipt.trial_id, receipt.uuid), "acknowledged, but lost"

    def wait_verdict(self) -> str:
        spin_until(self.executor, lambda: self.console.trials[-1].has_verdict, DEADLINE_S, what="verdict")
        return str(self.console.trials[-1].verdict.uuid)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with graph() as (context, _, domain):
        (tmp_path / PLAN_FILE).write_text(real_plan(2).to_yaml())
        rig = Rig(context, domain, tmp_path)
        try:
            yield rig
        finally:
            for process in rig.processes.values():
                process.kill()
                process.wait()
            rig.console.node.destroy_node()
            rig.executor.shutdown()


DEATHS = {
    "after_commit:trial_started": State.ARRANGE,
    "before_commit:trial_advanced/RUNNING": State.READY,
    "after_commit:trial_advanced/RUNNING": State.RUNNING,
    "before_commit:trial_advanced/JUDGE": State.PARKING,
    "before_commit:verdict": State.JUDGE,
    "after_commit:verdict": State.JUDGE,
    "before_commit:trial_ended": State.JUDGE,
}
"""Where it dies, and the state of the trial then. All commits at both points: test_crash of assay_bench."""

KEPT = {"after_commit:verdict", "before_commit:trial_ended"}
"""Deaths after which the attempt counts: its verdict is on disk."""


def commit_of(event: Any) -> str:
    return f"{event.kind}/{event.body['state']}" if event.kind == "trial_advanced" else str(event.kind)


def test_a_benchmark_node_killed_in_every_state_comes_back_and_has_lost_nothing(rig: Rig) -> None:
    """It dies once in each trial, elsewhere each time; world and operator live on, and a resend gets its receipt."""
    assert set(DEATHS.values()) == {State.ARRANGE, State.READY, State.RUNNING, State.PARKING, State.JUDGE}
    deaths = list(DEATHS)
    (rig.directory / PLAN_FILE).write_text(real_plan(len(deaths)).to_yaml())
    rig.start("world", "cameras:=0")
    rig.start("operator", "resend_s:=0.2")
    rig.start("benchmark", "world:=true", ASSAY_TEST_KILL_AT=f"{deaths[0]}:000000-0")
    rig.console.open()
    for index, death in enumerate(deaths):
        trial, (point, _, commit) = f"{index:06d}-0", death.partition(":")
        rig.until_death(index)
        events = list(JournalReader(rig.directory).events())
        last = JournalReader(rig.directory).attempts()[-1]
        assert (last.trial_id, last.state) == (trial, DEATHS[death]), f"{death}: it died elsewhere"
        on_disk = {commit_of(event) for event in events if event.trial_id == trial}
        assert (commit in on_disk) == (point == "after_commit")
        rig.check_receipts(events)
        if commit == "verdict":
            assert rig.heard(trial, Receipt.KIND_VERDICT) == [], "a receipt left before the crash"
        rig.console.trials.clear()
        following = f"{deaths[index + 1]}:{index + 1:06d}-0" if index + 1 < len(deaths) else ""
        rig.start("benchmark", "world:=true", ASSAY_TEST_KILL_AT=following)
        assert rig.console.open(resume=True).next_plan_index == index + (death in KEPT)
        if death not in KEPT:
            rig.whole_trial(index, 1)
    rig.console.close()
    reader = JournalReader(rig.directory)
    reader.verify()
    rig.check_receipts(list(reader.events()))
    results = reader.results()
    assert [r.trial_id for r in results] == [f"{i:06d}-{0 if death in KEPT else 1}" for i, death in enumerate(deaths)]
    assert {result.outcome for result in results} == {"failure"}, "nothing moved"
    heard = {r.trial_id for r in rig.console.receipts if r.kind == Receipt.KIND_VERDICT and r.accepted}
    assert heard == {result.trial_id for result in results}, "every verdict that counts was acknowledged, if late"


def test_a_verdict_sent_once_before_the_runner_listens_reaches_it_and_a_forged_one_does_not(rig: Rig) -> None:
    rig.start("benchmark")
    console, trial = rig.console, "000000-0"
    console.open(runner="late-1-a")
    console.start(0)
    assert console.send("ready", console.message("ready", trial)).accepted
    rig.to_judge(trial)
    verdict = console.message("verdict", trial, note="looked at it", has_stage=True, stage=4)
    assert console.send("verdict", verdict).accepted
    config = ClientConfig(session_id="s1", runner_id="late-1-a", mode="paced", has_world=False)
    client = GraphClient(config, context=rig.context)
    try:
        client.start_trial(0, 0)
        forged = console.message("verdict", trial, uuid=verdict.uuid, outcome=Verdict.OUTCOME_FAILURE)
        console.publishers["verdict"].publish(forged)
        heard = client.wait_for_verdict(DEADLINE_S)
        assert (heard.uuid, heard.outcome, heard.stage, heard.note) == (verdict.uuid, "success", 4, "looked at it")
        fix = console.message("verdict", trial, supersedes=verdict.uuid, outcome=Verdict.OUTCOME_FAILURE)
        assert console.send("verdict", fix).accepted
        spin_until(
            rig.executor,
            lambda: console.trials[-1].verdict.uuid == fix.uuid,
            DEADLINE_S,
            what="the correction on benchmark/trial",
        )
        assert console.trials[-1].verdict.supersedes == verdict.uuid
        status = FinishTrial.Request.STATUS_RIG_FAULT
        assert client.finish_trial(status, "the runner saw no verdict") == State.DONE
    finally:
        client.close()
    (result,) = JournalReader(rig.directory).results()
    assert (result.outcome, result.counted) == ("failure", True), (
        "an acknowledged verdict counts, whatever the runner says"
    )


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
    assert list(reader.events())[-1].kind == "trial_started"
    rig.start("benchmark")
    rig.console.open(resume=True)
    rig.console.trial(0, 1)
    rig.console.trial(1)
    rig.console.close()
