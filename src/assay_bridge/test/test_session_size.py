"""Deadlines for opening and sealing a session grow with its files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay_bridge.benchmark_calls import BenchmarkCalls
from assay_bridge.client_types import ClientConfig
from assay_bridge.session_size import reading_s, sealing_s, sealing_words
from assay_msgs.srv import CloseSession


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


class Asked:
    """Stands in for the services: notes each call's deadline [s]."""

    def __init__(self) -> None:
        self.deadlines: list[float] = []

    def add(self, kind: Any, name: str) -> None: ...

    def call(self, kind: Any, name: str, request: Any, *, deadline_s: float, **_: Any) -> Any:
        self.deadlines.append(deadline_s)
        return SimpleNamespace(root_hash="ab", next_plan_index=0, head_hash="")

    call_when_ready = call


def test_a_journal_of_a_gigabyte_is_given_minutes(tmp_path: Path) -> None:
    assert reading_s(tmp_path) == 0.0
    sparse(tmp_path / "journal.sqlite", 1_000_000_000)
    assert reading_s(tmp_path) == pytest.approx(200.0)
    asked = Asked()
    calls = BenchmarkCalls(asked, ClientConfig(session_id="s"))  # type: ignore[arg-type]
    calls.open_session(str(tmp_path), "", resume=True)
    calls.close_session(CloseSession.Request.STATUS_DONE, "", sealing_s(tmp_path))
    calls.close_session(CloseSession.Request.STATUS_INCOMPLETE, "", 0.0)
    opening, sealing, closing = asked.deadlines
    assert opening == pytest.approx(210.0)
    assert sealing > opening + 200.0, "each file is read once more, and brought to disk"
    assert closing == 10.0


def test_thousands_of_files_are_given_time_and_told_of(tmp_path: Path) -> None:
    assert sealing_words(tmp_path) == ""
    alone = sealing_s(tmp_path)
    (tmp_path / "trials").mkdir()
    for k in range(2001):
        (tmp_path / "trials" / f"{k}.jpg").touch()
    assert sealing_s(tmp_path) == pytest.approx(alone + 2001 * 0.02)
    assert sealing_words(tmp_path) == "sealing 2001 files, 0 MB"
    sparse(tmp_path / "trials" / "big", 600_000_000)
    assert sealing_words(tmp_path) == "sealing 2002 files, 600 MB"
