"""Sampled values as a person at the bench reads them: rounded to what a hand can set, with units.

The values themselves, and the ``key = value`` lines made from them, are bit-identical everywhere and stay as they are;
this is only how they look.
"""

from __future__ import annotations

from assay_core.distributions import Scalar

__all__ = ["UNITS", "readable", "readable_line"]

UNITS: dict[str, tuple[str, int]] = {
    "cm": ("cm", 1),
    "deg": ("°", 0),
    "g": ("g", 0),
    "n": ("N", 1),
    "nm": ("N·m", 2),
}
"""Unit and decimals that are shown, by the last word of a variable's name."""


def readable(name: str, value: Scalar) -> str:
    """Return a value with its unit, e.g. ``-16.4 cm``.

    Args:
        name: The variable, whose last word says the unit: ``pot_x_cm``.
        value: In that unit.
    """
    unit, decimals = UNITS.get(name.rpartition("_")[2], ("", 2)) if "_" in name else ("", 2)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    text = f"{value:.{decimals}f}" if isinstance(value, float) and not value.is_integer() else f"{value:.0f}"
    text = text.removeprefix("-") if float(text) == 0 else text
    return text if not unit else f"{text}{unit}" if unit == "°" else f"{text} {unit}"


def readable_line(name: str, value: Scalar) -> str:
    """Return one line of a checklist, e.g. ``pot x: -16.4 cm``."""
    stem, _, last = name.rpartition("_")
    words = stem if stem and last in UNITS else name
    return f"{words.replace('_', ' ')}: {readable(name, value)}"
