"""KitchenBench: task instances as data, simulation contract and in-process mock. No ROS.

Names are loaded when they are first used: asking for one realization must not import Inspect Robots, nor read the
files of nine other tasks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay_benchmarks.assets import ASSETS, AssetSpec
    from assay_benchmarks.blueprint import (
        SIM_CONTRACT_VERSION,
        SceneBlueprint,
        SceneObject,
        build_blueprint,
        find_instance,
        realize_scene,
    )
    from assay_benchmarks.layout import LAYOUT_VERSION, export_scene_layout, load_rig, load_scene_layout
    from assay_benchmarks.mock_kitchen import (
        KitchenEmbodiment,
        NoopKitchenPolicy,
        RandomKitchenPolicy,
        ScriptedKitchenPolicy,
    )
    from assay_benchmarks.scoring import task_success
    from assay_benchmarks.specs import (
        K_INSTANCES,
        K_REALIZATIONS,
        KITCHENBENCH_VERSION,
        SPEC_BY_KEY,
        SPECS,
        TaskSpec,
        UnknownInstanceError,
    )
    from assay_benchmarks.success import Verdict, WorldState, make_success_checker
    from assay_benchmarks.task_files import check_file, load_task_file
    from assay_benchmarks.tasks import (
        TASK_FACTORIES,
        build_scenes,
        fold_cloth,
        handoff,
        make_task,
        open_container,
        place_cutlery,
        place_in_rack,
        pour_pasta,
        scoop_pasta,
        seal_container,
        sort_cutlery,
        stack,
    )
    from assay_core.distributions import Categorical, Constant, Distribution, Normal, Uniform
    from assay_core.instances import K_EXPERTS, Realization, TaskInstance, Validation
    from assay_core.scene_spec import SimObject, SimSpec, Var

__all__ = [
    "ASSETS",
    "KITCHENBENCH_VERSION",
    "K_EXPERTS",
    "K_INSTANCES",
    "K_REALIZATIONS",
    "LAYOUT_VERSION",
    "SIM_CONTRACT_VERSION",
    "SPECS",
    "SPEC_BY_KEY",
    "TASK_FACTORIES",
    "AssetSpec",
    "Categorical",
    "Constant",
    "Distribution",
    "KitchenEmbodiment",
    "NoopKitchenPolicy",
    "Normal",
    "RandomKitchenPolicy",
    "Realization",
    "SceneBlueprint",
    "SceneObject",
    "ScriptedKitchenPolicy",
    "SimObject",
    "SimSpec",
    "TaskInstance",
    "TaskSpec",
    "Uniform",
    "UnknownInstanceError",
    "Validation",
    "Var",
    "Verdict",
    "WorldState",
    "build_blueprint",
    "build_scenes",
    "check_file",
    "export_scene_layout",
    "find_instance",
    "fold_cloth",
    "handoff",
    "load_rig",
    "load_scene_layout",
    "load_task_file",
    "make_success_checker",
    "make_task",
    "open_container",
    "place_cutlery",
    "place_in_rack",
    "pour_pasta",
    "realize_scene",
    "scoop_pasta",
    "seal_container",
    "sort_cutlery",
    "stack",
    "task_success",
]

_HOMES = {
    "assay_benchmarks.assets": ("ASSETS", "AssetSpec"),
    "assay_benchmarks.blueprint": (
        "SIM_CONTRACT_VERSION",
        "SceneBlueprint",
        "SceneObject",
        "build_blueprint",
        "find_instance",
        "realize_scene",
    ),
    "assay_benchmarks.layout": ("LAYOUT_VERSION", "export_scene_layout", "load_rig", "load_scene_layout"),
    "assay_benchmarks.mock_kitchen": (
        "KitchenEmbodiment",
        "NoopKitchenPolicy",
        "RandomKitchenPolicy",
        "ScriptedKitchenPolicy",
    ),
    "assay_benchmarks.scoring": ("task_success",),
    "assay_benchmarks.specs": (
        "KITCHENBENCH_VERSION",
        "K_INSTANCES",
        "K_REALIZATIONS",
        "SPECS",
        "SPEC_BY_KEY",
        "TaskSpec",
        "UnknownInstanceError",
    ),
    "assay_benchmarks.success": ("Verdict", "WorldState", "make_success_checker"),
    "assay_benchmarks.task_files": ("check_file", "load_task_file"),
    "assay_benchmarks.tasks": (
        "TASK_FACTORIES",
        "build_scenes",
        "fold_cloth",
        "handoff",
        "make_task",
        "open_container",
        "place_cutlery",
        "place_in_rack",
        "pour_pasta",
        "scoop_pasta",
        "seal_container",
        "sort_cutlery",
        "stack",
    ),
    "assay_core.distributions": ("Categorical", "Constant", "Distribution", "Normal", "Uniform"),
    "assay_core.instances": ("K_EXPERTS", "Realization", "TaskInstance", "Validation"),
    "assay_core.scene_spec": ("SimObject", "SimSpec", "Var"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
