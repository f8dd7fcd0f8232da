"""A power cut at any byte of the write-ahead log loses only what was not acknowledged; a damaged file is refused."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from assay_core.errors import DataError
from assay_core.journal import JOURNAL_FILE, JournalEvent, JournalReader, JournalWriter
from assay_core.testing import example_session

WAL = JOURNAL_FILE + "-wal"
EVENTS = 40


def seeded() -> random.Random:
    seed = int(os.environ.get("ASSAY_TEST_SEED", random.SystemRandom().randrange(2**32)))
    print(f"seed: ASSAY_TEST_SEED={seed}")
    return random.Random(seed)


def recorded(directory: Path, rng: random.Random) -> tuple[bytes, bytes, list[int], list[JournalEvent]]:
    """Write events one by one; return main file, log, the log's size at each acknowledgement, and the events."""
    writer = JournalWriter.create(directory)
    sizes = []
    for i in range(EVENTS):
        body = {"n": i, "text": "x" * rng.choice([0, 10, 900, 5000, 20000])}
        writer.append("plan", "", body).result(timeout=20)
        sizes.append((directory / WAL).stat().st_size)
    main, log = (directory / JOURNAL_FILE).read_bytes(), (directory / WAL).read_bytes()
    events = list(JournalReader(directory).events())
    writer.close()
    return main, log, sizes, events


def survivors(directory: Path, main: bytes, log: bytes) -> list[JournalEvent]:
    directory.mkdir()
    (directory / JOURNAL_FILE).write_bytes(main)
    (directory / WAL).write_bytes(log)
    found = list(JournalReader(directory).events())
    writer = JournalWriter.resume(directory)
    assert writer.append("plan", "", {"n": "after"}).result(timeout=20) == len(found)
    writer.close()
    assert JournalReader(directory).count == len(found) + 1, "the journal cannot go on after the cut"
    return found


def test_a_cut_at_any_byte_loses_only_what_was_not_acknowledged(tmp_path: Path) -> None:
    rng = seeded()
    (tmp_path / "whole").mkdir()
    main, log, sizes, events = recorded(tmp_path / "whole", rng)
    cuts = {0, 1, 31, 32, 33, len(log) - 1, len(log), *sizes, *(size - 1 for size in sizes)}
    cuts |= {rng.randrange(len(log)) for _ in range(60)}
    for number, cut in enumerate(sorted(cuts)):
        found = survivors(tmp_path / f"cut{number}", main, log[:cut])
        acknowledged = sum(size <= cut for size in sizes)
        assert len(found) >= acknowledged, f"cut at byte {cut}: {acknowledged} acknowledged, {len(found)} left"
        assert found == events[: len(found)], f"cut at byte {cut}: what is left is not a prefix"


def test_garbage_in_the_unacknowledged_tail_loses_nothing_before_it(tmp_path: Path) -> None:
    rng = seeded()
    (tmp_path / "whole").mkdir()
    main, log, sizes, events = recorded(tmp_path / "whole", rng)
    for number in range(60):
        at = rng.randrange(len(log))
        length = rng.randrange(1, 200)
        damaged = log[:at] + rng.randbytes(min(length, len(log) - at)) + log[at + length :]
        found = survivors(tmp_path / f"hit{number}", main, damaged)
        before = sum(size <= at for size in sizes)
        assert len(found) >= before, f"garbage at byte {at}: {before} acknowledged before it, {len(found)} left"
        assert found == events[: len(found)], f"garbage at byte {at}: what is left is not a prefix"


def test_a_cut_after_a_checkpoint_keeps_what_was_checkpointed(tmp_path: Path) -> None:
    """The log is reused from its start after a checkpoint; what it held is in the main file by then."""
    rng = seeded()
    (tmp_path / "whole").mkdir()
    writer = JournalWriter.create(tmp_path / "whole")
    count = 0
    log_path = tmp_path / "whole" / WAL
    while True:  # until the log was started over once: it no longer grows
        before = log_path.stat().st_size
        writer.append("plan", "", {"n": count, "text": "x" * 60000}).result(timeout=20)
        count += 1
        if count > 20 and log_path.stat().st_size == before:
            break
        assert count < 1000, "no checkpoint ever happened"
    main, log = (tmp_path / "whole" / JOURNAL_FILE).read_bytes(), log_path.read_bytes()
    writer.close()
    whole = survivors(tmp_path / "same", main, log)
    assert len(whole) == count
    kept = survivors(tmp_path / "cut0", main, b"")
    assert len(kept) >= count - 2, "checkpointed events were lost with the log"
    for number in range(10):
        found = survivors(tmp_path / f"cut{number + 1}", main, log[: rng.randrange(len(log))])
        assert len(found) >= len(kept)
        assert found == whole[: len(found)]


def test_a_damaged_main_file_is_refused_by_name_or_reads_as_it_was(tmp_path: Path) -> None:
    rng = seeded()
    example_session(tmp_path / "whole", [["success"]] * 20)
    main = (tmp_path / "whole" / JOURNAL_FILE).read_bytes()
    events = list(JournalReader(tmp_path / "whole").events())
    refused = 0
    for number in range(120):
        directory = tmp_path / f"hit{number}"
        directory.mkdir()
        path = directory / JOURNAL_FILE
        at, length = rng.randrange(len(main)), rng.choice([1, 16, 512, 4096])
        path.write_bytes(main[:at] + rng.randbytes(min(length, len(main) - at)) + main[at + length :])
        message = ""
        try:
            found = list(JournalReader(directory).events())
        except DataError as error:
            message = str(error)
        if message:
            refused += 1
            assert str(path) in message
            assert "fix:" in message
            with pytest.raises(DataError, match=JOURNAL_FILE):
                JournalWriter.resume(directory)
            continue
        assert found == events, f"{length} bytes of damage at {at} changed events without being noticed"
    assert refused > 60, "most damage should hit something that matters"


def test_a_shortened_main_file_is_refused(tmp_path: Path) -> None:
    rng = seeded()
    example_session(tmp_path / "whole", [["success"]] * 20)
    main = (tmp_path / "whole" / JOURNAL_FILE).read_bytes()
    for number, size in enumerate([1, 99, 100, 4096, len(main) - 4096, *(rng.randrange(len(main)) for _ in range(20))]):
        directory = tmp_path / f"cut{number}"
        directory.mkdir()
        (directory / JOURNAL_FILE).write_bytes(main[:size])
        with pytest.raises(DataError, match=JOURNAL_FILE):
            JournalReader(directory)
