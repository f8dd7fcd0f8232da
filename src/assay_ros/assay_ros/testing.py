"""Helpers for tests that need rclpy: an isolated graph per test, and waiting for conditions instead of sleeping."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

__all__ = ["domain", "graph", "spin_until"]

_LOCKS = Path("/tmp") / f"assay-domains-{os.getuid()}"
_DOMAINS = range(60, 102)
DEADLINE_S = 20.0


@contextmanager
def domain() -> Iterator[int]:
    """Yield a ROS domain that no other test of this machine uses, held by a lock file."""
    _LOCKS.mkdir(mode=0o700, exist_ok=True)
    deadline = time.monotonic() + DEADLINE_S
    while True:
        for number in _DOMAINS:
            handle = os.open(_LOCKS / str(number), os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            try:
                yield number
            finally:
                os.close(handle)
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"no free ROS domain among {_DOMAINS} within {DEADLINE_S} s")
        time.sleep(0.05)


@contextmanager
def graph() -> Iterator[tuple[Context, SingleThreadedExecutor, int]]:
    """Yield a context in a domain of its own, an executor on it, and the domain's number."""
    with domain() as number:
        context = Context()
        rclpy.init(context=context, domain_id=number)
        executor = SingleThreadedExecutor(context=context)
        try:
            yield context, executor, number
        finally:
            for node in executor.get_nodes():
                node.destroy_node()
            executor.shutdown()
            rclpy.shutdown(context=context)


def spin_until(
    executor: SingleThreadedExecutor, condition: Callable[[], bool], deadline_s: float = DEADLINE_S, what: str = ""
) -> None:
    """Spin until ``condition()`` holds.

    Raises:
        TimeoutError: It did not hold within ``deadline_s``; the message names ``what``.
    """
    end = time.monotonic() + deadline_s
    while not condition():
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"{what or condition}: not within {deadline_s} s")
        executor.spin_once(timeout_sec=min(left, 0.1))
