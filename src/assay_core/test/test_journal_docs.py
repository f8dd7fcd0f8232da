"""docs/journal.md describes every kind of event and every key that may differ between two runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay_core.journal import KINDS, VOLATILE_KEYS

DOCS = Path(__file__).resolve().parents[3] / "docs" / "journal.md"


@pytest.mark.skipif(not DOCS.exists(), reason="the package was copied out of its workspace")
def test_the_documentation_is_complete() -> None:
    text = DOCS.read_text()
    documented = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `") and line.count("|") == 4]
    assert [kind for kind in documented if kind in KINDS] == list(KINDS)
    section = text.split("## Same seed, same journal")[1].split("##")[0]
    named = section.split("nothing else:")[1].split("`")[1::2]
    assert sorted(named) == sorted(VOLATILE_KEYS)
