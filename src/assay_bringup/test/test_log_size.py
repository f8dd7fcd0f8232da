"""A process that never stops printing fills no disk, and nothing waits for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Prefix, until

from assay_bringup.launch import GraphProcesses, processes, resolve
from assay_bringup.launch.log_size import LogSizes

SMALL = 80_000

PRINTER = """
import sys
print("first words", flush=True)
for number in range(20_000):
    print(number, "x" * 200)
sys.stdout.flush()
print("last words", flush=True)
import time
time.sleep(600)
"""


@pytest.mark.parametrize("echoed", [False, True])
def test_what_a_process_prints_without_end_is_cut_and_said(
    prefix: Prefix, write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, echoed: bool
) -> None:
    monkeypatch.setattr(processes, "LogSizes", lambda directory: LogSizes(directory, SMALL))
    prefix.add("fake", "printer", PRINTER)
    path = write("launch:\n  - executable: {cmd: $(exec-in-pkg printer fake), name: p}\n")
    lines: list[str] = []
    echo = (lambda _label, line, _stream: lines.append(line)) if echoed else None
    graph = GraphProcesses.start(resolve(path), log_dir=tmp_path / "log", echo=echo)
    log = tmp_path / "log" / "p.log"
    try:
        until(lambda: "last words" in log.read_text(encoding="utf-8"), "the process to have printed all")
        until(lambda: log.stat().st_size < SMALL, "the log to be cut while the process runs")
    finally:
        graph.stop(now=True)
    text = log.read_text(encoding="utf-8").splitlines()
    assert text[0] == "first words"
    assert text[-1] == "last words"
    assert sum("bytes dropped here" in line for line in text) == 1
    assert not echoed or len(lines) == 20_002


def test_a_log_that_is_cut_again_says_how_much_was_dropped_in_all(tmp_path: Path) -> None:
    log, sizes, line = tmp_path / "p.log", LogSizes(tmp_path, 8_000), b"x" * 349 + b"\n"
    written = 0
    for _ in range(3):
        with log.open("ab") as file:
            file.write(line * 100)
        written += 100
        sizes.trim()
    text = log.read_bytes().decode().splitlines()
    (said,) = [each for each in text if "dropped here" in each]
    kept = sum(each == "x" * 349 for each in text)
    dropped = int(said.split("about ")[1].split()[0])
    assert 0 <= dropped - 350 * (written - kept) < 1_000, "the parts of lines and the marks are counted too"
    assert log.stat().st_size < 8_000


def test_a_log_of_usual_size_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "ros" / "node.log"
    log.parent.mkdir()
    log.write_text("hello\n" * 100, encoding="utf-8")
    LogSizes(tmp_path, 8_000).trim()
    assert log.read_text(encoding="utf-8") == "hello\n" * 100
