"""The same file must give the same processes, parameters and names under `ros2 launch` and under our runner.

Runs where ROS 2's `launch` and `launch_ros` are installed, i.e. on a robot PC.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import WORKSPACE, Prefix

from assay_bringup.launch import ResolvedProcess, resolve

pytest.importorskip("launch_yaml", reason="ROS 2's launch is not installed here")
pytest.importorskip("launch_ros", reason="ROS 2's launch_ros is not installed here")

DATA = Path(__file__).parent / "data"


def described(process: ResolvedProcess) -> dict[str, Any]:
    return {
        "command": process.command,
        "parameters": [
            source.file if source.file is not None else {"key": process.parameter_key, "values": source.values}
            for source in process.parameters
        ],
        # ROS 2's own is compared by what differs from the launcher's environment.
        "environment": {k: v for k, v in process.environment.items() if os.environ.get(k) != v},
        "cwd": process.cwd,
    }


def comparable(value: Any) -> Any:
    """Return tuples as lists, which is how they arrive in YAML."""
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    return [comparable(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize(
    "arguments", [{}, {"who": "arm", "count": "7", "choice": "c"}, {"flag": "false", "who": "world", "count": "0"}]
)
def test_everything_that_is_understood_means_the_same(
    prefix: Prefix, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, str]
) -> None:
    from launch_reference import reference

    prefix.add("fake_one", "talker")
    monkeypatch.setenv("TEST_REMOVED", "x")
    monkeypatch.setenv("TEST_UNTOUCHED", "x")
    path = DATA / "everything.launch.yaml"
    ours = [described(process) for process in resolve(path, arguments).processes]
    assert comparable(ours) == comparable(reference(path, arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"operator": "none", "cameras": "0", "policy": "random"},
        {"task": "kitchenbench", "session": "/tmp/s", "epochs": "2", "graders": "[anna, ben]", "label": "A"},
        {"mode": "paced", "control_hz": "20", "noise": "1.5", "faults": "drop:camera=top"},
    ],
)
def test_our_graph_means_the_same(prefix: Prefix, arguments: dict[str, str]) -> None:
    from launch_reference import reference

    for package, executable in (
        ("assay_sim", "mock_world"),
        ("assay_policies", "policy_node"),
        ("assay_bench", "benchmark_node"),
        ("assay_operator", "auto_operator"),
        ("assay_bringup", "lifecycle_manager"),
        ("assay_bridge", "session_runner"),
    ):
        prefix.add(package, executable)
    path = WORKSPACE / "launch" / "eval.launch.yaml"
    ours = [described(process) for process in resolve(path, arguments).processes]
    assert comparable(ours) == comparable(reference(path, arguments))
