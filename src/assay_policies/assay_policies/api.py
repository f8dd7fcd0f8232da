"""What a policy of the policy node is: a few lines that a new policy has to provide, and the data it gets and gives.

Policies know nothing of ROS. The node hands them the samples that a request named and publishes what they answer, so
that a policy can be tested with arrays alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from assay_core.errors import PolicyError
from assay_core.rig import ACTION_DIM

__all__ = ["MOST_STEPS", "PRIVILEGED", "ChunkOut", "Inputs", "Oracle", "Policy", "Trial", "checked"]

PRIVILEGED = "world/privileged"
"""Stream that only an oracle may read."""


@dataclass(frozen=True)
class Trial:
    """The trial that a policy is reset for."""

    trial_id: str
    task: str
    scene_id: str
    epoch: int
    """Index of the realization within its instance, from 0."""
    seed: int
    """Trial seed; everything random in a policy derives from it."""
    instruction: str
    """Goal sentence, verbatim."""
    scene: Mapping[str, Any] = field(default_factory=dict)
    """The Inspect Robots scene as JSON: id, instruction, target, init_seed, setup, metadata."""


@dataclass(frozen=True, eq=False)
class Oracle:
    """What only an oracle may know."""

    position: npt.NDArray[np.float64]
    """True state, shape (14,) [rad, gripper 0..1]."""
    goal: npt.NDArray[np.float64]
    """Goal state, shape (14,) [rad, gripper 0..1]."""
    step_limit: npt.NDArray[np.float64]
    """Largest change in one control step, shape (14,) [rad, gripper 0..1]."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a policy may look at for one inference: exactly the samples that the request named."""

    step: int
    """Control steps executed so far."""
    instruction: str
    stamps: Mapping[str, int]
    """Acquisition stamp [ns] of each stream, by topic."""
    joint_pos: npt.NDArray[np.float64] | None = None
    """Measured joints, shape (14,) [rad, gripper 0..1]; None unless the policy reads them."""
    images: Mapping[str, npt.NDArray[np.uint8]] = field(default_factory=dict)
    """Pictures by camera key (``top_cam``), shape (height, width, 3) RGB, read-only."""
    image_stamps: Mapping[str, int] = field(default_factory=dict)
    """Acquisition stamp [ns] of each picture, by camera key."""
    oracle: Oracle | None = None
    """None unless the policy reads `PRIVILEGED`."""


@dataclass(frozen=True, eq=False)
class ChunkOut:
    """What a policy decided."""

    actions: npt.NDArray[np.float64]
    """Absolute joint targets, shape (n, 14), n >= 1 [rad, gripper 0..1]."""
    control_hz: float | None = None
    """Rate the actions are meant for [Hz]; None when the policy states none."""


class Policy(Protocol):
    """One policy. `reset` comes before the first `infer` of each trial."""

    @property
    def label(self) -> str:
        """Name that operators may see."""

    @property
    def streams(self) -> tuple[str, ...]:
        """Topics it reads, relative to the rig's namespace; fixed once it was built."""

    @property
    def slow(self) -> bool:
        """Whether `reset` or `infer` may take long: they then run outside the node's thread."""

    def reset(self, trial: Trial) -> None:
        """Prepare for a trial.

        Raises:
            ConfigError: The policy does not fit the rig.
            PolicyError: The policy failed.
            RigFault: The policy's server does not answer.
        """

    def infer(self, inputs: Inputs) -> ChunkOut:
        """Choose the next actions.

        Raises:
            PolicyError: The policy failed.
            RigFault: The policy's server does not answer.
        """


MOST_STEPS = 10_000
"""Longest chunk [actions]: more than a quarter of an hour at 10 Hz."""


def checked(chunk: ChunkOut, label: str) -> npt.NDArray[np.float64]:
    """Return the actions of a chunk as float64, shape (n, 14).

    Raises:
        PolicyError: The chunk is empty, too long, of another shape, or not finite, or its rate is none.
    """
    rate = chunk.control_hz
    if rate is not None and not (isinstance(rate, (int, float)) and 0.0 < rate < math.inf):
        raise PolicyError(
            f"chunk of policy '{label}'",
            expected="a rate above 0 Hz, or none",
            got=repr(rate),
            fix="correct the policy",
        )
    try:
        actions = np.asarray(chunk.actions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _malformed(label, f"values that are not numbers: {error}") from error
    if actions.ndim != 2 or actions.shape[0] < 1 or actions.shape[1] != ACTION_DIM:
        raise _malformed(label, f"shape {actions.shape}")
    if len(actions) > MOST_STEPS:
        raise _malformed(label, f"{len(actions)} actions", most=True)
    bad = int(np.count_nonzero(~np.isfinite(actions)))
    if bad:
        row, column = np.argwhere(~np.isfinite(actions))[0]
        raise _malformed(label, f"{bad} values that are not finite, first {actions[row, column]} at [{row}, {column}]")
    return actions


def _malformed(label: str, got: str, *, most: bool = False) -> PolicyError:
    return PolicyError(
        f"chunk of policy '{label}'",
        expected=f"finite values of shape (n, {ACTION_DIM}) with n >= 1" + (f" and n <= {MOST_STEPS}" if most else ""),
        got=got,
        fix="correct the policy",
    )
