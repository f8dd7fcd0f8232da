"""Parameters of the policy node, declared and documented once."""

from __future__ import annotations

from dataclasses import dataclass

from assay_core.rig import Camera, cameras
from assay_policies.registry import PolicySettings
from assay_ros.params import param

__all__ = ["PolicyParams"]


@dataclass(frozen=True)
class PolicyParams:
    """Which policy the node serves, and for what rig."""

    policy: str = param("scripted", "Policy to serve: scripted, random, noop, or inspect:NAME (of Inspect Robots)")
    policy_args: str = param("", "Arguments of an inspect:NAME policy: key=value, separated by spaces")
    label: str = param("", "Name of the policy in its answers and chunks; empty takes the policy's own")
    cameras: int = param(3, "How many cameras the rig has: top, left, right", low=0, high=3)
    camera_width: int = param(640, "Width of each picture", unit="pixels", low=16, high=4096)
    camera_height: int = param(360, "Height of each picture", unit="pixels", low=16, high=4096)
    control_hz: float = param(10.0, "Control rate of the rig", unit="Hz", low=0.1, high=1000.0)
    mode: str = param("lockstep", "How the rig keeps time", choices=("lockstep", "paced"))
    infer_deadline_s: float = param(10.0, "Longest inference", unit="s", low=0.01, high=3600.0)
    action_horizon: int = param(10, "Actions per chunk of the built-in policies", low=1, high=1000)

    def rig_cameras(self) -> tuple[Camera, ...]:
        """Return the cameras of the rig."""
        return cameras(self.cameras, self.camera_width, self.camera_height)

    def settings(self) -> PolicySettings:
        """Return what the registry needs to build the policy."""
        return PolicySettings(
            name=self.policy,
            cameras=self.rig_cameras(),
            control_hz=self.control_hz,
            mode=self.mode,
            action_horizon=self.action_horizon,
            args=self.policy_args,
            label=self.label,
        )
