"""Runs one operation after the other, without holding up the thread that runs them.

The journal is the one thing that all operations of the benchmark node share, and an event must be on disk before it
counts. So an operation is a generator: it checks, yields the future of its commit, and goes on with what follows from
it. The next operation starts only then, and therefore never sees a state that is not on disk.

A commit usually takes a fraction of a millisecond, less than it costs to return to rclpy's executor and be woken by it
again. So a future is waited for in place, but no longer than `PATIENCE_S`; a slow disk costs the thread only that.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

__all__ = ["PATIENCE_S", "Operation", "Pipeline"]

PATIENCE_S = 0.003
"""Longest wait in place for one future [s]."""

Operation = Generator["Future[Any]", Any, Any]
"""Yields futures, is sent their results (or thrown their errors), and returns its answer."""

_Job = tuple[Operation, Callable[[Any], None], Callable[[BaseException], Any]]


class Pipeline:
    """A queue of operations on one thread.

    Args:
        call_soon: Runs a function on that thread; may be called from any thread.
        patience_s: Longest wait in place for one future [s].
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], None], patience_s: float = PATIENCE_S) -> None:
        self._call_soon, self._patience_s = call_soon, patience_s
        self._waiting: deque[_Job] = deque()
        self._job: _Job | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing runs or waits."""
        return self._job is None and not self._waiting

    def submit(self, operation: Operation, done: Callable[[Any], None], failed: Callable[[BaseException], Any]) -> None:
        """Run ``operation`` after those submitted before.

        Args:
            operation: Fresh generator.
            done: Called with what it returned.
            failed: Called with what it raised.
        """
        self._waiting.append((operation, done, failed))
        if self._job is None:
            self._next()

    def _next(self) -> None:
        while self._job is None and self._waiting:
            self._job = self._waiting.popleft()
            self._resume(None, None)

    def _resume(self, value: Any, error: BaseException | None) -> None:
        """Go on with the job in hand until it waits for a future that is not done, or ends."""
        assert self._job is not None
        operation, done, failed = self._job
        while True:
            try:
                future = operation.throw(error) if error is not None else operation.send(value)
            except StopIteration as stop:
                self._job = None
                done(stop.value)
                return
            except Exception as problem:  # noqa: BLE001 - whatever it is, the next operation must run
                self._job = None
                failed(problem)
                return
            if not _done_within(future, self._patience_s):
                future.add_done_callback(self._wake)
                return
            value, error = _outcome(future)

    def _wake(self, future: Future[Any]) -> None:
        self._call_soon(lambda: self._continue(future))

    def _continue(self, future: Future[Any]) -> None:
        self._resume(*_outcome(future))
        self._next()


def _outcome(future: Future[Any]) -> tuple[Any, BaseException | None]:
    error = future.exception()
    return (None, error) if error is not None else (future.result(), None)


def _done_within(future: Future[Any], patience_s: float) -> bool:
    if not future.done() and patience_s > 0:
        with contextlib.suppress(FutureTimeoutError, CancelledError):
            future.exception(timeout=patience_s)
    return future.done()
