"""The policy node as an Inspect Robots policy.

What it acts on is named by the stamps that embodiment `assay` puts into each observation, so it works with that
embodiment only. The policy itself is whatever the policy node of the graph runs.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from inspect_robots.errors import CompatibilityError, ConfigError
from inspect_robots.policy import PolicyBase, PolicyConfig, PolicyInfo
from inspect_robots.spaces import ObservationSpace
from inspect_robots.types import Action, ActionChunk

from assay_bridge.faults import trial_errors
from assay_bridge.link import STAMPS, Link
from assay_bridge.rig_info import STATE_KEY, RigInfo, action_space

if TYPE_CHECKING:
    from inspect_robots.embodiment import EmbodimentInfo
    from inspect_robots.scene import Scene
    from inspect_robots.types import Observation

__all__ = ["AssayPolicy"]


class AssayPolicy(PolicyBase):
    """Asks the policy node of the graph for each chunk.

    Args:
        replan_interval: Actions played from each chunk before the next inference; 0 plays whole chunks.

    Raises:
        ConfigError: The interval is negative.
    """

    def __init__(self, replan_interval: int = 0) -> None:
        if isinstance(replan_interval, bool) or not isinstance(replan_interval, int) or replan_interval < 0:
            raise ConfigError(
                f"policy 'assay': replan_interval: expected an integer >= 0, got {replan_interval!r}. "
                "fix: 0 plays whole chunks"
            )
        self.info = PolicyInfo(
            name="assay",
            action_space=action_space(),
            observation_space=ObservationSpace(state_keys=frozenset({STATE_KEY})),
        )
        self.config = PolicyConfig(replan_interval=replan_interval or None)
        self._link: Link | None = None

    def bind(self, embodiment_info: EmbodimentInfo) -> None:
        """Learn through which embodiment the graph is reached.

        Raises:
            CompatibilityError: It is another embodiment than `assay`.
        """
        link = embodiment_info.link if isinstance(embodiment_info, RigInfo) else None
        if not isinstance(link, Link):
            raise CompatibilityError(
                f"policy 'assay': expected embodiment 'assay', got '{embodiment_info.name}'. "
                "fix: use --embodiment assay, or a policy that runs in this process"
            )
        self._link = link
        link.wants_policy = True

    def expect(self, planned: str) -> None:
        """Bear the name of the policy that the plan names, and refuse a graph that serves another one."""
        self._bound().planned_policy = planned
        self.info = replace(self.info, name=planned)

    def reset(self, scene: Scene) -> None:  # noqa: ARG002 (the signature is the framework's)
        """Do nothing yet: the trial's seed is known only to the embodiment, which resets the node when it is ready."""
        self._bound()

    def act(self, observation: Observation) -> ActionChunk:
        """Return the policy node's next actions for exactly this observation.

        Raises:
            PolicyError: The policy raised, answered nonsense or did not answer in time; the trial counts as a failure.
            EmbodimentFault: The node is gone, its server or a stream does not answer, or this package has a defect; the
                trial does not count.
        """
        link = self._bound()
        if link.client is None or link.realization is None:
            raise ConfigError("policy 'assay': expected a reset of embodiment 'assay' first, got act")
        started = time.perf_counter()
        with trial_errors(link):
            chunk = link.client.infer_at(observation.extra[STAMPS], link.steps, link.realization.instruction)
            return ActionChunk(
                actions=[Action(data=row) for row in chunk.actions],
                control_hz=chunk.control_hz,
                inference_latency_s=chunk.latency_s,
                meta={"chunk_id": chunk.chunk_id, "round_trip_s": time.perf_counter() - started},
            )

    def _bound(self) -> Link:
        if self._link is None:
            raise ConfigError(
                "policy 'assay': expected bind() with the info of embodiment 'assay' first, got none. "
                "fix: policy.bind(embodiment.info)"
            )
        return self._link
