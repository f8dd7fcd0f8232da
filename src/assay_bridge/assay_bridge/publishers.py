"""Whether each topic that a trial rests on speaks with one voice.

ROS lets anybody publish anything. A second publisher on a measured stream, be it a forgotten node of another session or
a forger, mixes its samples into the trial's, and no sample says which of the two it is from. Discovery knows how many
there are, from local data: a look at every topic takes some microseconds, which is cheap once or twice a trial.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rclpy.node import Node

from assay_bridge.spinner import Spinner
from assay_core.errors import RigFault

__all__ = ["Strangers", "publishers_of", "require_one", "wait_for_one"]

VERDICTS = "benchmark/verdict"

LEASE_S = 12.0
"""A dead process has left the graph after this [s]: the lease of config/fastdds.xml, and a margin."""

NAMES_S = 1.0
"""Discovery tells of a publisher first and of its node's name a moment later; how long the name is waited for [s]."""

_UNKNOWN = "_NODE_NAME_UNKNOWN_"


def publishers_of(node: Node, name: str) -> list[str]:
    """Return the name of the node of each publisher of a topic, sorted."""
    return sorted(info.node_name for info in node.get_publishers_info_by_topic(node.resolve_topic_name(name)))


def require_one(spinner: Spinner, names: Sequence[str]) -> None:
    """Check that nobody else publishes on these topics.

    Raises:
        RigFault: A topic has several publishers; names them.
    """
    node = spinner.node
    for name in names:
        if node.count_publishers(name) > 1:
            end = time.monotonic() + NAMES_S
            while _UNKNOWN in (owners := publishers_of(node, name)) and time.monotonic() < end:
                spinner.once()
            raise RigFault(
                name,
                expected="one publisher",
                got=", ".join(owners),
                fix="end the one that does not belong to this rig, or give it a ROS domain of its own",
            )


class Strangers:
    """Tells of publishers beside the automatic operator's: what any of them says as a grader of the plan counts.

    Args:
        node: Any node of the graph.
        tell: Takes a sentence, once for each set of publishers.
    """

    def __init__(self, node: Node, tell: Callable[[str], None]) -> None:
        self._node, self._tell = node, tell
        self._told: list[str] = []

    def look(self) -> None:
        """Look now; local data, some microseconds."""
        if self._node.count_publishers(VERDICTS) <= 1:
            return
        owners = publishers_of(self._node, VERDICTS)
        if owners != self._told:
            self._told = owners
            names = ", ".join(owners)
            self._tell(
                f"warning: {VERDICTS} has {len(owners)} publishers ({names}): verdicts of each count in a grader's name"
            )


def wait_for_one(spinner: Spinner, names: Sequence[str]) -> None:
    """Like `require_one`, but waits for a process that died, and whose successor is there already, to be forgotten."""
    node = spinner.node
    if all(node.count_publishers(name) <= 1 for name in names):
        return

    def told() -> str:
        require_one(spinner, names)
        return "publishers"

    spinner.wait(lambda: all(node.count_publishers(name) <= 1 for name in names), LEASE_S, told)
