"""What embodiment, policy and grader of one process share: the client, and the trial it is in.

The framework builds the three apart from each other and lets them exchange spaces only. They meet here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay_core.errors import ConfigError

if TYPE_CHECKING:
    from assay_bridge.client import GraphClient
    from assay_bridge.client_types import VerdictData
    from assay_core.realization import TrialRealization

__all__ = ["STAMPS", "Link", "current", "make_current", "scene_json"]

STAMPS = "assay_stamps"
"""Key in ``Observation.extra``: stamp [ns] of each stream of the frame set, by topic."""


@dataclass
class Link:
    """The shared state of one bridge."""

    client: GraphClient | None = None
    """None until the first reset."""
    realization: TrialRealization | None = None
    """Of the current trial."""
    trial_id: str = ""
    """The current trial, once it was started."""
    wants_policy: bool = False
    """Whether policy `assay` drives; other policies leave the policy node alone."""
    planned_policy: str = ""
    """What the policy node has to serve; empty takes whatever it serves."""
    verdict: VerdictData | None = None
    """On the current trial, once it was judged."""
    failure: BaseException | None = None
    """What ended the current trial early."""
    steps: int = 0
    """Control steps executed in this trial."""

    def begin(self, realization: TrialRealization, trial_id: str) -> None:
        """Start a trial."""
        self.realization, self.trial_id = realization, trial_id
        self.verdict, self.failure, self.steps = None, None, 0

    def check_policy(self, served: str) -> None:
        """Refuse to credit one policy's results to another.

        Args:
            served: What the policy node says that it serves; its label, which may hide that, does not matter.

        Raises:
            ConfigError: It serves another policy than planned, or does not say which.
        """
        planned = self.planned_policy
        if planned and served != planned:
            also = f", or plan with --policy {served}" if served else ""
            raise ConfigError(
                "policy of the graph",
                expected=f"'{planned}' as planned",
                got=f"'{served}'" if served else "a policy node that does not say what it serves",
                fix=f"start the graph with policy:={planned}{also}",
            )


_current: list[Link] = []


def current() -> Link | None:
    """Return the link of the embodiment `assay` that was made last in this process; None when there is none."""
    return _current[0] if _current else None


def make_current(link: Link) -> None:
    """Make ``link`` the one that `current` returns."""
    _current[:] = [link]


def scene_json(scene: Any) -> dict[str, Any]:
    """Return an Inspect Robots scene as JSON-native data; what JSON cannot say becomes text."""
    target = scene.target
    return {
        "id": scene.id,
        "instruction": scene.instruction,
        "target": None if target is None else {"kind": target.kind, "spec": _native(target.spec)},
        "init_seed": scene.init_seed,
        "setup": scene.setup,
        "metadata": _native(scene.metadata),
    }


def _native(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _native(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_native(item) for item in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)]
    return str(value)
