"""kill -9 at every named instant and at random ones: nothing acknowledged is lost, and the session goes on."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import random
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from harness import Harness

from assay_bench.crash import VARIABLE, crash_probe
from assay_core.journal import JournalReader
from assay_core.plan import trial_id
from assay_core.trial import State
from assay_msgs.msg import Receipt

FORK = multiprocessing.get_context("fork")
TRIALS = 3
COMMITS = [
    "session_opened",
    "trial_started",
    "operator_ready",
    "trial_advanced/RUNNING",
    "trial_advanced/PARKING",
    "trial_advanced/JUDGE",
    "verdict",
    "trial_ended",
    "session_closed",
]
"""Every commit of a session; each trial state is begun or ended by one."""


def uuid_of(trial: str, kind: str) -> str:
    import uuid

    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{trial}/{kind}"))


def run_session(directory: Path, acknowledge: Callable[[str, Any], None], probe: Any = None) -> None:
    """Run, or resume, a session to its end, telling what was acknowledged."""
    bench = Harness(directory, probe=probe)
    opened = bench.run(bench.open(resume=(directory / "journal.sqlite").exists()))
    acknowledge("opened", opened.next_plan_index)
    fold = bench.bench.session.fold  # type: ignore[union-attr]
    for entry, attempt in fold.pending():
        trial = trial_id(entry.index, attempt)
        bench.run(bench.start(entry.index, attempt))
        acknowledge("started", trial)
        receipts: dict[str, Receipt] = {"ready": bench.ready(trial, uuid=uuid_of(trial, "ready"))}
        acknowledge("ready", (trial, receipts["ready"].journal_index))
        for state in (State.RUNNING, State.PARKING, State.JUDGE):
            bench.run(bench.advance(state, trial))
            acknowledge(state.name, trial)
        receipts["verdict"] = bench.verdict(trial, uuid=uuid_of(trial, "verdict"))
        acknowledge("verdict", (trial, receipts["verdict"].journal_index))
        bench.run(bench.finish(trial))
        acknowledge("finished", trial)
    bench.run(bench.close())
    acknowledge("closed", "")


def in_child(directory: Path, pipe: Connection, environment: dict[str, str]) -> None:
    # What other tests of this process left of ROS must not be collected here: its threads do not exist after a fork.
    gc.freeze()
    run_session(directory, lambda *what: pipe.send(what), crash_probe(environment))


def crashed(
    directory: Path, environment: dict[str, str], kill_after: Callable[[list[Any]], float | None]
) -> tuple[int, list[Any]]:
    """Run a session in a process that dies; return how it ended and what it had acknowledged."""
    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=in_child, args=(directory, theirs, environment))
    process.start()
    theirs.close()
    acknowledged: list[Any] = []
    with contextlib.suppress(EOFError):
        while True:
            wait_s = kill_after(acknowledged)
            if wait_s is not None and not ours.poll(wait_s):
                os.kill(process.pid, signal.SIGKILL)  # type: ignore[arg-type]
                while True:
                    acknowledged.append(ours.recv())
            acknowledged.append(ours.recv())
    process.join(30)
    assert process.exitcode is not None, "the child does not end"
    return process.exitcode, acknowledged


def check_nothing_lost(directory: Path, acknowledged: list[Any]) -> None:
    if not (directory / "journal.sqlite").exists():
        assert acknowledged == []
        return
    reader = JournalReader(directory)
    events = list(reader.events())
    started = {event.trial_id for event in events if event.kind == "trial_started"}
    for what, value in acknowledged:
        if what == "started":
            assert value in started
        elif what in ("ready", "verdict"):
            trial, idx = value
            kind = {"ready": "operator_ready", "verdict": "verdict"}[what]
            assert (events[idx].kind, events[idx].trial_id) == (kind, trial), f"the {what} of {trial} is lost"
        elif what in ("RUNNING", "PARKING", "JUDGE"):
            states = [e.body["state"] for e in events if e.trial_id == value and e.kind == "trial_advanced"]
            assert what in states, f"{what} of {value} is lost"
        elif what == "finished":
            assert any(e.kind == "trial_ended" and e.trial_id == value for e in events)


def check_results(directory: Path, verdicts: set[str]) -> None:
    reader = JournalReader(directory)
    results = reader.results()
    assert [result.entry.index for result in results] == list(range(TRIALS)), "an entry has no result, or two"
    assert {result.outcome for result in results} == {"success"}
    assert verdicts <= {result.trial_id for result in results}, "an acknowledged verdict does not count"
    decided = {result.trial_id for result in results}
    for attempt in reader.attempts():
        assert attempt.ended
        if attempt.trial_id not in decided:
            assert attempt.state is State.INVALID, "the interrupted attempt must be kept as invalid"


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
@pytest.mark.parametrize("commit", COMMITS)
def test_a_crash_at_each_commit(tmp_path: Path, point: str, commit: str) -> None:
    directory = tmp_path / "session"
    Harness(directory).write_plan(TRIALS)
    trial = "" if commit.startswith("session") else "000001-0"
    kill_at = f"{point}:{commit}" + (f":{trial}" if trial else "")
    exit_code, acknowledged = crashed(directory, {VARIABLE: kill_at}, lambda _: None)
    assert exit_code == -signal.SIGKILL, f"the process was to die at {point} of {commit}"
    check_nothing_lost(directory, acknowledged)
    kind, _, state = commit.partition("/")
    stored = [e for e in JournalReader(directory).events() if (e.kind, e.trial_id) == (kind, trial)]
    stored = [e for e in stored if not state or e.body["state"] == state]
    assert bool(stored) == (point == "after_commit")
    more: list[Any] = []
    run_session(directory, lambda *what: more.append(what))
    verdicts = {value[0] for what, value in acknowledged + more if what == "verdict"}
    if commit == "verdict" and point == "after_commit":
        verdicts.add("000001-0")  # on disk, though nobody was told
    check_results(directory, verdicts)


def test_a_verdict_committed_but_not_acknowledged_gets_its_receipt_on_resend(tmp_path: Path) -> None:
    directory = tmp_path / "session"
    Harness(directory).write_plan(TRIALS)
    crashed(directory, {VARIABLE: "after_commit:verdict:000000-0"}, lambda _: None)
    again = Harness(directory)
    assert again.run(again.open(resume=True)).next_plan_index == 1
    receipt = again.verdict("000000-0", uuid=uuid_of("000000-0", "verdict"))
    assert receipt.accepted
    assert list(JournalReader(directory).events())[receipt.journal_index].kind == "verdict"
    again.bench.stop()


def test_kill_at_random_instants(tmp_path: Path) -> None:
    seed = int(os.environ.get("ASSAY_TEST_SEED", random.SystemRandom().randrange(2**32)))
    print(f"seed: ASSAY_TEST_SEED={seed}")
    rng = random.Random(seed)
    for number in range(15):
        directory = tmp_path / f"session{number}"
        Harness(directory).write_plan(TRIALS, max_repeats=10)
        everything: list[Any] = []
        for _ in range(rng.randrange(1, 4)):
            wanted, delay = rng.randrange(0, 25), rng.uniform(0.0, 0.004)
            exit_code, acknowledged = crashed(
                directory, {}, lambda got, n=wanted, s=delay: s if len(got) >= n else None
            )
            check_nothing_lost(directory, acknowledged)
            everything += acknowledged
            if exit_code == 0:
                break
        if not (directory / "seal.json").exists():
            run_session(directory, lambda *what, kept=everything: kept.append(what))
        check_results(directory, {value[0] for what, value in everything if what == "verdict"})
