"""The rig's description as embodiment `assay` hands it out: with the link that leads policy `assay` to the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from inspect_robots.embodiment import EmbodimentInfo

from assay_core.rig import Camera
from assay_core.rig_spaces import STATE_KEY, action_space, embodiment_info

__all__ = ["JOINTS", "STATE_KEY", "RigInfo", "action_space", "build_info"]

JOINTS = "left/joint_states"
"""Stream whose stamp is the time of an observation's state."""


@dataclass(frozen=True)
class RigInfo(EmbodimentInfo):
    """The framework's description of an embodiment, and the link of the process it lives in."""

    link: Any = field(default=None, repr=False, compare=False)
    """An `assay_bridge.link.Link`."""


def build_info(
    cameras: Sequence[Camera], control_hz: float, *, mode: str = "lockstep", has_world: bool = True, link: Any = None
) -> RigInfo:
    """Return what the rig declares (see `assay_core.rig_spaces.embodiment_info`), carrying ``link``."""
    info = embodiment_info(cameras, control_hz, mode=mode, has_world=has_world)
    return RigInfo(**vars(info), link=link)
