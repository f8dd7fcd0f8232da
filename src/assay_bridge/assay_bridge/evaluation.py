"""What an evaluation log says about task, policy, rig and grader, gathered while they are at hand.

Each trial record carries it, so that a log can be derived from a journal alone, on a machine where neither the task's
package nor the policy is installed any more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from inspect_robots.embodiment import Embodiment
from inspect_robots.grader import Grader
from inspect_robots.policy import Policy
from inspect_robots.scene import Scene
from inspect_robots.task import Task

from assay_bridge.record import json_native

__all__ = ["describe_evaluation", "describe_scene", "describe_task"]


def describe_evaluation(task: Task, policy: Policy, embodiment: Embodiment, grader: Grader | None) -> dict[str, Any]:
    """Return what every log of this task says, JSON-native.

    Args:
        task: The task.
        policy: Bound to the embodiment already where it needs to be.
        embodiment: The rig.
        grader: None when verdicts come from nowhere.
    """
    info, semantics = embodiment.info, embodiment.info.action_space.semantics
    config = getattr(grader, "config", None)
    described: dict[str, Any] = json_native(
        {
            "policy": policy.info.name,
            "policy_config": asdict(policy.config),
            "policy_checkpoint": getattr(policy.info, "checkpoint", None),
            "embodiment": info.name,
            "embodiment_info": {
                "control_hz": info.control_hz,
                "is_simulated": info.is_simulated,
                "capabilities": sorted(info.capabilities),
            },
            "environment_id": info.environment_id,
            "environment_revision": info.environment_revision,
            "grader": None if grader is None else grader.name,
            "grader_config": dict(config()) if callable(config) else {},
            **describe_task(task),
            "action_dim": info.action_space.dim,
            "action_labels": None if semantics is None else semantics.dim_labels,
        }
    )
    return described


def describe_task(task: Task) -> dict[str, Any]:
    """Return how a task is scored, JSON-native."""
    return {
        "max_seconds": task.max_seconds,
        "reducer": task.epoch_spec.reducer,
        "scorers": [scorer.name for scorer in task.scorers],
    }


def describe_scene(scene: Scene) -> dict[str, Any]:
    """Return the scene as logs show it: instruction and the metadata that JSON can hold."""
    return {"instruction": scene.instruction, "metadata": _json_items(scene.metadata)}


def _json_items(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in metadata.items():
        try:
            kept[str(key)] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, OverflowError):
            continue
    return kept
