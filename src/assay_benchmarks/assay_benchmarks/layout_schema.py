"""Shape of layout and rig files; imported only when one is read, since building the models takes time."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from assay_core.distributions import Scalar

__all__ = ["ArmSpec", "Arms", "Bench", "LayoutObject", "Rig", "SceneLayout"]

Pair: TypeAlias = Annotated[list[float], Field(min_length=2, max_length=2)]
Text: TypeAlias = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class LayoutObject(_Strict):
    """One object, in centimetres and degrees in ``frame``."""

    name: Text
    asset: Text
    role: str | None
    frame: Text
    """``bench`` or the name of the parent object."""
    xy_cm: Pair
    yaw_deg: float
    size_cm: float | None = None
    amount_g: float | None = None


class SceneLayout(_Strict):
    """A scene as positions."""

    layout_version: Literal[1]
    kitchenbench_version: str
    sim_contract_version: int
    instance_id: str
    eval_seed: int | None
    """None where only the trial's own seed is known."""
    epoch: int
    seed: int
    instruction: str
    target_kind: str
    objects: list[LayoutObject]
    conditions: dict[str, Scalar]
    setup_values: dict[str, Scalar]


class ArmSpec(_Strict):
    """Where an arm stands."""

    base_xy_cm: Pair
    faces: Literal["+x", "-x", "+y", "-y"]
    reach_cm: Annotated[float, Field(gt=0)] | None = None


class Arms(_Strict):
    """Both arms."""

    left: ArmSpec
    right: ArmSpec


class Bench(_Strict):
    """The table top, centred on the frame's origin along x."""

    size_cm: Pair
    """Width along x and depth along y."""


class Rig(_Strict):
    """A bimanual rig."""

    layout_version: Literal[1]
    rig_id: Text
    arms: Arms
    frame: dict[str, Any] | None = None
    bench: Bench | None = None
