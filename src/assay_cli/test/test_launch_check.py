"""What a node would refuse is refused before any process starts, by `eval` and `launch` alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay_bringup.launch.resolve import resolve
from assay_cli.__main__ import main
from assay_cli.launch_check import CHECKS, check_launch
from assay_core.errors import ConfigError

BAD = {
    "noise_seed:=-1": "world: parameter 'seed': expected a number from 0 to",
    "faults:=bogus": "unknown fault 'bogus'",
    "policy_args:=x": "policy_args: expected key=value, got 'x'",
    "policy_args:=rows=5": "policy 'scripted': expected no arguments, got 'rows=5'",
}
LAUNCH_ONLY = {
    "control_hz:=500": "world: parameter 'control_hz': expected a number from 1.0 to 200.0, got 500.0",
    "noise:=200": "world: parameter 'noise': expected a number from 0.0 to 100.0, got 200.0",
    "policy:=scriptd": "did you mean scripted",
    "camera_width:=4": "world: parameter 'camera_width': expected a number from 16 to 4096, got 4",
    "task:=kitchenbnch": "did you mean kitchenbench",
    "graders:=[anna]": "launch argument 'graders': expected an argument that changes something, got graders:=[anna], "
    "but only node 'runner' takes it, which is left out. fix: add session:=VALUE or task:=VALUE, or leave graders out",
    "epochs:=3 seed:=1": "launch argument 'epochs': expected an argument that changes something",
    "task:=stack/plates operators:=[1]": "runner: parameter 'operators': expected string_array, got [1]",
    "task:=stack/plates operator:=none": "--operator none: expected at least one --operator-id ID",
}


@pytest.fixture
def nothing_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)

    def start(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr("assay_bringup.launch.processes.GraphProcesses.start", start)


@pytest.mark.parametrize("word", list(BAD))
def test_eval_refuses_what_a_node_would(
    word: str, nothing_starts: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "stack/plates", "--cameras", "0", "--set", word]) == 2
    err = capsys.readouterr().err
    assert BAD[word] in err
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", [*BAD, *LAUNCH_ONLY])
@pytest.mark.parametrize("shown", [True, False], ids=["print", "run"])
def test_launch_refuses_what_a_node_would(
    word: str, shown: bool, nothing_starts: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["launch", "eval", *word.split(), *(["--print"] if shown else [])]) == 2
    captured = capsys.readouterr()
    assert {**BAD, **LAUNCH_ONLY}[word] in captured.err
    assert captured.out == ""


def test_every_node_of_ours_has_its_check() -> None:
    for arguments in ({}, {"task": "stack/plates"}):
        resolved = resolve("eval", arguments)
        check_launch(resolved)
        ours = {(p.package, Path(p.executable).name) for p in resolved.processes if p.package}
        assert ours <= set(CHECKS), "add the check of the new node to assay_cli.launch_check"


def test_parameter_files_count_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        "/**:\n  ros__parameters: {noise: 500.0}\nworld:\n  ros__parameters: {noise: 1.0}\n"
        "other:\n  ros__parameters: {nose: 1}\n"
    )
    text = "launch:\n  - node: {{pkg: assay_sim, exec: mock_world, name: world, param: [{{from: {}}}{}]}}\n"
    path = tmp_path / "a.launch.yaml"
    path.write_text(text.format(tmp_path / "p.yaml", ""))
    check_launch(resolve(path))
    path.write_text(text.format(tmp_path / "p.yaml", ", {name: nose, value: 1.0}"))
    with pytest.raises(ConfigError, match=r"unknown parameter of world 'nose'.*did you mean noise"):
        check_launch(resolve(path))
    (tmp_path / "p.yaml").write_text("- nothing\n")
    with pytest.raises(ConfigError, match=r"parameter file .*p.yaml: expected NODE: \{ros__parameters"):
        check_launch(resolve(path))
