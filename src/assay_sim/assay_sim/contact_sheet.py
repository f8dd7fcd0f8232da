"""One picture of everything that the mock world can show, for its documentation and for looking at changes.

Run ``python -m assay_sim.contact_sheet OUT.jpg`` after changing a shape, a texture or a camera.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from assay_benchmarks.assets import ASSETS
from assay_benchmarks.blueprint import SceneBlueprint, SceneObject, blueprint_for
from assay_benchmarks.specs import instance_by_id
from assay_core.rig import cameras
from assay_sim.camera_model import CameraModel
from assay_sim.mock_dynamics import START_POSITION
from assay_sim.mock_render import MockRenderer
from assay_sim.scene import nominal_size

__all__ = ["contact_sheet", "main"]

Image = npt.NDArray[np.uint8]

SCENES = (
    ("pour_pasta/full-box", 1),
    ("sort_cutlery/balanced-pile", 2),
    ("seal_container/misaligned-lid", 3),
    ("place_cutlery/cluttered-bench", 3),
)
"""Instances and seeds of the scenes on the sheet."""

TILE_PX = 128
_COLUMNS = 9


def contact_sheet() -> Image:
    """Return scenes in all views, and below them every asset from the left; RGB, shape (height, width, 3)."""
    renderer = MockRenderer(cameras(3))
    rows = []
    for instance_id, seed in SCENES:
        views = _pictures(renderer, blueprint_for(instance_by_id(instance_id)[1], seed))
        rows.append(np.hstack([cv2.resize(view, (384, 216), interpolation=cv2.INTER_AREA) for view in views]))
    model = renderer.views[1].model
    tiles = [_tile(_pictures(renderer, _alone(asset))[1], model, asset) for asset in ASSETS]
    grid = [np.hstack(tiles[k : k + _COLUMNS]) for k in range(0, len(tiles), _COLUMNS)]
    return np.vstack([*rows, *grid])


def _pictures(renderer: MockRenderer, scene: SceneBlueprint) -> list[Image]:
    outs: list[Image] = [np.empty((view.model.height, view.model.width, 3), np.uint8) for view in renderer.views]
    renderer.set_scene(scene)
    renderer.pose(START_POSITION)
    for k, out in enumerate(outs):
        renderer.draw(k, out)
    return outs


def _alone(asset: str) -> SceneBlueprint:
    item = SceneObject(asset, asset, None, -4.0, 4.0, 25.0, None, None, None)
    return replace(blueprint_for(instance_by_id(SCENES[0][0])[1], 0), objects=(item,))


def _tile(view: Image, model: CameraModel, asset: str) -> Image:
    """Return the square around an asset, enlarged to its size."""
    size = nominal_size(asset)
    (middle,), (depth,) = model.project(np.array([[-0.04, 0.04, size[2] / 2]]))
    half = round(max(0.08, max(size) * 0.72) * model.focal / float(depth))
    u, v = round(float(middle[0])), round(float(middle[1]))
    padded = cv2.copyMakeBorder(view, half, half, half, half, cv2.BORDER_REPLICATE)
    square = padded[v : v + 2 * half, u : u + 2 * half]
    tile = cv2.resize(square, (TILE_PX, TILE_PX), interpolation=cv2.INTER_CUBIC)
    cv2.putText(tile, asset, (4, TILE_PX - 5), cv2.FONT_HERSHEY_SIMPLEX, 0.36, (255, 255, 255), 1, cv2.LINE_AA)
    return np.asarray(tile)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the sheet to the path given; return 0, or 2 when the file cannot be written."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    path = arguments[0] if arguments else "mock-world.jpg"
    quality = [cv2.IMWRITE_JPEG_QUALITY, 74] if path.endswith((".jpg", ".jpeg")) else []
    try:
        written = cv2.imwrite(path, cv2.cvtColor(contact_sheet(), cv2.COLOR_RGB2BGR), quality)
    except cv2.error:
        written = False
    if not written:
        sys.stderr.write(f"error: {path}: expected a writable path that ends in .jpg or .png. fix: give another\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
