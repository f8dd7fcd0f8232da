"""What a task instance says about its scene: objects, bindings of sampled variables, success parameters.

It is a description only. `assay_benchmarks.blueprint` turns it, together with a realization, into concrete objects.
Lengths are centimetres and angles degrees, as an operator reads them from a ruler; frame ``bench``: origin at table
height midway between the arm bases, +x to the robot's right, +y away from the arms. An object with a ``parent`` is
placed in its parent's frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_core.distributions import Scalar

__all__ = ["SimObject", "SimSpec", "Var"]


@dataclass(frozen=True)
class Var:
    """A reference to a sampled variable, or to a static value, of the instance."""

    name: str


@dataclass(frozen=True)
class SimObject:
    """One kind of object in the scene, possibly several copies of it."""

    name: str
    """Unique in the instance; copies are called ``name_1`` .. ``name_n``."""
    asset: str | Var
    """Name in `assay_benchmarks.ASSETS`; a variable's value may contain spaces (``dish towel``)."""
    role: str | None = None
    """What the success criterion calls it, e.g. ``item``; None for a bystander."""
    x_cm: float | Var = 0.0
    y_cm: float | Var = 0.0
    yaw_deg: float | Var = 0.0
    """Counter-clockwise seen from above."""
    parent: str | None = None
    """Object in whose frame this one is placed; declared earlier."""
    count: int | Var = 1
    """Number of copies; a variable always gives numbered names, also when it samples 1."""
    split: tuple[str, ...] = ()
    """Assets dealt out to the copies in turn; empty means all are ``asset``."""
    spread_cm: float | Var = 0.0
    """Distance between copies along +x; widened where copies would touch."""
    size_cm: float | Var | None = None
    """Replaces the nominal width; what else scales with it is the world's choice."""
    size_order: Var | None = None
    """``largest_first`` or ``shuffled``: copies of decreasing size."""
    amount_g: float | Var | None = None
    """Mass of a granular substance."""

    def variables(self) -> Iterator[tuple[str, str]]:
        """Yield (field name, variable name) for every field that a variable sets."""
        for field in ("asset", "x_cm", "y_cm", "yaw_deg", "count", "spread_cm", "size_cm", "size_order", "amount_g"):
            value = getattr(self, field)
            if isinstance(value, Var):
                yield field, value.name


@dataclass(frozen=True)
class SimSpec:
    """The scene of one instance and what its success criterion needs to know."""

    objects: tuple[SimObject, ...]
    success: tuple[tuple[str, Scalar | Var], ...] = ()
    """Parameters of the criterion, in declaration order, e.g. ``(("total_g", Var("fill_g")),)``."""
    conditions: tuple[str, ...] = ()
    """Variables that no object shows but that an operator or a simulator sets, e.g. ``lid_torque_nm``."""
