"""The journal keeps what it acknowledged, in order, unaltered, and refuses what it is not."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assay_core import journal_writer
from assay_core.errors import DataError
from assay_core.journal import JOURNAL_FILE, Entry, JournalReader, JournalWriter, SessionInUse
from assay_core.journal_writer import JournalLost
from assay_core.testing import example_session


def write(directory: Path, count: int) -> JournalWriter:
    writer = JournalWriter.create(directory)
    for i in range(count):
        assert writer.append("plan", "", {"n": i}).result(timeout=20) == i
    return writer


def test_what_was_appended_is_read_back_in_order(tmp_path: Path) -> None:
    writer = write(tmp_path, 5)
    assert [event.body["n"] for event in JournalReader(tmp_path).events()] == [0, 1, 2, 3, 4], "beside a running writer"
    assert JournalReader(tmp_path).head_hash == writer.head[1]
    writer.close()
    reader = JournalReader(tmp_path / JOURNAL_FILE)
    assert [event.idx for event in reader.events()] == [0, 1, 2, 3, 4]
    assert reader.verify() == writer.head[1]


def test_the_chain_can_be_checked_by_hand(tmp_path: Path) -> None:
    write(tmp_path, 3).close()
    prev = "0" * 64
    rows = sqlite3.connect(tmp_path / JOURNAL_FILE).execute(
        "SELECT prev_hash, idx, time_ns, kind, trial_id, body, hash FROM events ORDER BY idx"
    )
    for *head, body, digest in rows:
        assert head[0] == prev
        prev = hashlib.sha256("".join(f"{part}\n" for part in head).encode() + body).hexdigest()
        assert digest == prev


def test_events_that_arrive_during_a_commit_share_the_next_one(tmp_path: Path) -> None:
    commits: list[int] = []
    writer = JournalWriter.create(tmp_path, probe=lambda point, *_: commits.append(writer.head[0]))
    futures = [writer.append("plan", "", {"n": i}) for i in range(200)]
    assert [future.result(timeout=20) for future in futures] == list(range(200))
    writer.close()
    assert len(set(commits)) < 200, "each of 200 queued events took a commit of its own"


def test_a_group_is_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    example_session(tmp_path, [["success"]])
    assert [e.kind for e in JournalReader(tmp_path).events()][:3] == ["plan", "session_opened", "trial_started"]
    writer = JournalWriter.resume(tmp_path)
    with pytest.raises(ValueError, match="unknown kind"):
        writer.append("nonsense", "", {})
    with pytest.raises(ValueError, match="body"):
        writer.append("plan", "", {"x": object()})
    with pytest.raises(ValueError, match="JSON"):
        writer.append("plan", "", {"x": float("nan")})
    with pytest.raises(ValueError, match="bad id"):
        writer.append("plan", "a\nb", {})
    head = writer.head
    writer.close()
    assert JournalReader(tmp_path).head_hash == head[1]


def test_resume_continues_the_chain(tmp_path: Path) -> None:
    write(tmp_path, 3).close()
    writer = JournalWriter.resume(tmp_path)
    assert writer.append("plan", "", {"n": 3}).result(timeout=20) == 3
    writer.close()
    assert JournalReader(tmp_path).count == 4


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = write(tmp_path, 1)
    writer.close()
    writer.close()
    with pytest.raises(DataError, match="closed"):
        writer.append("plan", "", {}).result(timeout=20)


def test_nothing_can_be_updated_or_deleted(tmp_path: Path) -> None:
    write(tmp_path, 2).close()
    connection = sqlite3.connect(tmp_path / JOURNAL_FILE)
    for statement in ("UPDATE events SET kind = 'x'", "DELETE FROM events"):
        with pytest.raises(sqlite3.DatabaseError, match="append-only"):
            connection.execute(statement)


def test_files_of_an_event_are_there_before_the_event(tmp_path: Path) -> None:
    from assay_core.journal import Entry

    seen: list[bool] = []
    target = tmp_path / "trials" / "000000-0" / "ready.jpg"
    writer = JournalWriter.create(tmp_path, probe=lambda *_: seen.append(target.exists()))
    writer.append_all([Entry("plan", "", {}, {"trials/000000-0/ready.jpg": b"jpeg"})]).result(timeout=20)
    assert seen == [True, True]
    assert target.read_bytes() == b"jpeg"
    target.parent.with_name("blocked").write_text("a file where a directory must be")
    with pytest.raises(DataError, match="blocked"):
        writer.append_all([Entry("plan", "", {}, {"trials/blocked/x.jpg": b""})]).result(timeout=20)
    assert writer.append("plan", "", {}).result(timeout=20) == 1, "a failed file must not stop later events"
    writer.close()


def test_a_second_writer_is_refused_with_the_process_that_holds_it(tmp_path: Path) -> None:
    writer = write(tmp_path, 1)
    for again in (JournalWriter.resume, JournalWriter.create):
        with pytest.raises(SessionInUse, match=rf"process {os.getpid()} on .*fix:"):
            again(tmp_path)
    writer.close()
    JournalWriter.resume(tmp_path).close()


def test_the_lock_ends_with_the_process(tmp_path: Path) -> None:
    code = f"""
        import os, signal
        from assay_core.journal import JournalWriter
        writer = JournalWriter.create({str(tmp_path)!r})
        writer.append("plan", "", {{"n": 0}}).result(timeout=20)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=60, check=False).returncode == -9
    assert JournalReader(tmp_path).count == 1, "an acknowledged event was lost by kill -9"
    writer = JournalWriter.resume(tmp_path)
    assert writer.head[0] == 0
    writer.close()


