"""Logs and summary of a long session are derived in the memory that one of its records takes."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

from inspect_robots.registry import resolve
from inspect_robots.task import Epochs
from journalled import TASK, World
from plans import entries_of, plan_of

from assay_bridge.derived import rederive
from assay_core.journal import Entry, JournalReader, JournalWriter
from assay_core.testing import peak_memory

RECORD_BYTES = 300_000
EPOCHS = 6


def long_session(directory: Path, root: Path) -> int:
    """Write a session whose records have `RECORD_BYTES` each, and return the number of its trials."""
    task = dataclasses.replace(resolve("task", TASK), epochs=Epochs(EPOCHS, "mean"))
    world = World(root / "short", plan_of(entries_of(task, version="1")))
    world.run()
    directory.mkdir()
    shutil.copy(world.directory / "plan.yaml", directory)
    writer = JournalWriter.create(directory)
    trials = 0
    for event in JournalReader(world.directory).events():
        body = dict(event.body)
        record = body.get("record")
        if record is not None and "info" in record:
            trials += 1
            each = "x" * (RECORD_BYTES // record["steps"])
            body["record"] = {**record, "info": [{**info, "padding": each} for info in record["info"]]}
        writer.append_all([Entry(event.kind, event.trial_id, body)]).result(timeout=20)
    writer.close()
    return trials


def test_deriving_holds_one_record_at_a_time(tmp_path: Path) -> None:
    directory = tmp_path / "long"
    trials = long_session(directory, tmp_path)
    assert trials == 4 * EPOCHS
    rederive(directory)  # what is imported and cached once is no growth
    shutil.rmtree(directory / "logs")
    taken = peak_memory(lambda: rederive(directory))
    assert taken < 10 * RECORD_BYTES, f"logs of {trials} trials took {taken / RECORD_BYTES:.0f} times one record"
    summary = json.loads((directory / "summary.json").read_text())
    assert summary == json.loads((tmp_path / "short" / "summary.json").read_text())
    [log], [short] = ([*(root / "logs").glob("*.json")] for root in (directory, tmp_path / "short"))
    assert log.read_bytes() == short.read_bytes(), "what a log does not show changed it"
