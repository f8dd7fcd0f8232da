"""`./assay show INSTANCE_ID|TASK`: distributions, goal, objects and success of one instance, or a task's instances."""

from __future__ import annotations

import json
from collections.abc import Sequence

from assay_cli.console import DONE, Parser, page, say

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Show one instance or one task."""
    parser = Parser(
        "show",
        "Show a task instance: distributions, goal, objects, success criterion, validation; or a task's instances.",
    )
    parser.add_argument("name", metavar="INSTANCE_ID|TASK", help="e.g. pour_pasta/full-box, or pour_pasta")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args(list(argv))

    from assay_benchmarks.cli_views import show_data, show_view, task_data, task_view

    task = task_data(asked.name)
    data = show_data(asked.name) if task is None else task
    if asked.json:
        say(json.dumps(data, indent=2))
        return DONE
    page(show_view(data) if task is None else task_view(data))
    return DONE
