"""`./assay realize INSTANCE_ID --seed N`: one realization as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from assay_cli.console import DONE, Parser, say, whole_number

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Print ``instance_id, seed, instruction, values, setup_lines``."""
    parser = Parser("realize", "Print one realization of a task instance as JSON.")
    parser.add_argument("instance_id", metavar="INSTANCE_ID", help="e.g. pour_pasta/full-box")
    parser.add_argument("--seed", default="0", metavar="N", help="seed of the realization, 0 or more (default 0)")
    asked = parser.parse_args(list(argv))
    seed = whole_number("--seed", asked.seed, 0, 2**63 - 1)

    from assay_benchmarks.cli_views import realize_data

    say(json.dumps(realize_data(asked.instance_id, seed), indent=2, ensure_ascii=False))
    return DONE
