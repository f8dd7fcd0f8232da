"""The tasks of KitchenBench as Inspect Robots ``Task`` objects.

Each instance is a scene and each realization an epoch, so that the mean over epochs that the framework reports per
scene is the success probability P̂ of the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from inspect_robots.scene import Scene, Target
from inspect_robots.scorer import episode_length
from inspect_robots.task import Epochs, Task

from assay_benchmarks.blueprint import scene_id_of
from assay_benchmarks.scoring import task_success
from assay_benchmarks.specs import K_INSTANCES, K_REALIZATIONS, TASK_KEYS, TaskSpec, load_task
from assay_core.seeds import scene_seed, trial_seed

__all__ = ["TASK_FACTORIES", "build_scenes", "make_task", *TASK_KEYS]


def build_scenes(spec: TaskSpec) -> list[Scene]:
    """Return one scene per instance.

    A scene's instruction is that of the first epoch of an evaluation with seed 0, for listings; what a trial is told
    comes from `realize_scene` with the trial's seed.
    """
    return [
        Scene(
            id=scene_id_of(instance.instance_id),
            instruction=instance.realize(trial_seed(0, scene_seed(instance.instance_id), 0)).instruction,
            target=Target(kind=instance.target_kind, spec=dict(instance.static)),
            init_seed=scene_seed(instance.instance_id),
            metadata={
                "benchmark": "kitchenbench",
                "task": spec.key,
                "category": spec.category,
                "bimanual": spec.bimanual,
                "version": spec.version,
                "instance_id": instance.instance_id,
                "instance_index": index,
                "setup": instance.setup_spec(),
                "language_vars": list(instance.language_vars),
                "validation": instance.validation.to_dict(),
            },
        )
        for index, instance in enumerate(spec.instances)
    ]


def make_task(spec: TaskSpec) -> Task:
    """Return the task: its scenes, five epochs reduced by their mean, and two scorers."""
    return Task(
        name=f"kitchenbench/{spec.key}",
        scenes=build_scenes(spec),
        scorer=[task_success(), episode_length()],
        max_steps=spec.max_steps,
        epochs=Epochs(count=K_REALIZATIONS, reducer="mean"),
        metadata={
            "title": spec.title,
            "category": spec.category,
            "bimanual": spec.bimanual,
            "version": spec.version,
            "description": spec.description,
            "k_instances": K_INSTANCES,
            "k_realizations": K_REALIZATIONS,
        },
    )


def _factory(key: str) -> Callable[[], Task]:
    def factory() -> Task:
        return make_task(load_task(key))

    factory.__name__ = factory.__qualname__ = key
    factory.__doc__ = f"Return the task ``kitchenbench/{key}``."
    return factory


place_cutlery = _factory("place_cutlery")
stack = _factory("stack")
place_in_rack = _factory("place_in_rack")
pour_pasta = _factory("pour_pasta")
open_container = _factory("open_container")
fold_cloth = _factory("fold_cloth")
seal_container = _factory("seal_container")
handoff = _factory("handoff")
sort_cutlery = _factory("sort_cutlery")
scoop_pasta = _factory("scoop_pasta")

TASK_FACTORIES: Mapping[str, Callable[[], Task]] = MappingProxyType(
    {
        factory.__name__: factory
        for factory in (
            place_cutlery,
            stack,
            place_in_rack,
            pour_pasta,
            open_container,
            fold_cloth,
            seal_container,
            handoff,
            sort_cutlery,
            scoop_pasta,
        )
    }
)
"""Factories of the ten tasks by key."""
