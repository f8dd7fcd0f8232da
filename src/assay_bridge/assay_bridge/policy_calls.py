"""The policy node as two blocking calls: prepare for a trial, and choose the next actions.

What a policy looked at is named by stamps, never by "the newest": the request lists one stamp for each stream that the
policy reads, so that a record of the trial says exactly what each decision was based on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from assay_bridge.answers import error_for
from assay_bridge.client_types import ChunkData, ClientConfig
from assay_bridge.frames import joint_stream
from assay_bridge.services import Services
from assay_core.errors import ConfigError, PolicyError
from assay_core.rig import ACTION_DIM, ACTION_LABELS, ARMS
from assay_msgs.msg import ResultCode, StreamStamp
from assay_msgs.srv import InferPolicy, ResetPolicy
from assay_ros.convert import from_ns

__all__ = ["PRIVILEGED", "PolicyCalls"]

NODE = "policy"
"""Node name, for errors."""

PRIVILEGED = "world/privileged"
"""Stream that only an oracle reads; it carries the stamp of the joint states."""


class PolicyCalls:
    """Calls of the policy node's services.

    Args:
        services: Makes the calls.
        config: Session, cameras, deadlines.
        streams: Topics of the rig's frame set.
    """

    def __init__(self, services: Services, config: ClientConfig, streams: Sequence[str]) -> None:
        self._services = services
        self._config = config
        self._served = frozenset([*streams, PRIVILEGED] if config.has_world else streams)
        self.streams: tuple[str, ...] = ()
        """Streams that the policy reads, from its last reset."""
        self.label = ""
        """The label operators may see."""
        services.add(ResetPolicy, "policy/reset")
        services.add(InferPolicy, "policy/infer")

    def reset(
        self, trial_id: str, task: str, scene: Mapping[str, Any], epoch: int, seed: int, instruction: str
    ) -> None:
        """Prepare the policy for a trial.

        Raises:
            ConfigError: The policy is not known, does not fit the rig, or reads a stream that the rig does not have.
            PolicyError: The policy failed.
            RigFault: The policy's node or server does not answer.
        """
        request = ResetPolicy.Request(
            session_id=self._config.session_id,
            trial_id=trial_id,
            task=task,
            scene_id=str(scene.get("id", "")),
            epoch=epoch,
            seed=seed,
            instruction=instruction,
            scene_json=json.dumps(scene, sort_keys=True),
            action_labels=list(ACTION_LABELS),
        )
        answer = self._services.call(ResetPolicy, "policy/reset", request, deadline_s=self._config.reset_s, node=NODE)
        unknown = sorted(set(answer.streams) - self._served)
        if unknown:
            raise ConfigError(
                f"policy '{answer.policy_label}'",
                expected="streams among " + ", ".join(sorted(self._served)),
                got=", ".join(unknown),
                fix="start the rig with the cameras that the policy reads",
            )
        self.streams, self.label = tuple(answer.streams), str(answer.policy_label)

    def infer(
        self,
        trial_id: str,
        stamps: Mapping[str, int],
        step: int,
        instruction: str,
        republish: Callable[[], None] | None,
    ) -> ChunkData:
        """Return the policy's next actions on the samples with these stamps.

        Args:
            trial_id: The current trial.
            stamps: Stamp [ns] of each stream of the frame set.
            step: Control steps executed so far.
            instruction: Goal sentence.
            republish: Has the world publish the frame set again, tried once when a sample did not reach the policy.

        Raises:
            PolicyError: The policy raised or answered nonsense.
            DeadlineError: No answer in time.
            RigFault: A sample did not reach the policy, or its server does not answer.
        """
        joints_ns = stamps[joint_stream(ARMS[0])]
        request = InferPolicy.Request(
            session_id=self._config.session_id,
            trial_id=trial_id,
            step=step,
            inputs=[StreamStamp(stream=name, stamp=from_ns(stamps.get(name, joints_ns))) for name in self.streams],
            instruction=instruction,
            deadline_s=self._config.infer_s,
        )
        answer = self._ask(request)
        if answer.code == ResultCode.STREAM_MISSING and republish is not None:
            republish()
            answer = self._ask(request)
        error = error_for("policy/infer", answer.code, answer.message)
        if error is not None:
            raise error
        return _chunk(answer.chunk)

    def _ask(self, request: InferPolicy.Request) -> Any:
        return self._services.ask(InferPolicy, "policy/infer", request, deadline_s=self._config.infer_s, node=NODE)


def _chunk(chunk: Any) -> ChunkData:
    """Return the content of a PolicyChunk.

    Raises:
        PolicyError: It is empty, of another width, not finite, or its numbers do not add up.
    """
    steps, dim, actions = int(chunk.steps), int(chunk.dim), np.array(chunk.actions, dtype=np.float64)
    if steps < 1 or dim != ACTION_DIM or actions.size != steps * dim or not np.isfinite(actions).all():
        raise PolicyError(
            f"chunk {chunk.chunk_id} of policy '{chunk.policy_label}'",
            expected=f"at least one row of {ACTION_DIM} finite values",
            got=f"{steps} rows of {dim}, {actions.size} values, {np.count_nonzero(~np.isfinite(actions))} not finite",
            fix="correct the policy",
        )
    return ChunkData(
        actions=actions.reshape(steps, dim),
        latency_s=float(chunk.latency_s),
        control_hz=None if math.isnan(chunk.control_hz) else float(chunk.control_hz),
        chunk_id=int(chunk.chunk_id),
        label=str(chunk.policy_label),
    )
