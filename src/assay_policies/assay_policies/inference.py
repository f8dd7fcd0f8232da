"""Serving a policy: wait for the samples that a request names, run the policy, check its answer, keep the deadline.

Free of nodes and executors, so that every way in which an inference can go wrong is a plain test. Time, publication and
the worker come from outside.
"""

from __future__ import annotations

import array
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay_core.contained import in_words
from assay_core.errors import AssayError, ConfigError, DeadlineError, PolicyError
from assay_core.rig import ACTION_DIM, ACTION_LABELS
from assay_msgs.msg import PolicyChunk, ResultCode
from assay_msgs.srv import InferPolicy, ResetPolicy
from assay_policies.api import ChunkOut, Inputs, Policy, Trial, checked
from assay_policies.failures import FailureLog, sayable
from assay_policies.streams import StreamStore
from assay_policies.worker import Worker
from assay_ros.convert import to_ns
from assay_ros.deferred import Reply
from assay_ros.diagnostics import Latencies, Readings
from assay_ros.names import serves_policy

__all__ = ["PolicyServer"]

STREAM_S = 1.0
"""Longest wait for a named sample [s]: it left its publisher before the request was made."""

ANSWER_FRACTION = 0.9
"""Part of the caller's deadline after which it gets an answer, whatever the policy does."""

MOST_WORDS = 2000
"""Longest message of a refusal [characters]."""


@dataclass
class _Pending:
    """One inference in progress."""

    request: Any
    stamps: dict[str, int]
    reply: Reply
    asked: float
    stream_deadline: float
    answer_deadline: float
    limit: str
    """Who set its deadline."""
    running: bool = False


