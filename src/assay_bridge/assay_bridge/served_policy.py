"""Policy `assay`, checked to be the one that the plan names.

A runner that attaches to a running graph, or to one that was started by hand, would otherwise credit the successes of
one policy to another. The policy node says what it serves; only a label that hides the name on purpose goes unchecked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspect_robots.errors import ConfigError

if TYPE_CHECKING:
    from inspect_robots.policy import PolicyConfig, PolicyInfo
    from inspect_robots.scene import Scene
    from inspect_robots.types import ActionChunk, Observation

    from assay_bridge.policy import AssayPolicy

__all__ = ["ServedPolicy"]

_PREFIX = "inspect:"


class ServedPolicy:
    """Delegates to policy `assay`; refuses to act when the graph serves another policy than planned.

    Args:
        policy: Bound already.
        label: Returns the label that the policy node gave at the reset.
        planned: The policy of the plan.
        known: Every policy that there is; other labels are aliases.
    """

    def __init__(self, policy: AssayPolicy, label: Callable[[], str], planned: str, known: Collection[str]) -> None:
        self._policy, self._label, self._planned = policy, label, planned
        self._known = {_bare(name) for name in known}
        self.info: PolicyInfo = replace(policy.info, name=planned)
        self.config: PolicyConfig = policy.config

    def reset(self, scene: Scene) -> None:
        """Start a trial."""
        self._policy.reset(scene)

    def act(self, observation: Observation) -> ActionChunk:
        """Return the next actions.

        Raises:
            ConfigError: The graph serves another policy.
        """
        label = self._label()
        if label in self._known and label != _bare(self._planned):
            raise ConfigError(
                f"policy of the graph: expected '{self._planned}' as planned, got '{label}'. "
                f"fix: start the graph with policy:={self._planned}, or plan with --policy {label}"
            )
        return self._policy.act(observation)

    def transcript(self) -> Any:
        """Return the policy's own record of the trial, if it keeps one."""
        hook = getattr(self._policy, "transcript", None)
        return hook() if callable(hook) else None


def _bare(name: str) -> str:
    return name.removeprefix(_PREFIX)
