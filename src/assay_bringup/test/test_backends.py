"""The back ends are the launch files that set their variables, and nothing else lists them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import WORKSPACE, Prefix

from assay_bringup.launch import locate, resolve
from assay_bringup.launch.backends import Backend, backend, backends
from assay_core.errors import ConfigError


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of our launch files that stands in for them, with one back end more."""
    for name in ("launch", "config"):
        shutil.copytree(WORKSPACE / name, tmp_path / name)
    monkeypatch.setattr(locate, "share_directory", lambda _environ: tmp_path)
    shutil.copy(tmp_path / "launch/mock.launch.yaml", tmp_path / "launch/foo.launch.yaml")
    return tmp_path / "launch"


def test_ours_are_described() -> None:
    found = backends(os.environ)
    assert list(found) == ["mock"]
    for name, each in found.items():
        assert each.name == name
        assert each.about, f"{name}.launch.yaml: set backend_about, which `list backends` shows"
    assert found["mock"].has_world


def test_a_copied_file_is_a_back_end(launch: Path, prefix: Prefix) -> None:
    assert list(backends(os.environ)) == ["foo", "mock"]
    assert backend("foo", os.environ) == Backend("foo", True, backend("mock", os.environ).about)
    for package, executable in (
        ("assay_sim", "mock_world"),
        ("assay_policies", "policy_node"),
        ("assay_bench", "benchmark_node"),
        ("assay_operator", "auto_operator"),
        ("assay_bringup", "lifecycle_manager"),
        ("assay_bridge", "session_runner"),
    ):
        prefix.add(package, executable)
    resolved = resolve("eval", {"backend": "foo", "task": "stack"})
    world, runner = resolved.process("world"), resolved.process("runner")
    assert world is not None
    assert world.source.startswith(f"{launch}/foo.launch.yaml:")
    assert runner is not None
    given = {key: value for source in runner.parameters for key, value in source.values.items()}
    assert (given["backend"], given["world"]) == ("foo", True)


def test_a_misspelt_one_is_named_with_near_matches(launch: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown back end 'mok': expected one of foo, mock.*did you mean mock\?"):
        backend("mok", os.environ)
    words = r"eval.launch.yaml:\d+: unknown launch file 'mok': expected one of foo, mock,.*did you mean mock\?"
    with pytest.raises(ConfigError, match=words):
        resolve("eval", {"backend": "mok"})


@pytest.mark.parametrize(
    ("text", "got"),
    [("", "none"), ("yes", "'yes'"), ("$(env X y)", "a substitution")],
    ids=["none", "word", "computed"],
)
def test_a_file_must_say_whether_it_has_a_world(launch: Path, text: str, got: str) -> None:
    said = f'  - let: {{name: backend_world, value: "{text}"}}\n' if text else ""
    (launch / "bar.launch.yaml").write_text(f"launch:\n  - let: {{name: backend_nodes, value: arm}}\n{said}")
    with pytest.raises(ConfigError, match=rf"bar.launch.yaml: variable 'backend_world': expected .*, got {got}"):
        backends(os.environ)


def test_other_launch_files_are_none(launch: Path) -> None:
    (launch / "draft.launch.yaml").write_text("launch: [not yet\n")
    assert list(backends(os.environ)) == ["foo", "mock"]
