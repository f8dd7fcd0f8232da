"""`./assay bench NAME`: speed against a floor that is measured in the same run."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay_cli.console import DONE, INCOMPLETE, Parser, say
from assay_cli.signals import raising
from assay_core.errors import unknown_name

if TYPE_CHECKING:
    from assay_cli.bench.report import Report

__all__ = ["NAMES", "main"]

NAMES: dict[str, str] = {
    "step": "one control step through the bridge against bare rclpy",
    "suite": "a whole KitchenBench session against its steps",
    "startup": "time until the graph is ready, and memory",
}


def main(argv: Sequence[str]) -> int:
    """Run one benchmark; exit code 1 when a ratio exceeds its limit.

    The benchmark's module has ``run(argv) -> Report``.
    """
    parser = Parser(
        "bench",
        "Measure speed. Prints figures, floor, ratios and limits.",
        epilog="\n".join(f"{name:<8} {text}" for name, text in NAMES.items()),
    )
    parser.add_argument("name", metavar="NAME", help=" | ".join(NAMES))
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("rest", nargs="*", default=[], metavar="ARG", help="further arguments of the benchmark")
    asked, rest = parser.parse_known_args(list(argv))
    if asked.name not in NAMES:
        raise unknown_name("bench", asked.name, NAMES)
    with raising():
        report: Report = importlib.import_module(f"assay_cli.bench.{asked.name}").run([*asked.rest, *rest])
    say(report.to_json() if asked.json else report.to_text())
    return DONE if report.ok else INCOMPLETE
