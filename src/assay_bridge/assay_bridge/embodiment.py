"""The rig as an Inspect Robots embodiment.

Building it touches neither ROS nor the graph: the framework builds embodiments to check and list them. The first reset
connects. Under the session runner it is given a client with an open session and told which plan entry comes next; used
by the framework's own command line it opens a session of its own, whose plan grows with each reset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from inspect_robots.embodiment import EmbodimentBase
from inspect_robots.types import OPERATOR_END, Action, Observation, StepResult

from assay_bridge.faults import framework_error, framework_errors, trial_errors
from assay_bridge.link import STAMPS, Link, make_current, scene_json
from assay_bridge.rig_info import JOINTS, STATE_KEY, build_info
from assay_core.errors import ConfigError
from assay_core.rig import cameras as rig_cameras
from assay_core.trial import State

if TYPE_CHECKING:
    from inspect_robots.scene import Scene
    from inspect_robots.task import TaskEnvelope

    from assay_bridge.client import GraphClient
    from assay_bridge.frames import FrameSet
    from assay_bridge.own_session import OwnSession
    from assay_core.plan import PlanEntry

__all__ = ["AssayEmbodiment"]

_MOTION_OVER = frozenset({State.PARKING, State.JUDGE})
"""States in which the policy moves nothing any more; an operator's early stop leads to the first."""


