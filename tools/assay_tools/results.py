"""Sums test results up: from the files that the test runners write, because a runner that died printed no totals."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Totals", "of_file"]


@dataclass
class Totals:
    """Counts of tests and checks, and the names of those that failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Totals) -> None:
        """Add the counts of another total."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures

    def fail(self, name: str) -> None:
        """Count one failure."""
        self.failed += 1
        self.failures.append(name)

    def closing_line(self) -> str:
        """Return the line that ends a run."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def of_file(path: Path, where: str) -> Totals:
    """Return the totals of one JUnit file; an unreadable one counts as a failure.

    Args:
        path: The file.
        where: Said before the name of each failed test, e.g. the package.
    """
    totals = Totals()
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        totals.fail(f"{where}: no readable results ({error})")
        return totals
    for case in root.iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            totals.fail(f"{where}: {case.get('classname', '')}::{case.get('name', '')}")
        elif "skipped" in kinds:
            totals.skipped += 1
        else:
            totals.passed += 1
    return totals
