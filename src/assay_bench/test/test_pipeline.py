"""Operations run one after the other and never block the thread that runs them."""

from __future__ import annotations

import queue
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

import pytest

from assay_bench.crash import VARIABLE, crash_probe
from assay_bench.pipeline import Pipeline
from assay_core.journal import Entry


def test_an_operation_starts_when_the_one_before_has_ended() -> None:
    soon: queue.Queue[Callable[[], None]] = queue.Queue()
    pipeline = Pipeline(soon.put, patience_s=0.0)
    log: list[str] = []
    slow: Future[int] = Future()

    def first() -> Generator[Future[Any], Any, str]:
        log.append("first starts")
        value = yield slow
        log.append(f"first got {value}")
        return "a"

    def second() -> Generator[Future[Any], Any, str]:
        log.append("second starts")
        done: Future[int] = Future()
        done.set_result(2)
        log.append(f"second got {yield done}")
        return "b"

    for operation in (first(), second()):
        pipeline.submit(operation, log.append, lambda error: log.append(repr(error)))
    assert log == ["first starts"]
    assert not pipeline.idle
    slow.set_result(1)
    assert log == ["first starts"], "it went on in the thread that completed the future"
    soon.get(timeout=5)()
    assert log == ["first starts", "first got 1", "a", "second starts", "second got 2", "b"]
    assert pipeline.idle


def test_a_failing_operation_does_not_stop_the_next() -> None:
    pipeline = Pipeline(lambda function: function())
    log: list[Any] = []
    broken: Future[int] = Future()
    broken.set_exception(OSError("disk"))

    def fails() -> Generator[Future[Any], Any, None]:
        yield broken

    def recovers() -> Generator[Future[Any], Any, str]:
        try:
            yield broken
        except OSError:
            return "recovered"
        return "never"

    pipeline.submit(fails(), log.append, lambda error: log.append(type(error)))
    pipeline.submit(recovers(), log.append, lambda error: log.append(type(error)))
    assert log == [OSError, "recovered"]


def test_an_operation_may_submit_another() -> None:
    pipeline = Pipeline(lambda function: function())
    log: list[Any] = []

    def operation(depth: int) -> Generator[Future[Any], Any, int]:
        if depth:
            pipeline.submit(operation(depth - 1), log.append, log.append)
        return depth
        yield

    pipeline.submit(operation(3), log.append, log.append)
    assert log == [3, 2, 1, 0]


def test_crash_seams_are_off_by_default_and_refuse_nonsense() -> None:
    assert crash_probe({}) is None
    for text in (
        "verdict",
        "later:verdict",
        "after_commit:",
        "after_commit:verdikt",
        "after_commit:trial_advanced/PARKED",
        "after_commit:/JUDGE",
    ):
        with pytest.raises(ValueError, match=VARIABLE):
            crash_probe({VARIABLE: text})
    probe = crash_probe({VARIABLE: "after_commit:verdict:000001-0"})
    assert probe is not None
    probe("before_commit", Entry("verdict", "000001-0", {}))
    probe("after_commit", Entry("verdict", "000000-0", {}))
    probe("after_commit", Entry("skip", "000001-0", {}))
    probe = crash_probe({VARIABLE: "after_commit:trial_advanced/PARKING"})
    assert probe is not None
    probe("after_commit", Entry("trial_advanced", "000001-0", {"state": "RUNNING"}))
