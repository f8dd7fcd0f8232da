"""What to ask of each lifecycle node next, and when to give up. No ROS: time and answers come as arguments.

A question (get_state) may be repeated, since it may get lost while two processes are still finding each other. A
transition is sent once, to a node that has just answered: rclpy ends a node's process when a transition comes that its
state does not allow, so a repeat could kill what it is meant to start. The node's own announcement
(transition_event) counts as an answer too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay_bringup.ready import Bringup, NodeState
from assay_core.errors import ConfigError

__all__ = ["Limits", "ManagedNode", "Plan", "stages_of"]

ASK = "get_state"
CONFIGURE = "configure"
ACTIVATE = "activate"

ASK_AGAIN_S = 1.0
"""A question that stays unanswered this long is asked again [s]."""

_TARGET = {CONFIGURE: "inactive", ACTIVATE: "active"}
_DOING = {CONFIGURE: "configuring", ACTIVATE: "activating"}


@dataclass(frozen=True)
class Limits:
    """How long a node may take."""

    appear_s: float
    transition_s: float


class ManagedNode:
    """One node on its way to `active`."""

    def __init__(self, name: str, limits: Limits, *, manual: bool = False) -> None:
        """Start with a node that has not been seen.

        Args:
            name: Node name, relative to the manager's namespace.
            limits: Deadlines.
            manual: A person has to bring it up again when it comes back after it was lost.
        """
        self.name = name
        self.limits = limits
        self.manual = manual
        self.state = "absent"
        self.message = ""
        self._absent_since: float | None = None
        self._asking_since: float | None = None
        self._asked_at: float | None = None
        self._questions = 0
        self._pending: str | None = None
        self._pending_since = 0.0
        self._known: str | None = None

    @property
    def done(self) -> bool:
        """Whether nothing is left to do: it is active, or it waits for a person."""
        return self.state in ("active", "waiting")

    @property
    def failed(self) -> bool:
        """Whether it could not be brought up."""
        return self.state == "failed"

    def snapshot(self) -> NodeState:
        """Return its state for display."""
        return NodeState(self.name, self.state, self.message)

    def step(self, now: float, present: bool) -> str | None:
        """Return what to send now: `ASK`, `CONFIGURE`, `ACTIVATE` or nothing.

        Args:
            now: Monotonic time [s].
            present: Whether its services can be reached.
        """
        if self.done or self.failed or self.state == "lost":
            return None
        if not present:
            self._absent_since = now if self._absent_since is None else self._absent_since
            if now - self._absent_since > self.limits.appear_s:
                self._fail(f"did not appear within {self.limits.appear_s:g} s; is its process running?")
            return None
        self._absent_since = None
        if self._pending is not None:
            if now - self._pending_since > self.limits.transition_s:
                self._fail(f"{self._pending}: no answer within {self.limits.transition_s:g} s")
            return None
        if self._known is not None:
            return self._next(now)
        self._asking_since = now if self._asking_since is None else self._asking_since
        if now - self._asking_since > self.limits.appear_s:
            self._fail(f"get_state: no answer within {self.limits.appear_s:g} s")
            return None
        if self._asked_at is None or now - self._asked_at > ASK_AGAIN_S:
            self._asked_at = now
            self._questions += 1
            return ASK
        return None

    @property
    def question(self) -> int:
        """Number of the last question; an answer to an earlier one is out of date."""
        return self._questions

    def _next(self, now: float) -> str | None:
        """Return the transition that follows from the known state."""
        known, self._known = self._known, None
        if known == "active":
            self._to("active")
        elif known in ("unconfigured", "inactive"):
            self._pending = CONFIGURE if known == "unconfigured" else ACTIVATE
            self._pending_since = now
            self._to(_DOING[self._pending])
            return self._pending
        elif known == "finalized":
            self._fail("it has shut down")
        else:
            self._asked_at = now  # in a transition of its own: ask again later
        return None

    def answered_state(self, question: int, label: str) -> None:
        """Take the answer to a question, by its number."""
        if question == self._questions and self._pending is None and not self.done and not self.failed:
            self._known = label

    def answered_transition(self, request: str, success: bool) -> None:
        """Take the answer to a transition."""
        if request != self._pending or self.failed:
            return
        self._pending = None
        if success:
            self._known = _TARGET[request]
        else:
            self._fail(f"{request} was refused")

    def announced(self, label: str) -> None:
        """Take a state that the node says it has reached."""
        if self._pending is not None and label == _TARGET[self._pending]:
            self.answered_transition(self._pending, True)
        elif self._pending is None and label == "active" and self.state != "lost":
            self._to("active")
        elif self.state == "active" and label in ("inactive", "unconfigured", "finalized"):
            self._to("waiting", f"made {label} by someone else, who has to activate it again")

    def lost(self) -> None:
        """Note that its process is gone."""
        self._reset()
        self.state, self.message = "lost", "its process is gone"

    def returned(self) -> None:
        """Note that a new process has taken its place."""
        self._reset()
        if self.manual:
            self.state, self.message = "waiting", "came back; an operator has to bring it up"

    def blame(self, reason: str) -> None:
        """Add what the node itself said about its failure."""
        if self.failed and reason and reason not in self.message:
            self.message += f": {reason}"

    def _reset(self) -> None:
        self.state, self.message = "absent", ""
        self._absent_since = self._asking_since = self._asked_at = None
        self._pending = self._known = None
        self._questions += 1

    def _to(self, state: str, message: str = "") -> None:
        self.state, self.message = state, message

    def _fail(self, message: str) -> None:
        self._to("failed", message)


class Plan:
    """All nodes in stages: the nodes of one stage come up side by side, and before those of the next."""

    def __init__(self, stages: Sequence[Sequence[ManagedNode]]) -> None:
        self.stages = [list(stage) for stage in stages]

    @property
    def nodes(self) -> list[ManagedNode]:
        """Every node, in order."""
        return [node for stage in self.stages for node in stage]

    def busy(self) -> bool:
        """Whether a node is on its way, so that steps have to be taken."""
        return any(not node.done and not node.failed and node.state != "lost" for node in self.current())

    def current(self) -> list[ManagedNode]:
        """Return the nodes of the first stage that is not done; all of it, or nothing when every stage is."""
        for stage in self.stages:
            if not all(node.done for node in stage):
                return stage
        return []

    def snapshot(self) -> Bringup:
        """Return how far the graph has come up."""
        nodes = tuple(node.snapshot() for node in self.nodes)
        broken = [node for node in nodes if node.state in ("failed", "lost")]
        waiting = [node for node in nodes if node.state != "active"]
        if broken:
            message = "; ".join(f"{node.name}: {node.message}" for node in broken)
        elif waiting:
            message = "waiting for " + ", ".join(f"{node.name} ({node.state})" for node in waiting)
        else:
            message = "every node is active"
        failed = any(node.failed for node in self.nodes)
        return Bringup(ready=not waiting, failed=failed, message=message, nodes=nodes)


def stages_of(stages: Sequence[str], limits: Limits, deadlines: Sequence[str], manual: Sequence[str]) -> Plan:
    """Return the plan that the manager's parameters describe.

    Args:
        stages: Each a list of node names separated by spaces.
        limits: Deadlines of every node.
        deadlines: Exceptions as ``NAME SECONDS``, for transitions.
        manual: Nodes that only a person brings up again.

    Raises:
        ConfigError: A node is named twice, or a deadline or ``manual`` names one that is not in the stages.
    """
    names = [name for stage in stages for name in stage.split()]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not names:
        raise ConfigError(
            "lifecycle_manager: parameter 'stages'",
            expected="each node once",
            got=f"{', '.join(twice)} twice" if twice else "no node",
            fix="correct config/lifecycle_manager.yaml or the launch file",
        )
    own: dict[str, float] = {}
    for entry in deadlines:
        name, _, seconds = entry.partition(" ")
        try:
            own[name] = float(seconds)
        except ValueError:
            raise ConfigError(
                "lifecycle_manager: parameter 'deadlines'",
                expected="NAME SECONDS",
                got=repr(entry),
                fix="e.g. 'policy 60'",
            ) from None
    for parameter, given in (("deadlines", own), ("manual", manual)):
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise ConfigError(
                f"lifecycle_manager: parameter '{parameter}'",
                expected="names out of " + ", ".join(names),
                got=", ".join(unknown),
                fix="correct the name, or add it to 'stages'",
            )
    return Plan(
        [
            [
                ManagedNode(name, Limits(limits.appear_s, own.get(name, limits.transition_s)), manual=name in manual)
                for name in stage.split()
            ]
            for stage in stages
        ]
    )
