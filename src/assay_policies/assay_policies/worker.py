"""One thread beside the node's own, for policies that take long.

The node has to answer lifecycle transitions and to keep deadlines while a model thinks or a server hangs. A thread that
hangs cannot be stopped in Python: it is left behind, and the worker says so until it comes back.
"""

from __future__ import annotations

import functools
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Worker"]


class Worker:
    """Runs one job at a time on a thread of its own.

    Args:
        wake: Called from the thread when a job is done; must be thread-safe. The owner then calls `collect`.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._jobs: queue.SimpleQueue[tuple[str, Callable[[], Any], Callable[[Any, BaseException | None], None]] | None]
        self._jobs = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._running: tuple[str, float] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="policy-worker", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> str:
        """What the thread is at and for how long, in words; empty when it is free."""
        running = self._running
        if running is None:
            return ""
        return f"{running[0]} has been running for {time.monotonic() - running[1]:.1f} s"

    @property
    def job(self) -> str:
        """What the thread is at, in words; empty when it is free."""
        running = self._running
        return running[0] if running is not None else ""

    @property
    def ident(self) -> int | None:
        """Which thread it is."""
        return self._thread.ident

    def submit(self, what: str, job: Callable[[], Any], then: Callable[[Any, BaseException | None], None]) -> None:
        """Run ``job`` on the thread; ``then(result, error)`` is called by `collect`.

        Args:
            what: The job in words, for `busy`.
            job: Runs on the worker's thread.
            then: Runs on the thread that calls `collect`.
        """
        self._running = (what, time.monotonic())
        self._jobs.put((what, job, then))

    def collect(self) -> None:
        """Call the continuation of every job that is done."""
        while True:
            try:
                then = self._done.get_nowait()
            except queue.Empty:
                return
            then()

    def close(self) -> None:
        """Let the thread end after its current job, whose result is dropped; one that hangs ends with the process."""
        self._closed = True
        self._jobs.put(None)

    def _run(self) -> None:
        while (item := self._jobs.get()) is not None:
            _, job, then = item
            result: Any = None
            error: BaseException | None = None
            try:
                result = job()
            except BaseException as raised:  # noqa: BLE001 (handed to the node's thread, which decides)
                error = raised
            self._running = None
            if self._closed:
                return
            self._done.put(functools.partial(then, result, error))
            self._wake()