def test_create_refuses_an_existing_journal_and_a_bad_directory(tmp_path: Path) -> None:
    write(tmp_path, 1).close()
    with pytest.raises(DataError, match="no journal yet"):
        JournalWriter.create(tmp_path)
    with pytest.raises(DataError, match="writable session directory"):
        JournalWriter.create(tmp_path / "missing")


def test_a_crash_while_creating_leaves_no_half_journal(tmp_path: Path) -> None:
    (tmp_path / (JOURNAL_FILE + ".new")).write_bytes(b"half a file")
    with pytest.raises(DataError, match="no such file"):
        JournalWriter.resume(tmp_path)
    write(tmp_path, 1).close()
    assert JournalReader(tmp_path).count == 1


def foreign_files(directory: Path) -> dict[str, bytes]:
    other = directory / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE events (x)")
    connection.commit()
    connection.close()
    return {
        "an empty file": b"",
        "foreign": b"hello, this is not a journal" * 9,
        "another application": other.read_bytes(),
    }


@pytest.mark.parametrize("what", ["an empty file", "foreign", "another application"])
def test_a_foreign_file_is_refused_by_name(tmp_path: Path, what: str) -> None:
    data = foreign_files(tmp_path)[what]
    path = tmp_path / JOURNAL_FILE
    path.write_bytes(data)
    for attempt in (JournalReader, JournalWriter.resume):
        with pytest.raises(DataError) as caught:
            attempt(tmp_path)
        assert str(path) in str(caught.value)
        assert what in str(caught.value)
        assert "fix:" in str(caught.value)
    assert path.read_bytes() == data, "a refused file must not be touched"


def test_another_version_is_refused(tmp_path: Path) -> None:
    write(tmp_path, 1).close()
    connection = sqlite3.connect(tmp_path / JOURNAL_FILE)
    connection.execute("PRAGMA user_version = 99")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with pytest.raises(DataError, match="journal version 1, got 99"):
        JournalReader(tmp_path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = CAST('{\"n\":7}' AS BLOB) WHERE idx = 1",
        "UPDATE events SET time_ns = time_ns + 1 WHERE idx = 1",
        "UPDATE events SET trial_id = 'x' WHERE idx = 2",
        "DELETE FROM events WHERE idx = 1",
        "DELETE FROM events WHERE idx = 0",
        "INSERT INTO events SELECT 9, kind, trial_id, time_ns, body, prev_hash, hash FROM events WHERE idx = 2",
    ],
)
def test_tampering_is_found(tmp_path: Path, statement: str) -> None:
    write(tmp_path, 3).close()
    connection = sqlite3.connect(tmp_path / JOURNAL_FILE)
    connection.execute("DROP TRIGGER events_no_update")
    connection.execute("DROP TRIGGER events_no_delete")
    connection.execute(statement)
    connection.commit()
    connection.close()
    for attempt in (JournalReader, JournalWriter.resume):
        with pytest.raises(DataError, match=JOURNAL_FILE):
            attempt(tmp_path)


def test_reading_changes_no_byte(tmp_path: Path) -> None:
    writer = write(tmp_path, 3)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in (JOURNAL_FILE, JOURNAL_FILE + "-wal"):
        (crashed / name).write_bytes((tmp_path / name).read_bytes())
    writer.close()
    before = {name: (crashed / name).read_bytes() for name in (JOURNAL_FILE, JOURNAL_FILE + "-wal")}
    for _ in range(2):
        assert JournalReader(crashed).count == 3
    assert before == {name: (crashed / name).read_bytes() for name in before}


