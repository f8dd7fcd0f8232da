"""Small sessions for tests: plans, realizations and journals that look like those of a real run, without a robot."""

from __future__ import annotations

import importlib
import pkgutil
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from assay_core import journal_events as events
from assay_core.journal_writer import Entry, JournalWriter
from assay_core.plan import PLAN_FILE, Plan, PlanEntry, plan_hash, trial_id
from assay_core.realization import TrialRealization
from assay_core.rig import cameras
from assay_core.trial import State

__all__ = [
    "example_entry",
    "example_plan",
    "example_realization",
    "example_session",
    "peak_memory",
    "trial_entries",
    "unresolved_names",
]

ENDINGS = ("success", "failure", "invalid", "rig_fault", "policy_error", "skipped", "halted", "unfinished", "cut")
"""What `trial_entries` can make of a trial; ``unfinished`` has a verdict but no end, ``cut`` stops in RUNNING."""


def example_entry(index: int, **changes: Any) -> PlanEntry:
    """Return a valid plan entry; ``changes`` replaces fields."""
    values: dict[str, Any] = {
        "index": index,
        "task": "kitchenbench/pour_pasta",
        "task_version": "2",
        "instance_id": "pour_pasta/full-box",
        "scene_id": "full-box",
        "scene_seed": 17,
        "epoch": index,
        "seed": 1000 + index,
        "max_steps": 100,
    }
    return PlanEntry(**{**values, **changes})


def example_plan(entries: int = 2, **changes: Any) -> Plan:
    """Return a valid plan of ``entries`` trials; ``changes`` replaces fields."""
    values: dict[str, Any] = {
        "schema_version": 1,
        "session_id": "s1",
        "created": "2026-03-01T12:00:00Z",
        "seed": 0,
        "backend": "mock",
        "policies": ("scripted",),
        "operator": "auto",
        "graders": ("checker",),
        "operators": ("auto",),
        "cameras": cameras(2),
        "control_hz": 10.0,
        "mode": "lockstep",
        "max_repeats": 2,
        "open": False,
        "entries": tuple(example_entry(i) for i in range(entries)),
        "software": {"assay": "0.1.0"},
    }
    return Plan(**{**values, **changes})


def example_realization(entry: PlanEntry) -> TrialRealization:
    """Return a realization that fits ``entry``."""
    return TrialRealization(
        task=entry.task,
        task_version=entry.task_version,
        instance_id=entry.instance_id,
        scene_id=entry.scene_id,
        epoch=entry.epoch,
        seed=entry.seed,
        instruction="pour the pasta into the bowl",
        target_kind="pour_into",
        checklist=("box_x_cm = 3.5",),
        values={"box_x_cm": 3.5},
        layout=None,
        rubric=(),
        max_steps=entry.max_steps,
        horizon_s=entry.max_steps / 10.0,
    )


def trial_entries(entry: PlanEntry, attempt: int, ending: str) -> Iterator[Entry]:
    """Yield the journal entries of one whole attempt; ``ending`` is one of `ENDINGS`."""
    trial = trial_id(entry.index, attempt)
    key = f"{trial}-{ending}"
    record = {"steps": 20, "timing": {"started_ns": 1}}
    yield events.trial_started(entry, attempt, example_realization(entry))
    yield events.world_ready(trial, State.ARRANGE, 1_000_000_000)
    if ending == "skipped":
        yield events.skip(trial, uuid=f"s-{key}", operator_id="auto", source="", reason="infeasible", note="")
        yield events.trial_ended(trial, State.SKIPPED, message="infeasible")
        return
    yield events.operator_ready(trial, State.READY, uuid=f"r-{key}", operator_id="auto")
    yield events.trial_advanced(trial, State.RUNNING)
    if ending == "cut":
        return
    if ending in ("rig_fault", "policy_error", "halted"):
        state = {"rig_fault": State.INVALID, "policy_error": State.DONE, "halted": State.HALTED}[ending]
        status = "safety" if ending == "halted" else ending
        yield events.trial_ended(trial, state, status=status, message=ending, error=ending, record=record)
        return
    yield events.trial_advanced(trial, State.PARKING)
    yield events.trial_advanced(trial, State.JUDGE, record)
    outcome = "success" if ending == "unfinished" else ending
    reason = "scene_wrong" if ending == "invalid" else ""
    content = events.VerdictContent(f"v-{key}", "checker", outcome, reason)
    yield events.verdict(trial, State.JUDGE, content)
    if ending == "unfinished":
        return
    state = State.INVALID if ending == "invalid" else State.DONE
    yield events.trial_ended(trial, state, status="completed", record={**record, "whole": True})


def example_session(directory: Path, endings: Sequence[Sequence[str]], *, close: bool = True, **plan: Any) -> Plan:
    """Write the journal and the plan of a session.

    Args:
        directory: Created when missing.
        endings: For each plan entry, what became of each of its attempts (see `ENDINGS`).
        close: End with a ``session_closed`` event.
        plan: Changes for `example_plan`.
    """
    content = example_plan(len(endings), **plan)
    text = content.to_yaml().encode()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / PLAN_FILE).write_bytes(text)
    entries = [
        events.plan(content, plan_hash(text)),
        events.session_opened(content.session_id, "host-1-abc", plan_hash(text), resumed=False),
    ]
    for entry, attempts in zip(content.entries, endings, strict=True):
        for attempt, ending in enumerate(attempts):
            entries.extend(trial_entries(entry, attempt, ending))
    if close:
        entries.append(events.session_closed("done", ""))
    writer = JournalWriter.create(directory)
    writer.append_all(entries).result(timeout=20)
    writer.close()
    return content


def peak_memory(action: Callable[[], object]) -> int:
    """Return how much more memory Python's objects took at most while ``action`` ran than before [bytes]."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        action()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def unresolved_names(package: str) -> list[str]:
    """Return every name of an ``__all__`` of a package's modules that is missing or named twice, ``module.name``.

    A name that moved leaves its old ``__all__`` behind, and nobody notices before a user imports it.
    """
    found = importlib.import_module(package)
    modules = [found.__name__]
    for info in pkgutil.walk_packages(found.__path__, f"{package}."):
        if not info.name.endswith(".__main__"):
            modules.append(info.name)
    wrong: list[str] = []
    for name in modules:
        module = importlib.import_module(name)
        public = list(getattr(module, "__all__", ()))
        wrong += [f"{name}.{item}" for item in public if not hasattr(module, item) or public.count(item) > 1]
    return wrong
