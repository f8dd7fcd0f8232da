"""What the benchmark node says of itself on ``diagnostics``: whether the journal keeps up, and what was refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rclpy.node import Node

from assay_ros.diagnostics import Diagnostics, Latencies, Readings

__all__ = ["Health"]


@dataclass
class Health:
    """Counts of one node, over all its sessions."""

    commits: Latencies = field(default_factory=Latencies)
    """From the decision to write until the events were on disk."""
    failed: int = 0
    """Commits that failed: nothing was appended."""
    refused: int = 0
    """Operator messages that got a receipt saying why not."""
    _told: Diagnostics | None = None

    def open(self, node: Node) -> Callable[[], None]:
        """Begin to publish, and return what ends it."""
        self._told = Diagnostics(node, self.readings, lambda: f"{self.failed} commits failed" if self.failed else "")
        return self._told.close

    def state(self, name: str) -> None:
        """Tell a change of the node's state."""
        if self._told is not None:
            self._told.state(name)

    def readings(self) -> Readings:
        """Return the counts by name."""
        return {
            "commits": self.commits.count,
            "commits_failed": self.failed,
            "messages_refused": self.refused,
            **self.commits.readings("commit"),
        }
