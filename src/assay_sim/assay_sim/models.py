"""What each asset looks like: its mesh or cloth, and the surface it is made of.

Models depend on kind, size and variant alone, so they are built once and kept; a trial only moves them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from assay_benchmarks import catalog
from assay_benchmarks.blueprint import blueprint_for
from assay_benchmarks.specs import instance_by_id
from assay_core.errors import ConfigError
from assay_sim import assets_dishes, assets_storage, assets_tools
from assay_sim.assets_food import PIECES, filling, heap
from assay_sim.mesh import Mesh
from assay_sim.scene import Placed, nominal_size, place_objects
from assay_sim.textures import weave

__all__ = ["Model", "known_assets", "model_of", "preload"]

Size = tuple[float, float, float]
_CLOTH_PX_PER_M = 500.0

_SOLID: Mapping[str, tuple[Callable[[Size, int], Mesh], str]] = {
    "plate": (assets_dishes.plate, "ceramic"),
    "bowl": (assets_dishes.bowl, "ceramic"),
    "cup": (assets_dishes.cup, "ceramic"),
    "pot": (assets_dishes.pot, "metal"),
    "jar": (assets_dishes.jar, "plastic"),
    "bottle": (assets_dishes.bottle, "plastic"),
    "measuring_cup": (assets_dishes.measuring_cup, "plastic"),
    "produce_item": (assets_dishes.produce_item, "ceramic"),
    "spoon": (assets_tools.spoon, "metal"),
    "fork": (assets_tools.fork, "metal"),
    "knife": (assets_tools.knife, "metal"),
    "cutlery": (assets_tools.cutlery, "metal"),
    "utensil": (assets_tools.utensil, "wood"),
    "food_container": (assets_storage.food_container, "plastic"),
    "container": (assets_storage.container, "plastic"),
    "lid": (assets_storage.lid, "plastic"),
    "tray": (assets_storage.tray, "wood"),
    "compartment": (assets_storage.compartment, "plastic"),
    "dish_rack": (assets_storage.dish_rack, "metal"),
    "pasta_box": (assets_storage.pasta_box, "paper"),
    "distractor": (assets_storage.distractor, "plastic"),
}

_CLOTHS: Mapping[str, tuple[str, tuple[tuple[int, int, int], tuple[int, int, int]]]] = {
    "napkin": ("dots", ((232, 226, 206), (176, 64, 74))),
    "cloth": ("check", ((236, 238, 240), (62, 110, 176))),
    "dish_towel": ("stripe", ((226, 224, 214), (46, 128, 112))),
}


@dataclass(frozen=True)
class Model:
    """How one object is drawn: a mesh, or a cloth."""

    mesh: Mesh | None
    cloth: npt.NDArray[np.uint8] | None
    """Premultiplied RGBA that covers width and length, first row at +y; shape (h, w, 4)."""
    grain: str
    """Surface, a kind of `textures.grain`."""


def known_assets() -> frozenset[str]:
    """Return the names of all assets that have a model."""
    return frozenset({*_SOLID, *_CLOTHS, *PIECES})


def preload() -> None:
    """Make the models that instances need, so that no trial takes longer, or memory, for being the first with one."""
    for instance_id in catalog.instance_ids():
        _, instance = instance_by_id(instance_id)
        with contextlib.suppress(ConfigError):  # one that describes no scene has none to draw
            for item in place_objects(blueprint_for(instance, 0)):
                model_of(item)


def model_of(item: Placed) -> tuple[Model, Size]:
    """Return the model of an object and the factors that bring it to the object's size along x, y and z.

    Models of continuously varied sizes are one model, stretched: building one takes longer than drawing it.
    """
    nominal = item.size if item.filling else nominal_size(item.asset)
    factors = tuple(wanted / given for wanted, given in zip(item.size, nominal, strict=True))
    # A cloth's pattern would blur when stretched; its sizes are few.
    if item.asset in _CLOTHS or item.filling:
        return _model(item.asset, _rounded(item.size), 0, item.filling), (1.0, 1.0, 1.0)
    stretched = item.size[1] > 1.3 * nominal[1]
    shape = item.size if item.asset == "produce_item" and stretched else nominal
    if shape is item.size:
        factors = (1.0, 1.0, 1.0)
    return _model(item.asset, _rounded(shape), item.variant % 12, False), (factors[0], factors[1], factors[2])


def _rounded(size: Size) -> Size:
    return round(size[0], 3), round(size[1], 3), round(size[2], 3)


@lru_cache(maxsize=256)
def _model(asset: str, size: Size, variant: int, fills: bool) -> Model:
    if asset in PIECES:
        mesh = filling(asset, size[0] / 2, size[1] / 2) if fills else heap(asset, size[2], size[0] / 2)
        return Model(mesh, None, "paper")
    if asset in _CLOTHS:
        kind, colors = _CLOTHS[asset]
        width, length = (max(8, round(x * _CLOTH_PX_PER_M)) for x in size[:2])
        return Model(None, weave(length, width, kind, colors), "paper")
    build, grain = _SOLID[asset]
    return Model(build(size, variant), None, grain)
