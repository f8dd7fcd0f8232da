"""The commands of Inspect Robots that a user types, with this package installed."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from fakes import rig

from assay_bridge.embodiment import AssayEmbodiment
from assay_ros import qos
from assay_ros.testing import domain

SOURCES = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> dict[str, str]:
    """Return an environment in which the entry points of the packages under test are found."""
    places = []
    for package in ("assay_bridge", "assay_benchmarks"):
        place = tmp_path_factory.mktemp(package)
        command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(place)]
        subprocess.run(command, cwd=SOURCES / package, check=True, timeout=60, capture_output=True)
        places.append(str(place))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*places, os.environ.get("PYTHONPATH", "")])}


def inspect_robots(*args: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from inspect_robots.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=100, check=False)


def test_doctor_finds_the_embodiment_conformant(installed, tmp_path):
    done = inspect_robots("doctor", "--embodiment", "assay", env=installed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "assay: conformant (no issues)" in done.stdout
    assert list(tmp_path.iterdir()) == [], "a check must not leave anything behind"


def test_a_run_against_a_graph(installed, tmp_path):
    with domain() as number, rig(number, success_at=3) as fakes:
        env = {**installed, "ROS_DOMAIN_ID": str(number)}
        args = "run --task kitchenbench/pour_pasta --policy assay --embodiment assay -E cameras=0"
        done = inspect_robots(*args.split(), env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        (log,) = (tmp_path / "logs").glob("*.json")
        data = json.loads(log.read_text())
        assert (data["status"], data["results"]["total_trials"]) == ("success", 25)
        assert data["results"]["metrics"]["task_success"] == 1.0
        assert len(fakes.policy.resets) == 25
        (session,) = (tmp_path / "sessions").iterdir()
        assert (session / "plan.yaml").is_file()
        assert fakes.benchmark.of("close_session")[0].status == 1


def test_a_graph_with_fewer_cameras_says_which_option_would_fit(installed, tmp_path):
    with domain() as number, rig(number) as fakes:
        publisher = fakes.policy.node.create_publisher(DiagnosticStatus, "policy/serving", qos.LATCHED)
        values = {"policy": "scripted", "cameras": 1, "camera_width": 640, "control_hz": 10.0, "mode": "lockstep"}
        said = [KeyValue(key=name, value=str(value)) for name, value in values.items()]
        publisher.publish(DiagnosticStatus(name="policy", values=said))
        args = "run --task kitchenbench/pour_pasta --policy assay --embodiment assay -E control_hz=20"
        done = inspect_robots(*args.split(), env={**installed, "ROS_DOMAIN_ID": str(number)}, cwd=tmp_path)
    told = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0
    assert "expected control_hz 20.0, cameras 3, got control_hz 10.0, cameras 1." in told
    assert "fix: add -E control_hz=10.0 -E cameras=1, or start the graph with control_hz:=20.0 cameras:=3" in told
    assert not (tmp_path / "sessions").exists(), "nothing may be left of a session that could not open"


def test_every_option_of_the_embodiment_is_documented_with_its_default():
    text = (SOURCES / "assay_bridge" / "README.md").read_text()
    table = text[text.index("| option |") :].split("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    told = {}
    for names, defaults in rows:
        found, values = re.findall(r"`(\w+)`", names), re.findall(r"`([^`]*)`", defaults)
        told |= dict(zip(found, values or [""] * len(found), strict=False))
    parameters = inspect.signature(AssayEmbodiment).parameters
    assert {name: told.get(name) for name in parameters} == {n: str(p.default) for n, p in parameters.items()}


def test_without_a_graph_the_error_says_what_is_missing(installed, tmp_path):
    with domain() as number:
        env = {**installed, "ROS_DOMAIN_ID": str(number)}
        args = "run --task kitchenbench/pour_pasta --policy assay --embodiment assay -E connect_s=0.5"
        done = inspect_robots(*args.split(), env=env, cwd=tmp_path)
        told = done.stdout + done.stderr
        assert done.returncode != 0
        assert "graph: incomplete after 0.5 s, missing benchmark/open_session (no server)" in told
        assert "Traceback" not in told
