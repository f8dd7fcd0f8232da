"""The package as a user has it: installed, found by Inspect Robots through its entry points."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import assay_benchmarks
import assay_core

PACKAGE = Path(__file__).parents[1]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Install a copy of the package into a folder, and return a function that runs a command which finds only that."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("test", "__pycache__", "*.egg-info"))
    places = [f"--install-{what}={folder / what}" for what in ("lib", "scripts", "data")]
    install = ["install", *places, "--single-version-externally-managed", f"--record={folder / 'record'}"]
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", *install]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    core = Path(assay_core.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'lib'}{os.pathsep}{core}"}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments, env=environment, cwd=folder, capture_output=True, text=True, check=True, timeout=110
        )

    return call


def _inspect_robots() -> str:
    command = Path(sys.executable).with_name("inspect-robots")
    if not command.exists():
        pytest.skip("the inspect-robots command is not beside this Python")
    return str(command)


def test_the_data_is_installed_with_the_code(run: Run) -> None:
    program = (
        "import assay_benchmarks as b, assay_benchmarks.layout as l;"
        "print(b.__file__, sum(len(s.instances) for s in b.SPECS), b.load_rig().rig_id)"
    )
    file, instances, rig = run(sys.executable, "-c", program).stdout.split()
    assert file != assay_benchmarks.__file__
    assert (instances, rig) == ("50", "yam-bimanual")


def test_the_framework_lists_the_tasks_and_the_mock(run: Run) -> None:
    program = """
from inspect_robots import registered
ours = lambda kind: sorted(n for n, f in registered(kind).items() if f.__module__.startswith("assay_benchmarks"))
print(ours("task"), ours("embodiment"), ours("policy"))
"""
    listed = run(sys.executable, "-c", program).stdout
    for key in assay_benchmarks.TASK_FACTORIES:
        assert f"kitchenbench/{key}" in listed
    for name in ("'kitchen'", "kitchen_scripted", "kitchen_random", "kitchen_noop"):
        assert name in listed


@pytest.mark.parametrize(("policy", "success"), [("kitchen_scripted", 1.0), ("kitchen_random", 0.0)])
def test_inspect_robots_run(run: Run, tmp_path: Path, policy: str, success: float) -> None:
    task = "kitchenbench/pour_pasta"
    run(
        _inspect_robots(),
        "run",
        "--task",
        task,
        "--policy",
        policy,
        "--embodiment",
        "kitchen",
        "--log-dir",
        str(tmp_path),
    )
    (log,) = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert log["status"] == "success"
    assert log["eval"]["task"] == task
    assert log["results"]["metrics"]["task_success"] == success
    assert log["results"]["total_trials"] == 25


def test_the_whole_benchmark_runs_by_name_from_python(run: Run, tmp_path: Path) -> None:
    program = f"""
from inspect_robots import eval_set
from assay_benchmarks import TASK_FACTORIES
names = [f"kitchenbench/{{key}}" for key in sorted(TASK_FACTORIES)]
ok, logs = eval_set(names, "kitchen_scripted", "kitchen", log_dir={str(tmp_path)!r})
assert ok
for log in logs:
    print(log.eval.task, log.results.metrics["task_success"], *[s.reduced["task_success"] for s in log.samples])
"""
    lines = run(sys.executable, "-c", program).stdout.splitlines()
    expected = [f"kitchenbench/{key} 1.0 1.0 1.0 1.0 1.0 1.0" for key in sorted(assay_benchmarks.TASK_FACTORIES)]
    assert [line for line in lines if line.startswith("kitchenbench/")] == expected
