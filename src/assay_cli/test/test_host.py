"""What the session runner asks of a launch file exists there, and what it offers is what the graph serves."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay_bridge.derived import Derived
from assay_bridge.planning import MAX_EPOCHS, OPERATORS, EvalOptions, make_plan
from assay_bridge.running import Job
from assay_bridge.session_end import SessionEnd, Verdict
from assay_bridge.session_runner import RunnerParams
from assay_bridge.summary import summarise, tally
from assay_bringup.launch.backends import backends
from assay_bringup.launch.resolve import declared_arguments
from assay_cli.eval_options import _MAX_EPOCHS, _OWN_OPTIONS
from assay_cli.host import graph_arguments, log_directory, run_session
from assay_core.errors import RigFault


def test_names_offered_are_those_of_the_launch_file() -> None:
    declared = {argument.name: argument for argument in declared_arguments("eval")}
    assert declared["backend"].default in backends(os.environ)
    assert set(declared["operator"].choices) == set(OPERATORS)


def test_every_argument_that_a_plan_gives_exists() -> None:
    declared = {argument.name for argument in declared_arguments("eval")}
    plan = make_plan(EvalOptions(tasks=("pour_pasta/full-box",), launch={"noise": "1.0"}))
    assert set(graph_arguments(plan)) <= declared
    assert set(_OWN_OPTIONS) <= declared | {"noise"}


def test_the_runner_node_takes_what_the_launch_file_gives() -> None:
    declared = {argument.name for argument in declared_arguments("eval")}
    assert set(RunnerParams.__dataclass_fields__) <= declared | {"world"}, "world is what the back end's file says"


def test_the_command_line_allows_as_many_epochs_as_a_plan() -> None:
    assert _MAX_EPOCHS == MAX_EPOCHS


def test_a_plan_without_cameras_still_gives_a_size() -> None:
    arguments = graph_arguments(make_plan(EvalOptions(tasks=("pour_pasta/full-box",), cameras=0, policy="noop")))
    assert (arguments["cameras"], arguments["camera_width"], arguments["policy"]) == ("0", "640", "noop")


def test_logs_lie_outside_the_session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert log_directory("s") == tmp_path / "assay" / "log" / "s"


def test_logs_of_old_graphs_go_and_the_newest_fifty_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    base = log_directory("s").parent
    week = 7 * 86400
    for age in range(60):
        directory = base / f"g{age:02d}"
        directory.mkdir()
        for path in (directory / "world.log", directory):
            path.touch()
            os.utime(path, (time.time() - week - age,) * 2)
    (base / "g59" / "world.log").touch()
    log_directory("s").mkdir()
    left = sorted(path.name for path in base.iterdir())
    assert left == [*(f"g{age:02d}" for age in range(48)), "g59", "s"], "g59 was written to just now"


def test_a_home_that_cannot_be_written_is_no_obstacle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/nobody")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    directory = log_directory("s")
    assert directory.name == "s"
    assert directory.parent.parent == tmp_path


def test_a_death_while_connecting_says_where_the_logs_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Graph:
        log_dir = tmp_path / "logs"

        def dead(self) -> None:
            return None

    @contextlib.contextmanager
    def graph(*_args: object, **_kwargs: object) -> Iterator[tuple[Graph, Callable[[], None]]]:
        yield Graph(), lambda: None

    def connect(*_args: object) -> None:
        raise RigFault("world died")

    plan = make_plan(EvalOptions(tasks=("pour_pasta/full-box",), epochs=1))
    monkeypatch.setattr("assay_cli.host._graph", graph)
    monkeypatch.setattr("assay_cli.host.run_job", connect)
    with pytest.raises(RigFault, match="world died"):
        run_session(plan, lambda: Job(plan, tmp_path, "", ()), attach=False, as_json=False)
    assert f"logs of the graph: {tmp_path / 'logs'}" in capsys.readouterr().err


@contextlib.contextmanager
def no_graph(*_args: object, **_kwargs: object) -> Iterator[tuple[None, Callable[[], None]]]:
    yield None, lambda: None


def test_whoever_insists_is_still_told_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*_args: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    plan = make_plan(EvalOptions(tasks=("pour_pasta/full-box",), epochs=1))
    (tmp_path / "plan.yaml").touch()
    monkeypatch.setattr("assay_cli.host._graph", no_graph)
    monkeypatch.setattr("assay_cli.host.run_job", run)
    assert run_session(plan, lambda: Job(plan, tmp_path, "", ()), attach=False, as_json=False) == 130
    assert f"go on with: ./assay resume {tmp_path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verdict", "words"), [(Verdict.DONE, "complete and sealed"), (Verdict.INTERRUPTED, "go on with: ./assay resume")]
)
def test_the_end_names_the_session_and_what_to_do_next(
    verdict: Verdict, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = make_plan(EvalOptions(tasks=("kitchenbench",), epochs=1))
    (tmp_path / "plan.yaml").touch()
    status = "done" if verdict is Verdict.DONE else "incomplete"
    derived = Derived(summarise(plan, tally(plan, ()), status), (), complete=True, problems=())
    monkeypatch.setattr("assay_cli.host._graph", no_graph)
    monkeypatch.setattr("assay_cli.host.run_job", lambda *_args: (SessionEnd(verdict, "why"), derived))
    run_session(plan, lambda: Job(plan, tmp_path, "", ()), attach=False, as_json=False)
    captured = capsys.readouterr()
    assert words in captured.err
    assert str(tmp_path) in captured.err.splitlines()[-1]
    assert ("stack/cups" in captured.out) is (verdict is Verdict.DONE), "fifty rows of nothing after an early Ctrl-C"


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


def test_what_c_code_writes_does_not_get_into_the_output(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from assay_cli.console import own_output, say\n"
        "say('before')\n"
        "with own_output():\n"
        "    os.write(1, b'noise of a library\\n')\n"
        "    say('{}')\n"
        "say('after')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("before\n{}\nafter\n", "noise of a library\n")
