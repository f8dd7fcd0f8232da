"""A sink of Inspect Robots that watches a trial for the session runner, keeps its last pictures and samples a clip.

The framework calls `log_step` after every step and from nowhere else during a rollout, so this is also where a runner
learns that the user wants to stop: `on_step` may raise, and the rollout hands over the partial record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_robots.log import EvalLog, EvalSpec
    from inspect_robots.rollout import TrialRecord
    from inspect_robots.types import Action, Observation, StepResult

__all__ = ["AssaySink"]


class AssaySink:
    """Keeps the newest images of a trial and hands them over at its end.

    Args:
        on_step: Called with the number of steps executed; may raise `KeyboardInterrupt` to cancel the trial.
        on_images: Called at the end of a trial with ``(scene_id, epoch, images)``, images by camera.
        on_frame: Called with the images at the start of a trial and after every ``frame_every`` steps.
        frame_every: Control steps between two pictures of a clip.
    """

    def __init__(
        self,
        on_step: Callable[[int], None] | None = None,
        on_images: Callable[[str, int, Mapping[str, Any]], None] | None = None,
        on_frame: Callable[[Mapping[str, Any]], None] | None = None,
        frame_every: int = 1,
    ) -> None:
        self._on_step, self._on_images, self._on_frame = on_step, on_images, on_frame
        self._frame_every = frame_every
        self.images: Mapping[str, Any] = {}
        """Images of the newest observation."""
        self.steps = 0
        """Steps executed in this trial."""

    def on_eval_start(self, spec: EvalSpec) -> None:
        """Nothing to prepare."""

    def on_trial_start(self, scene_id: str, epoch: int) -> None:  # noqa: ARG002 - the framework's signature
        """Forget the trial before."""
        self.images, self.steps = {}, 0

    def log_step(self, t: int, observation: Observation, action: Action, result: StepResult) -> None:  # noqa: ARG002
        """Remember the images; give the runner the chance to cancel."""
        self.images = result.observation.images
        self.steps = t + 1
        if self._on_frame is not None:
            if t == 0:
                self._on_frame(observation.images)
            if self.steps % self._frame_every == 0:
                self._on_frame(self.images)
        if self._on_step is not None:
            self._on_step(self.steps)

    def on_trial_end(self, record: TrialRecord) -> None:
        """Hand over the images that show the scene at the end, parked ones if there are."""
        parked = record.parked_observation
        images = parked.images if parked is not None and parked.images else self.images
        if self._on_images is not None and images:
            self._on_images(record.scene_id, record.epoch, images)
        self.images = {}

    def on_eval_end(self, log: EvalLog) -> None:
        """Nothing to finish."""
