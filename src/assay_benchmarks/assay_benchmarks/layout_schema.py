"""Shape of layout and rig files, version 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay_benchmarks.shapes import Integer, ListOf, MapOf, Number, Record, Text, either, nullable
from assay_core.distributions import Scalar

__all__ = ["RIG", "SCENE_LAYOUT", "ArmSpec", "LayoutObject", "Rig", "SceneLayout"]

_WORD = Text()
_PAIR = ListOf(Number(), least=2, most=2)
_VALUES = MapOf(_WORD, either("a number or text", Number(), Text(pattern=r"(?s).*")))

SCENE_LAYOUT = Record(
    required={
        "layout_version": Integer(1, 1),
        "kitchenbench_version": _WORD,
        "sim_contract_version": Integer(1),
        "instance_id": _WORD,
        "eval_seed": nullable("a whole number, or null where only the trial's own seed is known", Integer()),
        "epoch": Integer(0),
        "seed": Integer(0),
        "instruction": _WORD,
        "target_kind": _WORD,
        "objects": ListOf(
            Record(
                required={
                    "name": _WORD,
                    "asset": _WORD,
                    "role": nullable("text or null", _WORD),
                    "frame": _WORD,
                    "xy_cm": _PAIR,
                    "yaw_deg": Number(),
                },
                optional={"size_cm": Number(above=0.0), "amount_g": Number()},
            )
        ),
        "conditions": _VALUES,
        "setup_values": _VALUES,
    }
)
"""A scene layout."""

_ARM = Record(
    required={"base_xy_cm": _PAIR, "faces": Text(words=("+x", "-x", "+y", "-y"))},
    optional={"reach_cm": Number(above=0.0)},
)

RIG = Record(
    required={"layout_version": Integer(1, 1), "rig_id": _WORD, "arms": Record({"left": _ARM, "right": _ARM})},
    optional={
        "frame": MapOf(_WORD, either("a number or text", Number(), _WORD)),
        "bench": Record({"size_cm": _PAIR}),
    },
)
"""A bimanual rig."""


@dataclass(frozen=True)
class LayoutObject:
    """One object, in centimetres and degrees in ``frame``."""

    name: str
    asset: str
    role: str | None
    frame: str
    """``bench`` or the name of the parent object."""
    xy_cm: tuple[float, float]
    yaw_deg: float
    size_cm: float | None = None
    amount_g: float | None = None


@dataclass(frozen=True)
class SceneLayout:
    """A scene as positions."""

    layout_version: int
    kitchenbench_version: str
    sim_contract_version: int
    instance_id: str
    eval_seed: int | None
    """None where only the trial's own seed is known."""
    epoch: int
    seed: int
    instruction: str
    target_kind: str
    objects: tuple[LayoutObject, ...]
    conditions: Mapping[str, Scalar]
    setup_values: Mapping[str, Scalar]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SceneLayout:
        """Return a document whose shape is right as a layout."""
        objects = tuple(LayoutObject(**{**item, "xy_cm": _pair(item["xy_cm"])}) for item in data["objects"])
        return cls(**{**data, "objects": objects})


@dataclass(frozen=True)
class ArmSpec:
    """Where an arm stands."""

    base_xy_cm: tuple[float, float]
    faces: str
    """``+x``, ``-x``, ``+y`` or ``-y``."""
    reach_cm: float | None = None


@dataclass(frozen=True)
class Rig:
    """A bimanual rig."""

    layout_version: int
    rig_id: str
    arms: Mapping[str, ArmSpec]
    """``left`` and ``right``."""
    frame: Mapping[str, Scalar] | None = None
    bench_cm: tuple[float, float] | None = None
    """Width along x and depth along y of the bench."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rig:
        """Return a document whose shape is right as a rig."""
        arms = {side: ArmSpec(**{**arm, "base_xy_cm": _pair(arm["base_xy_cm"])}) for side, arm in data["arms"].items()}
        bench = _pair(data["bench"]["size_cm"]) if "bench" in data else None
        return cls(data["layout_version"], data["rig_id"], arms, data.get("frame"), bench)


def _pair(numbers: list[float]) -> tuple[float, float]:
    return float(numbers[0]), float(numbers[1])
