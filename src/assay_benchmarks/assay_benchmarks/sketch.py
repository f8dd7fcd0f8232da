"""A scene as text: the bench from above, to see at a glance what an instance asks for."""

from __future__ import annotations

import string

import numpy as np

from assay_benchmarks.blueprint import SceneBlueprint
from assay_benchmarks.geometry import footprints

__all__ = ["top_view"]

_WIDTH_CM, _DEPTH_CM = 120.0, 60.0
_COLUMNS, _ROWS = 60, 15


def top_view(blueprint: SceneBlueprint) -> tuple[str, ...]:
    """Return lines of text: 120 x 60 cm of the bench, then which letter is which object.

    One character is 2 cm wide and 4 cm deep; the arms' side is at the bottom, +x to the right. Children are drawn
    over their parents, an object smaller than a character as one.
    """
    grid = np.full((_ROWS, _COLUMNS), ".")
    x_cm = (np.arange(_COLUMNS) + 0.5) * _WIDTH_CM / _COLUMNS - _WIDTH_CM / 2
    y_cm = _DEPTH_CM / 2 - (np.arange(_ROWS) + 0.5) * _DEPTH_CM / _ROWS
    legend = []
    for index, (name, place) in enumerate(footprints(blueprint).items()):
        letter = string.ascii_letters[index % len(string.ascii_letters)]
        offset = np.stack(np.meshgrid(x_cm - place.x_cm, y_cm - place.y_cm), axis=-1) @ place.axes().T
        grid[(np.abs(offset) <= np.array([place.width_cm, place.depth_cm]) / 2).all(axis=-1)] = letter
        inside = abs(place.x_cm) < _WIDTH_CM / 2 and abs(place.y_cm) < _DEPTH_CM / 2
        if inside:
            grid[int(np.abs(y_cm - place.y_cm).argmin()), int(np.abs(x_cm - place.x_cm).argmin())] = letter
        where = f"({place.x_cm:+.1f}, {place.y_cm:+.1f}) cm" + (f", {place.yaw_deg:.0f}°" if place.yaw_deg else "")
        legend.append(f"{letter} {name} at {where}" + ("" if inside else ", off the picture"))
    return (*("".join(row) for row in grid), *legend)
