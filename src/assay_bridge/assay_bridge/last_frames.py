"""A frame store that keeps the first and the last pictures of a trial and forgets the rest.

A rollout keeps the pictures of every step until the trial ends: 200 steps of three cameras are 400 MB. They are on the
graph's topics for whoever records them; the runner needs none of them but the ones that show what was changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from inspect_robots.frames import FrameRef

from assay_core.errors import DataError

__all__ = ["LastFrames"]


@dataclass(frozen=True)
class _Kept(FrameRef):
    """A handle to a picture that this process may still hold."""

    store: LastFrames | None = field(default=None, repr=False, compare=False)

    def load(self) -> npt.NDArray[np.uint8]:
        """Return the picture, shape (height, width, 3) uint8.

        Raises:
            DataError: It was forgotten.
        """
        image = self.store.find(self.t, self.camera) if self.store is not None else None
        if image is None:
            raise DataError(
                f"picture of camera '{self.camera}' at step {self.t}",
                expected="the first or the last one of the trial",
                got="one in between",
                fix="record the camera topics to have them all",
            )
        return image


class LastFrames:
    """Takes the place of `inspect_robots.frames.FrameStore` in a rollout of one trial."""

    def __init__(self) -> None:
        self._images: dict[int, dict[str, npt.NDArray[np.uint8]]] = {}

    def put(self, trial_id: str, t: int, camera: str, image: npt.NDArray[np.uint8]) -> FrameRef:  # noqa: ARG002
        """Keep one picture until a later step's arrive, and return its handle."""
        if t not in self._images:
            for old in [step for step in self._images if step not in (0, t)]:
                del self._images[old]
            self._images[t] = {}
        self._images[t][camera] = image
        return _Kept(camera=camera, t=t, path="", store=self)

    def find(self, t: int, camera: str) -> npt.NDArray[np.uint8] | None:
        """Return a picture that is still there."""
        return self._images.get(t, {}).get(camera)
