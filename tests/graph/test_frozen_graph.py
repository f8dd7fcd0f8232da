"""A process that is stopped and not dead (SIGSTOP, a debugger, a machine that swaps) is named, and costs one trial."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from runs import Assay, assay, journal_events, trials_ended, wait_for, wait_for_trials

from assay_core.journal import JournalReader
from assay_core.seal import verify_seal

pytestmark = pytest.mark.timeout(300)

EPOCHS = 12
EVAL = ("eval", "pour_pasta/full-box", "--session", "s", "--epochs", str(EPOCHS), "--cameras", "0")


def frozen(run: Assay, name: str, session: Path) -> psutil.Process:
    """Stop a node's process once the second trial has ended, and return it."""
    run.nodes()
    wait_for_trials(run, session, 2)
    process = run.node(name)
    process.suspend()
    return process


def check_counted_once(session: Path, invalid: int) -> None:
    """Every planned trial counts exactly once, and the attempt that was disturbed not at all."""
    reader = JournalReader(session)
    reader.verify()
    assert [result.entry.index for result in reader.results()] == list(range(EPOCHS))
    assert all(result.counted for result in reader.results())
    assert len(reader.attempts()) == EPOCHS + invalid, "an attempt is in the journal twice, or is missing"
    assert all(attempt.record["steps"] == 20 for attempt in reader.attempts() if attempt.outcome()[1])
    assert verify_seal(session) == []


def test_a_frozen_world_is_named_and_its_trial_is_repeated_once_it_goes_on(tmp_path: Path) -> None:
    session = tmp_path / "s"
    with assay(*EVAL, cwd=tmp_path) as run:
        world = frozen(run, "world", session)
        before = trials_ended(session)
        wait_for(lambda: trials_ended(session) > before, "the trial to be given up")
        world.resume()
        assert run.wait() == 0, run.stderr()
        assert re.search(r"does not count: (step to .* \(published by world|world/reset: no scene)", run.stderr())
        assert run.survivors() == []
    check_counted_once(session, invalid=1)


def test_a_frozen_benchmark_node_ends_the_session_by_name_and_nothing_counts_twice(tmp_path: Path) -> None:
    session = tmp_path / "s"
    with assay(*EVAL, cwd=tmp_path) as run:
        frozen(run, "benchmark", session)
        assert run.wait() == 1, run.stderr()
        assert re.search(r"stopped: benchmark/\w+: no (answer|server) within .*benchmark node", run.stderr())
        assert "Traceback" not in run.stderr()
        assert run.survivors() == [], "a stopped process must be killed, since no other signal reaches it"
    attempts = sum(event.kind == "trial_started" for event in journal_events(session))
    invalid = attempts - len(JournalReader(session).results())
    with assay("resume", "s", cwd=tmp_path) as run:
        assert run.wait() == 0, run.stderr()
    check_counted_once(session, invalid)
