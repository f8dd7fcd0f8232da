"""The rules that every interface definition keeps: described, united, numbered once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DEFINITIONS = Path(__file__).parents[2] / "assay_msgs"
FILES = sorted(p for kind in ("msg", "srv", "action") for p in (DEFINITIONS / kind).glob(f"*.{kind}"))
CONSTANT = re.compile(r"^(?P<type>u?int\d+) (?P<name>[A-Z][A-Z0-9_]*) = (?P<value>-?\d+)")
FIELD = re.compile(r"^(?P<type>[A-Za-z_0-9/]+(\[\d*\])?)\s+(?P<name>[a-z_0-9]+)\s*(#\s*(?P<comment>.*))?$")
RANGES = {100: 199, 200: 299, 300: 399, 400: 499, 500: 599, 600: 699, 700: 799}


def constants(path: Path) -> dict[str, int]:
    matches = (CONSTANT.match(line) for line in path.read_text().splitlines())
    return {m["name"]: int(m["value"]) for m in matches if m}


def test_there_are_definitions_to_check() -> None:
    assert len(FILES) > 30


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_the_first_line_says_what_the_interface_is_for(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    assert first.startswith("# "), f"{path.name}: line one says what happened and who publishes it"
    assert len(first) > 30, f"{path.name}: line one is too short to say who publishes it, where and when"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_real_number_and_array_states_its_unit_or_length(path: Path) -> None:
    lines = path.read_text().splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        match = FIELD.match(line)
        if match and match["type"].startswith("float64"):
            comment = (match["comment"] or "") + (before if before.startswith("#") else "")
            assert "[" in comment or "values" in comment, f"{path.name}: '{match['name']}' states no unit"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_enumerations_start_with_unknown_and_never_repeat_a_number(path: Path) -> None:
    groups: dict[str, list[int]] = {}
    for name, value in constants(path).items():
        prefix = name.split("_")[0] if path.name not in ("TrialState.msg", "ResultCode.msg") else ""
        groups.setdefault(prefix, []).append(value)
    for prefix, values in groups.items():
        assert len(values) == len(set(values)), f"{path.name}: {prefix} uses a number twice"
        assert 0 in values, f"{path.name}: {prefix} has no UNKNOWN or NONE = 0"


def test_result_codes_lie_in_the_range_of_their_owner() -> None:
    for name, value in constants(DEFINITIONS / "msg" / "ResultCode.msg").items():
        assert value < 100 or any(low <= value <= high for low, high in RANGES.items()), name


def test_every_answer_of_a_service_or_action_carries_a_code_and_a_message() -> None:
    for path in FILES:
        if path.suffix != ".msg":
            answer = path.read_text().split("\n---\n")[1]
            assert re.search(r"^uint16 code", answer, re.M), f"{path.name}: no code in its answer"
            assert re.search(r"^string message", answer, re.M), f"{path.name}: no message in its answer"
