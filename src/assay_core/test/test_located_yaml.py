from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_core.errors import ConfigError
from assay_core.located_yaml import load_located


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_and_item_has_its_line(tmp_path: Path) -> None:
    document = load_located(_write(tmp_path, "# comment\na: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n"))
    assert document.data == {"a": 1, "b": ["x", {"c": 2, "d": 3}]}
    assert [document.line(path) for path in (("a",), ("b",), ("b", 0), ("b", 1, "c"), ("b", 1, "d"))] == [2, 3, 4, 5, 6]
    assert document.where(("b", 1, "missing")) == f"{tmp_path}/file.yaml:5", "an unknown path names its ancestor"


def test_scalars_follow_yaml_1_2(tmp_path: Path) -> None:
    text = "[on, yes, 12:30, 1_000, 0o7, true, ~, 3, -4, 2.5, 1e3, .5, '3', \"true\", 2024-01-02]"
    data = load_located(_write(tmp_path, text)).data
    expected = ["on", "yes", "12:30", "1_000", "0o7", True, None, 3, -4, 2.5, 1000.0, 0.5, "3", "true", "2024-01-02"]
    assert data == expected
    assert [type(value) for value in data] == [type(value) for value in expected]


texts = st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from("\n\té²"), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(value=st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), json_values))
def test_json_reads_as_itself(tmp_path_factory: pytest.TempPathFactory, value: dict[str, object]) -> None:
    path = tmp_path_factory.getbasetemp() / "json.yaml"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert load_located(path).data == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: 1\nb: 2\na: 3\n",
            ":3: key 'a': expected each key once, got the same key as on line 1. fix: remove one of",
        ),
        ("a: [1, 2\n", ":2: expected YAML, got while parsing a flow sequence, did not find expected ',' or ']'"),
        ("a: 1\n1: 2\n", ":2: expected a name as key, got 1. fix: quote or rename it"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", ":3: expected a name as key, got '<<'"),
        ("a: !!python/object:os.system x\n", ":1: expected a plain value, got tag tag:yaml.org,2002:python"),
        ("a: !!set {b}\n", ":1: expected a plain value, got tag tag:yaml.org,2002:set"),
        ("a: !secret x\n", ":1: expected a plain value, got tag !secret. fix: remove the tag"),
        ("a: &x [1, *x]\n", ":1: expected no alias of itself"),
        ("", ": expected a YAML document, got an empty file"),
        ("a: 1\n---\nb: 2\n", ":2: expected YAML, got expected a single document"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_located(_write(tmp_path, text))
    assert f"{tmp_path}/file.yaml{message}" in str(caught.value)


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 9)]
    with pytest.raises(ConfigError, match="at most 100,000 values"):
        load_located(_write(tmp_path, "\n".join(layers)))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: expected a readable YAML file, got No such file"):
        load_located(tmp_path / "nowhere.yaml")
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"a: \xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml: expected UTF-8 text"):
        load_located(path)
