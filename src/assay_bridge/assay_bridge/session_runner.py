"""Node `runner`: runs a session over the graph that a launch file started, for ``eval.launch.yaml task:=...``.

Publishes session/heartbeat (EVENT, several times a second). Calls benchmark/open_session, start_trial, advance_trial,
finish_trial, close_session and policy/reset, infer. Subscribes benchmark/trial (LATCHED, with the verdict in
force), the rig's measured streams (SENSOR); publishes left/command and right/command (COMMAND). It ends with its
session, and the launch file ends the rest of the graph with it. Exit codes as those of ``./assay eval``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rich.console import Console

from assay_bridge import exit_codes
from assay_bridge.planning import MAX_EPOCHS, EvalOptions, make_plan, session_directory
from assay_bridge.preflight import bytes_needed, check_directory, check_disk, create_session
from assay_bridge.progress import Progress
from assay_bridge.running import Job, closing_words, exit_code, opening_words, run_job, unvalidated_instances
from assay_bridge.sessions import check_resumable
from assay_bridge.stop import Stop, Watch
from assay_bridge.summary import notes, table
from assay_core.errors import AssayError, ConfigError, DataError, SafetyStop
from assay_core.streams import forgiving_output
from assay_ros.params import declare, param

__all__ = ["RunnerParams", "eval_options", "main"]

NODE = "runner"

TABLE_WIDTH = 100
"""Of the table at the end [characters]: a launch file's processes have no terminal of their own."""


@dataclass(frozen=True)
class RunnerParams:
    """Parameters of node `runner`."""

    task: str = param("", "Tasks, suites or instances to run, separated by commas or spaces; not used on resume")
    policy: str = param("scripted", "Policy that the policy node runs")
    policy_args: str = param("", "Arguments of an inspect:NAME policy: key=value, separated by spaces")
    backend: str = param("mock", "Back end of the graph")
    world: bool = param(True, "Whether a simulated world of the back end judges progress")
    operator: str = param("auto", "Kind of operator", choices=("auto", "none"))
    operators: tuple[str, ...] = param((), "Further ids that may answer ready, skip and abort")
    graders: tuple[str, ...] = param((), "Further ids whose verdicts count")
    epochs: int = param(0, "Realizations per instance; 0 takes the task's own number", low=0, high=MAX_EPOCHS)
    seed: int = param(0, "Evaluation seed", low=0, high=2**63 - 1)
    cameras: int = param(3, "Number of cameras", low=0, high=3)
    camera_width: int = param(640, "Width of the pictures", unit="pixels", low=16, high=4096)
    camera_height: int = param(360, "Height of the pictures", unit="pixels", low=16, high=4096)
    control_hz: float = param(10.0, "Control rate", unit="Hz", low=0.1, high=1000.0)
    mode: str = param("lockstep", "Who sets the pace", choices=("lockstep", "paced"))
    max_repeats: int = param(2, "Repeats of a trial that does not count", low=0, high=100)
    session: str = param("", "Session directory; empty takes one under sessions; an existing one is resumed")


def read_params(argv: Sequence[str] | None) -> RunnerParams:
    """Return the parameters of the process's command line.

    Raises:
        ConfigError: One is of the wrong type or out of range.
    """
    rclpy.init(args=list(argv) if argv is not None else None, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = Node(NODE, start_parameter_services=False, enable_rosout=False)
        try:
            return declare(node, RunnerParams)
        finally:
            node.destroy_node()
    finally:
        rclpy.shutdown()


def eval_options(params: RunnerParams) -> EvalOptions:
    """Return what the parameters ask for, as `make_plan` takes it."""
    return EvalOptions(
        tasks=tuple(re.split(r"[,\s]+", params.task.strip())) if params.task.strip() else (),
        policy=params.policy,
        backend=params.backend,
        operator=params.operator,
        operators=params.operators,
        graders=params.graders,
        epochs=params.epochs or None,
        seed=params.seed,
        cameras=params.cameras,
        camera_width=params.camera_width,
        camera_height=params.camera_height,
        control_hz=params.control_hz,
        mode=params.mode,
        max_repeats=params.max_repeats,
        launch={"policy_args": params.policy_args} if params.policy_args else {},
    )


def make_job(params: RunnerParams) -> Job:
    """Return the session to run: a new one, or the one that lies in the directory.

    Raises:
        ConfigError: It cannot be run.
        DataError: It cannot be resumed.
    """
    directory = Path(params.session) if params.session else None
    if directory is not None and directory.is_dir():
        return Job.resumed(check_resumable(directory, tell=_say), has_world=params.world)
    plan = make_plan(eval_options(params))
    directory = session_directory(directory, plan.session_id)
    check_directory(directory)
    check_disk(directory, bytes_needed(plan))
    return Job.begun(plan, directory, create_session(directory, plan), has_world=params.world)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node; returns the exit code of the process."""
    forgiving_output()
    try:
        params = read_params(argv)
        with Stop() as stop:
            return _run(make_job(params), stop)
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except AssayError as error:
        sys.stderr.write(f"error: {error}\n")
        if isinstance(error, (ConfigError, DataError)):
            return exit_codes.USAGE
        return exit_codes.HALTED if isinstance(error, SafetyStop) else exit_codes.INCOMPLETE


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _run(job: Job, stop: Stop) -> int:
    progress = Progress(len(job.plan.entries), len(job.finished))
    progress.message(opening_words(job))
    try:
        end, derived = run_job(job, Watch(stop), progress)
    finally:
        progress.close()
    if derived is not None and (derived.summary["trials"] or derived.summary["invalid"]):
        Console(file=sys.stderr, width=TABLE_WIDTH).print(table(derived.summary))
        for line in notes(derived.summary, unvalidated_instances(job.plan), derived.policy_errors):
            _say(line)
    for line in closing_words(job, end, derived):
        progress.message(line)
    return exit_code(end, derived)


if __name__ == "__main__":
    sys.exit(main())