class AssayEmbodiment(EmbodimentBase):
    """Two YAM arms and up to three cameras, reached over the graph.

    Args:
        cameras: How many cameras are used, 0 to 3: top, left, right.
        camera_width: Pixels.
        camera_height: Pixels.
        control_hz: Control rate [Hz].
        mode: ``lockstep`` for a simulated world that steps when told, ``paced`` for real time.
        has_world: Whether a simulated world judges success; false on hardware.
        namespace: Namespace of the rig; empty for the root.
        session: Directory of the session that the framework's command line opens; empty makes one under ``sessions/``.
        graders: Ids whose verdicts count in that session, separated by commas.
        operators: Ids that may answer for the scene in that session, separated by commas.
        connect_s: Longest wait for the graph [s].
        service_s: Longest wait for an answer of the benchmark node [s].
        step_s: Longest wait for the streams of one step [s].
        reset_s: Longest wait for the policy node to prepare [s].
        infer_s: Longest wait for one inference of the policy node [s].
        arrange_s: Longest wait for the scene to be arranged [s].
        verdict_s: Longest wait for a verdict [s].
        tolerance_s: Oldest sample in a frame set of a paced rig [s].

    Raises:
        ConfigError: The framework's, when an argument is out of range.
    """

    def __init__(
        self,
        cameras: int = 3,
        camera_width: int = 640,
        camera_height: int = 360,
        control_hz: float = 10.0,
        mode: str = "lockstep",
        has_world: bool = True,
        namespace: str = "",
        session: str = "",
        graders: str = "checker",
        operators: str = "auto",
        connect_s: float = 15.0,
        service_s: float = 10.0,
        step_s: float = 5.0,
        reset_s: float = 60.0,
        infer_s: float = 10.0,
        arrange_s: float = 3600.0,
        verdict_s: float = 3600.0,
        tolerance_s: float = 0.5,
    ) -> None:
        from assay_bridge.client_types import ClientConfig

        with framework_errors():
            self.config = ClientConfig(
                cameras=rig_cameras(cameras, camera_width, camera_height),
                control_hz=float(control_hz),
                mode=mode,
                has_world=has_world,
                namespace=namespace,
                connect_s=connect_s,
                service_s=service_s,
                step_s=step_s,
                reset_s=reset_s,
                infer_s=infer_s,
                arrange_s=arrange_s,
                verdict_s=verdict_s,
                tolerance_s=tolerance_s,
            )
        self._session_options = {"directory": session, "graders": graders, "operators": operators}
        self._start()

    @classmethod
    def attached(cls, client: GraphClient) -> AssayEmbodiment:
        """Return the embodiment of a client whose session is open; its owner says with `assign` what comes next."""
        embodiment = cls.__new__(cls)
        embodiment.config = client.config
        embodiment._session_options = None
        embodiment._start()
        embodiment.link.client = client
        return embodiment

    def _start(self) -> None:
        self.link = Link()
        make_current(self.link)
        self.info = build_info(
            self.config.cameras,
            self.config.control_hz,
            mode=self.config.mode,
            has_world=self.config.has_world,
            link=self.link,
        )
        self._own: OwnSession | None = None
        self._assigned: tuple[PlanEntry, int] | None = None
        self._envelope: TaskEnvelope | None = None

    _session_options: dict[str, str] | None

    # -- what the session runner says -------------------------------------------------------------------------------

    def assign(self, entry: PlanEntry, attempt: int) -> None:
        """Say which plan entry the next reset starts, and which attempt at it."""
        self._assigned = (entry, attempt)

    # -- the framework's contract ------------------------------------------------------------------------------------

    def bind_task(self, envelope: TaskEnvelope) -> None:
        """Learn the task's name and horizon, which a session of our own writes into its plan."""
        self._envelope = envelope
        if self._own is not None:
            self._own.bind_task(envelope)

    def connect_operator_session(self, session: Any) -> None:
        """Accept: this embodiment never reads standard input; operators answer over the graph."""

    def reset(self, scene: Scene, *, seed: int | None = None) -> Observation:
        """Have one realization of ``scene`` arranged and return what the rig shows.

        Args:
            scene: Its id must be the assigned entry's, under the session runner.
            seed: Trial seed.

        Raises:
            EmbodimentFault: The graph, the world or the rig failed, or the trial ended before motion.
            SafetyAbort: The trial was halted for safety.
            PolicyError: The policy failed to prepare.
            ConfigError: Graph, plan, scene or policy do not fit each other.
        """
        from assay_msgs.msg import TrialState

        with trial_errors(self.link):
            client, (entry, attempt, entry_json) = self._next(scene, seed)
            realization = client.start_trial(entry.index, attempt, entry_json)
            self.link.begin(realization, client.trial_id)
            if self.link.wants_policy:
                # While the scene is being arranged: a policy that fails should not cost an operator's work.
                client.reset_policy(scene_json(scene), entry.epoch, entry.seed, realization.instruction)
                self.link.check_policy(client.policy.name)
            client.wait_for_state(TrialState.READY, deadline_s=self.config.arrange_s)
            if self.config.mode == "lockstep":
                # Nothing moves before the first step, so the world may still be drawing.
                with client.advance_meanwhile(TrialState.RUNNING):
                    frames = client.first_frames()
            else:
                frames = client.first_frames()
                client.advance(TrialState.RUNNING)
            return self._observation(frames)

    def step(self, action: Action) -> StepResult:
        """Make one control step.

        Args:
            action: ``data`` of shape (14,): absolute joint targets [rad, gripper 0..1].

        Raises:
            EmbodimentFault: A stream is missing, torn or stale, a process died, or the trial was ended as invalid.
            SafetyAbort: The trial was halted for safety.
        """
        client = self._client()
        with trial_errors(self.link):
            if client.trial_state.state in _MOTION_OVER:
                # Stopped while the policy was thinking: what it thought of must not move anything any more.
                result = self._result(client.observe(), client, held=True)
            else:
                frames = client.step(np.asarray(action.data, dtype=np.float64).reshape(-1))
                self.link.steps += 1
                result = self._result(frames, client)
            if self._own is not None:
                self._own.log_step(action, result)
            return result

    def observe_parked(self) -> Observation:
        """Report that the arms move clear of the scene, and return what the cameras see then.

        Raises:
            EmbodimentFault: The graph or the rig failed.
        """
        from assay_msgs.msg import TrialState

        client = self._client()
        with trial_errors(self.link):
            if self.config.mode == "lockstep":
                client.advance_ahead(TrialState.PARKING)  # there is nothing that parks: JUDGE follows at once
            else:
                client.advance(TrialState.PARKING)
            return self._observation(client.observe())

    def close(self) -> None:
        """Finish what is open and leave the graph. Under the session runner this does nothing: the runner owns it.

        Raises:
            EmbodimentFault: The last trial could not be finished; its session can be resumed.
        """
        if self._own is None:
            return
        own, self._own = self._own, None
        self.link.client = None
        with framework_errors():
            own.close()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _client(self) -> GraphClient:
        if self.link.client is None:
            raise framework_error(
                ConfigError("embodiment 'assay'", expected="a reset first", got="step", fix="call reset before step")
            )
        return self.link.client

    def _next(self, scene: Scene, seed: int | None) -> tuple[GraphClient, tuple[PlanEntry, int, str]]:
        """Return the client and the plan entry, attempt and entry JSON of the trial that starts now."""
        if self._session_options is not None:
            if self._own is None:
                from assay_bridge.own_session import OwnSession

                self._own = OwnSession(self.config, self.link, **self._session_options)
                self._own.bind_task(self._envelope)
            return self._own.client, self._own.next_trial(scene, seed)
        if self._assigned is None:
            raise ConfigError("embodiment 'assay'", expected="an assigned plan entry", got="none", fix="call assign")
        (entry, attempt), self._assigned = self._assigned, None
        if scene.id != entry.scene_id or seed != entry.seed:
            raise ConfigError(
                f"plan entry {entry.index}",
                expected=f"scene '{entry.scene_id}' with seed {entry.seed}",
                got=f"scene '{scene.id}' with seed {seed}",
                fix="reset the scene that the plan names, with the seed derived from it",
            )
        return self._client(), (entry, attempt, "")

    def _observation(self, frames: FrameSet) -> Observation:
        realization = self.link.realization
        by_key = {camera.key: camera.topic for camera in self.config.cameras}
        return Observation(
            images=frames.images,
            state={STATE_KEY: frames.joint_pos},
            instruction=realization.instruction if realization is not None else None,
            image_times={key: frames.stamps[topic] / 1e9 for key, topic in by_key.items()},
            state_time=frames.stamps[JOINTS] / 1e9,
            extra={STAMPS: frames.stamps},
        )

    def _result(self, frames: FrameSet, client: GraphClient, *, held: bool = False) -> StepResult:
        observation = self._observation(frames)
        judged = frames.task_state
        info: dict[str, Any] = {}
        terminated, reason = False, None
        if judged is not None:
            info = {"progress": judged.progress, "success": judged.success}
            terminated, reason = judged.terminated, judged.reason or None
        if self.config.mode == "paced":
            info["ages_s"] = {name: round(age, 6) for name, age in frames.ages.items()}
        if held:
            info["held"] = True
        if not terminated and client.trial_state.state in _MOTION_OVER:
            terminated, reason = True, OPERATOR_END
        return StepResult(observation=observation, terminated=terminated, termination_reason=reason, info=info)
