"""What people and comparisons see of a journal: views for the sqlite3 program, and what two runs have in common."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from assay_core.journal import JOURNAL_FILE, JournalReader, comparable
from assay_core.testing import example_session


def test_people_can_read_it_with_sql(tmp_path: Path) -> None:
    example_session(tmp_path, [["rig_fault", "success"], ["failure"]])
    connection = sqlite3.connect(tmp_path / JOURNAL_FILE)
    trials = connection.execute("SELECT trial_id, ended_in, verdict, started IS NOT NULL FROM trials").fetchall()
    assert trials == [
        ("000000-0", "INVALID", None, 1),
        ("000000-1", "DONE", "success", 1),
        ("000001-0", "DONE", "failure", 1),
    ]
    assert connection.execute("SELECT trial_id, outcome, in_force FROM verdicts").fetchall() == [
        ("000000-1", "success", 1),
        ("000001-0", "failure", 1),
    ]
    assert connection.execute("SELECT plan_index, scene_id, seed FROM plan_entries").fetchall() == [
        (0, "full-box", 1000),
        (1, "full-box", 1001),
    ]


def test_comparable_drops_times_and_ids_only(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    example_session(first, [["success"]], session_id="s1", created="2026-03-01T12:00:00Z")
    example_session(second, [["success"]], session_id="s2", created="2026-03-02T12:00:00Z")
    events = [list(JournalReader(directory).events()) for directory in (first, second)]
    assert events[0][-1].hash != events[1][-1].hash
    assert comparable(events[0]) == comparable(events[1])
    third = tmp_path / "c"
    example_session(third, [["failure"]])
    assert comparable(events[0]) != comparable(JournalReader(third).events())
