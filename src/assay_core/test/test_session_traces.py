"""A journal that was lost, or replaced by an older copy, is never begun anew: what lies beside it proves that."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assay_core.errors import DataError
from assay_core.journal import JournalReader, JournalWriter
from assay_core.session_traces import SessionTraces, results_in
from assay_core.testing import example_session


@pytest.mark.parametrize(
    "name",
    ["trials/000000-0/", "logs/log.json", "summary.json", "journal.sqlite-wal", "journal.sqlite-shm"],
)
def test_no_journal_is_made_where_one_was_lost(tmp_path: Path, name: str) -> None:
    left = tmp_path / name
    left.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith("/"):
        left.mkdir()
        (left / "final_top_cam.jpg").write_bytes(b"picture")
    else:
        left.write_bytes(b"{}")
    with pytest.raises(
        DataError, match=rf"expected the journal of this session, got none, beside {name.split('/')[0]}"
    ):
        JournalWriter.create(tmp_path)
    assert not (tmp_path / "journal.sqlite").exists()


def test_no_journal_is_made_in_a_sealed_session(tmp_path: Path) -> None:
    (tmp_path / "seal.json").write_bytes(b"{}")
    with pytest.raises(DataError, match="expected no seal, got a sealed session"):
        JournalWriter.create(tmp_path)
    assert not (tmp_path / "journal.sqlite").exists()


def test_a_user_s_own_files_are_not_in_the_way_of_a_journal(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("arranged by two people")
    (tmp_path / "trials").mkdir()
    JournalWriter.create(tmp_path).close()


def test_an_older_copy_of_a_journal_is_told_by_what_lies_beside_it(tmp_path: Path) -> None:
    example_session(tmp_path / "old", [["rig_fault", "success"], ["cut"]], close=False)
    example_session(tmp_path / "new", [["rig_fault", "success"], ["success"], ["success"]], close=False)
    old, new = (JournalReader(tmp_path / name).fold() for name in ("old", "new"))
    directory = tmp_path / "session"
    for name in ("000000-0", "000000-1", "000001-0", "not-a-trial"):
        (directory / "trials" / name).mkdir(parents=True)
    SessionTraces.of(directory).check(old)
    verdict = new.attempts["000001-0"].verdicts[0]
    logged = {"assay": {"trial_id": "000001-0", "verdict": {"uuid": verdict.uuid}}}
    (directory / "logs").mkdir()
    (directory / "logs" / "task.json").write_text(json.dumps({"samples": [{"trial_metadata": [{}, logged]}]}))
    SessionTraces.of(directory).check(new)
    with pytest.raises(DataError, match=rf"older copy or a part of it, without verdict {verdict.uuid}. fix: restore"):
        SessionTraces.of(directory).check(old)
    (directory / "trials" / "000002-0").mkdir()
    with pytest.raises(DataError, match=r"without trial 000002-0, verdict "):
        SessionTraces.of(directory).check(old)
    shutil.rmtree(directory / "trials")
    shutil.rmtree(directory / "logs")
    (directory / "summary.json").write_text(json.dumps({"trials": 3, "invalid": 1}))
    SessionTraces.of(directory).check(new)
    with pytest.raises(DataError, match=r"without 1 of the 4 attempts in summary.json"):
        SessionTraces.of(directory).check(old)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"samples": 3, "trials": "x"}', '{"samples": [3, {"trial_metadata": [1]}]}']
)
def test_views_that_cannot_be_read_prove_nothing(tmp_path: Path, text: str) -> None:
    example_session(tmp_path, [["success"]])
    (tmp_path / "logs").mkdir()
    (tmp_path / "trials").mkdir()
    assert results_in(tmp_path) == (), "empty directories"
    for path in (tmp_path / "logs" / "a.json", tmp_path / "summary.json"):
        path.write_text(text)
    SessionTraces.of(tmp_path).check(JournalReader(tmp_path).fold())
