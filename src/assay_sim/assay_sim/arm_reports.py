"""What the mock world's arms report about themselves: state on change, and a batched trace.

The same topics as an arm driver's, so that consoles, recorder and audit need not know what is underneath.
"""

from __future__ import annotations

import array
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from rclpy.node import Node

from assay_core.rig import ARM_DIM, ARMS
from assay_msgs.msg import ArmState, ArmTrace
from assay_ros.convert import from_ns
from assay_ros.qos import LATCHED, SENSOR
from assay_sim.mock_dynamics import MockDynamics
from assay_sim.mock_streams import publisher

__all__ = ["TRACE_SAMPLES", "ArmReport", "ArmTracer"]

Array = npt.NDArray[np.float64]

TRACE_SAMPLES = 20
"""Samples per ArmTrace message."""


class ArmReport:
    """The ``state`` topic of one arm, published when it changes.

    Args:
        node: Owner of the publisher.
        arm: left or right.
    """

    def __init__(self, node: Node, arm: str) -> None:
        self.arm = arm
        self._pub = publisher(node, ArmState, f"{arm}/state", LATCHED)
        nan = array.array("d", [math.nan] * ARM_DIM)
        self.state = ArmState(arm=arm, fault_code=ArmState.FAULT_NONE, temperature_c=nan, command_age_s=math.nan)
        self.state.header.frame_id = f"{arm}_base"
        self.refused = 0
        """Commands refused since the last trial began."""
        self._lease_is_open = True

    def set_mode(self, armed: bool, stamp_ns: int) -> None:
        """Arm or disarm; the mock arms itself, because nothing moves that could hurt."""
        state = self.state
        state.mode = ArmState.MODE_ARMED if armed else ArmState.MODE_DISARMED
        state.armed_by = "mock_world" if armed else ""
        state.armed_reason = "simulated arm" if armed else ""
        state.lease, state.message, state.command_age_s = "", "", math.nan
        self._publish(stamp_ns)

    def begin(self, stamp_ns: int) -> None:
        """Start a trial: the first commander takes the lease, and refusals are forgotten."""
        self._lease_is_open = True
        self.refused = 0
        if self.state.message:
            self.state.message = ""
            self._publish(stamp_ns)

    def holder(self) -> str:
        """Return the token of who holds the lease in this trial; empty until the first command."""
        return "" if self._lease_is_open else self.state.lease

    def accept(self, lease: str, limits: int, stamp_ns: int) -> None:
        """Note an accepted command; publishes only when lease, limits or message change by it."""
        state = self.state
        self._lease_is_open = False
        fresh = limits & ~state.limits & ~ArmState.LIMIT_VELOCITY
        if lease == state.lease and not state.message and not fresh:
            return
        state.lease, state.message, state.command_age_s = lease, "", 0.0
        self._publish(stamp_ns, limits)

    def refuse(self, reason: str, stamp_ns: int) -> None:
        """Note a refused command and say why."""
        self.refused += 1
        self.state.message = f"{self.arm}/command refused: {reason} ({self.refused} refused in this trial)"
        self._publish(stamp_ns, ArmState.LIMIT_REFUSED)

    def _publish(self, stamp_ns: int, limits: int = ArmState.LIMIT_NONE) -> None:
        self.state.header.stamp = from_ns(stamp_ns)
        self.state.limits = limits
        self._pub.publish(self.state)

    def destroy(self, node: Node) -> None:
        """Take the publisher off the graph."""
        node.destroy_publisher(self._pub)


class ArmTracer:
    """The ``trace`` topic of one arm: every step, `TRACE_SAMPLES` steps per message.

    Args:
        node: Owner of the publisher.
        index: Place of the arm in `assay_core.rig.ARMS`.
    """

    def __init__(self, node: Node, index: int) -> None:
        self._columns = slice(index * ARM_DIM, (index + 1) * ARM_DIM)
        self._index = index
        self._pub = publisher(node, ArmTrace, f"{ARMS[index]}/trace", SENSOR)
        self._message = ArmTrace(arm=ARMS[index], joints=ARM_DIM)
        self._rows: list[tuple[int, int, int, bytes, bytes, bytes]] = []

    def add(self, stamp_ns: int, sequence: int, commanded: Array, dynamics: MockDynamics) -> None:
        """Take the sample of one step.

        Args:
            stamp_ns: Of the state after the step [ns].
            sequence: Of the command in force.
            commanded: All 14 targets before any limit.
            dynamics: After the step.
        """
        limits = limits_of(dynamics, self._index)
        values = (x[self._columns].tobytes() for x in (commanded, dynamics.applied, dynamics.position))
        self._rows.append((stamp_ns, sequence, limits, *values))  # type: ignore[arg-type]
        if len(self._rows) == TRACE_SAMPLES:
            self.flush()

    def flush(self, session_id: str | None = None, trial_id: str | None = None) -> None:
        """Publish what was collected; then name the session and trial of what follows, where given."""
        message: Any = self._message
        if self._rows:
            stamps, sequences, limits, commanded, applied, measured = zip(*self._rows, strict=True)
            message.header.stamp = from_ns(stamps[0])
            message.samples = len(stamps)
            message.stamp_offset_ns = array.array("q", [stamp - stamps[0] for stamp in stamps])
            message.command_sequence = array.array("Q", sequences)
            message.limits = array.array("I", limits)
            for field, rows in (("commanded", commanded), ("applied", applied), ("measured", measured)):
                setattr(message, field, array.array("d", b"".join(rows)))
            message.effort = array.array("d", [math.nan] * (len(stamps) * ARM_DIM))
            self._rows.clear()
            self._pub.publish(message)
        if session_id is not None and trial_id is not None:
            message.session_id, message.trial_id = session_id, trial_id

    def destroy(self, node: Node) -> None:
        """Take the publisher off the graph."""
        node.destroy_publisher(self._pub)


def limits_of(dynamics: MockDynamics, arm: int) -> int:
    """Return the ``LIMIT_*`` bits that acted on one arm at the last step."""
    position = ArmState.LIMIT_POSITION if dynamics.clamped[arm] else ArmState.LIMIT_NONE
    velocity = ArmState.LIMIT_VELOCITY if dynamics.slowed[arm] else ArmState.LIMIT_NONE
    return int(position | velocity)
