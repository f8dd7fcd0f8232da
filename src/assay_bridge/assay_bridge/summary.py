"""Success rates of a session with their intervals: `summary.json` and the table at its end.

A rate is the mean of binary successes over the realizations of one instance. Attempts that do not count are neither
successes nor failures, but they are shown, with the worst and the best that they could have meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_core.errors import bounded
from assay_core.files import write_atomically
from assay_core.plan import Plan, PlanEntry
from assay_core.statistics import interval, manski

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "INTERVAL_METHOD",
    "LEVEL",
    "SUMMARY_FILE",
    "Tally",
    "instance_key",
    "notes",
    "policy_words",
    "summarise",
    "table",
    "tally",
    "write_summary",
]

SUMMARY_FILE = "summary.json"
POLICY_LOG = "policy.log"
"""Name of the policy node's log in the directory of its graph."""

MOST_WORDS = 300
"""Longest part of an error that is repeated below the table [characters]."""

_WRAPPING = re.compile(r"^policy/\w+: (?:policy '[^']*': )?| \[[A-Z_]+\]$")
"""What the services add to a policy's own words."""

INTERVAL_METHOD = "clopper_pearson"
LEVEL = 0.95

DONE, INCOMPLETE, HALTED = "done", "incomplete", "halted"
"""Values of ``status``: every entry has its result; some have none yet; stopped for safety and not resumed."""


@dataclass
class Tally:
    """Counts of one instance."""

    n: int = 0
    """Trials that count."""
    successes: int = 0
    invalid: int = 0
    """Attempts that do not count."""


@dataclass(frozen=True)
class AttemptOutcome:
    """What one attempt came to, as far as rates are concerned."""

    entry: PlanEntry
    counted: bool
    success: bool
    reasons: tuple[str, ...] = field(default=())
    """Why it does not count; empty when it does."""


def instance_key(entry: PlanEntry) -> str:
    """Return the name under which an entry's rate is reported: the instance, or the scene where there is none."""
    return entry.instance_id or entry.scene_id


def tally(plan: Plan, attempts: Sequence[AttemptOutcome]) -> dict[str, dict[str, Tally]]:
    """Return counts by task and instance, in the order of the plan; an instance without attempts has zeros."""
    counts: dict[str, dict[str, Tally]] = {}
    for entry in plan.entries:
        counts.setdefault(entry.task, {}).setdefault(instance_key(entry), Tally())
    for attempt in attempts:
        instances = counts.setdefault(attempt.entry.task, {})
        one = instances.setdefault(instance_key(attempt.entry), Tally())
        if attempt.counted:
            one.n += 1
            one.successes += attempt.success
        else:
            one.invalid += 1
    return counts


def summarise(plan: Plan, counts: Mapping[str, Mapping[str, Tally]], status: str) -> dict[str, Any]:
    """Return the content of ``summary.json``.

    Args:
        plan: The session's plan.
        counts: From `tally`.
        status: ``done``, ``incomplete`` or ``halted``.
    """
    versions = {entry.task: entry.task_version for entry in plan.entries}
    every = [one for instances in counts.values() for one in instances.values()]
    return {
        "session_id": plan.session_id,
        "status": status,
        "seed": plan.seed,
        "policies": list(plan.policies),
        "backend": plan.backend,
        "trials": sum(one.n for one in every),
        "invalid": sum(one.invalid for one in every),
        "tasks": {
            task: {
                "version": versions.get(task, ""),
                "instances": {name: _instance(one) for name, one in instances.items()},
                "mean_p_hat": _mean(instances),
            }
            for task, instances in counts.items()
        },
    }


