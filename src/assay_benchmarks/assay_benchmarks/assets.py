"""Nominal sizes of everything that a KitchenBench scene can hold.

Worlds scale their models to these sizes, and criteria and diagnostics use them where no measured extent exists.

Source: KitchenBench 0.6.0's table of assets; see docs/sources.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["ASSETS", "AssetSpec", "asset_key"]


@dataclass(frozen=True)
class AssetSpec:
    """Extent of an asset that stands on the table unrotated."""

    footprint_w_cm: float
    """Along x."""
    footprint_h_cm: float
    """Along y."""
    height_cm: float
    """Along z; nominal also for granular substances, where it is the length of one piece."""


ASSETS: Mapping[str, AssetSpec] = MappingProxyType(
    {
        # cutlery
        "spoon": AssetSpec(4, 18, 3),
        "fork": AssetSpec(3, 19, 2),
        "knife": AssetSpec(2, 21, 2),
        "cutlery": AssetSpec(3, 19, 2),
        "utensil": AssetSpec(4, 25, 3),
        # dishware and vessels
        "plate": AssetSpec(26, 26, 3),
        "bowl": AssetSpec(16, 16, 8),
        "cup": AssetSpec(9, 9, 10),
        "pot": AssetSpec(24, 24, 14),
        "measuring_cup": AssetSpec(10, 10, 9),
        # cloths
        "napkin": AssetSpec(20, 20, 1),
        "cloth": AssetSpec(45, 45, 1),
        "dish_towel": AssetSpec(45, 65, 1),
        # containers and lids
        "jar": AssetSpec(9, 9, 12),
        "bottle": AssetSpec(7, 7, 24),
        "food_container": AssetSpec(18, 12, 8),
        "container": AssetSpec(14, 14, 10),
        "lid": AssetSpec(18, 12, 3),
        # trays and racks
        "tray": AssetSpec(30, 40, 5),
        "compartment": AssetSpec(9, 36, 4),
        "dish_rack": AssetSpec(35, 25, 12),
        # food
        "pasta_box": AssetSpec(8, 4, 26),
        "penne": AssetSpec(1, 1, 4),
        "rigatoni": AssetSpec(2, 2, 4),
        "dry_pasta": AssetSpec(1, 1, 5),
        "produce_item": AssetSpec(8, 8, 8),
        # anything that is only in the way
        "distractor": AssetSpec(8, 8, 8),
    }
)
"""Assets by name."""


def asset_key(words: str) -> str:
    """Return the key in `ASSETS` of a sampled value: ``dish towel`` is ``dish_towel``."""
    return words.replace(" ", "_")
