"""One signal stops at a safe point, a second one at once, and nothing is left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from assay_bridge.stop import Interrupted, Stop


def test_first_signal_waits_for_a_safe_point() -> None:
    with Stop() as stop:
        stop.check()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.requested
        assert stop.name == "SIGTERM"
        with pytest.raises(Interrupted, match="interrupted by SIGTERM"):
            stop.check()
        stop.check()  # what runs to end cleanly is left in peace


def test_a_second_interrupt_is_raised_at_once() -> None:
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted):
            os.kill(os.getpid(), signal.SIGINT)
        assert stop.requested


def test_a_closing_terminal_counts_as_one_request() -> None:
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Interrupted, match="SIGHUP"):
            stop.check()


def test_without_a_safe_point_the_interrupt_comes_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay_bridge.stop.GRACE_S", 0.01)
    with Stop():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted):
            signal.pause()


def test_what_is_finishing_is_left_to_finish_unless_somebody_insists() -> None:
    with Stop() as stop:
        with stop.finishing(60.0):
            os.kill(os.getpid(), signal.SIGINT)
            stop.check()
        stop.check()  # the block came to its end, and so does the program
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
    with Stop() as stop, pytest.raises(Interrupted):
        _finish(stop, 60.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    with Stop() as stop, pytest.raises(Interrupted):
        _finish(stop, 0.01, signal.pause)


def _finish(stop: Stop, seconds: float, then: Callable[[], object]) -> None:
    with stop.finishing(seconds):
        os.kill(os.getpid(), signal.SIGINT)
        then()


def test_a_limit_ends_a_block() -> None:
    with Stop() as stop:
        with pytest.raises(Interrupted, match="a deadline"), stop.limit(0.01):
            signal.pause()
        with stop.limit(60.0):
            pass
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
