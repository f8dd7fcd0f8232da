"""`./assay show INSTANCE_ID`: distributions, goal, objects and success of one task instance."""

from __future__ import annotations

import json
from collections.abc import Sequence

from assay_cli.console import DONE, Parser, page, say

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Show one instance."""
    parser = Parser("show", "Show a task instance: distributions, goal, objects, success criterion, validation.")
    parser.add_argument("instance_id", metavar="INSTANCE_ID", help="e.g. pour_pasta/full-box")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args(list(argv))

    from assay_benchmarks.cli_views import show_data, show_view

    data = show_data(asked.instance_id)
    if asked.json:
        say(json.dumps(data, indent=2))
        return DONE
    page(show_view(data))
    return DONE
