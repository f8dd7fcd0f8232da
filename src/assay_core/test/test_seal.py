"""The seal shows every later change, and reading a sealed session changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from assay_core.errors import DataError
from assay_core.journal import JOURNAL_FILE, JournalReader, JournalWriter, SessionInUse
from assay_core.seal import SEAL_FILE, verify_seal, write_seal
from assay_core.testing import example_session


@pytest.fixture
def session(tmp_path: Path) -> Path:
    directory = tmp_path / "session"
    example_session(directory, [["success"], ["failure"]])
    (directory / "logs").mkdir()
    (directory / "logs" / "log.json").write_text("{}")
    (directory / "trials" / "000000-0").mkdir(parents=True)
    (directory / "trials" / "000000-0" / "final top.jpg").write_bytes(bytes(range(256)) * 5000)
    return directory


def bytes_of(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def test_an_intact_session_verifies_and_reading_changes_nothing(session: Path) -> None:
    root = write_seal(session)
    before = bytes_of(session)
    assert set(before) == {"seal.json", "plan.yaml", JOURNAL_FILE, "logs/log.json", "trials/000000-0/final top.jpg"}
    assert verify_seal(session) == []
    reader = JournalReader(session)
    assert len(reader.results()) == 2
    assert reader.verify() == reader.head_hash
    assert bytes_of(session) == before, "reading or verifying a sealed session changed its bytes"
    seal = json.loads((session / SEAL_FILE).read_text())
    assert seal["root_hash"] == root
    assert seal["journal"]["head_hash"] == reader.head_hash
    assert seal["session_id"] == "s1"


def test_sealing_waits_for_those_who_look_at_the_journal(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader leaves while sealing waits, at the third look."""
    reader, looks = sqlite3.connect(session / JOURNAL_FILE), []
    assert reader.execute("SELECT count(*) FROM trials").fetchone() == (2,)

    class Turn:
        def wait(self, timeout: float) -> None:
            looks.append(timeout)
            if len(looks) == 3:
                reader.close()

    monkeypatch.setattr("assay_core.seal.threading.Event", Turn)
    write_seal(session)
    assert len(looks) == 3
    assert verify_seal(session) == []


def test_a_reader_that_stays_is_told_of_and_the_seal_can_be_made_later(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_core.seal.SETTLE_S", 0.2)
    reader = sqlite3.connect(session / JOURNAL_FILE)
    reader.execute("SELECT count(*) FROM trials").fetchone()
    with pytest.raises(DataError, match=r"expected no reader of the journal for 0\.2 s, got .* fix: close whatever"):
        write_seal(session)
    assert not (session / SEAL_FILE).exists()
    reader.close()
    write_seal(session)
    assert verify_seal(session) == []


def test_sha256sum_alone_is_enough_to_check_it(session: Path, tmp_path: Path) -> None:
    root = write_seal(session)
    seal = json.loads((session / SEAL_FILE).read_text())
    manifest = "".join(f"{item['sha256']}  {item['path']}\n" for item in seal["files"])
    assert hashlib.sha256(manifest.encode()).hexdigest() == root
    (tmp_path / "manifest").write_text(manifest)
    command = ["sha256sum", "--check", "--strict", str(tmp_path / "manifest")]
    done = subprocess.run(command, cwd=session, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def test_every_kind_of_change_is_found(session: Path) -> None:
    write_seal(session)
    (session / "plan.yaml").unlink()
    (session / "logs" / "log.json").write_text("{ }")
    (session / "extra.txt").write_text("new")
    picture = session / "trials" / "000000-0" / "final top.jpg"
    picture.unlink()
    picture.symlink_to(session / "extra.txt")
    with (session / JOURNAL_FILE).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    found = {finding.path: finding.problem for finding in verify_seal(session)}
    assert "missing" in found["plan.yaml"]
    assert "changed: 2 bytes when sealed, 3 now" in found["logs/log.json"]
    assert "added" in found["extra.txt"]
    assert "not a regular file" in found["trials/000000-0/final top.jpg"]
    assert "changed" in found[JOURNAL_FILE]
    assert len(found) == 5


def test_an_altered_seal_is_found(session: Path) -> None:
    write_seal(session)
    path = session / SEAL_FILE
    seal = json.loads(path.read_text())
    (session / "logs" / "log.json").write_text("forged")
    item = next(item for item in seal["files"] if item["path"] == "logs/log.json")
    item["sha256"] = hashlib.sha256(b"forged").hexdigest()
    path.write_text(json.dumps(seal))
    assert ["altered" in finding.problem for finding in verify_seal(session)] == [True]


def test_addenda_may_come_later(session: Path) -> None:
    write_seal(session)
    (session / "addenda").mkdir()
    (session / "addenda" / "001.sqlite").write_bytes(b"later gradings")
    assert verify_seal(session) == []


def test_a_sealed_session_is_never_written_again(session: Path) -> None:
    write_seal(session)
    with pytest.raises(DataError, match="unsealed session"):
        JournalWriter.resume(session)
    with pytest.raises(DataError, match="no seal yet"):
        write_seal(session)


def test_sealing_is_refused_while_the_journal_is_written(session: Path) -> None:
    writer = JournalWriter.resume(session)
    with pytest.raises(SessionInUse, match="process"):
        write_seal(session)
    writer.close()
    write_seal(session)
    assert verify_seal(session) == []


def test_a_crashed_journal_can_be_sealed_whole(session: Path, tmp_path: Path) -> None:
    writer = JournalWriter.resume(session)
    writer.append("session_closed", "", {"status": "done", "reason": ""}).result(timeout=20)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("plan.yaml", JOURNAL_FILE, JOURNAL_FILE + "-wal"):
        (crashed / name).write_bytes((session / name).read_bytes())
    head = writer.head[1]
    writer.close()
    write_seal(crashed)
    assert JournalReader(crashed).head_hash == head
    assert verify_seal(crashed) == []


def test_a_crash_while_the_journal_settles_loses_nothing_and_can_be_read(session: Path) -> None:
    before = list(JournalReader(session).events())
    # A connection that dies with half of a change in the main file, and the journal to undo it beside it.
    die = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = DELETE")
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("CREATE TABLE half (x)")
connection.executemany("INSERT INTO half VALUES (?)", [(b"x" * 3000,) for _ in range(50)])
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", die, str(session / JOURNAL_FILE)], check=False, timeout=30)
    assert (session / f"{JOURNAL_FILE}-journal").stat().st_size > 0, "the crash left nothing to undo"
    files = bytes_of(session)
    assert list(JournalReader(session).events()) == before
    assert bytes_of(session) == files, "reading must not repair the session that it looks at"
    write_seal(session)
    assert verify_seal(session) == []
    assert list(JournalReader(session).events()) == before


def test_what_cannot_be_sealed_is_named(session: Path) -> None:
    (session / "link").symlink_to("plan.yaml")
    with pytest.raises(DataError, match=r"link: expected regular files.*fix:"):
        write_seal(session)
    assert not (session / SEAL_FILE).exists()
    with pytest.raises(DataError, match="unsealed"):
        verify_seal(session)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": 2, "files": []}', '{"schema_version": 1}'])
def test_a_damaged_seal_is_refused_by_name(session: Path, text: str) -> None:
    write_seal(session)
    (session / SEAL_FILE).write_text(text)
    with pytest.raises(DataError, match=r"seal\.json"):
        verify_seal(session)
