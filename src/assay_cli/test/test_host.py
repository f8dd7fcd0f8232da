"""What the session runner asks of a launch file exists there, and what it offers is what the graph serves."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay_bridge.planning import BACKENDS, OPERATORS, EvalOptions, make_plan, policy_names
from assay_bridge.session_runner import RunnerParams
from assay_bringup.launch.resolve import declared_arguments
from assay_cli.eval_options import _OWN_OPTIONS
from assay_cli.host import graph_arguments, log_directory
from assay_policies import registry


def test_names_offered_are_those_of_the_launch_file() -> None:
    declared = {argument.name: argument for argument in declared_arguments("eval")}
    assert declared["backend"].choices == BACKENDS
    assert set(declared["operator"].choices) == set(OPERATORS)


def test_every_argument_that_a_plan_gives_exists() -> None:
    declared = {argument.name for argument in declared_arguments("eval")}
    plan = make_plan(EvalOptions(tasks=("pour_pasta/full-box",), launch={"noise": "1.0"}))
    assert set(graph_arguments(plan)) <= declared
    assert set(_OWN_OPTIONS) <= declared | {"noise"}


def test_policies_offered_are_those_of_the_policy_node() -> None:
    assert set(policy_names()) == set(registry.policy_names())


def test_the_runner_node_takes_what_the_launch_file_gives() -> None:
    declared = {argument.name for argument in declared_arguments("eval")}
    assert set(RunnerParams.__dataclass_fields__) <= declared


def test_a_plan_without_cameras_still_gives_a_size() -> None:
    arguments = graph_arguments(make_plan(EvalOptions(tasks=("pour_pasta/full-box",), cameras=0, policy="noop")))
    assert (arguments["cameras"], arguments["camera_width"], arguments["policy"]) == ("0", "640", "noop")


def test_logs_lie_outside_the_session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert log_directory("s") == tmp_path / "assay" / "log" / "s"


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def test_a_signal_before_anything_started_is_an_interruption(signum: signal.Signals, tmp_path: Path) -> None:
    script = (
        "import os, sys, importlib\n"
        "import assay_cli.verbs.eval as verb\n"
        f"verb.parse_eval = lambda argv: os.kill(os.getpid(), {int(signum)}) or os.read(0, 1)\n"
        "from assay_cli.__main__ import main\n"
        "sys.exit(main(['eval', 'kitchenbench']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err == "interrupted\n"
    assert list(tmp_path.iterdir()) == []
