"""What a person reads has units and no digits that no hand can set."""

from __future__ import annotations

import pytest

from assay_core.distributions import Scalar
from assay_core.readable import readable, readable_line


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("pot_x_cm", -16.447842401058505, "pot x: -16.4 cm"),
        ("pot_x_cm", -0.011, "pot x: 0.0 cm"),
        ("pot_x_cm", 8.0, "pot x: 8 cm"),
        ("tilt_deg", 72.11470186857572, "tilt: 72°"),
        ("fill_g", 317.12983342872485, "fill: 317 g"),
        ("press_force_n", 13.732430540965517, "press force: 13.7 N"),
        ("lid_torque_nm", 1.6643240721287356, "lid torque: 1.66 N·m"),
        ("slack", 0.32050978608255876, "slack: 0.32"),
        ("count", 5, "count: 5"),
        ("size_order", "largest_first", "size order: largest_first"),
        ("wet", True, "wet: True"),
        ("n", 3, "n: 3"),
    ],
)
def test_lines_of_a_checklist(name: str, value: Scalar, text: str) -> None:
    assert readable_line(name, value) == text


def test_a_value_alone() -> None:
    assert readable("spread_cm", 8.25) == "8.2 cm"
