"""``assay bench suite``: a whole KitchenBench session, journal and verdicts included, against the floor of its steps.

The time is taken from the session's own journal, from the first trial's start to the last trial's end, with the graph
already up. The floor is measured before and after the session, with the graph down, on the same machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assay_cli.bench.graphs import floor_graph
from assay_cli.bench.report import Report
from assay_core import rig
from assay_core.journal import JournalReader

__all__ = ["LIMIT", "TRIAL_S", "run"]

LIMIT = 1.4
"""Largest ratio of the time beyond `TRIAL_S` a trial to the floor of the steps."""

TRIAL_S = 0.020
"""Allowance for everything of a trial that is not a step [s]."""

FLOOR_STEPS = 500
DEADLINE_S = 1800.0


def run(argv: Sequence[str]) -> Report:
    """Measure and return the report.

    Args:
        argv: ``--task NAME`` what to run (default the suite kitchenbench).

    Raises:
        subprocess.CalledProcessError: The session did not complete.
    """
    parser = argparse.ArgumentParser(prog="assay bench suite")
    parser.add_argument("--task", default="kitchenbench")
    task = parser.parse_args(list(argv)).task
    report = Report("suite")
    for count in (0, 3):
        _measure(report, task, count)
    return report


def _measure(report: Report, task: str, count: int) -> None:
    suffix = f"{count}_cameras"
    before = _floor(count)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch:
        session = Path(scratch) / "session"
        command = [sys.executable, "-m", "assay_cli", "eval", task, "--policy", "scripted", "--cameras", str(count)]
        done = subprocess.run(
            [*command, "--session", str(session), "--json"],
            check=True,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        trials = int(json.loads(done.stdout)["trials"])
        with JournalReader(session / "journal.sqlite") as journal:
            events = journal.events()
            steps = sum(int(result.record.get("steps", 0)) for result in journal.results())
    floor_s = float(np.median(np.concatenate([before, _floor(count)])))
    phases: defaultdict[str, float] = defaultdict(float)
    in_trials = [event for event in events if event.trial_id]
    for earlier, later in itertools.pairwise(in_trials):
        name = f"{earlier.kind} to {later.kind}" if earlier.trial_id == later.trial_id else "between trials"
        phases[name] += (later.time_ns - earlier.time_ns) / 1e9
    total_s = (in_trials[-1].time_ns - in_trials[0].time_ns) / 1e9
    report.figures[f"trials_{suffix}"], report.figures[f"steps_{suffix}"] = trials, steps
    report.figures[f"time_{suffix}_s"] = round(total_s, 3)
    report.figures[f"where_{suffix}_ms_per_trial"] = {
        name: round(seconds / trials * 1e3, 3) for name, seconds in sorted(phases.items(), key=lambda item: -item[1])
    }
    report.floor[f"step_{suffix}_ms"] = round(floor_s * 1e3, 3)
    ratio = (total_s - TRIAL_S * trials) / (steps * floor_s)
    report.ratios[f"suite_{suffix}"] = round(ratio, 3)
    report.limits[f"suite_{suffix}"] = LIMIT


def _floor(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    with floor_graph(rig.cameras(count)) as floor:
        for _ in range(FLOOR_STEPS // 5):
            floor.step()
        return np.array([floor.step() for _ in range(FLOOR_STEPS)])
