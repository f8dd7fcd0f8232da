"""An error text is whole where it is short, and says what is missing where it was cut."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from assay_core.errors import MOST_CHARACTERS, bounded


@given(st.integers(0, 3 * MOST_CHARACTERS))
def test_a_text_is_cut_only_where_it_must_be_and_says_how_much(length: int) -> None:
    text = "e" * length
    kept = bounded(text)
    assert len(kept) <= MOST_CHARACTERS
    if length <= MOST_CHARACTERS:
        assert kept == text
        return
    found = re.fullmatch(r"(e+) \.\.\. \((\d+) characters cut\)", kept)
    assert found is not None
    assert len(found[1]) + int(found[2]) == length
    assert len(kept) > MOST_CHARACTERS - 4, "more was cut than had to be"
