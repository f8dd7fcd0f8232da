"""`./assay launch` as a user meets it: exit codes, messages, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import STUBBORN, WAITER, WORKSPACE, Prefix, alive

from assay_bringup.cli import main

Write = Callable[..., Path]


def launch(*words: str, log_dir: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "assay_bringup.cli", *words, "--log-dir", str(log_dir)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """Return what it said, up to and including a line with ``text``."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if text in line:
            return said
    raise AssertionError(f"it ended without saying {text!r}: {said}")


def test_print_resolves_without_starting_anything(
    prefix: Prefix, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix.add("fake", "waiter", "raise SystemExit('must not run')")
    path = write("launch:\n  - arg: {name: a, default: b}\n  - node: {pkg: fake, exec: waiter, name: n}\n")
    assert main([str(path), "a:=c", "--print"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["arguments"] == {"a": "c"}
    assert printed["processes"][0]["command"][1:] == ["--ros-args", "-r", "__node:=n"]


@pytest.mark.parametrize("words", [["nothing"], ["a=b"], ["unknown:=1"], ["--print", "unknown:=1"]])
def test_a_wrong_request_is_refused_with_exit_code_2(
    write: Write, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("launch:\n  - executable: {cmd: touch started}\n")
    assert main([str(path), *words]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not Path("started").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--policy", "random"],
            "--policy: expected launch arguments as NAME:=VALUE, got an option. fix: write policy:=random",
        ),
        (["--camera-width=320"], "fix: write camera_width:=320"),
        (["--policy", "a:=b"], "fix: write policy:=VALUE"),
        (["--show-arg"], "did you mean --show-args?"),
        (["--log-dir"], "argument --log-dir: expected one argument. fix: see "),
    ],
)
def test_an_option_that_does_not_exist_gets_one_line(
    write: Write, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("launch:\n  - executable: {cmd: touch started}\n")
    assert main([str(path), *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_an_empty_directory_for_logs_is_refused(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    path = write("launch:\n  - executable: {cmd: 'false'}\n")
    assert main([str(path), "--log-dir", ""]) == 2
    assert "--log-dir: expected a directory, got ''" in capsys.readouterr().err


def test_arguments_are_listed_with_descriptions(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    path = write(
        "launch:\n"
        "  - arg: {name: hz, default: '10', description: 'Rate [Hz]', choice: [{value: '10'}, {value: '20'}]}\n"
    )
    assert main([str(path), "--show-args"]) == 0
    assert capsys.readouterr().out == "hz:=  Rate [Hz]. One of: 10, 20. (default: '10')\n"


def test_without_a_file_those_of_the_workspace_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    for path in (WORKSPACE / "launch").glob("*.launch.yaml"):
        assert path.name.partition(".")[0] in out


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything(prefix: Prefix, write: Write, tmp_path: Path, signum: int) -> None:
    prefix.add("fake", "waiter", WAITER)
    path = write("launch:\n  - executable: {cmd: $(exec-in-pkg waiter fake), name: w, output: screen}\n")
    with launch(str(path), log_dir=tmp_path / "log") as process:
        said = read_until(process, "[w] ready")
        pid = int(said.partition("[w] started, pid ")[2].split()[0])
        assert alive(pid)
        os.killpg(process.pid, signum)
        assert process.wait(timeout=20) == 130
    assert not alive(pid), "no orphan may stay"


def test_a_second_ctrl_c_ends_everything_at_once(prefix: Prefix, write: Write, tmp_path: Path) -> None:
    prefix.add("fake", "stubborn", STUBBORN)
    path = write(
        "launch:\n  - executable:\n      cmd: $(exec-in-pkg stubborn fake)\n      name: s\n      output: screen\n"
        "      sigterm_timeout: 600.0\n"
    )
    with launch(str(path), log_dir=tmp_path / "log") as process:
        said = read_until(process, "[s] ready")
        pid = int(said.partition("[s] started, pid ")[2].split()[0])
        process.send_signal(signal.SIGINT)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
        # A signal more may meet an interpreter that is ending, which no longer handles it.
        assert process.returncode in (1, -signal.SIGINT), "a process that had to be killed is a failure"
    assert not alive(pid)


def test_the_end_of_a_process_with_on_exit_shutdown_ends_the_rest_with_its_code(
    prefix: Prefix, write: Write, tmp_path: Path
) -> None:
    prefix.add("fake", "waiter", WAITER)
    prefix.add("fake", "runner", "import sys\nsys.exit(3)\n")
    path = write("""
        launch:
          - executable: {cmd: $(exec-in-pkg waiter fake), name: w}
          - executable: {cmd: $(exec-in-pkg runner fake), name: r, on_exit: shutdown}
        """)
    with launch(str(path), log_dir=tmp_path / "log") as process:
        said = read_until(process, "[r] r (runner")
        assert process.wait(timeout=20) == 3
    assert "ended with exit code 3" in said


def test_a_node_that_failed_makes_the_exit_code_1(prefix: Prefix, write: Write, tmp_path: Path) -> None:
    prefix.add("fake", "crash", "raise RuntimeError('boom')\n")
    path = write("launch:\n  - executable: {cmd: $(exec-in-pkg crash fake), name: c}\n")
    with launch(str(path), log_dir=tmp_path / "log") as process:
        said = read_until(process, "[c] c (crash")
        assert process.wait(timeout=20) == 1
    assert "RuntimeError: boom" in said


def test_a_clean_end_of_everything_is_exit_code_0(write: Write, tmp_path: Path) -> None:
    path = write("launch:\n  - log: {message: hello there}\n  - executable: {cmd: echo done, output: screen}\n")
    with launch(str(path), log_dir=tmp_path / "log") as process:
        said = read_until(process, "[echo] done")
        assert process.wait(timeout=20) == 0
    assert "hello there" in said
