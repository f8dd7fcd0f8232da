"""The launch files and parameter files of this workspace: documented, complete, and free of contradictions."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import WORKSPACE, Prefix
from rclpy.node import Node
from rclpy.parameter import Parameter

from assay_bringup.launch import Resolved, resolve
from assay_bringup.launch.actions import Action, read
from assay_core.errors import ConfigError
from assay_ros.params import declare
from assay_ros.testing import graph

LAUNCH = sorted((WORKSPACE / "launch").glob("*.launch.yaml"))
CONFIG = sorted((WORKSPACE / "config").glob("*.yaml"))

NODES: dict[str, tuple[str, str, str]] = {
    "world": ("assay_sim", "mock_world", "assay_sim.mock_params:MockWorldParams"),
    "policy": ("assay_policies", "policy_node", "assay_policies.parameters:PolicyParams"),
    "benchmark": ("assay_bench", "benchmark_node", "assay_bench.settings:BenchmarkParams"),
    "operator": ("assay_operator", "auto_operator", "assay_operator.auto_operator:OperatorParams"),
    "lifecycle_manager": ("assay_bringup", "lifecycle_manager", "assay_bringup.lifecycle_manager:ManagerParams"),
    "runner": ("assay_bridge", "session_runner", "assay_bridge.session_runner:RunnerParams"),
}
"""Node name: package, executable, parameters."""


@pytest.fixture
def installed(prefix: Prefix) -> Prefix:
    """Return a prefix in which every executable exists, so that the launch files resolve without a build."""
    for package, executable, _ in NODES.values():
        prefix.add(package, executable)
    return prefix


def parameters(name: str) -> Any:
    module, _, cls = NODES[name][2].partition(":")
    return getattr(importlib.import_module(module), cls)


def arguments(path: Path) -> list[Action]:
    return [action for action in read(path) if action.kind == "arg"]


def resolved(**given: str) -> Resolved:
    return resolve(WORKSPACE / "launch" / "eval.launch.yaml", given)


def given_to(name: str, launch: Resolved) -> dict[str, Any]:
    """Return every parameter value that a node gets, later ones winning."""
    process = launch.process(name)
    assert process is not None
    values: dict[str, Any] = {}
    for source in process.parameters:
        if source.file is None:
            values.update(source.values)
        else:
            content = yaml.safe_load(Path(source.file).read_text(encoding="utf-8"))
            assert list(content) == ["/**"], "another key would take precedence over launch arguments"
            values.update(content["/**"]["ros__parameters"])
    return values


@pytest.mark.parametrize("path", LAUNCH, ids=lambda path: path.name)
def test_every_argument_is_described_and_numbers_have_a_unit_or_are_counts(path: Path) -> None:
    for action in arguments(path):
        name, description = action.entry.plain("name"), action.entry.plain("description")
        assert description, f"{action.where}: argument '{name}' lacks a description"
        default = action.entry.text("default")
        if (
            default is not None
            and "." in (default.literal or "")
            and (default.literal or "").replace(".", "").isdigit()
        ):
            assert "[" in description, f"{action.where}: the description of '{name}' lacks its unit"


def test_an_argument_means_the_same_in_every_file() -> None:
    seen: dict[str, tuple[object, ...]] = {}
    for path in LAUNCH:
        for action in arguments(path):
            name = action.entry.plain("name") or ""
            default = action.entry.text("default")
            choices = tuple(choice.plain("value") for choice in action.entry.entries.get("choice", ()))
            content = (default.parts if default else None, action.entry.plain("description"), choices)
            assert seen.setdefault(name, content) == content, f"{action.where}: '{name}' differs from another file"


@pytest.mark.parametrize("set_before", [False, True], ids=["unset", "set"])
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("default", {}),
        ("bare", {"operator": "none", "cameras": "0", "policy": "noop"}),
        (
            "session",
            {
                "task": "kitchenbench", "session": "out", "epochs": "2", "seed": "7", "graders": "[anna, ben]",
                "label": "A", "mode": "paced", "control_hz": "20", "noise": "1.5",
                "policy": "inspect:random", "policy_args": "a=1 b=2",
            },
        ),
    ],
)  # fmt: skip
def test_the_graph_resolves_to_the_golden_launch(
    installed: Prefix, name: str, given: dict[str, str], set_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = f"{WORKSPACE}/launch/../config/fastdds.xml"
    for variable, value in (
        ("FASTRTPS_DEFAULT_PROFILES_FILE", profile),
        ("FASTDDS_DEFAULT_PROFILES_FILE", profile),
        ("ROS_AUTOMATIC_DISCOVERY_RANGE", "SYSTEM_DEFAULT"),
        ("ROS_LOCALHOST_ONLY", "1"),
        ("ROS_STATIC_PEERS", "192.0.2.1"),
    ):
        if set_before:  # what `./assay` sets itself is printed all the same
            monkeypatch.setenv(variable, value)
        else:
            monkeypatch.delenv(variable, raising=False)
    data = resolved(**given).to_json()
    for process in data["processes"]:
        del process["source"]  # lines move with every comment
    text = json.dumps(data, indent=2, sort_keys=True)
    text = text.replace(str(installed.path), "PREFIX").replace(str(WORKSPACE), "WORKSPACE")
    golden = Path(__file__).parent / "golden" / f"eval_{name}.json"
    if os.environ.get("ASSAY_UPDATE_GOLDEN"):
        golden.write_text(text + "\n", encoding="utf-8")
    assert json.loads(text) == json.loads(golden.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(NODES))
def test_every_parameter_has_one_place_and_is_valid(installed: Prefix, name: str) -> None:
    launch = resolved(task="kitchenbench")
    given = given_to(name, launch)
    fields = {field.name for field in dataclasses.fields(parameters(name))}
    missing = fields - set(given) - {"manual"}
    assert missing == set(), f"put {missing} into config/{name}.yaml or the launch file"
    with graph() as (context, _executor, _):
        overrides = [Parameter(key, value=value) for key, value in given.items() if value != []]
        node = Node(name, context=context, parameter_overrides=overrides)
        declare(node, parameters(name))


@pytest.mark.parametrize("path", CONFIG, ids=lambda path: path.name)
def test_every_key_of_a_parameter_file_is_commented_and_belongs_to_its_node(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    content = yaml.safe_load("\n".join(lines))["/**"]["ros__parameters"]
    fields = {field.name: field for field in dataclasses.fields(parameters(path.stem))}
    assert lines[0].startswith(f"# Node `{path.stem}`")
    for key in content:
        assert key in fields, f"{path.name}: '{key}' is no parameter of the node"
        (line,) = [line for line in lines if line.strip().startswith(f"{key}:")]
        _, _, comment = line.partition(" # ")
        assert comment, f"{path.name}: '{key}' lacks a comment"
        unit = fields[key].metadata["unit"]
        assert f"[{unit}]" in comment or not unit, f"{path.name}: the comment of '{key}' lacks its unit [{unit}]"


@pytest.mark.parametrize("name", sorted(NODES))
def test_a_parameter_file_with_a_typing_error_is_refused(name: str) -> None:
    with graph() as (context, _executor, _):
        node = Node(name, context=context, parameter_overrides=[Parameter("trasition_deadline_s", value=1.0)])
        with pytest.raises(ConfigError, match=f"unknown parameter of {name} 'trasition_deadline_s'"):
            declare(node, parameters(name))


@pytest.mark.parametrize("path", sorted((WORKSPACE / "config").glob("*.xml")), ids=lambda path: path.name)
def test_dds_profiles_are_as_documented(path: Path) -> None:
    tree = {element.tag.partition("}")[2]: (element.text or "").strip() for element in ET.parse(path).iter()}
    assert tree["segment_size"] == str(64 * 1024 * 1024)
    assert tree["maxMessageSize"] == str(8 * 1024 * 1024)
    assert tree["maxInitialPeersRange"] == "32"
    assert tree["useBuiltinTransports"] == "false"
    listens = [e.tag.partition("}")[2] for e in ET.parse(path).iter()].count("interfaceWhiteList")
    assert listens == (1 if path.name == "fastdds.xml" else 0)


def test_the_documentation_names_every_file_and_argument() -> None:
    text = (WORKSPACE / "docs" / "launch.md").read_text(encoding="utf-8")
    for path in [*LAUNCH, *CONFIG, *(WORKSPACE / "config").glob("*.xml")]:
        assert path.name in text, f"docs/launch.md does not mention {path.name}"
    for path in LAUNCH:
        for action in arguments(path):
            assert f"`{action.entry.plain('name')}`" in text, (
                f"docs/launch.md does not mention {action.entry.plain('name')}"
            )


def test_the_readme_has_the_parameters_in_force() -> None:
    from assay_ros.params import markdown_table

    text = (WORKSPACE / "src" / "assay_bringup" / "README.md").read_text(encoding="utf-8")
    assert markdown_table(parameters("lifecycle_manager")) in text
