"""What each kind of success criterion needs from a scene.

One table serves the check of task files, so that an author hears of a missing role before a robot does, and the
criteria themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["KINDS", "RESERVED_NAMES", "Kind"]

RESERVED_NAMES = ("bench", "gripper_left", "gripper_right")
"""Names that a world registers itself: the frame of the table and the two grippers."""


@dataclass(frozen=True)
class Kind:
    """Requirements of one target kind."""

    roles: tuple[str, ...]
    """Roles that must be present."""
    several: tuple[str, ...] = ()
    """Those of ``roles`` that several objects may have; of the others the criterion judges exactly one."""
    required: tuple[str, ...] = ()
    """Success parameters without which the criterion cannot be built."""
    optional: tuple[str, ...] = ()
    """Success parameters with a default."""


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "place_on": Kind(roles=("item", "surface")),
        "stack": Kind(roles=("stack",), several=("stack",)),
        "place_in": Kind(roles=("item", "rack")),
        "pour_into": Kind(roles=("vessel",), required=("substance", "total_g")),
        "open": Kind(roles=("container",)),
        "fold": Kind(roles=("cloth",), optional=("fold_count", "slack", "baseline")),
        "seal": Kind(roles=("lid", "container")),
        "handoff": Kind(roles=("item",), optional=("receiving_arm",)),
        "sort": Kind(roles=("sortable", "compartment"), several=("sortable", "compartment")),
        "scoop_transfer": Kind(roles=("container",), required=("substance", "target_g"), optional=("tol_g",)),
    }
)
"""The ten target kinds."""
