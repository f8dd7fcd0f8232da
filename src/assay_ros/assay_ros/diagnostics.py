"""How a node is doing: counts, rates and latencies on ``diagnostics`` (diagnostic_msgs/DiagnosticArray, EVENT).

A message leaves when the node's state changes and every `PERIOD_S` besides, from a thread of its own: a timer would be
one more entity that the executor looks at in every control step, and a node whose callbacks hang is still heard of.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from assay_ros import quiet
from assay_ros.qos import EVENT

__all__ = ["PERIOD_S", "TOPIC", "Diagnostics", "Latencies", "Readings"]

TOPIC = "diagnostics"
PERIOD_S = 5.0
"""Time between two messages while nothing changes [s]."""

JOIN_S = 2.0
"""Longest wait for the thread when the node ends [s]."""

Readings: TypeAlias = Mapping[str, float | int | str]
"""Values by name; names carry units."""


class Latencies:
    """The newest latencies of something, for their percentiles.

    Args:
        keep: How many are kept.
    """

    def __init__(self, keep: int = 1000) -> None:
        self._newest: deque[float] = deque(maxlen=keep)
        self.count = 0
        """How many there were in all."""

    def add(self, seconds: float) -> None:
        """Take one [s]."""
        self._newest.append(seconds)
        self.count += 1

    def readings(self, name: str) -> dict[str, float]:
        """Return ``<name>_p50_ms`` and ``<name>_p99_ms`` of the newest ones [ms]; nothing where there are none."""
        ordered = sorted(self._newest)
        if not ordered:
            return {}
        last = len(ordered) - 1
        return {f"{name}_p{part}_ms": round(1e3 * ordered[round(last * part / 100)], 3) for part in (50, 99)}


class Diagnostics:
    """Publishes one node's readings until it is closed.

    Args:
        node: Its name is the name of the status.
        read: Returns the readings; called on the thread of this object, so it only reads.
        problem: Returns what is wrong; empty while nothing is.
        period_s: See `PERIOD_S`.
    """

    def __init__(
        self,
        node: Node,
        read: Callable[[], Readings],
        problem: Callable[[], str] = lambda: "",
        *,
        period_s: float = PERIOD_S,
    ) -> None:
        self._node, self._read, self._problem, self._period_s = node, read, problem, period_s
        self._publisher: Any = node.create_publisher(DiagnosticArray, TOPIC, EVENT, event_callbacks=quiet.PUBLISHER)
        self._state = "inactive"
        self._changed = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="diagnostics", daemon=True)
        node.context.on_shutdown(self._end)
        self._thread.start()

    def state(self, name: str) -> None:
        """Tell a change of the node's state, e.g. ``active``."""
        if name != self._state:
            self._state = name
            self._changed.set()

    def close(self) -> None:
        """Stop, and take the topic off the graph. May be called again."""
        self._end()
        if self._publisher is not None:
            self._thread.join(JOIN_S)
            self._node.destroy_publisher(self._publisher)
            self._publisher = None

    def _end(self) -> None:
        self._closed = True
        self._changed.set()

    def _run(self) -> None:
        while not self._closed:
            try:
                self._publisher.publish(self._message())
            except Exception as error:  # noqa: BLE001 (it must not end this thread: the next readings may be well)
                # A node that is being destroyed under this thread has nothing more to say.
                if not self._closed:
                    self._node.get_logger().warning(f"diagnostics cannot be published: {error!r}", once=True)
            self._changed.wait(self._period_s)
            self._changed.clear()

    def _message(self) -> DiagnosticArray:
        problem = self._problem()
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if problem else DiagnosticStatus.OK,
            name=self._node.get_name(),
            message=f"{self._state}: {problem}" if problem else self._state,
            values=[KeyValue(key=key, value=_shown(value)) for key, value in self._read().items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
        return message


def _shown(value: float | int | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