class PolicyServer:
    """Carries out the services of the policy node for one policy.

    Args:
        policy: The policy.
        store: Samples of the streams it reads.
        worker: Runs slow policies.
        failures: Keeps the tracebacks of what a policy raises.
        name: The policy's name, e.g. ``inspect:molmoact2``.
        label: Name that operators may see.
        infer_deadline_s: Longest inference [s].
        publish: Publishes a chunk.
        now: Wall time as a stamp.
        describe: Says what is known about a stream's publishers.
        clock: Monotonic time [s].
    """

    def __init__(
        self,
        policy: Policy,
        store: StreamStore,
        worker: Worker,
        failures: FailureLog,
        *,
        name: str,
        label: str,
        infer_deadline_s: float,
        publish: Callable[[PolicyChunk], None],
        now: Callable[[], Any],
        describe: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy = policy
        self._store = store
        self._worker = worker
        self._failures = failures
        self._name = name
        self._label = label
        self._infer_deadline_s = infer_deadline_s
        self._publish = publish
        self._now = now
        self._describe = describe
        self._clock = clock
        self._pending: _Pending | None = None
        self._trial_id = ""
        self._session_id = ""
        self._chunks = 0
        self._hang_told = ""
        self.active = False
        self.latencies = Latencies()
        """Of every inference that came to an end."""
        self.errors = 0
        """Requests that were refused, failed or given up."""

    # -- policy/reset ------------------------------------------------------------------------------------------------

    def reset(self, request: Any, reply: Reply) -> None:
        """Handle one request of policy/reset."""
        answer = ResetPolicy.Response(policy_label=self._label, streams=list(self._policy.streams))
        try:
            self._must_be_active("policy/reset")
            trial = _trial(request)
        except _Refused as refused:
            _refuse(answer, refused.code, str(refused), reply)
            return
        if request.session_id != self._session_id:
            self._session_id, self._chunks = request.session_id, 0
        self._trial_id, self._pending = "", None

        def done(_result: Any, error: BaseException | None) -> None:
            if error is None:
                self._trial_id = trial.trial_id
                answer.code, answer.message = ResultCode.OK, serves_policy(self._name)
                reply(answer)
            else:
                self.errors += 1
                _refuse(answer, *_sorted(error), reply)

        self._run(f"reset for trial {trial.trial_id}", lambda: self._policy.reset(trial), done)

    # -- policy/infer ------------------------------------------------------------------------------------------------

    def infer(self, request: Any, reply: Reply) -> None:
        """Handle one request of policy/infer."""
        answer = InferPolicy.Response()
        stamps = {item.stream: to_ns(item.stamp) for item in request.inputs}
        try:
            self._must_be_active("policy/infer")
            self._must_be_current(request, stamps)
        except _Refused as refused:
            self.errors += 1
            _refuse(answer, refused.code, str(refused), reply)
            return
        limit_s, limit = self._infer_deadline_s, f"infer_deadline_s is {self._infer_deadline_s:g}"
        if math.isfinite(request.deadline_s) and request.deadline_s > 0:
            asked_s = request.deadline_s * ANSWER_FRACTION
            if asked_s < limit_s:
                limit_s, limit = asked_s, f"who asked waits {request.deadline_s:g} s"
        self._store.want(stamps)
        now = self._clock()
        stream_end = now + min(STREAM_S, limit_s * 0.5)
        self._pending = _Pending(request, stamps, reply, now, stream_end, now + limit_s, limit)
        self.advance()

    def advance(self) -> None:
        """Go on with the inference in progress: call it when a sample arrived and when `next_deadline` has come."""
        pending = self._pending
        if pending is None:
            return
        now = self._clock()
        if not pending.running:
            missing = self._store.missing
            if not missing:
                pending.running = True
                self._start(pending)
            elif now >= pending.stream_deadline:
                told = "; ".join(self._missing(name, pending.stamps[name]) for name in sorted(missing))
                waited = now - pending.asked
                self._give_up(pending, ResultCode.STREAM_MISSING, f"not received within {waited:.1f} s: {told}")
        elif now >= pending.answer_deadline:
            self._tell_hang()
            self._give_up(
                pending,
                ResultCode.DEADLINE_EXCEEDED,
                f"policy '{self._label}' did not answer within {now - pending.asked:.1f} s. "
                f"fix: look at the policy and its server; {pending.limit}",
            )

    @property
    def next_deadline(self) -> float | None:
        """Monotonic time at which `advance` is due without a sample [s]; None while nothing is in progress."""
        pending = self._pending
        if pending is None:
            return None
        return pending.answer_deadline if pending.running else pending.stream_deadline

    def readings(self) -> Readings:
        """Return how it is doing, for ``diagnostics``."""
        return {"inferences": self.latencies.count, "errors": self.errors, **self.latencies.readings("inference")}

    def stop(self, why: str) -> None:
        """Answer the inference in progress, if any, before the node leaves its active state."""
        self.active, self._trial_id = False, ""
        if self._pending is not None:
            self._give_up(self._pending, ResultCode.CANCELLED, why)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _start(self, pending: _Pending) -> None:
        request = pending.request
        started = self._clock()

        def done(result: Any, error: BaseException | None) -> None:
            if self._pending is not pending:
                return  # answered at its deadline; the late result is nobody's
            self._pending = None
            answer = InferPolicy.Response()
            latency_s = self._clock() - started
            self.latencies.add(latency_s)
            if error is None:
                answer.code = ResultCode.OK
                answer.chunk = self._chunk(request, result, latency_s)
                pending.reply(answer)
                self._publish(answer.chunk)
            else:
                self.errors += 1
                _refuse(answer, *_sorted(error), pending.reply)

        def job() -> Any:
            inputs: Inputs = self._store.inputs(pending.stamps, request.step, request.instruction)
            chunk: ChunkOut = self._policy.infer(inputs)
            return checked(chunk, self._label), chunk.control_hz

        self._run(f"inference of trial {request.trial_id} at step {request.step}", job, done)

    def _run(self, what: str, job: Callable[[], Any], then: Callable[[Any, BaseException | None], None]) -> None:
        def done(result: Any, error: BaseException | None) -> None:
            if error is not None:
                self._failures.raised(what, _sorted(error)[1], error)
            then(result, error)

        if self._policy.slow:
            busy = self._worker.busy
            if busy:
                self._tell_hang()
                then(None, DeadlineError(f"policy '{self._label}' hangs: {busy}. fix: restart the policy node"))
            else:
                self._worker.submit(what, job, done)
            return
        try:
            result = job()
        except Exception as error:  # noqa: BLE001 (whatever a policy raises ends its trial, not the node)
            done(None, error)
        else:
            done(result, None)

    def _tell_hang(self) -> None:
        """Say where the policy is that does not come back, once for each job."""
        job, busy = self._worker.job, self._worker.busy
        if job and job != self._hang_told:
            self._hang_told = job
            self._failures.hangs(busy, self._worker.ident)

    def _chunk(self, request: Any, result: Any, latency_s: float) -> PolicyChunk:
        actions, control_hz = result
        self._chunks += 1
        chunk = PolicyChunk(
            session_id=request.session_id,
            trial_id=request.trial_id,
            chunk_id=self._chunks,
            policy_label=self._label,
            steps=actions.shape[0],
            dim=actions.shape[1],
            actions=array.array("d", np.ascontiguousarray(actions).tobytes()),
            control_hz=math.nan if control_hz is None else float(control_hz),
            latency_s=latency_s,
            inputs=request.inputs,
        )
        chunk.header.stamp = self._now()
        return chunk

    def _must_be_active(self, service: str) -> None:
        if not self.active:
            raise _Refused(ResultCode.NOT_READY, f"{service}: policy node is not active. fix: activate it")

    def _must_be_current(self, request: Any, stamps: dict[str, int]) -> None:
        if not self._trial_id or request.trial_id != self._trial_id:
            raise _Refused(
                ResultCode.NOT_READY,
                f"trial: expected {self._trial_id or 'policy/reset first'}, got {request.trial_id!r}. "
                "fix: call policy/reset for this trial",
            )
        absent = [name for name in self._policy.streams if name not in stamps]
        foreign = [name for name in stamps if name not in self._policy.streams]
        if absent or foreign:
            raise _Refused(
                ResultCode.INVALID_ARGUMENT,
                f"inputs of policy '{self._label}': expected {', '.join(self._policy.streams) or 'none'}, got "
                f"{', '.join(stamps) or 'none'}. fix: name exactly the streams that policy/reset answered",
            )
        if self._pending is not None:
            raise _Refused(
                ResultCode.BUSY, f"step {self._pending.request.step} is being inferred. fix: wait for its answer"
            )

    def _missing(self, name: str, wanted_ns: int) -> str:
        return f"{name} at {wanted_ns / 1e9:.9f} ({self._store.seen(name)}; {self._describe(name)})"

    def _give_up(self, pending: _Pending, code: int, message: str) -> None:
        self._pending = None
        self.errors += 1
        _refuse(InferPolicy.Response(), code, message, pending.reply)


class _Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def _refuse(answer: Any, code: int, message: str, reply: Reply) -> None:
    text = sayable(message)  # a policy's own words may hold what no message can carry, and may be of any length
    answer.code, answer.message = code, text if len(text) <= MOST_WORDS else text[:MOST_WORDS] + " ..."
    reply(answer)


def _sorted(error: BaseException) -> tuple[int, str]:
    """Return code and message for what a policy, or the decoding of its inputs, raised."""
    if isinstance(error, ConfigError):
        return ResultCode.INVALID_ARGUMENT, str(error)
    if isinstance(error, DeadlineError):
        return ResultCode.BUSY, str(error)
    if isinstance(error, PolicyError):
        return ResultCode.POLICY_FAILED, str(error)
    if isinstance(error, AssayError):
        return ResultCode.POLICY_UNREACHABLE, str(error)
    return ResultCode.POLICY_FAILED, in_words(error)


def _trial(request: Any) -> Trial:
    if list(request.action_labels) != list(ACTION_LABELS):
        raise _Refused(
            ResultCode.INVALID_ARGUMENT,
            f"action_labels: expected the {ACTION_DIM} labels {ACTION_LABELS[0]} .. {ACTION_LABELS[-1]}, got "
            f"{', '.join(request.action_labels) or 'none'}. fix: run both ends from the same version",
        )
    try:
        scene = json.loads(request.scene_json) if request.scene_json else {}
    except ValueError as error:
        raise _Refused(ResultCode.INVALID_ARGUMENT, f"scene_json: expected JSON, got {error}") from error
    if not isinstance(scene, dict):
        raise _Refused(ResultCode.INVALID_ARGUMENT, f"scene_json: expected an object, got {type(scene).__name__}")
    return Trial(
        trial_id=request.trial_id,
        task=request.task,
        scene_id=request.scene_id,
        epoch=int(request.epoch),
        seed=int(request.seed),
        instruction=request.instruction,
        scene=scene,
    )
