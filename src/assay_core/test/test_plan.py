"""Plans: what is written is what is read, and every mistake is named with file and line."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_core.errors import ConfigError, DataError
from assay_core.located_yaml import load_located
from assay_core.plan import Plan, entry_from_json, load_plan, plan_hash, trial_id
from assay_core.testing import example_entry, example_plan


def plan(**changes: Any) -> Plan:
    return replace(example_plan(), **changes)


def test_a_written_plan_reads_back_equal(tmp_path: Path) -> None:
    original = plan(entries=(example_entry(0, scene_seed=None, instance_id=""), example_entry(1)))
    (tmp_path / "plan.yaml").write_text(original.to_yaml(), encoding="utf-8")
    assert load_plan(tmp_path) == original
    assert load_plan(tmp_path / "plan.yaml") == original


@given(st.text(min_size=1).filter(lambda s: s.strip() != ""), st.text())
def test_any_text_survives_the_file(tmp_path_factory: pytest.TempPathFactory, name: str, version: str) -> None:
    try:
        name.encode(), version.encode()
    except UnicodeEncodeError:
        return  # lone surrogates cannot be written to any file
    original = plan(entries=(example_entry(0, scene_id=name, task_version=version),), software={"x": version})
    path = tmp_path_factory.mktemp("plan") / "plan.yaml"
    path.write_text(original.to_yaml(), encoding="utf-8", newline="")
    assert load_plan(path) == original


def test_plan_file_is_one_line_per_entry_for_people() -> None:
    text = plan().to_yaml()
    assert sum("kitchenbench/pour_pasta" in line for line in text.splitlines()) == 2
    assert text == plan().to_yaml(), "two writes of one plan must not differ: its hash is in the journal"


@pytest.mark.parametrize(
    ("old", "new", "line_of", "words"),
    [
        ("seed: 0", "seed: -1", "seed: -1", ["an integer from 0", "got -1", "correct 'seed'"]),
        ("seed: 1001", "seed: 99999999999", "99999999999", ["entries[1].seed", "4294967295"]),
        ('mode: "lockstep"', "mode: fast", "mode: fast", ["lockstep or paced", "'fast'"]),
        ("max_repeats:", "max_repeat:", "max_repeat:", ["unknown key 'max_repeat'", "did you mean 'max_repeats'"]),
        ("control_hz: 10.0", "control_hz: .nan", "control_hz:", ["0.1 to 1000", "nan"]),
        ("{index: 1,", "{index: 5,", "{index: 5,", ["entries[1].index", "expected 1, got 5"]),
        ('"2026-03-01T12:00:00Z"', "2026-03-01", "created:", ["time in UTC"]),
        ("open: false", "open: maybe", "open: maybe", ["true or false"]),
        ('graders: ["checker"]', "graders: []", "graders: []", ["at least one grader"]),
        ('{name: "left"', '{name: "wrist"', '"wrist"', ["cameras[1].name", "top, left, right"]),
        ("open: false", "open: false\nopen: true", "open: true", ["key 'open'", "each key once"]),
        ("open: false", "open: [", None, ["expected YAML"]),
        ("schema_version: 1", "schema_version: 2", "schema_version", ["expected 1, got 2"]),
    ],
)
def test_a_mistake_is_named_with_file_and_line(
    tmp_path: Path, old: str, new: str, line_of: str | None, words: list[str]
) -> None:
    text = plan().to_yaml()
    assert old in text
    text = text.replace(old, new, 1)
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load_plan(path)
    message = str(caught.value)
    for word in [str(path), "expected", "fix:", *words]:
        assert word in message
    if line_of is not None:
        number = max(i for i, line in enumerate(text.splitlines(), 1) if line_of in line)
        assert f"{path}:{number}" in message


def test_missing_key_and_missing_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    with pytest.raises(DataError, match="No such file"):
        load_plan(path)
    path.write_text("\n".join(x for x in plan().to_yaml().splitlines() if not x.startswith("backend")))
    with pytest.raises(DataError, match=r"key 'backend'.*fix: add 'backend'"):
        load_plan(path)
    path.write_text("")
    with pytest.raises(DataError, match="an empty file"):
        load_plan(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="UTF-8"):
        load_plan(path)


def test_a_plan_built_in_code_meets_the_same_rules() -> None:
    with pytest.raises(ConfigError, match="epoch"):
        example_entry(0, epoch=-1)
    with pytest.raises(ConfigError, match=r"entries\[0\].index"):
        plan(entries=(example_entry(1),))
    with pytest.raises(ConfigError, match="at least one entry"):
        plan(entries=())
    assert plan(entries=(), open=True).entries == ()


def test_ids_and_hash() -> None:
    assert trial_id(3, 1) == "000003-1"
    assert plan_hash(b"x") == hashlib.sha256(b"x").hexdigest()


def test_open_plan_entry_travels_as_json() -> None:
    assert entry_from_json(example_entry(4).to_json()) == example_entry(4)
    with pytest.raises(ConfigError, match="a JSON object"):
        entry_from_json("{")
    with pytest.raises(ConfigError, match="max_steps"):
        entry_from_json('{"index": 0}')
    broken = {**dataclasses.asdict(example_entry(0)), "seed": "1"}
    with pytest.raises(ConfigError, match="seed"):
        entry_from_json(__import__("json").dumps(broken))


def test_a_long_plan_is_read_without_the_yaml_parser_and_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'a "b" \\ é \u2028 \U0001f600'
    original = plan(entries=tuple(example_entry(i, task=text, scene_seed=None if i % 2 else i) for i in range(300)))
    (tmp_path / "plan.yaml").write_text(original.to_yaml(), encoding="utf-8")
    monkeypatch.setattr("assay_core.plan.load_located", None)
    plain = plan(entries=tuple(example_entry(i, scene_seed=None if i % 2 else i) for i in range(300)))
    (tmp_path / "plain.yaml").write_text(plain.to_yaml(), encoding="utf-8")
    assert load_plan(tmp_path / "plain.yaml") == plain
    monkeypatch.setattr("assay_core.plan.load_located", load_located)
    assert load_plan(tmp_path) == original


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epoch: 0", "epoch: -1", r"plan.yaml:\d+: entries\[1\].epoch: expected an integer from 0, got -1"),
        ("epoch: 0", "epoch: 00x", r"entries\[1\].epoch"),
        ("  - {index: 1", "# mine\n  - {index: 7", r"entries\[1\].index: expected 1, got 7"),
    ],
)
def test_an_edited_entry_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    lines = plan(entries=tuple(example_entry(i, epoch=0) for i in range(3))).to_yaml().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if "{index: 1," in line)
    lines[at] = lines[at].replace(old, new)
    (tmp_path / "plan.yaml").write_text("".join(lines))
    with pytest.raises(DataError, match=message):
        load_plan(tmp_path)


@pytest.mark.parametrize("what", ["graders", "operators", "launch"])
def test_bytes_that_are_no_text_are_refused_before_they_make_a_file_that_none_can_read(what: str) -> None:
    value = {"label": "\udcff"} if what == "launch" else ("anna", "\ud800")
    with pytest.raises(ConfigError, match=what):
        plan(**{what: value})
