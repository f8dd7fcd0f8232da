"""``./assay bench startup``: time until the graph is ready, until it has stopped, of ``--help``, and memory.

The floor of the start is that of as many bare rclpy processes, started together, until all have made their node.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import psutil

from assay_cli.bench.graphs import real_graph, running_session
from assay_cli.bench.report import Report
from assay_cli.console import INTERRUPTED, Parser, complain, whole_number
from assay_core.domains import claim
from assay_core.errors import AssayError, RigFault
from assay_core.journal import JournalReader
from assay_core.program import command

__all__ = ["run"]

READY_LIMIT_S = 8.0
HELP_LIMIT_S = 0.5
STOP_LIMIT_S = 5.0
MEMORY_LIMIT_MB = 300.0
GROWTH_LIMIT_MB = 10.0
"""Allowed for allocator noise between the second tenth of the trials and the last."""

REPEATS = 3
DEADLINE_S = 3600.0
SAMPLE_S = 0.5
TELL_S = 20.0
"""How often it is said how far the benchmark is [s]."""

_BARE = "import rclpy; from rclpy.node import Node; rclpy.init(); Node('bare'); rclpy.shutdown()"
_INSTANCES = 50


def run(argv: Sequence[str]) -> Report:
    """Measure and return the report.

    Args:
        argv: ``--trials N`` trials over which memory is watched (default 2000; 0 leaves it out).
    """
    parser = Parser("bench startup", f"Measure speed; see {command('bench', '--help')}.")
    parser.add_argument("--trials", default="2000", metavar="N")
    trials = whole_number("--trials", parser.parse_args(list(argv)).trials, 0, 10_000)
    report = Report("startup")
    ready, bare = [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch:
            begun = time.perf_counter()
            with real_graph(Path(scratch), {"cameras": "3"}) as graph:
                ready.append(time.perf_counter() - begun)
                count = len(graph.running())
        bare.append(_bare(count))
    report.figures["ready_s"], report.floor["bare_processes_s"] = round(median(ready), 3), round(median(bare), 3)
    report.ratios["ready_over_bare"] = round(median(ready) / median(bare), 3)
    report.limits["ready_s"] = READY_LIMIT_S
    help_s = _help()
    if help_s is not None:
        report.figures["help_s"] = round(help_s, 3)
        report.limits["help_s"] = HELP_LIMIT_S
    report.figures["stop_s"] = round(median(_stop() for _ in range(REPEATS)), 3)
    report.limits["stop_s"] = STOP_LIMIT_S
    if trials > 0:
        _memory(report, trials)
    return report


def _bare(count: int) -> float:
    with claim() as domain, tempfile.TemporaryDirectory(prefix="assay-bench-") as logs:
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain.number), "ROS_LOG_DIR": logs}
        begun = time.perf_counter()
        processes = [subprocess.Popen([sys.executable, "-c", _BARE], env=environment) for _ in range(count)]
        for process in processes:
            process.wait(DEADLINE_S)
        return time.perf_counter() - begun


def _help() -> float | None:
    """Return the median time of ``assay --help`` [s]; None outside a checkout."""
    script = next((p / "assay" for p in Path(__file__).resolve().parents if (p / "assay").is_file()), None)
    if script is None:
        return None
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        subprocess.run([str(script), "--help"], check=True, capture_output=True, timeout=60)
        times.append(time.perf_counter() - begun)
    return median(times)


def _stop() -> float:
    """Interrupt a session in the middle of a trial and return how long its process takes to end [s].

    Raises:
        RigFault: It ended otherwise than interrupted, or left processes behind.
    """
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch:
        session = Path(scratch) / "session"
        with running_session(session, "kitchenbench", "--policy", "noop", "--cameras", "3") as runner:
            deadline = time.monotonic() + 60
            while not _in_motion(session):
                if runner.poll() is not None or time.monotonic() > deadline:
                    raise RigFault("the session that was to be interrupted did not get to its first trial")
                time.sleep(0.05)
            children = psutil.Process(runner.pid).children(recursive=True)
            begun = time.perf_counter()
            runner.send_signal(signal.SIGINT)
            runner.communicate(timeout=60)
            took = time.perf_counter() - begun
        left = [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
        if runner.returncode != INTERRUPTED or left:
            raise RigFault(f"after an interrupt: exit code {runner.returncode}, {len(left)} processes left behind")
        return took


def _in_motion(session: Path) -> bool:
    try:
        return any(event.kind == "trial_advanced" for event in JournalReader(session).events())
    except AssayError:
        return False


def _memory(report: Report, trials: int) -> None:
    epochs = max(1, trials // _INSTANCES)
    samples: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch:
        session = Path(scratch) / "session"
        with running_session(session, "kitchenbench", "--cameras", "3", "--epochs", str(epochs)) as runner:
            _watch(runner, session, epochs * _INSTANCES, samples)
    report.figures["trials"] = epochs * _INSTANCES
    report.figures["memory_mb"] = {name: round(max(values), 1) for name, values in samples.items()}
    growth = {name: _growth(values) for name, values in samples.items()}
    report.figures["growth_mb"] = {name: round(value, 1) for name, value in growth.items()}
    report.figures["memory_largest_mb"] = round(max(max(values) for values in samples.values()), 1)
    report.figures["growth_largest_mb"] = round(max(growth.values()), 1)
    report.limits["memory_largest_mb"] = MEMORY_LIMIT_MB
    report.limits["growth_largest_mb"] = GROWTH_LIMIT_MB


def _watch(runner: subprocess.Popen[str], session: Path, trials: int, samples: dict[str, list[float]]) -> None:
    """Sample memory until the session ends.

    Raises:
        RigFault: It did not end well.
    """
    deadline, told = time.monotonic() + DEADLINE_S, time.monotonic()
    while runner.poll() is None and time.monotonic() < deadline:
        _sample(psutil.Process(runner.pid), samples)
        if time.monotonic() > told + TELL_S:
            told = time.monotonic()
            complain(f"memory over {trials} trials: {_trials_in(session)} done")
        with contextlib.suppress(subprocess.TimeoutExpired):
            runner.wait(SAMPLE_S)
    if runner.poll() is None:
        raise RigFault(f"the session over which memory is watched: not done within {DEADLINE_S:g} s")
    _, errors = runner.communicate(timeout=60)
    if runner.returncode != 0:
        raise RigFault(f"the session over which memory is watched ended with {runner.returncode}: {errors[-500:]}")


def _trials_in(session: Path) -> int:
    try:
        return sum(1 for _ in (session / "trials").iterdir())
    except OSError:
        return 0


def _sample(runner: psutil.Process, samples: dict[str, list[float]]) -> None:
    """Add the resident memory, shared memory included, of the runner and of each process of its graph [MB]."""
    try:
        processes = [runner, *runner.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in processes:
        try:
            with process.oneshot():
                name = "runner" if process.pid == runner.pid else _node_name(process.cmdline())
                samples.setdefault(name, []).append(process.memory_info().rss / 1e6)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue


def _node_name(command: Sequence[str]) -> str:
    return next((word.split(":=", 1)[1] for word in command if word.startswith("__node:=")), Path(command[0]).name)


def _growth(values: Sequence[float]) -> float:
    """Return the median of the last tenth less that of the second tenth [MB]; the first tenth is the start-up."""
    tenth = max(1, len(values) // 10)
    return median(values[-tenth:]) - median(values[tenth : 2 * tenth] or values)
