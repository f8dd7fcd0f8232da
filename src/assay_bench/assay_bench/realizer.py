"""Recomputes each realization from the plan, so that what is published never depends on what a runner says."""

from __future__ import annotations

from typing import Any

from assay_core.errors import ConfigError
from assay_core.plan import Plan, PlanEntry
from assay_core.realization import TrialRealization

__all__ = ["Realizer"]


class Realizer:
    """Realizations of a plan's entries; tasks are resolved once."""

    def __init__(self) -> None:
        self._tasks: dict[str, Any] = {}
        self._catalog: Any = None

    def warm(self) -> None:
        """Import the catalogue of tasks, which takes a while, off the node's thread."""
        from assay_benchmarks import catalog

        self._catalog = catalog

    def prepare(self, plan: Plan) -> None:
        """Resolve every task of the plan, which reads files, and check that its scenes are what was planned.

        Raises:
            ConfigError: A task or a scene is not known here, or is not what the plan was made from.
        """
        from assay_benchmarks.pins import check_scenes

        check_scenes(plan, self._task)

    def realize(self, entry: PlanEntry, control_hz: float) -> TrialRealization:
        """Return the realization of one plan entry.

        Args:
            entry: What the plan says.
            control_hz: Control rate of the rig [Hz].

        Raises:
            ConfigError: Task or scene is not known here, or entry and task disagree on version, instance or horizon.
        """
        task = self._task(entry.task)
        scene = next((scene for scene in task.scenes if scene.id == entry.scene_id), None)
        subject = f"plan entry {entry.index} ({entry.task}, scene '{entry.scene_id}')"
        fix = "make the plan with this version of the workspace"
        if scene is None:
            known = ", ".join(scene.id for scene in task.scenes[:8])
            raise ConfigError(subject, expected=f"a scene of the task, like {known}", got="no such scene", fix=fix)
        realization: TrialRealization = self._catalog.realize_trial(
            task, scene, epoch=entry.epoch, seed=entry.seed, control_hz=control_hz
        )
        for name in ("task_version", "instance_id", "max_steps"):
            planned, actual = getattr(entry, name), getattr(realization, name)
            if planned != actual:
                raise ConfigError(subject, expected=f"{name} {actual!r}", got=repr(planned), fix=fix)
        return realization

    def _task(self, name: str) -> Any:
        if name not in self._tasks:
            if self._catalog is None:
                self.warm()
            self._tasks[name] = self._catalog.resolve_task(name)
        return self._tasks[name]
