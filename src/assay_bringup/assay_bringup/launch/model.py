"""A resolved launch: every process with its command, parameters, remappings and environment, before anything starts.

JSON-native, so that it can be printed, compared with a golden file, and read by other tools.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

__all__ = ["PARAMETERS", "ParameterSource", "Resolved", "ResolvedProcess"]

PARAMETERS = "{parameters}"
"""Stands in a command for the path of a parameter file that is written when the process starts."""

SIGTERM_AFTER_S = 5.0
"""Time from SIGINT to SIGTERM where the launch file does not say, as under `ros2 launch` [s]."""

SIGKILL_AFTER_S = 5.0
"""Time from SIGTERM to SIGKILL where the launch file does not say, as under `ros2 launch` [s]."""


@dataclass(frozen=True)
class ParameterSource:
    """One step of a node's parameters; later ones win."""

    file: str | None
    """Path of a parameter file, or None for values given in the launch file."""
    values: dict[str, Any]
    """Values given in the launch file; empty for a file."""


@dataclass(frozen=True)
class ResolvedProcess:
    """One process that the launch starts."""

    label: str
    """Name in messages and log files: the node's name, or that of the executable."""
    source: str
    """``FILE:LINE`` of the action."""
    command: list[str]
    """Complete, but for `PARAMETERS` where a parameter file is to be written."""
    package: str | None = None
    executable: str = ""
    node: str | None = None
    """Node name given with ``__node``; None for other processes and unnamed nodes."""
    namespace: str | None = None
    """Absolute namespace given with ``__ns``; None where none is given, which means ``/``."""
    parameters: list[ParameterSource] = field(default_factory=list)
    remaps: list[list[str]] = field(default_factory=list)
    """Pairs of from and to."""
    environment: dict[str, str | None] = field(default_factory=dict)
    """What the launch file sets, also where the launcher's own environment has it already; None removes a variable."""
    cwd: str | None = None
    output: str = "log"
    respawn: bool = False
    respawn_delay_s: float = 0.0
    respawn_max_retries: int = -1
    """Negative: without limit."""
    on_exit: str | None = None
    """``shutdown``: the rest ends with it."""
    sigterm_after_s: float = SIGTERM_AFTER_S
    sigkill_after_s: float = SIGKILL_AFTER_S

    @property
    def parameter_key(self) -> str:
        """Key of the values in a written parameter file: the node where name and namespace are known, else any."""
        if self.node is None or self.namespace is None:
            return "/**"
        return f"{self.namespace.rstrip('/')}/{self.node}"


@dataclass(frozen=True)
class Resolved:
    """A launch file with its arguments, resolved."""

    file: str
    arguments: dict[str, str]
    """Every declared argument with the value in force."""
    processes: list[ResolvedProcess]
    messages: list[str]
    """What the file's `log` actions say."""

    def to_json(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return dataclasses.asdict(self)

    def process(self, label: str) -> ResolvedProcess | None:
        """Return the process of that label, or None."""
        return next((p for p in self.processes if p.label == label), None)
