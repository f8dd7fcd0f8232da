from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from assay_tools.main import verbs
from checkouts import write


def bare(tmp_path, *programs):
    """Return a PATH that holds only these programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in programs:
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


@pytest.fixture
def clone(root, tmp_path):
    """A checkout that has never been set up."""
    top = tmp_path / "clone"
    top.mkdir()
    shutil.copy2(root / "assay", top)
    shutil.copytree(root / "tools", top / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    return top


def run(command, **words):
    words.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **words)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_needs_neither_python_nor_environment(clone, tmp_path, arguments):
    path = bare(tmp_path, "sh", "cat", "readlink")
    done = run([clone / "assay", *arguments], env={"PATH": path})
    assert done.returncode == 0, done.stderr
    assert "./assay eval kitchenbench" in done.stdout
    assert not (clone / ".assay").exists()


def test_version_names_release_and_commit_without_an_environment(clone, root):
    (clone / "src/assay_cli").mkdir(parents=True)
    shutil.copy2(root / "src/assay_cli/package.xml", clone / "src/assay_cli")
    assert run([clone / "assay", "--version"]).stdout.startswith("assay 0.")
    head = run(["git", "-C", root, "rev-parse", "--short=10", "HEAD"]).stdout.strip()
    assert (f"(commit {head}" if head else "assay") in run([root / "assay", "--version"]).stdout
    assert list(clone.glob(".venv*")) == []


def test_closed_streams_are_no_obstacle(root, tmp_path):
    words = f"{root / 'assay'} exec"
    script = f"{words} sh -c 'echo out; echo err >&2' 2>&-; {words} true <&- >&- 2>&-; echo $?"
    assert run(["sh", "-c", script], cwd=tmp_path).stdout == "out\n0\n"


def test_help_names_exactly_the_verbs_that_there_are(root):
    from assay_cli.__main__ import VERBS

    listed = verbs((root / "tools/assay_tools/help.txt").read_text())
    assert set(listed) == {"setup", "test", "lint", "exec", *VERBS}


@pytest.mark.parametrize("verb", ["setup", "test", "lint", "exec"])
def test_the_tools_explain_themselves_without_an_environment(clone, verb):
    done = run([clone / "assay", verb, "--help"])
    assert done.returncode == 0, done.stderr
    assert f"./assay {verb}" in done.stdout
    assert not (clone / ".assay").exists()


@pytest.mark.parametrize("verb", ["eval", "resume", "list", "show", "realize", "launch", "bench"])
def test_a_verb_explains_itself_without_an_environment(clone, root, verb):
    (clone / "src").symlink_to(root / "src")
    environ = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "ASSAY_ENVIRONMENT")}
    done = run([clone / "assay", verb, "--help"], env=environ)
    assert done.returncode == 0, done.stderr
    assert f"usage: ./assay {verb}" in done.stdout
    assert not (clone / ".assay").exists()


def test_a_mistyped_verb_starts_no_setup(clone):
    done = run([clone / "assay", "evla", "kitchenbench"])
    assert done.returncode == 2
    assert "unknown verb 'evla'" in done.stderr
    assert "did you mean eval" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (clone / ".assay").exists()


def test_without_python_the_packages_are_named(clone, tmp_path):
    done = run([clone / "assay", "setup"], env={"PATH": bare(tmp_path, "sh", "readlink", "id")}, cwd="/")
    if done.returncode == 0:
        pytest.skip("an interpreter at a fixed place was found")
    assert done.returncode == 2
    assert "expected Python 3.10 or newer" in done.stderr or "tool chain" in done.stderr


def test_an_interpreter_that_does_not_fit_is_named(clone, tmp_path):
    old = write(tmp_path / "python3", "#!/bin/sh\nexit 1\n", executable=True)
    done = run([clone / "assay", "setup"], env={**os.environ, "ASSAY_PYTHON": str(old)})
    assert done.returncode == 2
    assert f"expected Python 3.10 or newer, got {old}" in done.stderr
    assert "python3-venv" in done.stderr


def test_a_missing_compiler_is_named_before_anything_is_made(clone, tmp_path):
    """As a user that may not install packages: this is a machine without compilers, and with nothing else amiss."""
    write(clone / "src/assay_a/package.xml", "<package/>")
    path = bare(tmp_path, "sh", "readlink", "id", "cat")
    python = os.path.realpath(shutil.which("python3"))
    write(Path(path) / "apt-get", "#!/bin/sh\necho 'E: no network'; exit 100\n", executable=True)
    done = run([clone / "assay", "setup"], env={"PATH": path, "ASSAY_PYTHON": python, "HOME": str(tmp_path)})
    assert done.returncode == 2
    assert "a working C++ compiler (to compile the message types)" in done.stderr
    assert "sudo apt-get install" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (clone / ".venv").exists()


def test_an_unusable_ros_is_refused_before_anything_is_made(clone):
    environ = {key: value for key, value in os.environ.items() if key != "ASSAY_ENVIRONMENT"}
    done = run([clone / "assay", "eval", "x"], env={**environ, "ROS_DISTRO": "humble", "AMENT_PREFIX_PATH": "/opt"})
    assert done.returncode == 2
    assert "jazzy or newer" in done.stderr
    assert not (clone / ".assay").exists()


def test_the_command_replaces_the_script(ready, tmp_path):
    process = subprocess.Popen(
        [ready / "assay", "exec", "sh", "-c", "echo $$; pwd"], cwd=tmp_path, stdout=subprocess.PIPE
    )
    output = process.communicate(timeout=30)[0].decode().split()
    assert output == [str(process.pid), str(tmp_path)]
    assert process.returncode == 0


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_command_itself(ready, signum):
    process = subprocess.Popen([ready / "assay", "exec", "sleep", "60"], start_new_session=True)
    try:
        deadline = time.monotonic() + 20
        while b"sleep" not in Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[0]:
            assert time.monotonic() < deadline, "the command never took the script's place"
        process.send_signal(signum)
        assert process.wait(20) == -signum
    finally:
        process.kill()


def test_exit_codes_and_unknown_commands_of_exec(ready):
    assert run([ready / "assay", "exec", "sh", "-c", "exit 7"]).returncode == 7
    done = run([ready / "assay", "exec", "no-such-command"])
    assert done.returncode == 2
    assert "expected a command on the environment's PATH, got 'no-such-command'" in done.stderr
    assert run([ready / "assay", "exec"]).returncode == 2


def test_the_script_works_through_a_link_and_from_anywhere(ready, tmp_path):
    link = tmp_path / "assay"
    link.symlink_to(ready / "assay")
    done = run([link, "exec", "python", "-c", "import assay_msgs.msg, rclpy; print('in')"], cwd=tmp_path)
    assert done.stdout == "in\n", done.stderr


def test_python_starts_once_in_the_environment(ready):
    """The ROS 2 wheels start every Python twice unless the library path is right already."""
    code = "import os, sys; print(os.environ.get('ASSAY_ENVIRONMENT'), len(os.environ['LD_LIBRARY_PATH']) > 0)"
    done = run([ready / "assay", "exec", "python", "-c", code])
    if done.stdout.startswith("wheels"):
        traced = run([ready / "assay", "exec", "env"])
        assert "_ROS_WHEELS_BOOTSTRAP_COMPLETE=1" in traced.stdout


def test_a_current_environment_is_checked_without_starting_anything(ready):
    done = run([ready / "assay", "setup"])
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr == "assay: the environment is complete and current\n"
