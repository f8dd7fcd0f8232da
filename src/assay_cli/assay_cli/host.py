"""Starts a graph for a session, runs the session in this process, and takes everything down again.

The runner is this process and not one more node of the launch, so that a death of any node is seen at once and named,
and Ctrl-C reaches the one that can finish a trial.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay_bridge.attached import domain_number
from assay_bridge.progress import Progress
from assay_bridge.running import Job, closing_words, exit_code, opening_words, run_job, unvalidated_instances, way_on
from assay_bridge.stop import Interrupted, Stop, Watch
from assay_cli.console import INTERRUPTED, complain, own_output, page, say, silence_output
from assay_core.domains import claim, from_environment, hold_rig
from assay_core.errors import AssayError

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay_bridge.attached import Serving
    from assay_bridge.derived import Derived
    from assay_bringup.launch.model import Resolved
    from assay_bringup.launch.processes import GraphProcesses
    from assay_core.plan import Plan

__all__ = ["attached_graph", "graph_arguments", "log_directory", "resolve_graph", "run_session"]

LAUNCH_FILE = "eval"
HURRY_S = 1.5
"""After an interrupt, how long processes may take to end by themselves [s]."""

KEPT_LOGS = 50
"""Graphs whose logs are kept."""

IN_USE_S = 24 * 3600.0
"""Logs that were written to within this time are kept anyway [s]."""


def graph_arguments(plan: Plan) -> dict[str, str]:
    """Return the launch arguments of a plan's graph."""
    width, height = (plan.cameras[0].width, plan.cameras[0].height) if plan.cameras else (640, 360)
    return {
        "backend": plan.backend,
        "policy": plan.policies[0],
        "operator": plan.operator,
        "cameras": str(len(plan.cameras)),
        "camera_width": str(width),
        "camera_height": str(height),
        "control_hz": repr(plan.control_hz),
        "mode": plan.mode,
        **plan.launch,
    }


def resolve_graph(plan: Plan) -> Resolved:
    """Return what the graph of a plan starts.

    Raises:
        ConfigError: A launch argument does not exist or is malformed, or a node would refuse its parameters.
    """
    from assay_bringup.launch.resolve import resolve
    from assay_cli.launch_check import check_launch

    resolved = resolve(LAUNCH_FILE, graph_arguments(plan))
    check_launch(resolved)
    return resolved


def attached_graph() -> Serving:
    """Return what the graph of this ROS domain serves, once it is there.

    Raises:
        ConfigError: There is none.
    """
    from assay_bridge.attached import ask_graph
    from assay_bridge.preflight import check_ros_log

    check_ros_log()
    with Stop() as stop:
        return ask_graph(stop, complain)


def log_directory(session_id: str) -> Path:
    """Return where the graph's processes log; outside the session, since they write until after it is sealed.

    Logs of old graphs are removed, the newest `KEPT_LOGS` stay. Where the user's state directory cannot be written, a
    temporary one serves.
    """
    try:
        state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
        base = Path(state) / "assay" / "log"
        base.mkdir(parents=True, exist_ok=True)
        Path(tempfile.mkdtemp(dir=base)).rmdir()
    except (OSError, RuntimeError):  # a home that cannot be written, or none
        return Path(tempfile.mkdtemp(prefix="assay-log-")) / session_id
    _discard_old_logs(base, session_id)
    return base / session_id


def _discard_old_logs(base: Path, session_id: str) -> None:
    """Remove the logs of all but the newest graphs, never of one that wrote within a day: it may still run."""
    dated = []
    for directory in base.iterdir():
        with contextlib.suppress(OSError):  # another run may be removing it
            if directory.is_dir() and directory.name != session_id:
                newest = max(path.stat().st_mtime for path in (directory, *directory.rglob("*")))
                dated.append((newest, directory))
    for newest, directory in sorted(dated, reverse=True)[KEPT_LOGS - 1 :]:
        if time.time() - newest > IN_USE_S:
            shutil.rmtree(directory, ignore_errors=True)


