"""Whole sessions over a real graph: end to end, and through every death that can befall one."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from inspect_robots.log import read_eval_log

sys.path.insert(0, str(Path(__file__).parent))
from observer import Observer, observing
from runs import (
    INSTANCE,
    Assay,
    assay,
    bound,
    check_complete,
    journal_events,
    kill,
    resume,
    start,
    trials_ended,
    wait_for,
    wait_for_trials,
)

from assay_benchmarks import catalog
from assay_core.journal import JournalReader, comparable
from assay_core.trial import State
from assay_msgs.msg import Receipt
from assay_ros.testing import domain

pytestmark = pytest.mark.timeout(400)

NODES = {"world", "policy", "benchmark", "operator", "lifecycle_manager"}


def p_hats(run: Assay) -> dict[str, float]:
    """Return the rate of success of every instance of a run that has ended well."""
    assert run.wait() == 0, run.stderr()
    tasks = json.loads(run.stdout())["tasks"].values()
    return {name: instance["p_hat"] for task in tasks for name, instance in task["instances"].items()}


def one_of_each_task() -> list[str]:
    """Return one instance of each task, not always the first."""
    tasks = [catalog.resolve_task(name) for name in catalog.expand(["kitchenbench"])]
    return [str(task.scenes[i % len(task.scenes)].metadata["instance_id"]) for i, task in enumerate(tasks)]


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


def test_the_scripted_policy_solves_every_instance(tmp_path: Path) -> None:
    with start(tmp_path, tasks=["kitchenbench"]) as run:
        rates = p_hats(run)
    assert len(rates) == 50
    assert set(rates.values()) == {1.0}
    check_complete(tmp_path / "s", 50)


def test_one_seed_gives_one_journal_and_a_policy_of_chance_fails(tmp_path: Path) -> None:
    """Ten tasks, twice from different directories; a third run is cut short and resumed."""
    tasks = one_of_each_task()
    assert len(tasks) == 10
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with start(tmp_path / name, "--seed", "7", policy="random", tasks=tasks) as run:
            rates = p_hats(run)
        assert len(rates) == 10
        assert set(rates.values()) == {0.0}
        contents.append(comparable(check_complete(tmp_path / name / "s", 10).events()))
    for content in contents:  # the checkout may be worked on while this test runs
        content[0]["body"]["plan"]["software"].pop("git_commit", None)
    assert contents[0] == contents[1]

    (tmp_path / "c").mkdir()
    with start(tmp_path / "c", "--seed", "7", policy="random", tasks=tasks) as run:
        wait_for_trials(run, tmp_path / "c" / "s", 3)
        run.process.kill()
        run.wait()
    interrupted = resume(tmp_path / "c", 10)
    assert what_happened(interrupted) == what_happened(JournalReader(tmp_path / "a" / "s"))


def what_happened(reader: JournalReader) -> list[Any]:
    """Return what a resumed session must have in common with one that was never interrupted."""
    return [(r.entry.index, r.outcome, r.record["actions"], r.record["info"], r.realization) for r in reader.results()]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_a_signal_ends_a_session_cleanly(signum: signal.Signals, tmp_path: Path) -> None:
    with start(tmp_path, epochs=16) as run:
        wait_for_trials(run, tmp_path / "s", 1)
        run.nodes()
        os.kill(run.process.pid, signum)
        assert run.wait() == 130, run.stderr()
        assert "Traceback" not in run.stderr()
        assert run.survivors() == []
        assert run.shared_memory_left() == []
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
    _, status = wait_for(lambda: (ended := os.waitpid(pid, os.WNOHANG)) and ended[0] and ended, "the end")
    assert os.waitstatus_to_exitcode(status) == 130, shown.decode()
    assert psutil.wait_procs(children, timeout=10)[1] == []
    events = journal_events(tmp_path / "s")
    assert (events[-1].kind, events[-1].body["reason"]) == ("session_closed", "interrupted by SIGHUP")
    assert "P̂" in shown.decode(), "a terminal gets a bar"


KILLS = [
    ("world", State.RUNNING),
    ("runner", State.JUDGE),
    ("policy", State.READY),
    ("operator", State.JUDGE),
    ("lifecycle_manager", State.RUNNING),
    ("runner", State.RUNNING),
    ("benchmark", State.PARKING),
    ("benchmark", State.JUDGE),
]
"""Who dies, in which state of a trial. More deaths of the benchmark node: test_benchmark_and_operator."""


def test_kill_9_loses_nothing_acknowledged_and_the_session_goes_on(tmp_path: Path) -> None:
    """One session, every process killed in a known state; a witness outside says what had been acknowledged."""
    session, trials = tmp_path / "s", 80
    with domain() as number, observing(number) as observer:
        for round_number, (victim, state) in enumerate(KILLS):
            env = {"ROS_DOMAIN_ID": str(number)}
            if victim == "benchmark":  # its state is gone before anybody sees it: it dies by its own hand, in time
                # Late enough for the witness to have found it: trials take less time than discovery may.
                trial = f"{len(JournalReader(session).results()) + 12:06d}-0"
                env["ASSAY_TEST_KILL_AT"] = f"after_commit:trial_advanced/{state.name}:{trial}"
            before = len(observer.acknowledged())
            with resumed(tmp_path, trials, first=round_number == 0, env=env) as run:
                wait_for(lambda run=run: set(run.nodes()) >= NODES, "five processes")
                if victim != "benchmark":
                    wait_for(lambda n=before: len(observer.acknowledged()) > n + 1, "two verdicts")
                    trial = kill_in(run, victim, state, observer)
                assert run.wait() == (-signal.SIGKILL if victim == "runner" else 1), run.stderr()
                if victim != "runner":
                    assert f"{victim} (" in run.stderr()
                    assert "SIGKILL" in run.stderr()
                    assert "go on with: ./assay resume s" in run.stderr()
                    assert "Traceback" not in run.stderr()
                assert run.survivors() == [], "processes outlived the runner"
            assert len(observer.acknowledged()) > before + 1, "nothing was acknowledged, so nothing is shown"
            observer.check_journal(session)
            reached = [event.body.get("state") for event in journal_events(session) if event.trial_id == trial]
            assert state.name in reached, f"{victim} was to die in {state.name}"
        reader = resume(tmp_path, trials, {"ROS_DOMAIN_ID": str(number)})
        observer.check_journal(session)
        verdicts, readies = observer.acknowledged(), observer.acknowledged(Receipt.KIND_READY)
    in_force = {verdict.uuid: trial for trial, verdict in reader.verdicts().items()}
    assert {uuid: receipt.trial_id for uuid, receipt in verdicts.items()}.items() <= in_force.items()
    decided = {result.trial_id for result in reader.results()}
    assert {receipt.trial_id for receipt in verdicts.values()} <= decided, "an acknowledged verdict does not count"
    assert len(verdicts) >= trials // 2, "the witness missed verdicts"
    assert len(readies) >= len(verdicts)
    assert len(reader.attempts()) <= trials + len(KILLS), "a death cost more than the attempt that it befell"


def test_kill_9_at_random_instants_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Any process dies, after any number of publications of a trial's state."""
    seed = int(os.environ.get("ASSAY_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"repeat with ASSAY_TEST_SEED={seed}")
    dice, session, trials, deaths = random.Random(seed), tmp_path / "s", 60, 4
    with domain() as number, observing(number) as observer:
        env = {"ROS_DOMAIN_ID": str(number)}
        for round_number in range(deaths):
            victim = dice.choice(sorted({*NODES, "runner"}))
            with resumed(tmp_path, trials, first=round_number == 0, env=env) as run:
                wait_for(lambda run=run: set(run.nodes()) >= NODES, "five processes")
                nodes = {**run.nodes(), "runner": psutil.Process(run.process.pid)}
                heard = observer.published + dice.randrange(1, 40)
                wait_for(lambda n=heard: observer.published >= n, "publications")
                kill(nodes[victim])
                assert run.wait() == (-signal.SIGKILL if victim == "runner" else 1), f"{victim}: {run.stderr()}"
                assert "Traceback" not in run.stderr()
                assert run.survivors() == [], f"{victim}: processes outlived the runner"
            observer.check_journal(session)
        reader = resume(tmp_path, trials, env)
        observer.check_journal(session)
        verdicts = observer.acknowledged()
    decided = {result.trial_id for result in reader.results()}
    assert {receipt.trial_id for receipt in verdicts.values()} <= decided, "an acknowledged verdict does not count"
    assert len(reader.attempts()) <= trials + deaths, "a death cost more than the attempt that it befell"


def kill_in(run: Assay, victim: str, state: State, observer: Observer) -> str:
    """Kill a process while a trial is in a state; return the trial.

    States last for milliseconds. So who ends this one, the runner or for JUDGE the operator, is stopped in time.
    """
    nodes = {**run.nodes(), "runner": psutil.Process(run.process.pid)}
    holder, stop_in = {
        State.READY: ("runner", State.ARRANGE),
        State.RUNNING: ("runner", State.RUNNING),
        State.JUDGE: ("operator", State.RUNNING),
    }[state]
    tried = ""

    def held() -> str:
        nonlocal tried
        now = observer.state()
        if now is None or now[0] == tried or now[1] is not stop_in:
            return ""
        tried = now[0]
        nodes[holder].suspend()
        if stays(observer, tried, state):
            return tried
        nodes[holder].resume()  # too late: with the next trial
        return ""

    trial = str(wait_for(held, f"a trial in {state.name}"))
    kill(nodes[victim])
    with contextlib.suppress(psutil.NoSuchProcess):
        nodes[holder].resume()
    return trial


def stays(observer: Observer, trial: str, state: State) -> bool:
    """Return whether a trial gets into a state, soon, and does not leave it at once."""
    try:
        wait_for(lambda: observer.state() == (trial, state), "the state", 2.0)
        wait_for(lambda: observer.state() != (trial, state), "another state", 0.3)
    except TimeoutError:
        return observer.state() == (trial, state)
    return False


def resumed(cwd: Path, trials: int, *, first: bool, env: dict[str, str] | None = None) -> Any:
    return start(cwd, epochs=trials, env=env) if first else assay("resume", "s", "--json", cwd=cwd, env=env)


def test_a_session_in_progress_keeps_others_off_its_rig_and_its_directory(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    session = tmp_path / "a" / "s"
    with start(tmp_path / "a", epochs=400) as first:
        wait_for_trials(first, session, 1)
        assert bound(first.process.pid) == {"127.0.0.1"}, "the runner can be reached from elsewhere"
        number = domain_of(first)
        with assay(
            *("eval", INSTANCE, "--session", "s", "--cameras", "0", "--attach"),
            cwd=tmp_path / "b",
            env={"ROS_DOMAIN_ID": number},
        ) as second:
            assert second.wait() == 2, second.stderr()
            opened = next(event for event in journal_events(session) if event.kind == "session_opened")
            said = " ".join(second.stderr().split())
            assert f"in use by session '{opened.body['session_id']}' in {session}" in said
            assert f"runner '{opened.body['runner_id']}'" in said
            assert "SESSION_OTHER_OPEN" in said
            assert not (tmp_path / "b" / "s").exists(), "the refused session left a directory"
        # A graph of its own in that domain would answer for the first one: refused before anything starts.
        with start(tmp_path / "b", env={"ROS_DOMAIN_ID": number}) as third:
            assert third.wait() == 2, third.stderr()
            assert f"rig in ROS domain {number}: expected no other graph of assay" in third.stderr()
            assert third.nodes() == {}
        with assay("resume", str(session), cwd=tmp_path / "b") as fourth:
            assert fourth.wait() == 2
            assert f"one is running (process {first.node('benchmark').pid} on" in fourth.stderr()
        # Left to itself, another session takes another domain.
        with start(tmp_path / "c", epochs=2) as fifth:
            assert domain_of(fifth) != number
            assert fifth.wait() == 0, fifth.stderr()
        check_complete(tmp_path / "c" / "s", 2)
        assert first.process.poll() is None, "the first session ended too early to show anything"
        first.process.send_signal(signal.SIGINT)
        assert first.wait() == 130


def test_another_policy_than_planned_is_refused_and_the_planned_one_runs(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    with domain() as number:
        env = {"ROS_DOMAIN_ID": str(number)}
        with assay("launch", "eval", "policy:=noop", "cameras:=0", cwd=tmp_path / "graph", env=env):
            with start(tmp_path, "--attach", epochs=1, env=env) as run:
                assert run.wait() == 2, run.stderr()
                assert f"looking for a graph in ROS domain {number} (ROS_DOMAIN_ID)" in run.stderr()
                assert f"graph in ROS domain {number}: expected policy scripted, got policy noop" in run.stderr()
            assert not (tmp_path / "s").exists(), "a session was begun that could not run"
            # Started without --attach and interrupted: resuming it elsewhere compares before it opens.
            with start(tmp_path, epochs=50) as run:
                wait_for_trials(run, tmp_path / "s", 1)
                run.process.send_signal(signal.SIGINT)
                assert run.wait() == 130
            before = len(journal_events(tmp_path / "s"))
            with assay("resume", "s", "--attach", cwd=tmp_path, env=env) as run:
                assert run.wait() == 2
                assert "expected policy scripted, got policy noop" in run.stderr()
            assert len(journal_events(tmp_path / "s")) == before, "an attempt was spent on finding out"
            # Who does not say which policy and cameras gets those of the graph.
            (tmp_path / "noop").mkdir()
            words = ("eval", *one_of_each_task(), "--session", "s", "--epochs", "1", "--attach", "--json")
            with assay(*words, cwd=tmp_path / "noop", env=env) as run:
                assert set(p_hats(run).values()) == {0.0}
    check_complete(tmp_path / "noop" / "s", 10)


def domain_of(run: Assay) -> str:
    """Return the ROS domain of a run's nodes."""
    return str(run.node("world").environ()["ROS_DOMAIN_ID"])
