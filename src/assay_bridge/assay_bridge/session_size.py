"""How long a session's files may take to be read and sealed: a month of trials is a gigabyte and thousands of files.

The benchmark node does that within one answer. A deadline for small sessions would make a large one impossible to
resume or to seal, however often that is tried; so the deadline grows with the files.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from assay_core.journal_format import JOURNAL_FILE
from assay_core.seal import SETTLE_S

__all__ = ["reading_s", "sealing_s", "sealing_words"]

BYTES_PER_S = 5e6
"""Slowest that a journal is read and checked, or files are hashed and brought to disk."""

FILE_S = 0.02
"""Longest that bringing one more file to disk takes beside its bytes [s]."""

MANY_FILES, MANY_BYTES = 2000, 500_000_000
"""Beyond these, sealing takes so long that a user should know."""


def reading_s(directory: Path) -> float:
    """Return how long the journal in a session directory may take to be read [s]; 0 where there is none to see."""
    try:
        return (directory / JOURNAL_FILE).stat().st_size / BYTES_PER_S
    except OSError:
        return 0.0


def sealing_s(directory: Path) -> float:
    """Return how long a session may take to be sealed [s]: each of its files is hashed and brought to disk."""
    count, size = _files_in(directory)
    return SETTLE_S + reading_s(directory) + FILE_S * count + size / BYTES_PER_S


def sealing_words(directory: Path) -> str:
    """Return what to tell before a session is sealed; empty where that takes no time to speak of."""
    count, size = _files_in(directory)
    return f"sealing {count} files, {size / 1e6:.0f} MB" if count > MANY_FILES or size > MANY_BYTES else ""


def _files_in(directory: Path) -> tuple[int, int]:
    """Return number and total size [bytes] of the files below a directory; of those that can be seen."""
    count = size = 0
    for root, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                size += (Path(root) / name).stat().st_size
                count += 1
    return count, size
