"""Pictures of the mock world: bench, objects of the blueprint at their places, and the arms.

The bench and the objects are drawn once per trial. A step only restores the rectangles that the arms covered and
draws the arms again, straight into the buffers of the messages. A picture depends on realization, joint values and
step alone, so that the audit can draw it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np
import numpy.typing as npt

from assay_benchmarks.blueprint import SceneBlueprint
from assay_core.rig import Camera
from assay_sim.arm_drawing import ArmPainter, Box, Strokes, arm_points
from assay_sim.backdrop import backdrop, pedestal
from assay_sim.camera_model import CameraModel, camera_model
from assay_sim.kinematics import BASES_M
from assay_sim.models import model_of, preload
from assay_sim.raster import Solid, Solids, draw_cloth, draw_scene, draw_shadows
from assay_sim.scene import Placed, place_objects
from assay_sim.textures import GRAIN_KINDS, grain

__all__ = ["CameraView", "MockRenderer"]

Image = npt.NDArray[np.uint8]
Array = npt.NDArray[np.float64]

NOISE_TILES = 2
_NOISE_MARGIN = 64


class CameraView:
    """What one camera sees of the bench and its objects, and the rectangles that the arms cover in its picture.

    Args:
        camera: Name and size.
        noise_sigma: Standard deviation of sensor noise per channel [grey levels], 0 for none.
        seed: Of the noise.
    """

    def __init__(self, camera: Camera, noise_sigma: float = 0.0, seed: int = 0) -> None:
        self.model: CameraModel = camera_model(camera)
        self._empty = backdrop(self.model)
        bases = [Solid(pedestal(), "metal", (x, y, z)) for x, y, z in BASES_M.tolist()]
        draw_scene(self._empty, Solids(bases), self.model)
        self._scene: Image = self._empty.copy()
        self._waiting: tuple[Sequence[Placed], Solids | None] | None = None
        """Objects that `_scene` does not show yet."""
        self._drawn: Image | None = None
        self._covered: list[Box] = []
        self._seed = seed
        self._noise = _noise_tiles(self.model, noise_sigma, seed) if noise_sigma > 0 else []

    def set_scene(self, items: Sequence[Placed], solids: Solids | None) -> None:
        """Have the next picture start from the bench with these objects.

        They are drawn with that picture, so that a camera's picture is on its way while the next one is drawn.

        Args:
            items: All objects.
            solids: Those of them that have a body; None when there are none.
        """
        self._waiting, self._drawn = (items, solids), None

    def _draw_scene(self, items: Sequence[Placed], solids: Solids | None) -> None:
        np.copyto(self._scene, self._empty)
        draw_shadows(self._scene, items, self.model)
        for item in items:
            draw_cloth(self._scene, item, self.model)
        if solids is not None:
            draw_scene(self._scene, solids, self.model)

    def draw(self, out: Image, paint: Callable[[Image], list[Box]], step: int = 0) -> None:
        """Draw the picture of one step.

        Args:
            out: RGB, shape (height, width, 3). Pass the same buffer at every call and leave it alone in between:
                only what changes is drawn again.
            paint: Draws the arms and returns the rectangles that they cover.
            step: Control step; selects the noise.
        """
        if self._waiting is not None:
            self._draw_scene(*self._waiting)
            self._waiting = None
        clean = out
        if self._noise:
            clean = np.empty_like(out) if self._drawn is None else self._drawn
        if self._drawn is clean:
            for x0, y0, x1, y1 in self._covered:
                clean[y0:y1, x0:x1] = self._scene[y0:y1, x0:x1]
        else:
            np.copyto(clean, self._scene)
        self._covered = paint(clean)
        self._drawn = clean
        if self._noise:
            self._add_noise(clean, out, step)

    def _add_noise(self, clean: Image, out: Image, step: int) -> None:
        mixed = (step * 2654435761 + self._seed * 40503) & 0xFFFFFFFF
        brighter, darker = self._noise[mixed % NOISE_TILES]
        x, y = (mixed >> 8) % _NOISE_MARGIN, (mixed >> 16) % _NOISE_MARGIN
        height, width = out.shape[:2]
        cv2.add(clean, brighter[y : y + height, x : x + width], dst=out)
        cv2.subtract(out, darker[y : y + height, x : x + width], dst=out)


class MockRenderer:
    """All cameras of the mock world.

    Args:
        cameras: Of the rig, in its order.
        noise_sigma: Standard deviation of sensor noise per channel [grey levels], 0 for none.
        seed: Of the noise.
    """

    def __init__(self, cameras: Sequence[Camera], noise_sigma: float = 0.0, seed: int = 0) -> None:
        self.views = tuple(CameraView(camera, noise_sigma, seed + k) for k, camera in enumerate(cameras))
        self._painter = ArmPainter([view.model for view in self.views]) if self.views else None
        if self.views:
            preload()
            for kind in GRAIN_KINDS:
                grain(kind)
        self._strokes: list[Strokes | None] = [None] * len(self.views)
        self._step = 0

    def set_scene(self, blueprint: SceneBlueprint | None) -> None:
        """Arrange the objects of a blueprint; None leaves the bench empty."""
        items = () if blueprint is None else place_objects(blueprint)
        models = [(item, *model_of(item)) for item in items]
        solids = [
            Solid(model.mesh, model.grain, (item.x, item.y, item.z), item.yaw, factors, item.rank)
            for item, model, factors in models
            if model.mesh is not None
        ]
        shared = Solids(solids) if solids else None
        for view in self.views:
            view.set_scene(items, shared)

    def pose(self, position: Array, step: int = 0) -> None:
        """Say where the arms are in the pictures that follow.

        Args:
            position: The 14 values of the rig, shape (14,) [rad, gripper 0..1].
            step: Control step; selects the noise.
        """
        if self._painter is not None:
            self._strokes = self._painter.strokes(arm_points(position))
            self._step = step

    def draw(self, camera: int, out: Image) -> None:
        """Draw one camera's picture of the pose.

        Args:
            camera: Index among the renderer's cameras.
            out: RGB, shape (height, width, 3); see `CameraView.draw`.
        """
        painter, strokes = self._painter, self._strokes[camera]
        if painter is not None:
            self.views[camera].draw(out, lambda picture: painter.draw(camera, picture, strokes), self._step)


def _noise_tiles(camera: CameraModel, sigma: float, seed: int) -> list[tuple[Image, Image]]:
    """Return pairs of what noise adds and what it takes away, larger than a picture so that a step can shift them."""
    rng = np.random.default_rng([seed, 0xCA3E7A])
    shape = (camera.height + _NOISE_MARGIN, camera.width + _NOISE_MARGIN, 3)
    tiles = []
    for _ in range(NOISE_TILES):
        values = np.rint(rng.standard_normal(shape, dtype=np.float32) * sigma)
        tiles.append((np.clip(values, 0, 255).astype(np.uint8), np.clip(-values, 0, 255).astype(np.uint8)))
    return tiles
