"""`$(eval ...)` gives what Python gives for what it understands, and runs nothing else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_bringup.launch.expression import evaluate
from assay_bringup.launch.source import Where
from assay_core.errors import ConfigError

WHERE = Where("f.launch.yaml", 7)

UNDERSTOOD = [
    "'a' != ''",
    "not True",
    "1 + 2 * 3 - 4 / 2",
    "7 // 2, 7 % 2",
    "-3 if 2 < 1 else +3",
    "1 < 2 <= 2",
    "'a' in 'abc' and 'x' not in ['y', 'z']",
    "min(1, 2) + max(3, 4) + abs(-5)",
    "math.sqrt(16) == sqrt(16)",
    "round(math.pi, 2)",
    "'A,b'.lower().split(',')[0]",
    "'abc'.startswith('a') or 1 / 0",
    "float('1.5') + int('2')",
    "len('abc') * 'ab'",
    "None is None",
    "str(1) + str(bool(0))",
]


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_what_is_understood_gives_what_python_gives(text: str) -> None:
    assert evaluate(text, WHERE) == str(eval(text, {"math": math, **vars(math)}))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "(1).__class__",
        "[x for x in range(3)]",
        "lambda: 1",
        "'a' * 10 ** 9",
        "2 ** 100000",
        "'a' * 100000",
        "factorial(100000)",
        "'%999999999d' % 1",
        "f'{1}'",
        "'{0.__class__}'.format(1)",
        "1 +",
        "unknown",
        "1 / 0",
        "'a' < 1",
    ],
)
def test_everything_else_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ConfigError, match=r"f\.launch\.yaml:7: \$\(eval"):
        evaluate(text, WHERE)


@given(st.text(max_size=40))
def test_no_text_gets_out_of_it(text: str) -> None:
    try:
        evaluate(text, WHERE)
    except ConfigError:
        pass
