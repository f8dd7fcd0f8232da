"""From a task instance and a seed to concrete objects: what a world spawns and an operator arranges.

The simulation contract has a version, because a world that spawns differently measures something else. Units are
centimetres, degrees and grams, as in the task files; frame ``bench`` has its origin at table height midway between the
arm bases, +x to the robot's right, +y away from the arms. A blueprint says nothing about height: worlds set objects
down on what carries them.

Source: KitchenBench 0.6.0's simulation contract, version 1; see docs/sources.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from assay_benchmarks.assets import ASSETS, asset_key
from assay_benchmarks.specs import UnknownInstanceError, instance_by_id
from assay_core.distributions import Scalar
from assay_core.errors import ConfigError
from assay_core.instances import Realization, TaskInstance
from assay_core.scene_spec import SimObject, Var

if TYPE_CHECKING:
    from inspect_robots import Scene

__all__ = [
    "SIM_CONTRACT_VERSION",
    "SIZE_ORDER_STEP",
    "SPREAD_CLEARANCE_CM",
    "SceneBlueprint",
    "SceneObject",
    "blueprint_for",
    "build_blueprint",
    "find_instance",
    "realize_scene",
    "scene_id_of",
]

SIM_CONTRACT_VERSION = 1
"""Raised whenever blueprints or success criteria change; log it with every run."""

SIZE_ORDER_STEP = 0.12
"""Each copy of an ordered set is smaller than the one before by this fraction of the first."""

SPREAD_CLEARANCE_CM = 1.0
"""Least gap between copies of one object."""


@dataclass(frozen=True)
class SceneObject:
    """One concrete object."""

    name: str
    asset: str
    """Key in `ASSETS`."""
    role: str | None
    x_cm: float
    y_cm: float
    yaw_deg: float
    """Counter-clockwise seen from above."""
    parent: str | None
    """Object in whose frame the position is given; None for the bench."""
    size_cm: float | None
    """Width that replaces the nominal one."""
    amount_g: float | None


@dataclass(frozen=True)
class SceneBlueprint:
    """A concrete scene with everything that its success criterion needs."""

    contract_version: int
    scene_id: str
    instruction: str
    target_kind: str
    objects: tuple[SceneObject, ...]
    """Parents before their children."""
    roles: Mapping[str, tuple[str, ...]]
    """Names of the objects by role, in object order."""
    success_params: Mapping[str, Scalar]
    conditions: Mapping[str, Scalar]
    """What is set without being an object, e.g. ``lid_torque_nm``."""
    values: Mapping[str, Scalar]
    """All sampled variables."""

    def object_names(self) -> tuple[str, ...]:
        """Return the names of all objects, in order."""
        return tuple(item.name for item in self.objects)

    def object(self, name: str) -> SceneObject:
        """Return one object.

        Raises:
            KeyError: There is none of this name.
        """
        for item in self.objects:
            if item.name == name:
                return item
        raise KeyError(name)


def scene_id_of(instance_id: str) -> str:
    """Return the scene id of an instance: ``stack/mixed-sizes`` is ``stack-mixed-sizes``."""
    return instance_id.replace("/", "-").replace("_", "-")


def find_instance(scene: Scene) -> TaskInstance:
    """Return the instance that a scene was made from.

    Raises:
        UnknownInstanceError: A LookupError: the scene names no instance of this package.
    """
    instance_id = scene.metadata.get("instance_id")
    if not isinstance(instance_id, str):
        raise UnknownInstanceError(
            f"scene '{scene.id}'",
            expected="metadata 'instance_id'",
            got="none",
            fix="use a scene of a KitchenBench task",
        )
    return instance_by_id(instance_id)[1]


def realize_scene(scene: Scene, seed: int | None) -> Realization:
    """Return the realization that a trial on ``scene`` with trial seed ``seed`` stands for.

    Args:
        scene: A scene of a KitchenBench task.
        seed: Trial seed, as Inspect Robots passes it to ``reset``; None counts as 0.

    Raises:
        UnknownInstanceError: A LookupError: the scene's instance is gone.
    """
    return find_instance(scene).realize(0 if seed is None else seed)


def build_blueprint(scene: Scene, seed: int | None) -> SceneBlueprint:
    """Return the concrete scene of a trial; arguments and errors as `realize_scene`."""
    return blueprint_for(find_instance(scene), 0 if seed is None else seed, scene_id=scene.id)


def blueprint_for(instance: TaskInstance, seed: int, *, scene_id: str | None = None) -> SceneBlueprint:
    """Return the concrete scene of an instance and a trial seed.

    Raises:
        ConfigError: The instance describes no scene, or refers to a variable that it does not have.
    """
    if instance.sim is None:
        raise ConfigError(
            f"instance '{instance.instance_id}'", expected="a scene description", got="none", fix="add 'scene:' to it"
        )
    realization = instance.realize(seed)
    bindings = _Bindings(instance, realization)
    objects = tuple(made for item in instance.sim.objects for made in _expand(item, bindings))
    roles: dict[str, list[str]] = {}
    for made in objects:
        if made.role is not None:
            roles.setdefault(made.role, []).append(made.name)
    return SceneBlueprint(
        contract_version=SIM_CONTRACT_VERSION,
        scene_id=scene_id_of(instance.instance_id) if scene_id is None else scene_id,
        instruction=realization.instruction,
        target_kind=instance.target_kind,
        objects=objects,
        roles=MappingProxyType({role: tuple(names) for role, names in roles.items()}),
        success_params=MappingProxyType({name: bindings.scalar(value) for name, value in instance.sim.success}),
        conditions=MappingProxyType({name: bindings.scalar(Var(name)) for name in instance.sim.conditions}),
        values=MappingProxyType(dict(realization.values)),
    )


class _Bindings:
    """Resolves references to sampled and static values."""

    def __init__(self, instance: TaskInstance, realization: Realization) -> None:
        self._owner = instance.instance_id
        self._known = {**instance.static, **realization.values}

    def scalar(self, value: Scalar | Var) -> Scalar:
        if not isinstance(value, Var):
            return value
        if value.name not in self._known:
            names = ", ".join(sorted(self._known)) or "none"
            raise ConfigError(
                f"instance '{self._owner}'", expected=f"a variable ({names})", got=f"'{value.name}'", fix="declare it"
            )
        return self._known[value.name]

    def number(self, value: float | Var) -> float:
        number = self.scalar(value)
        if isinstance(number, str):
            raise ConfigError(
                f"instance '{self._owner}'", expected="a number", got=repr(number), fix="bind a numeric variable"
            )
        return float(number)

    def optional(self, value: float | Var | None) -> float | None:
        return None if value is None else self.number(value)


def _expand(item: SimObject, bindings: _Bindings) -> list[SceneObject]:
    """Return the copies of one description, spaced along +x."""
    count = int(bindings.number(item.count))
    numbered = count > 1 or isinstance(item.count, Var)
    asset = asset_key(str(bindings.scalar(item.asset)))
    assets = [asset_key(item.split[k % len(item.split)]) if item.split else asset for k in range(count)]
    for name in assets:
        if name not in ASSETS:
            raise ConfigError(
                f"object '{item.name}'", expected=f"an asset ({', '.join(ASSETS)})", got=repr(name), fix="correct it"
            )
    widest = max(ASSETS[name].footprint_w_cm for name in assets)
    step = max(bindings.number(item.spread_cm), widest + SPREAD_CLEARANCE_CM)
    sizes = _sizes(item, bindings, assets)
    x_cm = bindings.number(item.x_cm)
    return [
        SceneObject(
            name=f"{item.name}_{k + 1}" if numbered else item.name,
            asset=assets[k],
            role=item.role,
            x_cm=x_cm + k * step,
            y_cm=bindings.number(item.y_cm),
            yaw_deg=bindings.number(item.yaw_deg),
            parent=item.parent,
            size_cm=sizes[k],
            amount_g=bindings.optional(item.amount_g),
        )
        for k in range(count)
    ]


def _sizes(item: SimObject, bindings: _Bindings, assets: list[str]) -> list[float | None]:
    """Return the size of each copy: one size for all, or decreasing, in order or rotated by half."""
    size = bindings.optional(item.size_cm)
    if item.size_order is None:
        return [size] * len(assets)
    factors = [max(1 - SIZE_ORDER_STEP * k, SIZE_ORDER_STEP) for k in range(len(assets))]
    if bindings.scalar(item.size_order) == "shuffled":
        middle = len(factors) // 2
        factors = factors[middle:] + factors[:middle]
    return [
        (ASSETS[asset].footprint_w_cm if size is None else size) * factor
        for asset, factor in zip(assets, factors, strict=True)
    ]
