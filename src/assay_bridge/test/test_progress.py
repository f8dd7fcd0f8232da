"""Progress: plain lines for a file, few of them, and a closed terminal ends nothing."""

from __future__ import annotations

from io import StringIO

import pytest

from assay_bridge.progress import Progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class Closed(StringIO):
    def write(self, _text: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_file_gets_few_plain_lines() -> None:
    out = StringIO()
    progress = Progress(100, stream=out)
    for i in range(100):
        progress.trial_started(f"x #{i}", 0)
        progress.trial_finished(f"x #{i}", success=i % 2 == 0)
    progress.close()
    lines = out.getvalue().splitlines()
    assert 2 <= len(lines) <= 3, "a log file must not fill with progress"
    assert lines[-1].startswith("100/100 trials, P̂ 0.50")
    assert "\x1b" not in out.getvalue()


def test_the_time_left_is_told_once_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    out = StringIO()
    progress = Progress(250, stream=out)
    now[0] += 3600.0  # a graph that took an hour to come up says nothing about trials
    for i in range(5):
        progress.trial_started(f"x #{i}", 0)
        now[0] += 20.0
        progress.trial_finished(f"x #{i}", success=True)
    lines = out.getvalue().splitlines()
    assert ["left" in line for line in lines] == [False, False, True, True, True]
    assert lines[-1] == "5/250 trials, P̂ 1.00, 1:21:40 left, last x #4"


def test_lines_become_rarer_in_a_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    out = StringIO()
    progress = Progress(1000, stream=out)
    for i in range(1000):
        progress.trial_started(f"x #{i}", 0)
        now[0] += 7.2
        progress.trial_finished(f"x #{i}", success=True)
    assert 100 <= len(out.getvalue().splitlines()) <= 160, "two hours should not fill a log"


def test_a_resumed_session_shows_its_rate_at_once() -> None:
    out = Terminal()
    progress = Progress(4, finished=2, stream=out)
    progress.count(success=True)
    progress.count(success=False)
    progress._bar.refresh()  # type: ignore[union-attr]
    progress.close()
    assert "P̂ 0.50" in out.getvalue()


def test_a_terminal_shows_the_instance_and_the_rate() -> None:
    out = Terminal()
    progress = Progress(4, finished=1, stream=out)
    progress.count(success=True)
    progress.trial_started("pour_pasta/full-box #1", 1)
    progress.trial_finished("pour_pasta/full-box #1", success=False)
    progress.message("one line that stays")
    progress.close()
    assert "pour_pasta/full-box #1 (attempt 2)" in out.getvalue()
    assert "P̂ 0.50" in out.getvalue()
    assert "one line that stays" in out.getvalue()


def test_invalid_attempts_are_shown_and_do_not_finish_an_entry() -> None:
    out = StringIO()
    progress = Progress(1, stream=out)
    progress.trial_invalid()
    progress.trial_finished("x", success=True)
    assert out.getvalue().startswith("1/1 trials, P̂ 1.00, 1 invalid")


def test_a_closed_terminal_ends_nothing() -> None:
    progress = Progress(1, stream=Closed())
    progress.message("gone")
    progress.trial_finished("x", success=True)
    progress.close()


def test_quiet_keeps_messages() -> None:
    out = StringIO()
    progress = Progress(1, stream=out, quiet=True)
    progress.trial_finished("x", success=True)
    progress.message("warning: something")
    assert out.getvalue() == "warning: something\n"
