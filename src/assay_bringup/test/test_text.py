"""Substitutions inside text: quoting, nesting and escaping as `ros2 launch` reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_bringup.launch.source import Where
from assay_bringup.launch.text import Call, Template, parse
from assay_core.errors import ConfigError

WHERE = Where("f.launch.yaml", 3)


def shape(template: Template) -> list[object]:
    return [
        part if isinstance(part, str) else [part.name, *[shape(argument) for argument in part.arguments]]
        for part in template.parts
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("plain", ["plain"]),
        ("$5 and $x", ["$5 and $x"]),
        (r"a\$(b)", ["a$(b)"]),
        ("a$(var b)c", ["a", ["var", ["b"]], "c"]),
        ("$(env A 'two words')", [["env", ["A"], ["two words"]]]),
        ('$(env A "it\'s")', [["env", ["A"], ["it's"]]]),
        ("$(env A '')", [["env", ["A"], []]]),
        ("$(var a$(var b))", [["var", ["a", ["var", ["b"]]]]]),
        ("$(eval \"'$(var task)' != ''\")", [["eval", ["'", ["var", ["task"]], "' != ''"]]]),
        (r"$(env A x\(y\))", [["env", ["A"], ["x(y)"]]]),
        ("$(dirname)/x", [["dirname"], "/x"]),
    ],
)
def test_parts(text: str, expected: list[object]) -> None:
    assert shape(parse(text, WHERE)) == expected


@pytest.mark.parametrize(
    "text", ["$(", "$(var", "$(var  a)", "$(var )", "$(var 'a)", "$(1)", "$(var a)b$(var c", "$( var a)"]
)
def test_malformed_text_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ConfigError, match=r"f\.launch\.yaml:3"):
        parse(text, WHERE)


@given(st.text(alphabet="$()'\"\\ avr", max_size=24))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        template = parse(text, WHERE)
    except ConfigError:
        return
    assert all(isinstance(part, (str, Call)) for part in template.parts)


@given(st.text(max_size=40).filter(lambda text: "$(" not in text and "\\" not in text))
def test_text_without_substitutions_is_itself(text: str) -> None:
    assert (parse(text, WHERE).literal or "") == text
