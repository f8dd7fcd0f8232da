"""How far the graph has come up: written by the lifecycle manager to a file, read by whoever started the processes.

The manager also publishes this as ``bringup/state``. The file lets a launcher wait without joining the ROS graph, which
would cost it a second; its path comes with the environment, so that launch files need not know it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["STATE_FILE_VARIABLE", "Bringup", "NodeState", "read_state", "renew", "renewed_ns", "write_state"]

STATE_FILE_VARIABLE = "ASSAY_BRINGUP_STATE_FILE"


@dataclass(frozen=True)
class NodeState:
    """One node that the manager brings up."""

    name: str
    state: str
    """absent, unconfigured, configuring, inactive, activating, active, failed, lost or waiting."""
    message: str = ""
    """What it waits for, or why it failed."""


@dataclass(frozen=True)
class Bringup:
    """The whole graph."""

    ready: bool = False
    """Every node is active."""
    failed: bool = False
    """A node could not be brought up; the message says which and why."""
    message: str = ""
    nodes: tuple[NodeState, ...] = ()

    def missing(self) -> str:
        """Return what is not active yet, for an error message."""
        return "; ".join(
            f"{node.name}: {node.state}" + (f" ({node.message})" if node.message else "")
            for node in self.nodes
            if node.state != "active"
        )


def write_state(path: Path, state: Bringup) -> None:
    """Write the state so that a reader sees the old or the new one, never a part."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(dataclasses.asdict(state)) + "\n", encoding="utf-8")
    temporary.replace(path)


def renew(path: Path) -> None:
    """Give a sign of life: the state is as it was, and whoever wrote it is still at work."""
    os.utime(path)


def renewed_ns(path: Path) -> int:
    """Return when the state was written or renewed last [ns, any origin]; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def read_state(path: Path) -> Bringup | None:
    """Return the state, or None where the manager has not written any yet."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    nodes = tuple(NodeState(**node) for node in data.pop("nodes"))
    return Bringup(nodes=nodes, **data)
