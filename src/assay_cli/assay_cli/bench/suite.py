"""``./assay bench suite``: a whole KitchenBench session, journal and verdicts included, against the floor of its steps.

The times are taken from the sessions' own journals, with the graph already up: a trial lasts until the next one starts.
The suite runs as several sessions; the floor is measured before, between and after them. As in the other benchmarks the
median is what counts; the ratio of the whole time, which has everything in it that else happened on the machine, is
reported beside it.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from assay_benchmarks.catalog import expand
from assay_cli.bench.graphs import floor_graph, running_session
from assay_cli.bench.report import Report, percentiles
from assay_cli.console import Parser
from assay_core import rig
from assay_core.errors import RigFault
from assay_core.journal import JournalReader
from assay_core.program import command

__all__ = ["LIMIT", "TRIAL_S", "run"]

LIMIT = 1.4
"""Largest ratio of a trial's median time beyond `TRIAL_S` to the floor of its steps."""

TRIAL_S = 0.020
"""Allowance for everything of a trial that is not a step [s]."""

FLOOR_STEPS = 400
SESSIONS = 5
"""Into how many sessions the tasks are divided; one bare graph differs from the next by a tenth and more."""
DEADLINE_S = 1800.0


def run(argv: Sequence[str]) -> Report:
    """Measure and return the report.

    Args:
        argv: ``--task NAME`` what to run (default the suite kitchenbench).

    Raises:
        RigFault: A session did not complete.
    """
    parser = Parser("bench suite", f"Measure speed; see {command('bench', '--help')}.")
    parser.add_argument("--task", default="kitchenbench")
    tasks = expand([parser.parse_args(list(argv)).task])
    report = Report("suite")
    for count in (0, 3):
        _measure(report, tasks, count)
    return report


@dataclass
class _Totals:
    """Sums over the sessions of one camera setting."""

    trials: int = 0
    steps: int = 0
    total_s: float = 0.0
    periods_s: list[float] = field(default_factory=list)
    phases: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


def _measure(report: Report, tasks: Sequence[str], count: int) -> None:
    """Run the tasks in sessions, with the floor before, between and after."""
    suffix = f"{count}_cameras"
    each = -(-len(tasks) // SESSIONS)
    totals, floors = _Totals(), [_floor(count)]
    for first in range(0, len(tasks), each):
        _session(tasks[first : first + each], count, totals)
        floors.append(_floor(count))
    floor_s = float(np.median(np.concatenate(floors)))
    report.figures[f"trials_{suffix}"], report.figures[f"steps_{suffix}"] = totals.trials, totals.steps
    report.figures[f"time_{suffix}_s"] = round(totals.total_s, 3)
    report.figures.update(percentiles(np.array(totals.periods_s), f"trial_{suffix}"))
    report.figures[f"where_{suffix}_ms_per_trial"] = {
        name: round(seconds / totals.trials * 1e3, 3)
        for name, seconds in sorted(totals.phases.items(), key=lambda item: -item[1])
    }
    report.floor.update(percentiles(np.concatenate(floors), f"step_{suffix}"))
    floor_of_trial_s = totals.steps / totals.trials * floor_s
    report.ratios[f"suite_{suffix}"] = round((float(np.median(totals.periods_s)) - TRIAL_S) / floor_of_trial_s, 3)
    report.ratios[f"whole_{suffix}"] = round((totals.total_s / totals.trials - TRIAL_S) / floor_of_trial_s, 3)
    report.limits[f"suite_{suffix}"] = LIMIT


def _session(tasks: Sequence[str], count: int, totals: _Totals) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch:
        session = Path(scratch) / "session"
        arguments = [*tasks, "--policy", "scripted", "--cameras", str(count)]
        with running_session(session, *arguments) as runner:
            summary, errors = runner.communicate(timeout=DEADLINE_S)
        if runner.returncode != 0:
            raise RigFault(f"the session ended with exit code {runner.returncode}: {errors[-500:]}")
        totals.trials += int(json.loads(summary)["trials"])
        with JournalReader(session) as journal:
            totals.steps += sum(int(result.record.get("steps", 0)) for result in journal.results())
        events = [event for event in journal.events() if event.trial_id]
    for earlier, later in itertools.pairwise(events):
        name = f"{earlier.kind} to {later.kind}" if earlier.trial_id == later.trial_id else "between trials"
        totals.phases[name] += (later.time_ns - earlier.time_ns) / 1e9
    totals.total_s += (events[-1].time_ns - events[0].time_ns) / 1e9
    starts = [next(of_trial).time_ns for _, of_trial in itertools.groupby(events, key=lambda event: event.trial_id)]
    totals.periods_s += [(later - earlier) / 1e9 for earlier, later in itertools.pairwise(starts)]


def _floor(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    with floor_graph(rig.cameras(count)) as floor:
        for _ in range(FLOOR_STEPS // 5):
            floor.step()
        return np.array([floor.step() for _ in range(FLOOR_STEPS)])
