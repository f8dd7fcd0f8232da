"""`./assay realize INSTANCE_ID --seed N`: one realization as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from assay_cli.console import DONE, Parser, page, say, whole_number
from assay_core.errors import ConfigError

__all__ = ["main"]

MAX_SEED = 2**63 - 1
MAX_EPOCH = 100_000


def main(argv: Sequence[str]) -> int:
    """Print ``instance_id, seed, instruction, values, setup_lines``, or a checklist."""
    parser = Parser("realize", "Print one realization of a task instance as JSON.")
    parser.add_argument("instance_id", metavar="INSTANCE_ID", help="e.g. pour_pasta/full-box")
    parser.add_argument("--seed", metavar="N", help="seed of the realization, 0 or more (default 0)")
    parser.add_argument("--eval-seed", metavar="N", help="the realization of a trial instead: seed of the evaluation")
    parser.add_argument(
        "--epoch", metavar="K", help="with --eval-seed: index of the trial within the instance (default 0)"
    )
    parser.add_argument("--checklist", action="store_true", help="for a person: rounded, with units")
    asked = parser.parse_args(list(argv))
    seed = _seed(asked)

    from assay_benchmarks.cli_views import realize_data, realize_view

    data = realize_data(asked.instance_id, seed)
    if asked.checklist:
        page(realize_view(data))
    else:
        say(json.dumps(data, indent=2))
    return DONE


def _seed(asked: Any) -> int:
    """Return the seed that is meant: as given, or that of a trial, as every plan derives it.

    Raises:
        ConfigError: Contradictory, malformed, or of an instance that does not exist.
    """
    if asked.eval_seed is None:
        if asked.epoch is not None:
            raise ConfigError("--epoch", expected="--eval-seed with it", got="none", fix="add --eval-seed N")
        return whole_number("--seed", asked.seed or "0", 0, MAX_SEED)
    if asked.seed is not None:
        raise ConfigError("--seed", expected="--seed or --eval-seed", got="both", fix="remove one")
    eval_seed = whole_number("--eval-seed", asked.eval_seed, 0, MAX_SEED)
    epoch = whole_number("--epoch", asked.epoch or "0", 0, MAX_EPOCH)

    from assay_benchmarks.catalog import find_instance
    from assay_core.seeds import scene_seed, trial_seed

    return trial_seed(eval_seed, scene_seed(find_instance(asked.instance_id).instance_id), epoch)
