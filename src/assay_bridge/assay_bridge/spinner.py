"""The one thread of the bridge: it spins the executor while it waits, beats the heart, and gives every wait a deadline.

The framework's rollout is a blocking loop, so nothing else may spin the node. All waiting goes through `Spinner.wait`,
which makes sure that a wait ends at its deadline, ends at once when a process of the graph is known to be dead, and
that the benchmark node keeps hearing from the runner meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node

from assay_bridge.interrupts import InterruptGuard
from assay_core.errors import DeadlineError, RigFault
from assay_ros.executor import QuickExecutor

__all__ = ["Gate", "Spinner", "quiet_publisher", "quiet_subscription"]

SPIN_S = 0.05
"""Longest sleep of one spin [s]."""

CHECK_S = 0.2
"""Period of heartbeats and of the check for dead processes [s]."""


class Gate(ReentrantCallbackGroup):
    """Entities that the executor leaves out of its wait set while the gate is closed.

    The cost of a wait grows with the number of entities. Service clients are idle during motion;
    their gate is closed then. Messages that arrive meanwhile stay queued in the middleware.
    """

    def __init__(self) -> None:
        super().__init__()
        self.open = False

    def can_execute(self, entity: Any) -> bool:  # noqa: ARG002 (the signature is rclpy's)
        """Return whether the gate is open."""
        return self.open


class Spinner:
    """A node, its executor and the waits on it.

    Args:
        node: Node whose callbacks only store.
        context: Context of the node.
        liveness: Called at least every `CHECK_S` in every wait. Returns a sentence when a process of the graph is
            known to be dead; it may raise, e.g. `KeyboardInterrupt` at a point where nothing is half done.
    """

    def __init__(self, node: Node, context: Context, liveness: Callable[[], str | None] | None = None) -> None:
        self.node = node
        self.context = context
        self.liveness = liveness
        self.heartbeat: Callable[[], None] | None = None
        self.watch: Callable[[], None] | None = None
        """Called like ``liveness``; raises when what is waited for is of no use any more."""
        self.guard = InterruptGuard()
        self.guard.install()
        self._executor = self._new_executor()
        self._next_check = 0.0

    def _new_executor(self) -> QuickExecutor:
        executor = QuickExecutor(context=self.context)
        executor.add_node(self.node)
        return executor

    def once(self) -> None:
        """Let the executor serve what is ready, or sleep for at most `SPIN_S`.

        Raises:
            RigFault: A process of the graph died, or the context was shut down.
        """
        self._spin_for(SPIN_S)
        if time.monotonic() >= self._next_check:
            self.check()

    def check(self) -> None:
        """Beat the heart and look for dead processes, at most every `CHECK_S`."""
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + CHECK_S
        if self.heartbeat is not None:
            with self.guard:
                self.heartbeat()
        if self.liveness is not None:
            dead = self.liveness()
            if dead:
                raise RigFault(f"{dead}. fix: see its log, then resume the session")
        if self.watch is not None:
            self.watch()

    def wait(
        self,
        done: Callable[[], bool],
        deadline_s: float,
        missing: Callable[[], str],
        again: Callable[[], None] | None = None,
        again_s: float = 0.0,
    ) -> None:
        """Spin until ``done()``.

        Args:
            done: Condition; cheap, called after every callback.
            deadline_s: Longest wait [s].
            missing: Says what was waited for and what is known about who owes it; called only at the deadline.
            again: Called every ``again_s`` while waiting, e.g. to send a lost message again.
            again_s: Period of ``again`` [s].

        Raises:
            DeadlineError: The condition did not hold in time.
            RigFault: A process of the graph died.
        """
        end = time.monotonic() + deadline_s
        next_again = time.monotonic() + again_s
        while not done():
            self.once()
            now = time.monotonic()
            if now >= end and not done():
                raise DeadlineError(missing())
            if again is not None and now >= next_again:
                next_again = now + again_s
                again()

    def pause(self, until: float) -> None:
        """Spin until the monotonic time ``until`` [s]."""
        while (left := until - time.monotonic()) > 0:
            if left < SPIN_S:
                self._spin_for(left)
            else:
                self.once()

    def _spin_for(self, seconds: float) -> None:
        if not self.context.ok():
            raise RigFault("the bridge's ROS context was shut down while it was waiting")
        with self.guard:
            try:
                self._executor.spin_once(seconds)
            except BaseException:
                self._recover()
                raise
            self.guard.safe_point()

    def _recover(self) -> None:
        # An exception inside rclpy leaves entities marked as taken; they would never be served again.
        node = self.node
        try:
            self._executor.remove_node(node)
            self._executor.shutdown(0)
        except Exception as error:  # noqa: BLE001 (whatever state the interrupt left behind, a new executor replaces it)
            self.node.get_logger().warning(f"leaving an executor that was interrupted: {error!r}", once=True)
        for kind in (node.subscriptions, node.clients, node.services, node.timers, node.guards, node.waitables):
            for entity in kind:
                if hasattr(entity, "_executor_event"):
                    entity._executor_event = False
        if self.context.ok():
            self._executor = self._new_executor()

    def close(self) -> None:
        """Stop spinning and destroy the node."""
        self.guard.restore()
        self._executor.shutdown(0)
        self.node.destroy_node()


def quiet_subscription() -> SubscriptionEventCallbacks:
    """Return event callbacks that add no entity to the wait set."""
    return SubscriptionEventCallbacks(use_default_callbacks=False)


def quiet_publisher() -> PublisherEventCallbacks:
    """Return event callbacks that add no entity to the wait set."""
    return PublisherEventCallbacks(use_default_callbacks=False)
