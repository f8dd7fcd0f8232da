"""One trial through the framework's own rollout, with a safety chain that is always there.

`rollout` raises at the end of every trial that went wrong and attaches what it has. Here each way to end becomes one
value, because the session decides by it: go on, repeat, stop, or stop for safety.
"""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from inspect_robots.approver import Approver, ChainApprover, ClampApprover, DeltaLimitApprover
from inspect_robots.controller import Controller, DefaultController
from inspect_robots.embodiment import Embodiment
from inspect_robots.errors import EmbodimentFault, InspectRobotsError, PolicyError, SafetyAbort
from inspect_robots.logging.sink import LogSink
from inspect_robots.policy import Policy
from inspect_robots.rollout import TrialRecord, rollout
from inspect_robots.scene import Scene
from inspect_robots.spaces import Box

from assay_bridge.last_frames import LastFrames
from assay_core.errors import bounded

if TYPE_CHECKING:
    from inspect_robots.frames import FrameStore

__all__ = ["SAFETY_CHAIN", "Ending", "Motion", "run_motion", "safety_chain"]


class Ending(enum.Enum):
    """How the motion of a trial ended."""

    COMPLETED = "completed"
    """By success, failure or horizon; a verdict is due."""
    POLICY_ERROR = "policy_error"
    """The policy failed; the trial counts as a failure."""
    RIG_FAULT = "rig_fault"
    """The rig failed; the trial does not count."""
    CONFIG = "config"
    """Task, policy and rig do not fit each other; no trial can run."""
    SAFETY = "safety"
    """Stopped for safety; the session halts."""
    CANCELLED = "cancelled"
    """A person asked to stop."""


@dataclass(frozen=True)
class Motion:
    """The motion of one trial."""

    ending: Ending
    record: TrialRecord
    error: BaseException | None
    """What ended it; None when completed."""
    started_ns: int
    """Wall time [ns since 1970]."""
    ended_ns: int
    """Wall time [ns since 1970]."""


SAFETY_CHAIN = ("clamp", "delta_limit")
"""Names of the approvers of `safety_chain`, for logs."""


def safety_chain(space: Box) -> Approver:
    """Return the approvers of every trial: the rig's bounds first, then the largest change in one step."""
    return ChainApprover(ClampApprover(space), DeltaLimitApprover(space))


def run_motion(
    policy: Policy,
    embodiment: Embodiment,
    scene: Scene,
    *,
    epoch: int,
    seed: int,
    max_steps: int,
    sink: LogSink,
    approver: Approver | None = None,
    controller: Controller | None = None,
) -> Motion:
    """Run one trial from reset to the end of its motion; never raises for what a trial can meet.

    Args:
        policy: Asked for chunks.
        embodiment: Reset, then stepped.
        scene: Initial condition.
        epoch: Index of the realization within its instance.
        seed: Trial seed.
        max_steps: Horizon [control steps].
        sink: Its `log_step` may raise `KeyboardInterrupt` to cancel.
        approver: None takes `safety_chain` of the embodiment.
        controller: None plays chunks open loop, up to the policy's replan interval.
    """
    started = time.time_ns()
    ending = Ending.COMPLETED
    error: BaseException | None = None
    record: TrialRecord | None = None
    try:
        record = rollout(
            policy,
            embodiment,
            scene,
            max_steps=max_steps,
            seed=seed,
            epoch=epoch,
            controller=controller or DefaultController(policy.config.replan_interval),
            approver=approver or safety_chain(embodiment.info.action_space),
            sink=sink,
            frame_store=cast("FrameStore", LastFrames()),
        )
    except KeyboardInterrupt as interrupt:
        ending, error, record = Ending.CANCELLED, interrupt, getattr(interrupt, "record", None)
    except InspectRobotsError as failure:
        ending, error, record = _ending_of(failure), failure, failure.record
    if record is None:
        record = TrialRecord(
            scene_id=scene.id,
            epoch=epoch,
            seed=seed,
            status="cancelled" if ending is Ending.CANCELLED else "error",
            error=bounded(f"{type(error).__name__}: {error}"),
        )
    return Motion(ending, record, error, started, time.time_ns())


def _ending_of(error: InspectRobotsError) -> Ending:
    if isinstance(error, PolicyError):
        return Ending.POLICY_ERROR
    if isinstance(error, SafetyAbort):
        return Ending.SAFETY
    return Ending.RIG_FAULT if isinstance(error, EmbodimentFault) else Ending.CONFIG
