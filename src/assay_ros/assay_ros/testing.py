"""Helpers for tests that need rclpy: an isolated graph per test, and waiting for conditions instead of sleeping."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import rclpy
from rclpy.context import Context
from rclpy.serialization import serialize_message

from assay_core import domains
from assay_ros.executor import QuickExecutor
from assay_ros.raw import image_pixels

__all__ = ["domain", "graph", "image_array", "spin_until"]

DEADLINE_S = 20.0


@contextmanager
def domain() -> Iterator[int]:
    """Yield a ROS domain that no other test or session of this machine uses."""
    with domains.claim(pool=domains.TEST_DOMAINS, deadline_s=DEADLINE_S) as held:
        yield held.number


@contextmanager
def graph() -> Iterator[tuple[Context, QuickExecutor, int]]:
    """Yield a context in a domain of its own, an executor on it, and the domain's number."""
    # Lifecycle nodes of earlier tests leave their services on the graph until they are collected, and numbers of
    # domains come round again.
    gc.collect()
    with domain() as number:
        context = Context()
        rclpy.init(context=context, domain_id=number)
        executor = QuickExecutor(context=context)
        try:
            yield context, executor, number
        finally:
            for node in executor.get_nodes():
                node.destroy_node()
            executor.shutdown()
            rclpy.shutdown(context=context)


def spin_until(
    executor: QuickExecutor, condition: Callable[[], bool], deadline_s: float = DEADLINE_S, what: str = ""
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


def image_array(message: Any) -> npt.NDArray[np.uint8]:
    """Return the pixels of a `sensor_msgs/Image` as the workspace's readers see them, shape (height, width, 3) RGB.

    Raises:
        ValueError: It is torn or not rgb8.
    """
    return image_pixels(serialize_message(message))