def write_summary(directory: Path, summary: Mapping[str, Any]) -> Path:
    """Write ``summary.json`` whole or not at all, and return its path."""
    path = directory / SUMMARY_FILE
    data = (json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    if not (path.is_file() and path.read_bytes() == data):
        write_atomically(path, data)
    return path


def table(summary: Mapping[str, Any], *, width: int | None = None) -> RenderableType:
    """Return the table at the end of a session for rich to print; what has not been tried yet is left out.

    Args:
        summary: From `summarise`.
        width: Columns [characters]; None takes the terminal's.
    """
    from rich.table import Table

    worst = summary["invalid"] > 0
    shown = Table(width=width, box=None, pad_edge=False, header_style="bold")
    shown.add_column("instance", overflow="fold")
    for name in ("n", "successes", "P̂", f"{LEVEL:.0%} interval", "invalid"):
        shown.add_column(name, justify="right", no_wrap=True)
    if worst:
        shown.add_column("worst..best case", justify="right", no_wrap=True)
    whole = summary["status"] == DONE
    for task, part in summary["tasks"].items():
        tried = {name: one for name, one in part["instances"].items() if whole or one["n"] or one["invalid"]}
        if not tried:
            continue
        mean = "-" if part["mean_p_hat"] is None else f"{part['mean_p_hat']:.2f}"
        shown.add_row(f"[bold]{task}[/bold]", "", "", f"({mean})", "", "", *([""] if worst else []))
        for name, one in tried.items():
            shown.add_row(*_row(name, one, worst=worst))
    return shown


def notes(
    summary: Mapping[str, Any],
    unvalidated: tuple[int, int] = (0, 0),
    policy_errors: tuple[int, str] = (0, ""),
    logs: Path | None = None,
) -> tuple[str, ...]:
    """Return what a reader must know beside the numbers, one sentence each.

    Args:
        summary: From `summarise`.
        unvalidated: How many of the instances no experts have validated, and how many of those a model wrote.
        policy_errors: As in `assay_bridge.derived.Derived`.
        logs: Where the processes of the graph log; None where that is not known.
    """
    limits = summary["tasks"]
    some = next((one for part in limits.values() for one in part["instances"].values()), None)
    lines = []
    if some is not None:
        method = str(some["interval"]["method"]).replace("_", " ").title().replace(" ", "-")
        lines.append(f"Intervals are {method}, {some['interval']['level']:.0%}, over the realizations of one instance.")
    lines.append("A rate in brackets is the mean over a task's instances: a convenience, not part of the methodology.")
    untried = sum(not (one["n"] or one["invalid"]) for part in limits.values() for one in part["instances"].values())
    if untried and summary["status"] != DONE:
        lines.append(f"{untried} instance(s) have no trial yet and are not shown.")
    if summary["invalid"]:
        lines.append(
            f"{summary['invalid']} attempt(s) do not count. Worst and best case: all of them failures, or successes."
        )
    lines += policy_words(policy_errors, logs)
    count, drafts = unvalidated
    if count:
        whose = "drafts" if drafts == count else f"{drafts} of them"
        by = f" ({whose} written by a model)" if drafts else ""
        lines.append(
            f"{count} instance(s) are not validated by experts{by}: "
            "take their rates as a check of the system, not as a measurement of a policy."
        )
    return tuple(lines)


def policy_words(policy_errors: tuple[int, str], logs: Path | None = None) -> tuple[str, ...]:
    """Return which failures say that the policy broke, not that it did badly; nothing when there are none.

    Args:
        policy_errors: As in `assay_bridge.derived.Derived`.
        logs: Where the processes of the graph log; None where that is not known.
    """
    count, first = policy_errors
    if not count:
        return ()
    told = "".join(char if char.isprintable() else " " for char in _WRAPPING.sub("", first)) or "nothing was said"
    told = bounded(told, MOST_WORDS)
    lead = "1 of the failures is an error" if count == 1 else f"{count} of the failures are errors"
    log = None if logs is None else logs / POLICY_LOG
    where = f"its log: {log}" if log is not None and log.is_file() else "its log says where"
    return (f"{lead} of the policy (first: {told}); {where}",)


def _instance(one: Tally) -> dict[str, Any]:
    return {
        "n": one.n,
        "successes": one.successes,
        "invalid": one.invalid,
        "p_hat": one.successes / one.n if one.n else None,
        "interval": interval(INTERVAL_METHOD, one.successes, one.n, LEVEL).to_dict(),
    }


def _mean(instances: Mapping[str, Tally]) -> float | None:
    rates = [one.successes / one.n for one in instances.values() if one.n]
    return sum(rates) / len(rates) if rates else None


def _row(name: str, one: Mapping[str, Any], *, worst: bool) -> list[str]:
    rate = "-" if one["p_hat"] is None else f"{one['p_hat']:.2f}"
    limits = one["interval"]
    row = [
        f"  {name}",
        str(one["n"]),
        str(one["successes"]),
        rate,
        f"[{limits['low']:.2f}, {limits['high']:.2f}]".replace("[", r"\["),
        str(one["invalid"]) if one["invalid"] else "",
    ]
    if worst:
        bounds = manski(one["successes"], one["n"] - one["successes"], one["invalid"], limits["level"])
        row.append(f"{bounds.low:.2f}..{bounds.high:.2f}" if one["invalid"] else "")
    return row
