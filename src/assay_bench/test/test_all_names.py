"""What the package's modules call public must be there."""

from __future__ import annotations

from assay_core.testing import unresolved_names


def test_every_public_name_resolves() -> None:
    assert unresolved_names("assay_bench") == []
