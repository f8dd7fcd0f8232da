"""Reads launch files in the YAML grammar of ROS 2 and runs them where `ros2 launch` is not installed."""

from __future__ import annotations

from assay_bringup.launch.model import Resolved, ResolvedProcess
from assay_bringup.launch.processes import GraphProcesses
from assay_bringup.launch.resolve import resolve

__all__ = ["GraphProcesses", "Resolved", "ResolvedProcess", "resolve"]
