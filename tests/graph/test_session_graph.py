"""Whole sessions over a real graph: end to end, and through every death that can befall one."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from inspect_robots.log import read_eval_log

sys.path.insert(0, str(Path(__file__).parent))
from runs import Assay, assay, journal_events, kill, trials_ended, wait_for, wait_for_trials

from assay_core.journal import JournalReader, comparable
from assay_core.seal import verify_seal
from assay_ros.testing import domain

pytestmark = pytest.mark.timeout(400)

INSTANCE = "pour_pasta/full-box"
NODES = {"world", "policy", "benchmark", "operator", "lifecycle_manager"}


def check_complete(session: Path, trials: int) -> JournalReader:
    """Every planned trial is in the results exactly once, and every attempt is accounted for."""
    reader = JournalReader(session)
    reader.verify()
    results = reader.results()
    assert [result.entry.index for result in results] == list(range(trials))
    assert all(result.counted for result in results), [(r.entry.index, r.outcome, r.reason) for r in results]
    summary = json.loads((session / "summary.json").read_text())
    invalid = sum(not attempt.outcome()[1] for attempt in reader.attempts())
    assert (summary["status"], summary["trials"], summary["invalid"]) == ("done", trials, invalid)
    assert verify_seal(session) == []
    return reader


def start(
    cwd: Path,
    *more: str,
    epochs: int,
    cameras: int = 0,
    policy: str = "scripted",
    env: dict[str, str] | None = None,
) -> Any:
    return assay(
        *("eval", INSTANCE, "--session", "s", "--epochs", str(epochs), "--cameras", str(cameras)),
        *("--policy", policy, "--json", *more),
        cwd=cwd,
        env=env,
    )


def resume(cwd: Path, trials: int) -> JournalReader:
    with assay("resume", "s", "--json", cwd=cwd) as again:
        assert again.wait() == 0, again.stderr()
        assert again.survivors() == []
    return check_complete(cwd / "s", trials)


def test_a_session_leaves_everything_that_is_promised_and_nothing_else(tmp_path: Path) -> None:
    with start(tmp_path, epochs=2, cameras=2) as run:
        wait_for(lambda: set(run.nodes()) >= NODES, "five processes")
        wait_for_trials(run, tmp_path / "s", 1)
        run.nodes()
        assert run.wait() == 0, run.stderr()
        assert run.survivors() == []
        assert run.shared_memory_left() == []
        summary = json.loads(run.stdout())
    session = tmp_path / "s"
    reader = check_complete(session, 2)
    assert summary == json.loads((session / "summary.json").read_text())
    assert summary["tasks"]["kitchenbench/pour_pasta"]["instances"][INSTANCE]["p_hat"] == 1.0
    [log_path] = (session / "logs").glob("*.json")
    log = read_eval_log(str(log_path))
    assert (log.status, log.results.total_trials, log.eval.policy) == ("success", 2, "scripted")
    assert log.results.metrics == {"task_success": 1.0, "episode_length": 20.0}
    for trial in ("000000-0", "000001-0"):
        assert sorted(path.name for path in (session / "trials" / trial).glob("*.jpg")) == [
            "final_left_cam.jpg",
            "final_top_cam.jpg",
        ]
    actions = (session / "logs" / log.samples[0].trial_metadata[0]["actions"]).read_text().splitlines()
    assert len(actions) == 21, "one header and twenty steps"
    assert len(reader.attempts()) == 2
    done = subprocess.run(
        ["inspect-robots", "inspect", str(log_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_one_seed_gives_one_journal_and_a_policy_of_chance_fails(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with start(tmp_path / name, "--seed", "7", epochs=2, policy="random") as run:
            assert run.wait() == 0, run.stderr()
            assert json.loads(run.stdout())["tasks"]["kitchenbench/pour_pasta"]["mean_p_hat"] == 0.0
        contents.append(comparable(JournalReader(tmp_path / name / "s").events()))
    assert contents[0] == contents[1]

    (tmp_path / "c").mkdir()
    with start(tmp_path / "c", "--seed", "7", epochs=2, policy="random") as run:
        wait_for_trials(run, tmp_path / "c" / "s", 1)
        run.process.kill()
        run.wait()
    interrupted = resume(tmp_path / "c", 2)
    assert what_happened(interrupted) == what_happened(JournalReader(tmp_path / "a" / "s"))


def what_happened(reader: JournalReader) -> list[Any]:
    """Return what a resumed session must have in common with one that was never interrupted."""
    return [(r.entry.index, r.outcome, r.record["actions"], r.record["info"], r.realization) for r in reader.results()]


@pytest.mark.parametrize("name", ["world", "policy", "benchmark"])
def test_a_killed_process_is_named_and_the_session_can_go_on(name: str, tmp_path: Path) -> None:
    with start(tmp_path, epochs=16) as run:
        wait_for_trials(run, tmp_path / "s", 2)
        kill(run.node(name))
        assert run.wait() == 1, run.stderr()
        assert f"{name} (" in run.stderr()
        assert "SIGKILL" in run.stderr()
        assert "go on with: assay resume s" in run.stderr()
        assert "Traceback" not in run.stderr()
        assert run.survivors() == []
    if name == "benchmark":
        assert len(resume(tmp_path, 16).attempts()) <= 17


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def test_a_signal_ends_a_session_cleanly(signum: signal.Signals, tmp_path: Path) -> None:
    with start(tmp_path, epochs=16) as run:
        wait_for_trials(run, tmp_path / "s", 1)
        run.nodes()
        begun = time.monotonic()
        os.kill(run.process.pid, signum)
        assert run.wait(15) == 130, run.stderr()
        took = time.monotonic() - begun
        assert "Traceback" not in run.stderr()
        assert run.survivors() == []
        assert run.shared_memory_left() == []
    print(f"{signum.name}: ended after {took:.2f} s")
    log = tmp_path / "s" / "journal.sqlite-wal"
    assert not log.exists() or log.stat().st_size == 0, "the journal was not closed"
    events = journal_events(tmp_path / "s")
    assert events[-1].kind == "session_closed"
    assert events[-1].body["status"] == "incomplete"
    if signum == signal.SIGINT:
        resume(tmp_path, 16)


def test_a_closed_terminal_ends_a_session_cleanly(tmp_path: Path) -> None:
    pid, terminal = os.forkpty()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ.pop("ROS_DOMAIN_ID", None)
        words = ["-m", "assay_cli", "eval", INSTANCE, "--session", "s", "--epochs", "16", "--cameras", "0"]
        os.execv(sys.executable, [sys.executable, *words])
    os.set_blocking(terminal, False)
    shown = b""

    def running() -> bool:
        nonlocal shown
        with contextlib.suppress(BlockingIOError):
            shown += os.read(terminal, 65536)
        return trials_ended(tmp_path / "s") >= 2

    wait_for(running, "two trials")
    children = psutil.Process(pid).children(recursive=True)
    os.close(terminal)
    _, status = wait_for(lambda: (ended := os.waitpid(pid, os.WNOHANG)) and ended[0] and ended, "the end", 15)
    assert os.waitstatus_to_exitcode(status) == 130, shown.decode()
    assert psutil.wait_procs(children, timeout=10)[1] == []
    events = journal_events(tmp_path / "s")
    assert (events[-1].kind, events[-1].body["reason"]) == ("session_closed", "interrupted by SIGHUP")
    assert "P̂" in shown.decode(), "a terminal gets a bar"


def test_kill_9_of_anything_at_any_time_loses_nothing_acknowledged(tmp_path: Path) -> None:
    seed = int(os.environ.get("ASSAY_TEST_SEED", random.randrange(2**32)))
    print(f"ASSAY_TEST_SEED={seed}")
    rng = random.Random(seed)
    trials, session = 30, tmp_path / "s"
    acknowledged: dict[str, str] = {}
    victims = ["runner", "benchmark", "world", "policy", "runner"]
    for round_number, victim in enumerate(victims):
        with resumed(tmp_path, trials, first=round_number == 0) as run:
            wait_for_trials(run, session, trials_ended(session) + 2)
            nodes = run.nodes()
            time_to_live = rng.uniform(0.0, 0.5)
            end = time.monotonic() + time_to_live
            wait_for(lambda end=end: time.monotonic() >= end, "the moment")
            print(f"round {round_number}: kill {victim} after {time_to_live:.3f} s")
            if victim == "runner":
                run.process.kill()
            else:
                kill(nodes[victim])
            run.wait()
            assert run.survivors() == [], "processes outlived the runner"
        for event in journal_events(session):
            if event.kind == "verdict":
                acknowledged[event.trial_id] = event.body["uuid"]
    reader = resume(tmp_path, trials)
    verdicts = {trial: verdict.uuid for trial, verdict in reader.verdicts().items()}
    assert acknowledged.items() <= verdicts.items(), "a verdict was lost"
    assert len(reader.attempts()) <= trials + len(victims)


def test_a_death_at_each_commit_of_a_trial_costs_at_most_that_attempt(tmp_path: Path) -> None:
    """The benchmark node dies right after each kind of commit, before anybody hears of it, each in another trial."""
    kinds = ["trial_started", "world_ready", "operator_ready", "trial_advanced", "verdict", "trial_ended"]
    session = tmp_path / "s"
    for number, kind in enumerate(kinds):
        env = {"ASSAY_TEST_KILL_AT": f"after_commit:{kind}:{number:06d}-0"}
        with resumed(tmp_path, len(kinds), first=number == 0, env=env) as run:
            assert run.wait() == 1, run.stderr()
            assert "benchmark (benchmark_node" in run.stderr()
            assert "SIGKILL" in run.stderr()
        last = journal_events(session)[-1]
        assert (last.kind, last.trial_id) == (kind, f"{number:06d}-0"), "the node did not die where it should"
    reader = resume(tmp_path, len(kinds))
    kept = {attempt.trial_id for attempt in reader.attempts() if attempt.outcome()[1]}
    assert {"000004-0", "000005-0"} <= kept, "a verdict that was committed was thrown away"
    assert len(reader.attempts()) == len(kinds) + 4


def resumed(cwd: Path, trials: int, *, first: bool, env: dict[str, str] | None = None) -> Any:
    return start(cwd, epochs=trials, env=env) if first else assay("resume", "s", "--json", cwd=cwd, env=env)


def test_a_second_runner_on_one_rig_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with start(tmp_path / "a", epochs=200) as first:
        wait_for_trials(first, tmp_path / "a" / "s", 1)
        domain = domain_of(first)
        with assay(
            *("eval", INSTANCE, "--session", "s", "--cameras", "0", "--attach"),
            cwd=tmp_path / "b",
            env={"ROS_DOMAIN_ID": domain},
        ) as second:
            assert second.wait() == 2, second.stderr()
            assert "SESSION_OTHER_OPEN" in second.stderr()
            assert not (tmp_path / "b" / "s").exists(), "the refused session left a directory"
        # A graph of its own in that domain would answer for the first one: refused before anything starts.
        with start(tmp_path / "b", epochs=1, env={"ROS_DOMAIN_ID": domain}) as third:
            assert third.wait() == 2, third.stderr()
            assert f"rig in ROS domain {domain}: expected no other graph of assay" in third.stderr()
            assert third.nodes() == {}
        first.process.send_signal(signal.SIGINT)
        assert first.wait() == 130


def test_another_policy_than_planned_is_refused(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    with domain() as number:
        env = {"ROS_DOMAIN_ID": str(number)}
        with assay("launch", "eval", "policy:=noop", "cameras:=0", cwd=tmp_path / "graph", env=env):
            with start(tmp_path, "--attach", epochs=1, env=env) as run:
                assert run.wait() == 2, run.stderr()
                assert "expected 'scripted' as planned, got 'noop'" in run.stderr()
            with assay("resume", "s", "--attach", cwd=tmp_path, env=env) as run:
                assert run.wait() == 2


def test_sessions_side_by_side_take_different_domains(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with start(tmp_path / "a", epochs=3) as first, start(tmp_path / "b", epochs=3) as second:
        wait_for(lambda: set(first.nodes()) >= NODES and set(second.nodes()) >= NODES, "both graphs")
        assert domain_of(first) != domain_of(second)
        assert (first.wait(), second.wait()) == (0, 0), first.stderr() + second.stderr()
    check_complete(tmp_path / "a" / "s", 3)
    check_complete(tmp_path / "b" / "s", 3)


def test_resuming_what_runs_is_refused(tmp_path: Path) -> None:
    with start(tmp_path, epochs=200) as run:
        wait_for_trials(run, tmp_path / "s", 1)
        (tmp_path / "other").mkdir()
        with assay("resume", str(tmp_path / "s"), cwd=tmp_path / "other") as second:
            assert second.wait() == 2
            assert "one is running (process" in second.stderr()
        run.process.send_signal(signal.SIGINT)
        assert run.wait() == 130


def domain_of(run: Assay) -> str:
    """Return the ROS domain of a run's nodes."""
    return str(run.node("world").environ()["ROS_DOMAIN_ID"])
