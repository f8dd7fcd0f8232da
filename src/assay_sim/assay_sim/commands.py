"""Reads ArmCommand messages: checks them whole, and knows what they ask for at any moment.

A command is one point or a whole chunk. Either is taken entirely or refused with a reason, before anything moves.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assay_core.rig import ARMS, joint_names
from assay_sim.mock_dynamics import check_targets

__all__ = ["Command", "read_command"]

Array = npt.NDArray[np.float64]

_NAMES = {arm: joint_names(arm) for arm in ARMS}


@dataclass(frozen=True)
class Command:
    """Targets of one arm over time."""

    stamp_ns: int
    """Header stamp [ns]."""
    sequence: int
    lease: str
    times_s: Sequence[float]
    """Of each point after the stamp [s], increasing; empty for a single point."""
    points: Sequence[Array]
    """Targets, shape (7,) each [rad, gripper 0..1]."""

    def at(self, elapsed_s: float) -> Array:
        """Return the targets ``elapsed_s`` after the stamp, shape (7,); before the first point it is the first."""
        if len(self.points) == 1:
            return self.points[0]
        return np.array([np.interp(elapsed_s, self.times_s, column) for column in np.array(self.points).T])


def read_command(arm: str, message: Any) -> Command | str:
    """Return the command of an ArmCommand message, or why it is refused.

    Args:
        arm: left or right.
        message: `assay_msgs/ArmCommand`; without joint names the documented order counts.
    """
    trajectory, stamp = message.trajectory, message.header.stamp
    if trajectory.joint_names and tuple(trajectory.joint_names) != _NAMES[arm]:
        return f"expected joints {', '.join(_NAMES[arm])}, got {', '.join(trajectory.joint_names)}"
    if not trajectory.points:
        return "expected at least one point, got none"
    rows = [np.frombuffer(point.positions, dtype=np.float64) for point in trajectory.points]
    for row in rows:
        reason = check_targets(row)
        if reason:
            return reason
    times: list[float] = []
    if len(rows) > 1:
        starts = (point.time_from_start for point in trajectory.points)
        times = [start.sec + start.nanosec * 1e-9 for start in starts]
        if any(later <= earlier for earlier, later in itertools.pairwise(times)):
            return f"expected increasing time_from_start, got {times}"
    stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
    return Command(stamp_ns, message.sequence, message.lease, times, rows)