def run_session(plan: Plan, prepare: Callable[[], Job], *, attach: bool, as_json: bool) -> int:
    """Run a session and return the exit code of the process.

    Args:
        plan: Its plan.
        prepare: Makes the session directory, once the graph is ready.
        attach: Use the graph of this ROS domain instead of starting one.
        as_json: Print the summary as one JSON object, and nothing else on standard output.

    Raises:
        ConfigError: Nothing was started.
        RigFault: The graph did not come up.
    """
    from assay_bridge.preflight import check_ros_log

    check_ros_log()
    job: Job | None = None
    with own_output(), Stop() as stop:
        try:
            with _graph(plan, stop, attach=attach) as (graph, ready):
                logs = None if graph is None else graph.log_dir
                try:
                    ready()
                    job = prepare()
                    watch = Watch(stop, None if graph is None else graph.dead)
                    complain(opening_words(job))
                    return _run(job, watch, as_json=as_json, logs=logs)
                except AssayError:
                    if logs is not None:
                        complain(f"logs of the graph: {logs}")
                    raise
        except Interrupted as interrupt:
            if job is None:
                complain(f"{interrupt} before anything was run: give the same command again")
            else:
                complain(str(interrupt))
                complain(way_on(job.directory))
            return INTERRUPTED


def _run(job: Job, watch: Watch, *, as_json: bool, logs: Path | None) -> int:
    progress = Progress(len(job.plan.entries), len(job.finished))
    try:
        end, derived = run_job(job, watch, progress)
    finally:
        progress.close()
    if derived is not None:
        _report(derived, unvalidated_instances(job.plan), as_json=as_json, logs=logs)
    for line in closing_words(job, end, derived):
        complain(line)
    code = exit_code(end, derived)
    if logs is not None and code not in (0, INTERRUPTED):
        complain(f"logs of the graph: {logs}")
    return code


def _report(derived: Derived, unvalidated: tuple[int, int], *, as_json: bool, logs: Path | None) -> None:
    from assay_bridge.summary import notes, policy_words, table

    summary = derived.summary
    tried = summary["trials"] + summary["invalid"]
    try:
        if as_json:
            say(json.dumps(summary))
            for line in policy_words(derived.policy_errors, logs):
                complain(line)
        elif tried or summary["status"] == "done":
            page(table(summary))
            say()
            for line in notes(summary, unvalidated, derived.policy_errors, logs):
                say(line)
        sys.stdout.flush()
    except OSError:
        silence_output()  # a closed terminal or a reader that left: the session's end must not depend on it


@contextlib.contextmanager
def _graph(plan: Plan, stop: Stop, *, attach: bool) -> Iterator[tuple[GraphProcesses | None, Callable[[], None]]]:
    """Yield the running graph, and what waits until it is ready; None when attached."""
    if attach:
        os.environ["ROS_DOMAIN_ID"] = str(domain_number())
        yield None, lambda: None
        return
    named = from_environment()
    resolved = resolve_graph(plan)
    with named or claim() as domain, hold_rig(domain.number):
        os.environ["ROS_DOMAIN_ID"] = str(domain.number)

        from assay_bringup.launch.processes import GraphProcesses

        graph = GraphProcesses.start(
            resolved, env={"ROS_DOMAIN_ID": str(domain.number)}, log_dir=log_directory(plan.session_id)
        )
        if not os.environ.get("ROS_LOG_DIR"):
            os.environ["ROS_LOG_DIR"] = str(graph.log_dir / "ros")  # this process's log lies with its graph's
        complain(f"starting {len(resolved.processes)} processes in ROS domain {domain.number}")
        try:
            yield graph, lambda: _wait_ready(graph, stop)
        finally:
            _take_down(graph, stop)


def _wait_ready(graph: GraphProcesses, stop: Stop) -> None:
    begun = time.monotonic()

    import assay_bridge.client  # noqa: F401 - takes half a second, which the graph's processes need anyway

    graph.wait_ready(progress=lambda _state: stop.check())
    stop.check()
    complain(f"graph ready after {time.monotonic() - begun:.1f} s")


def _take_down(graph: GraphProcesses, stop: Stop) -> None:
    """End every process of the graph; within a few seconds when the user waits for it."""
    hurry = threading.Timer(HURRY_S, graph.hurry)
    hurry.daemon = True
    if stop.requested:
        hurry.start()
    try:
        graph.stop()
    except Interrupted:
        graph.stop(now=True)
    finally:
        hurry.cancel()
