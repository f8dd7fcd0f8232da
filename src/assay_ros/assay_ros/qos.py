"""QoS profiles named by meaning, so that both ends of a topic cannot disagree.

A subscriber that asks for more than its publisher offers is silently not matched in ROS 2. Every publisher and
subscriber of the workspace takes its profile from here.
"""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

__all__ = ["COMMAND", "COMMAND_LIFESPAN_S", "COMMAND_LOCKSTEP", "EVENT", "LATCHED", "LOG", "SENSOR", "SENSOR_DEPTH"]

SENSOR_DEPTH = 5
COMMAND_LIFESPAN_S = 0.25
"""A command older than this is not delivered any more [s]."""


def _profile(depth: int, durability: DurabilityPolicy, lifespan_s: float | None = None) -> QoSProfile:
    profile = QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE,
        durability=durability,
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
    )
    if lifespan_s is not None:
        profile.lifespan = Duration(seconds=lifespan_s)
    return profile


SENSOR = _profile(SENSOR_DEPTH, DurabilityPolicy.VOLATILE)
"""Measured streams: joint states, images, world state."""

COMMAND = _profile(1, DurabilityPolicy.VOLATILE, COMMAND_LIFESPAN_S)
"""Commands to hardware: only the newest counts, and an old one must not arrive late."""

COMMAND_LOCKSTEP = _profile(1, DurabilityPolicy.VOLATILE)
"""Commands in lockstep, where simulated time waits for them: the same without a lifespan in wall time."""

LATCHED = _profile(1, DurabilityPolicy.TRANSIENT_LOCAL)
"""State: a late subscriber gets the last value. Dies with its writer."""

EVENT = _profile(100, DurabilityPolicy.VOLATILE)
"""Things that happen once and must not be lost."""

LOG = _profile(100, DurabilityPolicy.TRANSIENT_LOCAL)
"""Log messages (/rosout): what was said shortly before is heard too."""
