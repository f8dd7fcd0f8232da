"""The bench that the tests of the desks begin with; a module may have one of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Harness


@pytest.fixture
def bench(tmp_path: Path) -> Harness:
    """Return a bench without a session."""
    return Harness(tmp_path / "session")