def test_a_journal_in_a_directory_without_write_permission_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everywhere, so the answer of the system is replaced."""
    writer = write(tmp_path, 3)
    for closed in (False, True):
        if closed:
            writer.close()
        before = sorted(path.name for path in tmp_path.iterdir())
        monkeypatch.setattr("assay_core.journal_reader.os.access", lambda *_: False)
        assert JournalReader(tmp_path).count == 3
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        monkeypatch.undo()


DISK_FULL = """
    import resource, signal, sys
    from pathlib import Path
    from assay_core.errors import DataError
    from assay_core.journal import JournalReader, JournalWriter

    directory = Path(sys.argv[1])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writer = JournalWriter.create(directory)
    kept = [writer.append("plan", "", {"x": "a" * 3000}).result(20) for _ in range(5)]
    log = directory / "journal.sqlite-wal"
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 6000, hard))
    failures = 0
    for i in range(8):
        try:
            kept.append(writer.append("plan", "", {"y": "b" * 3000, "i": i}).result(20))
        except DataError as error:
            failures += 1
            assert "journal.sqlite" in str(error) and "fix:" in str(error), error
    assert failures, "the full disk was not noticed"
    assert JournalReader(directory).count == len(kept), "refused events appeared"
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    kept.append(writer.append("plan", "", {"z": 1}).result(20))
    writer.close()
    assert kept == list(range(len(kept)))
    assert [e.idx for e in JournalReader(directory).events()] == kept
    print("failures", failures)
"""


def test_a_full_disk_fails_the_append_and_later_ones_work_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DISK_FULL), str(tmp_path)],
        timeout=100,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "failures" in done.stdout


def moved(directory: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))


def deleted(directory: Path) -> None:
    shutil.rmtree(directory)


def replaced(directory: Path) -> None:
    moved(directory)
    shutil.copytree(directory.with_name("elsewhere"), directory)


@pytest.mark.parametrize(
    ("what", "got"), [(moved, "no such file"), (deleted, "no such file"), (replaced, "another file")]
)
@pytest.mark.parametrize("point", ["", "before_commit", "after_commit"])
def test_a_journal_that_is_taken_away_acknowledges_nothing_more(
    what: Callable[[Path], None], got: str, point: str, tmp_path: Path
) -> None:
    directory, due = tmp_path / "s", [] if not point else [point]
    directory.mkdir()

    def probe(now: str, entry: Entry) -> None:
        if due == [now] and entry.body == {"n": 1}:
            due.clear()
            what(directory)

    writer = JournalWriter.create(directory, probe=probe)
    assert writer.append("plan", "", {"n": 0}).result(timeout=20) == 0
    if not point:
        what(directory)
    expected = rf"journal.sqlite: expected the journal of the session that is running, got {got}. fix: put"
    with pytest.raises(JournalLost, match=expected):
        writer.append("plan", "", {"n": 1}).result(timeout=20)
    if what is moved:
        directory.with_name("elsewhere").rename(directory)
        with pytest.raises(JournalLost):
            writer.append("plan", "", {"n": 2}).result(timeout=20)
    writer.close()
    if what is moved:
        JournalWriter.resume(directory).close()
        kept = [event.body["n"] for event in JournalReader(directory).events()]
        assert kept == ([0, 1] if point else [0]), "what was acknowledged was lost, or came back twice"


def test_a_journal_that_is_taken_away_gets_no_files_either(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    writer = JournalWriter.create(tmp_path / "s")
    replaced(tmp_path / "s")
    with pytest.raises(JournalLost):
        writer.append_all([Entry("plan", "", {}, {"trials/x/ready.jpg": b"jpeg"})]).result(timeout=20)
    assert not (tmp_path / "s" / "trials").exists(), "a picture of one session in the directory of another"
    writer.close()


def test_a_disk_that_does_not_answer_does_not_hold_up_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_writer, "CLOSE_S", 0.05)
    disk = threading.Event()
    writer = JournalWriter.create(tmp_path, probe=lambda *_: disk.wait(60) and None)
    pending = writer.append("plan", "", {})
    with pytest.raises(DataError, match=r"journal.sqlite: expected the last commit, got none within 0.05 s. fix: "):
        writer.close()
    with pytest.raises(SessionInUse):
        JournalWriter.resume(tmp_path)
    disk.set()
    assert pending.result(timeout=20) == 0
    monkeypatch.undo()
    writer.close()
    JournalWriter.resume(tmp_path).close()


def test_appends_from_many_threads_keep_the_chain(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    writer = JournalWriter.create(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        indices = list(pool.map(lambda i: writer.append("plan", "", {"n": i}).result(timeout=20), range(100)))
    writer.close()
    assert sorted(indices) == list(range(100))
    by_index = {event.idx: event.body["n"] for event in JournalReader(tmp_path).events()}
    assert all(by_index[idx] == n for n, idx in zip(itertools.count(), indices, strict=False))
