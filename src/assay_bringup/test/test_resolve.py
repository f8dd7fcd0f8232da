"""What a launch file means, and that every mistake in one is named with its line before anything starts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Prefix

from assay_bringup.launch import resolve
from assay_bringup.launch.resolve import declared_arguments, parse_arguments
from assay_core.errors import ConfigError

Write = Callable[..., Path]
DATA = Path(__file__).parent / "data"

NODE = """
launch:
  - node:
      pkg: fake
      exec: talker
      name: one
"""


def fails(path: Path, *parts: str, **arguments: str) -> None:
    with pytest.raises(ConfigError) as raised:
        resolve(path, arguments)
    for part in parts:
        assert part in str(raised.value), f"the message must name {part!r}: {raised.value}"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("launch:\n  - lett: {name: a, value: b}\n", (":2", "unknown action 'lett'", "did you mean let?")),
        ("launch:\n  - let: {name: a, valu: b}\n", (":2", "unknown attribute of action 'let' 'valu'", "value")),
        ("launch:\n  - let: {name: a}\n", (":2", "expected the attribute 'value'")),
        ("launch:\n  - arg: {name: a, default: 3}\n", (":2", "expected text, got an integer", 'fix: quote it: "3"')),
        ("launch:\n  - arg: {name: a, default: yes}\n", (":2", "a boolean", 'quote it: "true"')),
        ("launch:\n  - timer: {period: 1.0}\n", (":2", "action 'timer'", "only `ros2 launch` carries out")),
        ("launch:\n  - let: {name: a, value: $(vra b)}\n", (":2", "unknown substitution 'vra'", "did you mean var")),
        ("launch:\n  - let: {name: a, value: $(command ls)}\n", (":2", "only `ros2 launch` evaluates")),
        ("launch:\n  - let: {name: a, value: $(var a b)}\n", (":2", "1 argument(s) for '$(var ...)', got 2")),
        ("launch:\n  - let: {name: a, value: $(var a}\n", (":2", "expected ')'")),
        ("launch:\n  - let: {name: a, value: \"$(eval 'x')\"}\n", (":2", "got the name 'x'")),
        ("launch:\n  - let: {name: a, value: $(var nothing)}\n", (":2", "unknown launch variable 'nothing'")),
        ("launch:\n  - log: {message: a, if: maybe}\n", (":2", "expected true, 1, false or 0, got 'maybe'")),
        ("launch:\n  - log: {message: a, if: '1', unless: '1'}\n", (":2", "expected 'if' or 'unless', got both")),
        ("launch:\n  - log: {message: a}\n    let: {name: a, value: b}\n", (":2", "one action")),
        ("launch:\n  - log: {message: a, message: b}\n", (":2", "each key once")),
        ("launch: nothing\n", (":1", "a list of actions")),
        ("start: []\n", (":1", "'launch:' as the only top-level key", "'start'")),
        ("launch:\n  - include: {file: /nowhere/x.launch.yaml}\n", (":2", "launch file /nowhere/x.launch.yaml")),
        ("launch:\n  - let: [a\n", (":3", "expected YAML")),
        ("", ("an empty file",)),
        ("launch:\n  - executable: {cmd: no-such-program-here}\n", (":2", "program 'no-such-program-here'")),
        ("launch:\n  - node: {pkg: fkae, exec: talker}\n", (":2", "unknown package 'fkae'", "did you mean fake")),
        ("launch:\n  - node: {pkg: fake, exec: tlker}\n", (":2", "executable of package fake 'tlker'", "talker")),
        ("launch:\n  - node: {pkg: fake, exec: talker, name: a b}\n", (":2", "node name", "'a b'")),
        ("launch:\n  - node: {pkg: fake, exec: talker, name: a, namespace: 1x}\n", (":2", "namespace", "'/1x'")),
        ("launch:\n  - node: {pkg: fake, exec: talker, on_exit: restart}\n", (":2", "on_exit", "'restart'")),
        ("launch:\n  - node: {pkg: fake, exec: talker, respawn_delay: 2}\n", (":2", "a number with a decimal point")),
        ("launch:\n  - node: {pkg: fake, exec: talker, output: tv}\n", (":2", "output", "'tv'")),
        ("launch:\n  - node:\n      pkg: fake\n      exec: talker\n      param:\n        - {from: /none.yaml}\n",
         (":6", "parameter file /none.yaml")),
        ("launch:\n  - node: {pkg: fake, exec: talker, param: [{name: a, value: x, type: int}]}\n", ("'a'", "'x'")),
        ("launch:\n  - node: {pkg: fake, exec: talker, param: [{name: a, value: [1, b]}]}\n", ("'a'", "[1, 'b']")),
        ("launch:\n  - node: {pkg: fake, exec: talker, param: [{name: a}]}\n", ("'value' or nested", "neither")),
        ("launch:\n  - node: {pkg: fake, exec: talker, param: [{name: a, value: b, type: txt}]}\n", ("'txt'", "str")),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(prefix: Prefix, write: Write, text: str, parts: tuple[str, ...]) -> None:
    prefix.add("fake", "talker")
    fails(write(text), *parts)


def test_a_mistake_in_a_branch_that_is_not_taken_is_found(write: Write) -> None:
    path = write("""
        launch:
          - group:
              if: "false"
              children:
                - let: {name: a, value: $(vra b)}
        """)
    fails(path, ":6", "unknown substitution 'vra'")


def test_an_argument_that_no_file_declares_is_refused_with_near_matches(write: Write) -> None:
    path = write("launch:\n  - arg: {name: cameras, default: '3'}\n")
    fails(path, "unknown launch argument 'camera'", "did you mean cameras?", camera="2")


def test_a_value_that_is_not_among_the_choices_is_refused(write: Write) -> None:
    path = write("launch:\n  - arg: {name: backend, default: mock, choice: [{value: mock}, {value: yam}]}\n")
    fails(path, "unknown backend 'mck'", "expected one of mock, yam", "did you mean mock?", backend="mck")


def test_a_missing_argument_is_named_with_its_description(write: Write) -> None:
    fails(write('launch:\n  - arg: {name: size, description: "Width [m]"}\n'), "'size'", "Width [m]", "add size:=VALUE")


def test_an_argument_of_an_include_that_the_included_file_does_not_know_is_refused(write: Write) -> None:
    write("launch:\n  - arg: {name: known, default: x}\n", "inner.launch.yaml")
    path = write("""
        launch:
          - include:
              file: $(dirname)/inner.launch.yaml
              arg:
                - {name: knwon, value: y}
        """)
    fails(path, ":3", "unknown argument of inner.launch.yaml 'knwon'", "did you mean known?")


def test_files_that_include_each_other_are_refused(write: Write) -> None:
    fails(write("launch:\n  - include: {file: $(dirname)/test.launch.yaml}\n"), "files that include each other")


def test_dirname_after_an_include_is_refused_because_ros2_launch_means_another_directory_there(write: Write) -> None:
    write("launch: []\n", "inner.launch.yaml")
    path = write("""
        launch:
          - include: {file: $(dirname)/inner.launch.yaml}
          - let: {name: a, value: $(dirname)}
        """)
    fails(path, ":4", "it before the first include")


def test_two_nodes_of_one_name_are_refused(prefix: Prefix, write: Write) -> None:
    prefix.add("fake", "talker")
    node = "  - node: {pkg: fake, exec: talker, name: one}\n"
    fails(write("launch:\n" + node + node), "node 'one'", ":2", ":3")


def test_a_parameter_file_comes_before_or_after_values_as_written(prefix: Prefix, write: Write) -> None:
    prefix.add("fake", "talker")
    write("/**:\n  ros__parameters: {a: 1}\n", "p.yaml")
    path = write(NODE + "      param:\n        - {name: a, value: 2}\n        - {from: $(dirname)/p.yaml}\n")
    (process,) = resolve(path).processes
    assert [source.file is None for source in process.parameters] == [True, False]
    assert process.command[-4:][0] == "--params-file"
    assert process.parameter_key == "/**", "values must not be keyed more narrowly than the files they add to"


def test_labels_differ_because_logs_go_by_them(write: Write) -> None:
    path = write("launch:\n" + "  - executable: {cmd: sleep 1}\n" * 3)
    assert [process.label for process in resolve(path).processes] == ["sleep", "sleep-2", "sleep-3"]


def test_an_executable_given_by_the_environment_of_the_launcher_alone_is_used(prefix: Prefix, write: Write) -> None:
    path = prefix.add("fake", "talker")
    (process,) = resolve(write(NODE), environ={"AMENT_PREFIX_PATH": str(prefix.path), "PATH": ""}).processes
    assert process.command[0] == str(path)


def test_everything_resolves_to_the_golden_launch(prefix: Prefix, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix.add("fake_one", "talker")
    monkeypatch.setenv("TEST_REMOVED", "x")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    resolved = resolve(DATA / "everything.launch.yaml", {"count": "4"})
    text = json.dumps(resolved.to_json(), indent=2, sort_keys=True)
    text = text.replace(str(prefix.path), "PREFIX").replace(str(DATA), "DATA").replace('"/bin/sh"', '"/usr/bin/sh"')
    golden = Path(__file__).parent / "golden" / "everything.json"
    if os.environ.get("ASSAY_UPDATE_GOLDEN"):
        golden.write_text(text + "\n", encoding="utf-8")
    assert json.loads(text) == json.loads(golden.read_text(encoding="utf-8"))


def test_declared_arguments_of_included_files_are_listed(prefix: Prefix) -> None:
    prefix.add("fake_one", "talker")
    names = [argument.name for argument in declared_arguments(DATA / "everything.launch.yaml")]
    assert names == ["who", "count", "flag", "choice", "from_include", "own"]


@pytest.mark.parametrize("word", ["a", ":=b", "a:=", "a=b"])
def test_words_that_are_no_arguments_are_refused(word: str) -> None:
    with pytest.raises(ConfigError, match="expected NAME:=VALUE"):
        parse_arguments([word])


def test_the_last_of_several_values_wins() -> None:
    assert parse_arguments(["a:=1", "b:=x:=y", "a:=2"]) == {"a": "2", "b": "x:=y"}


def test_a_launch_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"unknown launch file 'evla'.*did you mean eval\?"):
        resolve("evla")
    with pytest.raises(ConfigError, match=r"launch file dir/x\.launch\.yaml"):
        resolve("dir/x.launch.yaml")


UNUSED = """
launch:
  - arg: {name: loud, default: "false", description: turns it on}
  - arg: {name: speed, default: "1", description: of the talker}
  - group:
      - executable: {cmd: "echo $(var speed)", name: talker, if: $(var loud)}
"""


def test_an_argument_that_changes_nothing_is_refused_by_name(write: Write) -> None:
    path = write(UNUSED)
    fails(path, "'speed'", "only executable 'talker' takes it", "fix: add loud:=VALUE, or leave speed out", speed="2")
    (process,) = resolve(path, {"loud": "true", "speed": "2"}).processes
    assert process.command[-1] == "2"
