"""What goes into and comes out of the graph client, as plain data.

Kept apart from the client so that the session runner, the embodiment and tests can name these types without rclpy.
"""

from __future__ import annotations

import math
import os
import socket
import uuid
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from assay_core.errors import ConfigError, RigFault
from assay_core.rig import Camera

__all__ = ["MODES", "ChunkData", "ClientConfig", "SessionOpened", "TrialEnded", "VerdictData", "new_runner_id"]

MODES = ("lockstep", "paced")


def new_runner_id() -> str:
    """Return an id for this runner: host, process id and a nonce."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True)
class ClientConfig:
    """How to talk to one rig. Every deadline is the longest wait for one answer.

    Raises:
        ConfigError: A rate, deadline or mode is out of range.
    """

    cameras: tuple[Camera, ...] = ()
    """Cameras whose pictures are part of each frame set."""
    control_hz: float = 10.0
    """Control steps per second [Hz], 0.1 to 1000."""
    mode: str = "lockstep"
    """``lockstep``: a simulated world steps when told. ``paced``: the rig runs in real time."""
    session_id: str = ""
    runner_id: str = field(default_factory=new_runner_id)
    namespace: str = ""
    """Namespace of the rig; empty for the root."""
    has_world: bool = True
    """Whether a simulated world publishes progress. False on hardware; lockstep needs True."""
    tolerance_s: float = 0.5
    """Paced mode: oldest sample that may be part of a frame set [s]."""
    connect_s: float = 15.0
    """For the graph's streams and services to appear [s]."""
    service_s: float = 10.0
    """For one answer of the benchmark node [s]."""
    step_s: float = 5.0
    """For all streams of one step [s]."""
    reset_s: float = 60.0
    """For the policy to prepare for a trial [s]; a first trial may load a model."""
    infer_s: float = 10.0
    """For one inference [s]."""
    arrange_s: float = 3600.0
    """For the scene to be arranged [s]; a person may do it."""
    verdict_s: float = 3600.0
    """For a verdict [s]; a person may give it."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError("mode", expected=" or ".join(MODES), got=repr(self.mode), fix="choose one of them")
        if self.mode == "lockstep" and not self.has_world:
            raise ConfigError(
                "mode lockstep", expected="a simulated world", got="has_world=False", fix="use mode paced on hardware"
            )
        _check("control_hz", self.control_hz, 0.1, 1000.0, "Hz")
        for name in (
            "tolerance_s", "connect_s", "service_s", "step_s", "reset_s", "infer_s", "arrange_s", "verdict_s"
        ):  # fmt: skip
            _check(name, getattr(self, name), 0.001, 30 * 86400.0, "s")

    @property
    def period_ns(self) -> int:
        """Control period [ns], rounded: what a world adds to its time in one lockstep step."""
        return round(1e9 / self.control_hz)


def _check(name: str, value: float, low: float, high: float, unit: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ConfigError(name, expected=f"a number [{unit}]", got=repr(value), fix=f"give {low:g} to {high:g} {unit}")
    if not low <= value <= high:
        raise ConfigError(name, expected=f"{low:g} to {high:g} {unit}", got=f"{value:g}", fix=f"change {name}")


@dataclass(frozen=True)
class SessionOpened:
    """The benchmark node's answer to opening a session."""

    next_plan_index: int
    """First plan entry without a final result."""
    head_hash: str
    """SHA-256, hex, of the journal's last event."""


@dataclass(frozen=True, eq=False)
class ChunkData:
    """One inference of the policy node."""

    actions: npt.NDArray[np.float64]
    """Shape (n, 14), n >= 1 [rad, gripper 0..1]; finite."""
    latency_s: float
    """Wall time of the inference, measured by the policy node [s]."""
    control_hz: float | None
    """Rate the actions are meant for [Hz]; None when the policy states none."""
    chunk_id: int
    label: str
    """The label operators may see."""


@dataclass(frozen=True)
class VerdictData:
    """The verdict in force for one trial."""

    uuid: str
    trial_id: str
    grader_id: str
    source: str
    """rqt, web, terminal, checker, ..."""
    outcome: str
    """``success``, ``failure`` or ``invalid``."""
    invalid_reason: str
    """Why, for ``invalid``; empty otherwise."""
    stage: int | None
    """0..4 by the task's rubric; None when the grader gave none."""
    note: str
    decided_ns: int
    """When the grader decided [ns]."""


class TrialEnded(RigFault):
    """The trial reached a terminal state that was not waited for (SKIPPED or INVALID)."""

    def __init__(self, message: str, *, state: str, code: int) -> None:
        super().__init__(message)
        self.state = state
        """Name of the terminal state, e.g. ``SKIPPED``."""
        self.code = code
        """ResultCode of the end."""
