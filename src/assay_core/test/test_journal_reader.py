"""A reader holds no event: what it gives is read again, from the journal that it was opened on or not at all."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay_core import journal_events as events
from assay_core.errors import DataError
from assay_core.journal import JOURNAL_FILE, Entry, JournalReader, JournalWriter
from assay_core.seal import verify_seal, write_seal
from assay_core.testing import example_entry, example_plan, example_session, peak_memory, trial_entries
from assay_core.trial import State

RECORD_BYTES = 200_000
TRIALS = 30


def long_session(directory: Path) -> None:
    """Write a session of which every trial has a record of `RECORD_BYTES`."""
    directory.mkdir()
    writer = JournalWriter.create(directory)
    writer.append_all([events.plan(example_plan(TRIALS), "hash")]).result(timeout=20)
    for index in range(TRIALS):
        for entry in trial_entries(example_entry(index), 0, "success"):
            body = dict(entry.body)
            if body.get("record") is not None:
                body["record"] = {**body["record"], "actions": "x" * RECORD_BYTES}
            writer.append_all([Entry(entry.kind, entry.trial_id, body)]).result(timeout=20)
    writer.close()


def test_reading_and_sealing_hold_one_record_at_a_time(tmp_path: Path) -> None:
    long_session(tmp_path / "s")

    def read_all() -> None:
        with JournalReader(tmp_path / "s") as reader:
            assert sum(len(attempt.record["actions"]) for attempt in reader.attempts() if attempt.record) > 0
            assert sum(len(result.record["actions"]) for result in reader.results()) == TRIALS * RECORD_BYTES
            assert sum(len(event.raw) for event in reader.events()) > TRIALS * RECORD_BYTES

    steps: dict[str, Callable[[], object]] = {
        "opening": lambda: JournalReader(tmp_path / "s").fold(),
        "reading": read_all,
        "sealing": lambda: write_seal(tmp_path / "s"),
        "verifying": lambda: verify_seal(tmp_path / "s"),
    }
    for what, step in steps.items():
        taken = peak_memory(step)
        assert taken < 20 * RECORD_BYTES, f"{what} {TRIALS} trials took {taken / RECORD_BYTES:.0f} times one record"


def test_what_is_appended_after_opening_is_not_seen(tmp_path: Path) -> None:
    example_session(tmp_path, [["success"], ["cut"]], close=False)
    writer = JournalWriter.resume(tmp_path)
    reader = JournalReader(tmp_path)
    before = list(reader.events())
    writer.append("session_closed", "", {"status": "done", "reason": ""}).result(timeout=20)
    assert list(reader.events()) == before
    assert (reader.count, reader.head_hash) == (len(before), before[-1].hash)
    assert reader.fold().closed_status == ""
    writer.close()
    assert list(reader.events()) == before, "a journal that was closed meanwhile is the same journal"
    assert JournalReader(tmp_path).count == len(before) + 1


def test_an_empty_journal_has_no_events(tmp_path: Path) -> None:
    JournalWriter.create(tmp_path).close()
    reader = JournalReader(tmp_path)
    assert (reader.count, reader.head_hash, list(reader.events())) == (0, "0" * 64, [])


def content(reader: JournalReader) -> list[Any]:
    return [(a.record, a.realization, a.ready, a.outcome()) for a in reader.attempts()] + list(reader.events())


def test_every_state_of_a_journal_can_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "s"
    example_session(directory, [["success"], ["rig_fault", "failure"], ["skipped"], ["unfinished"], ["cut"]])
    whole = content(JournalReader(directory))
    writer = JournalWriter.resume(directory)
    beside = JournalReader(directory)
    crashed = tmp_path / "crashed"
    shutil.copytree(directory, crashed)
    assert content(beside) == whole, "beside a running writer"
    monkeypatch.setattr("assay_core.journal_reader.os.access", lambda *_: False)
    copied = JournalReader(crashed)
    assert content(copied) == whole, "with a write-ahead log in a directory that cannot be written"
    with copied:
        assert content(copied) == whole, "held open"
    monkeypatch.undo()
    writer.close()
    assert content(beside) == whole, "after the writer closed it"
    write_seal(directory)
    assert content(beside) == whole, "after it was sealed"
    with JournalReader(directory) as sealed:
        assert content(sealed) == whole
    assert verify_seal(directory) == []


def altered(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER events_no_update")
    connection.execute("UPDATE events SET body = CAST(replace(body, '\"steps\":20', '\"steps\":21') AS BLOB)")
    connection.commit()
    connection.close()


def replaced(path: Path) -> None:
    path.unlink()
    example_session(path.parent / "other", [["failure"]])
    (path.parent / "other" / JOURNAL_FILE).rename(path)


def shortened(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER events_no_delete")
    connection.execute("DELETE FROM events WHERE idx >= 5")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("what", [altered, replaced, shortened, Path.unlink])
@pytest.mark.parametrize("held", [False, True])
def test_another_journal_in_its_place_is_refused_by_name(
    what: Callable[[Path], None], held: bool, tmp_path: Path
) -> None:
    example_session(tmp_path, [["success"]])
    reader = JournalReader(tmp_path)
    what(reader.path)
    if held and what is not Path.unlink:
        reader.__enter__()
    with pytest.raises(DataError, match=JOURNAL_FILE):
        list(reader.events())
    with pytest.raises(DataError, match=JOURNAL_FILE):
        reader.attempts()[0].record  # noqa: B018
    reader.__exit__(None, None, None)


def test_a_reader_that_is_held_open_lets_go(tmp_path: Path) -> None:
    example_session(tmp_path, [["success"]])
    reader = JournalReader(tmp_path)

    def derive() -> None:
        with reader:
            assert reader.results()[0].record["whole"]
            raise OSError("a full disk")

    with pytest.raises(OSError, match="a full disk"):  # which is no damage of the journal
        derive()
    assert reader.results()[0].record["whole"], "read without being held"
    write_seal(tmp_path)
    assert verify_seal(tmp_path) == []


def test_a_contradiction_leaves_the_events_readable(tmp_path: Path) -> None:
    example_session(tmp_path, [["success"]], close=False)
    writer = JournalWriter.resume(tmp_path)
    writer.append_all([events.trial_advanced("000007-0", State.RUNNING)]).result(timeout=20)
    writer.append_all([events.session_closed("done", "")]).result(timeout=20)
    writer.close()
    reader = JournalReader(tmp_path)
    assert [event.kind for event in reader.events()][-1] == "session_closed"
    assert reader.head_hash == reader.verify()
    for _ in range(2):
        with pytest.raises(DataError, match="000007-0"):
            reader.fold()


@pytest.mark.parametrize("record", [["a list"], "text"])
def test_a_record_that_is_no_object_is_refused_when_it_is_added(record: Any, tmp_path: Path) -> None:
    example_session(tmp_path, [["cut"]], close=False)
    writer = JournalWriter.resume(tmp_path)
    writer.append_all([events.trial_advanced("000000-0", State.JUDGE, record)]).result(timeout=20)
    writer.close()
    with pytest.raises(DataError, match="object is not a mapping"):
        JournalReader(tmp_path).fold()
