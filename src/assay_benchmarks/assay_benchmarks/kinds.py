"""What each kind of success criterion asks for: thresholds, roles, parameters.

One table serves the check of task files, so that an author hears of a missing role before a robot does, the criteria
themselves, and the sentences that people read.

Source: KitchenBench 0.6.0's criteria, contract version 1; see docs/sources.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = [
    "CONTACT_TOL_M",
    "CONTAIN_FRACTION",
    "FOLD_MAX_HEIGHT_M",
    "FOLD_RATIO_PER_FOLD",
    "GRASP_RADIUS_M",
    "KINDS",
    "OPEN_FRACTION",
    "RESERVED_NAMES",
    "SCOOP_TOL_G",
    "SEAL_TOL_M",
    "TRANSFER_FRACTION",
    "Kind",
]

CONTACT_TOL_M = 0.02
"""Gap between an item and what it stands on [m]."""
SEAL_TOL_M = 0.04
"""Gap between a lid and its container's rim [m]."""
CONTAIN_FRACTION = 0.8
"""Fraction of an item that must be inside."""
TRANSFER_FRACTION = 0.8
"""Fraction of a poured mass that must arrive."""
OPEN_FRACTION = 0.7
"""Opening of a lid, 0 closed to 1 open."""
FOLD_RATIO_PER_FOLD = 0.6
"""Fraction of the area that may be left after each fold."""
FOLD_MAX_HEIGHT_M = 0.04
"""Height of a folded cloth [m]."""
GRASP_RADIUS_M = 0.12
"""Distance from a gripper's centre to an item that counts as holding it [m]."""
SCOOP_TOL_G = 15.0
"""Tolerance of a scooped mass, unless the instance states another [g]."""

RESERVED_NAMES = ("bench", "gripper_left", "gripper_right")
"""Names that a world registers itself: the frame of the table and the two grippers."""


@dataclass(frozen=True)
class Kind:
    """Requirements of one target kind."""

    criterion: str
    """When it is done, in one sentence."""
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
        "place_on": Kind(
            f"the item's centre lies over the surface, its underside within {CONTACT_TOL_M * 100:g} cm of the top",
            roles=("item", "surface"),
        ),
        "stack": Kind(
            "all pieces form one stack: each centre over the piece below, each underside in it or at most "
            f"{CONTACT_TOL_M * 100:g} cm above it",
            roles=("stack",),
            several=("stack",),
        ),
        "place_in": Kind(f"at least {CONTAIN_FRACTION:.0%} of the item is inside the rack", roles=("item", "rack")),
        "pour_into": Kind(
            f"at least {TRANSFER_FRACTION:.0%} of total_g of the substance is in the vessel",
            roles=("vessel",),
            required=("substance", "total_g"),
        ),
        "open": Kind(f"the container is open by at least {OPEN_FRACTION:.0%}", roles=("container",)),
        "fold": Kind(
            f"the cloth is at most {FOLD_MAX_HEIGHT_M * 100:g} cm high and covers at most "
            f"{FOLD_RATIO_PER_FOLD:g}^fold_count x (1 + slack) of its area at the start (or of its nominal area)",
            roles=("cloth",),
            optional=("fold_count", "slack", "baseline"),
        ),
        "seal": Kind(
            f"the lid's centre lies over the container, its underside within {SEAL_TOL_M * 100:g} cm of the rim",
            roles=("lid", "container"),
        ),
        "handoff": Kind(
            "the item passes directly from one gripper to the other, which is the receiving arm, and the giver is "
            f"more than {GRASP_RADIUS_M * 100:g} cm away",
            roles=("item",),
            optional=("receiving_arm",),
        ),
        "sort": Kind(
            f"at least {CONTAIN_FRACTION:.0%} of every piece is in the compartment of its kind",
            roles=("sortable", "compartment"),
            several=("sortable", "compartment"),
        ),
        "scoop_transfer": Kind(
            f"the mass in the container is within tol_g (default {SCOOP_TOL_G:g} g) of target_g",
            roles=("container",),
            required=("substance", "target_g"),
            optional=("tol_g",),
        ),
    }
)
"""The ten target kinds."""
