"""The policy node as two blocking calls: prepare for a trial, and choose the next actions.

What a policy looked at is named by stamps, never by "the newest": the request lists one stamp for each stream that the
policy reads, so that a record of the trial says exactly what each decision was based on.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from assay_bridge.answers import error_for
from assay_bridge.client_types import ChunkData, ClientConfig
from assay_bridge.frames import joint_stream
from assay_bridge.services import Services, Unanswered
from assay_core.errors import ConfigError, DeadlineError, PolicyError, RigFault
from assay_core.rig import ACTION_DIM, ACTION_LABELS, ARMS
from assay_msgs.msg import ResultCode, StreamStamp
from assay_msgs.srv import InferPolicy, ResetPolicy
from assay_ros.convert import from_ns
from assay_ros.names import policy_served

__all__ = ["PRIVILEGED", "NodeHangs", "PolicyCalls"]

NODE = "policy"
"""Node name, for errors."""

PRIVILEGED = "world/privileged"
"""Stream that only an oracle reads; it carries the stamp of the joint states."""

AGAIN_S = 0.5
"""Pause before a busy policy is asked again [s]."""


_RESTART = "fix: resume, which starts a fresh policy node; with --attach, restart the policy node first"


class NodeHangs(RigFault):
    """The policy's node lives, and it or its policy does not come back from an earlier trial: only a restart helps."""


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
        self._hangs_since = ""
        """Trial in which the node fell silent; empty while it answers."""
        self.name = ""
        """What the node says that it serves, e.g. ``inspect:molmoact2``; empty when it does not say."""
        services.add(ResetPolicy, "policy/reset")
        services.add(InferPolicy, "policy/infer")

    def reset(
        self, trial_id: str, task: str, scene: Mapping[str, Any], epoch: int, seed: int, instruction: str
    ) -> None:
        """Prepare the policy for a trial.

        Raises:
            ConfigError: The policy is not known, does not fit the rig, or reads a stream that the rig does not have.
            PolicyError: The policy failed, or did not prepare in time.
            NodeHangs: Node or policy hang since an earlier trial.
            RigFault: The policy's node is gone, or its server does not answer.
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
        answer = self._ask(ResetPolicy, "policy/reset", request, self._config.reset_s)
        # Busy: still at an inference that was given up in an earlier trial, which must not spoil this one.
        # Not ready: the graph was started a moment ago.
        patience_s = {ResultCode.BUSY: self._config.reset_s, ResultCode.NOT_READY: self._config.connect_s}
        begun = time.monotonic()
        while time.monotonic() < begun + patience_s.get(answer.code, 0.0):
            self._services.pause(AGAIN_S)
            answer = self._ask(ResetPolicy, "policy/reset", request, self._config.reset_s)
        if answer.code == ResultCode.BUSY:
            told = str(answer.message).partition(". fix: ")[0] or "busy"
            raise NodeHangs(f"policy/reset: not ready after {self._config.reset_s:g} s: {told}. {_RESTART}")
        _must_be_ok("policy/reset", answer)
        unknown = sorted(set(answer.streams) - self._served)
        if unknown:
            raise ConfigError(
                f"policy '{answer.policy_label}'",
                expected="streams among " + ", ".join(sorted(self._served)),
                got=", ".join(unknown),
                fix="start the rig with the cameras that the policy reads",
            )
        self.streams, self.label = tuple(answer.streams), str(answer.policy_label)
        self.name = policy_served(answer.message)

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
            PolicyError: The policy raised, answered nonsense, or did not answer in time.
            RigFault: A sample did not reach the policy, its node is gone, or its server does not answer.
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
        answer = self._ask(InferPolicy, "policy/infer", request, self._config.infer_s)
        if answer.code == ResultCode.STREAM_MISSING and republish is not None:
            republish()
            answer = self._ask(InferPolicy, "policy/infer", request, self._config.infer_s)
        _must_be_ok("policy/infer", answer)
        return _chunk(answer.chunk)

    def _ask(self, kind: Any, name: str, request: Any, deadline_s: float) -> Any:
        """Return the node's answer; a node that lives and gives none has failed (docs/decisions/0006).

        Raises:
            PolicyError: It lives, and gave no answer.
            RigFault: It is gone.
            NodeHangs: It has not answered since an earlier trial: that one it has failed, not this one.
        """
        try:
            answer = self._services.ask(kind, name, request, deadline_s=deadline_s, node=NODE)
        except Unanswered as error:
            if not self._services.alive(NODE):
                raise
            if self._hangs_since not in ("", request.trial_id):
                raise NodeHangs(f"{error}; it hangs since trial {self._hangs_since}. {_RESTART}") from error
            self._hangs_since = request.trial_id
            raise PolicyError(str(error)) from error
        self._hangs_since = ""
        return answer


def _must_be_ok(name: str, answer: Any) -> None:
    """Raise what an answer means.

    Raises:
        PolicyError: The policy failed, or did not answer its node in time.
        AssayError: Something else is wrong; see `answers.error_for`.
    """
    error = error_for(name, answer.code, answer.message)
    if isinstance(error, DeadlineError):
        raise PolicyError(str(error))
    if error is not None:
        raise error


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
