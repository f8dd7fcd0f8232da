"""The graph as a blocking object: sessions, trials, policy and control steps over one node and one thread.

The framework's rollout is a loop of blocking calls. `GraphClient` turns the protocol of the graph (see ARCHITECTURE.md)
into such calls. It owns a node and spins it only while it waits. Every wait has a deadline and names what is missing,
and ends at once when a process of the graph is known to be dead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import rclpy
from rclpy.context import Context
from rclpy.node import Node

from assay_bridge.advances import Advances
from assay_bridge.benchmark_calls import OPEN_SESSION, BenchmarkCalls
from assay_bridge.client_types import ChunkData, ClientConfig, SessionOpened, VerdictData
from assay_bridge.frames import FrameSet
from assay_bridge.heartbeat import Heart
from assay_bridge.motion import LockstepMotion, PacedMotion, nodes_on_graph
from assay_bridge.policy_calls import PolicyCalls
from assay_bridge.publishers import Strangers
from assay_bridge.services import Services
from assay_bridge.session_size import sealing_s
from assay_bridge.spinner import Gate, Spinner
from assay_bridge.trial_watch import TERMINAL, TrialWatch
from assay_core.plan import trial_id
from assay_core.program import command
from assay_core.realization import TrialRealization
from assay_msgs.msg import TrialState
from assay_msgs.srv import CloseSession, ResetWorld
from assay_ros.convert import to_ns

__all__ = ["GraphClient"]

TELL_S = 5.0
"""How often it is said what is missing while a graph is waited for [s]."""

WORLD = "world"
"""Node name, for errors."""


class GraphClient:
    """A runner's side of the graph. Not thread-safe: one thread calls it, and nothing else spins its node.

    Args:
        config: Rig, rate and deadlines.
        context: An initialised context; None makes one of its own in the domain of the environment.
        liveness: Returns a sentence when a process of the graph is known to be dead; checked in every wait. It may
            raise to end a wait at a safe point.
        node_name: Name on the graph.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        context: Context | None = None,
        liveness: Callable[[], str | None] | None = None,
        node_name: str = "runner",
    ) -> None:
        self.config = config
        self._owns_context = context is None
        if context is None:
            context = Context()
            rclpy.init(args=[], context=context)
        node = Node(node_name, context=context, namespace=config.namespace or None, start_parameter_services=False)
        self.node = node
        self._spinner = Spinner(node, context, liveness)
        self._idle = Gate()
        self._services = Services(self._spinner, self._idle)
        self.motion: LockstepMotion | PacedMotion = (
            LockstepMotion(self._spinner, config) if config.mode == "lockstep" else PacedMotion(self._spinner, config)
        )
        self._trial = TrialWatch(self._spinner, self._idle, config.session_id)
        self._realization_msg: Any = None
        self._closed = False
        self._directory = Path()
        """Of the open session."""
        self._heart = Heart(node, config.session_id, config.runner_id)
        self._spinner.heartbeat = self._heart.beat
        self._benchmark = BenchmarkCalls(self._services, config)
        self._advances = Advances(self._benchmark, self._trial)
        self.policy = PolicyCalls(self._services, config, self.motion.streams)
        self._strangers: Strangers | None = None

    @property
    def trial_id(self) -> str:
        """Id of the current trial; empty before the first."""
        return self._trial.trial_id

    @property
    def trial_state(self) -> TrialState:
        """The newest message of benchmark/trial of this session."""
        return self._trial.state

    def tell_waiting(self, tell: Callable[[str, str, tuple[str, ...]], None]) -> None:
        """Have ``tell`` called with trial id, state and who is waited for, once each time that it is a person."""
        self._trial.tell = tell

    def tell_strangers(self, tell: Callable[[str], None]) -> None:
        """Have ``tell`` called when somebody besides the automatic operator may give verdicts."""
        self._strangers = Strangers(self.node, tell)

    # -- session -----------------------------------------------------------------------------------------------------

    def connect(
        self,
        *,
        policy: bool = False,
        tell: Callable[[str], None] | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait until every stream, command and service that a session needs is on the graph.

        Args:
            policy: Whether the policy node is needed too.
            tell: Takes a line now and then about what is still missing.
            check: Raises when waiting is of no use.

        Raises:
            DeadlineError: Something is not there within ``connect_s``; names each.
        """
        names = [OPEN_SESSION] + (["policy/infer"] if policy else [])
        missing: list[str] = []

        def complete() -> bool:
            check()
            missing[:] = [f"{name} (no server)" for name in names if not self._services.ready(name)]
            missing.extend(self.motion.connected())
            return not missing

        self._spinner.wait(
            complete,
            self.config.connect_s,
            lambda: (
                f"graph: incomplete after {self.config.connect_s:g} s, missing {', '.join(missing)}. "
                f"{nodes_on_graph(self.node)}. fix: start the graph in the same ROS domain, e.g. "
                f"{command('launch', 'eval')}"
            ),
            again=None if tell is None else lambda: tell(f"still waiting for {', '.join(missing)}"),
            again_s=TELL_S,
        )

    def open_session(self, directory: str, plan_hash: str, *, resume: bool) -> SessionOpened:
        """Open the session of the configuration, or reopen it for resuming.

        Args:
            directory: Session directory as the benchmark node sees it.
            plan_hash: SHA-256, hex, of ``plan.yaml`` as stored there.
            resume: True when the journal exists.

        Raises:
            ConfigError: Another session is open, the plan differs, or the session is sealed.
            DeadlineError: No answer in time.
        """
        self._directory = Path(directory)
        opened = self._benchmark.open_session(directory, plan_hash, resume=resume)
        self._heart.beating = True
        self._heart.beat()
        return opened

    def close_session(self, status: int, reason: str = "") -> str:
        """Close the session and return the seal's root hash; empty when it was not sealed.

        Args:
            status: ``CloseSession.Request.STATUS_*``.
            reason: Why, when it is not done.
        """
        done = status == CloseSession.Request.STATUS_DONE
        root_hash = self._benchmark.close_session(status, reason, sealing_s(self._directory) if done else 0.0)
        self._heart.beating = False
        return root_hash

    # -- trial -------------------------------------------------------------------------------------------------------

    def start_trial(self, plan_index: int, attempt: int, entry_json: str = "") -> TrialRealization:
        """Start one attempt at a plan entry and return its realization.

        Args:
            plan_index: Position in the plan, from 0.
            attempt: 0 for the first.
            entry_json: Plan entry as JSON, for a session whose plan is open.

        Raises:
            DataError: The realization's hash does not agree with its content.
        """
        self._advances.forget()
        self._trial.follow(trial_id(plan_index, attempt))
        self.motion.begin(self.trial_id)
        self._heart.trial_id, self._heart.step = self.trial_id, 0
        self._realization_msg, realization = self._benchmark.start_trial(self.trial_id, plan_index, attempt, entry_json)
        return realization

    def wait_for_state(self, *states: int, deadline_s: float) -> TrialState:
        """Wait until the current trial is in one of the states and return the message that says so.

        Args:
            states: ``TrialState`` constants.
            deadline_s: Longest wait [s].

        Raises:
            DeadlineError: It did not get there; says where it stands and who is waited for.
            TrialEnded: It ended in another terminal state.
            SafetyStop: It was halted for safety, and that was not waited for.
        """
        return self._trial.wait_for(states, deadline_s)

    def trial_ended(self) -> bool:
        """Return whether the current trial has reached a terminal state."""
        return self._trial.ended

    def advance(self, state: int, record_json: str = "") -> int:
        """Report that the trial reached RUNNING, PARKING or JUDGE; return the state in force.

        Args:
            state: ``TrialState`` constant.
            record_json: With JUDGE, the trial record so far.

        Raises:
            SafetyStop: The trial was halted for safety.
            TrialEnded: It ended otherwise.
            RigFault: The benchmark node refused, or did not answer.
        """
        return self._advances.report(state, record_json)

    def judge(self, record_json: str) -> int:
        """Report PARKING, unless that was done already, and JUDGE; see `advance`."""
        if not self._advances.pending and self.trial_state.state == TrialState.RUNNING:
            self.advance(TrialState.PARKING)
        return self.advance(TrialState.JUDGE, record_json)

    def advance_meanwhile(self, state: int) -> contextlib.AbstractContextManager[None]:
        """Report that the trial reaches a state, and wait for the answer only at the end of the block.

        Args:
            state: ``TrialState`` constant.

        Raises:
            As `advance`, at the end of the block.
        """
        return self._advances.meanwhile(state)

    def advance_ahead(self, state: int) -> None:
        """Report that the trial reached a state; the next `advance` waits for this report's answer too.

        Args:
            state: ``TrialState`` constant.
        """
        self._advances.ahead(state)

    def wait_for_verdict(self, deadline_s: float | None = None) -> VerdictData:
        """Wait until a verdict on the current trial was accepted, and return it.

        Args:
            deadline_s: Longest wait [s]; None takes ``verdict_s``.

        Raises:
            DeadlineError: No verdict was accepted in time.
            TrialEnded: The trial ended without one.
        """
        verdict = self._trial.wait_for_verdict(self.config.verdict_s if deadline_s is None else deadline_s)
        if self._strangers is not None:
            self._strangers.look()
        return verdict

    def finish_trial(self, status: int, error: str = "", record_json: str = "") -> int:
        """Finish the current trial and return its terminal state.

        Args:
            status: ``FinishTrial.Request.STATUS_*``.
            error: What went wrong; empty when completed.
            record_json: The whole trial record.
        """
        self._advances.forget()
        return self._benchmark.finish_trial(self.trial_id, status, error, record_json)

    # -- motion ------------------------------------------------------------------------------------------------------

    def first_frames(self) -> FrameSet:
        """Return the frame set of the arranged scene. Call it once the trial is READY.

        Raises:
            DeadlineError: A stream did not arrive in time; the message names it.
        """
        stamp_ns = to_ns(self.trial_state.world_stamp) if self._trial.current else 0
        with self._trial_watched():
            return self.motion.first(stamp_ns, self._republish)

    def step(self, action: npt.NDArray[np.float64]) -> FrameSet:
        """Make one control step and return what the rig shows after it.

        Args:
            action: Absolute joint targets, shape (14,), order `assay_core.rig.ACTION_LABELS` [rad, gripper 0..1].

        Raises:
            DeadlineError: A stream did not arrive in time; the message names it.
            RigFault: A sample is torn or stale, or a process died.
            SafetyStop: The trial was halted for safety.
            TrialEnded: The trial ended otherwise.
        """
        with self._trial_watched():
            frames = self.motion.step(action)
        self._heart.step = self.motion.steps
        self._spinner.check()
        if self._trial.state.state in TERMINAL:
            self._trial.check()
        return frames

    def observe(self) -> FrameSet:
        """Return a fresh frame set without a new action: arms hold their last command."""
        return self.motion.observe()

    # -- policy ------------------------------------------------------------------------------------------------------

    def reset_policy(self, scene: Mapping[str, Any], epoch: int, seed: int, instruction: str) -> tuple[str, ...]:
        """Prepare the policy node for the current trial and return the streams that the policy reads.

        Args:
            scene: The scene as JSON-native data: id, instruction, target, init_seed, setup, metadata.
            epoch: Index of the realization within its instance.
            seed: Trial seed.
            instruction: Goal sentence, verbatim from the realization.

        Raises:
            ConfigError: The policy is not known, or does not fit the rig.
            PolicyError: The policy failed.
            RigFault: The policy's server or node does not answer.
        """
        task = self._realization_msg.task if self._realization_msg is not None else ""
        with self._trial_watched():
            self.policy.reset(self.trial_id, task, scene, epoch, seed, instruction)
        return self.policy.streams

    def infer(self, frames: FrameSet, step: int, instruction: str) -> ChunkData:
        """Ask the policy node for its next actions on exactly these frames.

        Args:
            frames: Newest frame set.
            step: Control steps executed so far.
            instruction: Goal sentence.

        Raises:
            PolicyError: The policy raised, answered nonsense, or did not answer in time.
            RigFault: A stream did not reach the policy, its node is gone, or its server does not answer.
        """
        return self.infer_at(frames.stamps, step, instruction)

    def infer_at(self, stamps: Mapping[str, int], step: int, instruction: str) -> ChunkData:
        """Ask the policy node for its next actions on the samples with these stamps [ns] by topic (see `infer`)."""
        republish = self._republish if self.config.mode == "lockstep" else None
        with self._trial_watched():
            return self.policy.infer(self.trial_id, stamps, step, instruction, republish)

    # -- inside ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave the graph. The session stays as it is; the benchmark node notices the silence."""
        if self._closed:
            return
        self._closed = True
        self._spinner.close()
        if self._owns_context:
            rclpy.try_shutdown(context=self._spinner.context)

    @contextlib.contextmanager
    def _trial_watched(self) -> Iterator[None]:
        """End a wait as soon as the trial is over: what it waits for may never come."""
        self._spinner.watch = self._trial.check
        try:
            yield
        finally:
            self._spinner.watch = None

    def _republish(self) -> None:
        """Have the world publish the current frame set again, for a subscriber that missed part of it."""
        if self.motion.steps > 0:
            self.motion.resend()
        elif self._realization_msg is not None:
            # The world answers a repeated reset of the same trial by publishing its first frame set again.
            self._services.call(
                ResetWorld,
                "world/reset",
                ResetWorld.Request(realization=self._realization_msg),
                deadline_s=self.config.step_s,
                node=WORLD,
            )
