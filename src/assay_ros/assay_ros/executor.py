"""An executor that costs a third of rclpy's own per message.

Jazzy's `SingleThreadedExecutor` builds a wait set, a task and two coroutines for every callback, and each callback
triggers the executor's own guard condition, so that the wait after it returns at once and everything is built again.
That is most of what a control step costs (measured: ``./assay bench step``). `QuickExecutor` keeps one wait set, calls
plain callbacks directly and serves everything that is ready before it waits again. What is rare (timers, events,
coroutines) becomes a task of rclpy's own kind. rclpy's `EventsExecutor`, which would be the library's answer, is
experimental in Jazzy and hangs (docs/decisions/0008-executor.md).
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription

__all__ = ["QuickExecutor"]

_COROUTINE_POLL_NS = 1_000_000
"""Longest wait while a coroutine is suspended [ns]: nothing else tells when it can go on."""

_Served = tuple[Any, Any, int, Callable[[Any], None] | None, bool]
"""Entity, its handle, the handle's address, what serves it (None: rclpy does), and whether its group may close."""

_OPEN_GROUPS = (MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup)
"""Groups that let everything run while nothing is suspended; others are asked each time."""


class QuickExecutor(SingleThreadedExecutor):
    """Serves the nodes of one thread.

    Differs from `SingleThreadedExecutor` in this: one `spin_once` may run several callbacks, one per entity that is
    ready, and it may return early without having run any. Entities are created and destroyed only by the thread that
    spins. Done callbacks of a service call run as soon as its answer is taken.

    Args:
        context: None takes the default context.
    """

    _tasks: list[Any]

    def __init__(self, *, context: Any = None) -> None:
        self._stale = True
        self._wait_set: Any = None
        self._subscriptions: list[_Served] = []
        self._clients: list[_Served] = []
        self._services: list[_Served] = []
        self._timers: list[Any] = []
        self._node_guards: list[Any] = []
        self._waitables: list[Any] = []
        self._waited_for: list[Any] = []
        super().__init__(context=context)

    def wake(self) -> None:
        """Look at the nodes' entities again before the next wait; rclpy calls it when one was made or destroyed."""
        self._stale = True
        super().wake()

    def add_node(self, node: Node) -> bool:
        """Serve a node; returns False when it is served already."""
        self._stale = True
        return bool(super().add_node(node))

    def remove_node(self, node: Node) -> None:
        """Serve a node no longer."""
        self._stale = True
        super().remove_node(node)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Serve what is ready, or wait for it.

        Args:
            timeout_sec: Longest wait [s]; None waits without limit.

        Raises:
            ExternalShutdownException: The context was shut down.
        """
        if self._is_shutdown:
            return
        if not self._context.ok():
            raise ExternalShutdownException
        suspended = self._run_tasks()
        if self._stale:
            self._collect()
        timeout_ns = -1 if timeout_sec is None else max(0, round(timeout_sec * 1e9))
        if suspended and not 0 <= timeout_ns <= _COROUTINE_POLL_NS:
            timeout_ns = _COROUTINE_POLL_NS
        wait_set = self._wait_set
        try:
            self._fill(wait_set, suspended)
        except (InvalidHandle, _rclpy.RCLError):  # destroyed by somebody who did not say so, like a node at its end
            self._stale = True
            if not self._context.ok():
                raise ExternalShutdownException from None
            return
        wait_set.wait(timeout_ns)
        if self._is_shutdown:
            return
        self._hand_to_rclpy(wait_set)
        self._serve_guards(wait_set)
        for kind, served, take in (
            ("subscription", self._subscriptions, self._take_subscription),
            ("client", self._clients, self._take_client),
            ("service", self._services, self._take_service),
        ):
            ready = wait_set.get_ready_entities(kind)
            if ready:
                self._serve(served, frozenset(ready), take)
        if self._tasks:
            self._run_tasks()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        """Take stock of the nodes' entities and make a wait set that holds them all."""
        self._stale = False
        nodes = self.get_nodes()
        self._subscriptions = [
            _served(item, _plain(item.callback, self._take_subscription_now))
            for node in nodes
            for item in node.subscriptions
        ]
        self._clients = [_served(item, self._take_client_now) for node in nodes for item in node.clients]
        self._services = [
            _served(item, _plain(item.callback, self._take_service_now)) for node in nodes for item in node.services
        ]
        self._timers = [item for node in nodes for item in node.timers]
        self._node_guards = [item for node in nodes for item in node.guards]
        self._waitables = [item for node in nodes for item in node.waitables]
        counts = [len(self._subscriptions), len(self._node_guards) + 2, len(self._timers)]
        counts += [len(self._clients), len(self._services), 0]
        for waitable in self._waitables:
            more = waitable.get_num_entities()
            for i, name in enumerate(("subscriptions", "guard_conditions", "timers", "clients", "services", "events")):
                counts[i] += getattr(more, f"num_{name}")
        self._wait_set = _rclpy.WaitSet(*counts, self._context.handle)

    def _fill(self, wait_set: Any, suspended: bool) -> None:
        wait_set.clear_entities()
        for served, add in (
            (self._subscriptions, wait_set.add_subscription),
            (self._clients, wait_set.add_client),
            (self._services, wait_set.add_service),
        ):
            for entity, handle, _, _, closes in served:
                if not (closes or suspended) or entity.callback_group.can_execute(entity):
                    add(handle)
        for timer in self._timers:
            if timer.callback_group.can_execute(timer):
                wait_set.add_timer(timer.handle)
        for guard in self._node_guards:
            wait_set.add_guard_condition(guard.handle)
        wait_set.add_guard_condition(self._guard.handle)
        wait_set.add_guard_condition(self._sigint_gc.handle)
        self._waited_for = [item for item in self._waitables if item.callback_group.can_execute(item)]
        for waitable in self._waited_for:
            waitable.add_to_wait_set(wait_set)

    def _hand_to_rclpy(self, wait_set: Any) -> None:
        """Make tasks of rclpy's own kind for timers and waitables that are ready."""
        due = frozenset(wait_set.get_ready_entities("timer")) if self._timers else ()
        for timer in self._timers:
            if timer.handle.pointer in due and timer.handle.is_timer_ready():
                self._make_handler(timer, None, self._take_timer_if_due)
        for waitable in self._waited_for:
            if waitable.is_ready(wait_set):
                self._make_handler(waitable, None, self._take_waitable)

    def _take_timer_if_due(self, timer: Any) -> Any:
        """Return rclpy's job for a timer, unless an earlier callback of the round has cancelled or reset it."""
        try:
            with timer.handle:
                if not timer.handle.is_timer_ready():
                    return None
        except InvalidHandle:
            return None
        return self._take_timer(timer)

    def _serve_guards(self, wait_set: Any) -> None:
        """Call back for guard conditions that were triggered; the wait has taken the trigger."""
        if not self._node_guards:
            return
        triggered = wait_set.get_ready_entities("guard_condition")
        for guard in self._node_guards:
            if guard.handle.pointer in triggered:
                self.create_task(guard.callback)

    def _serve(self, served: list[_Served], ready: frozenset[int], take: Callable[[Any], Any]) -> None:
        """Serve the entities that are ready; ``take`` is rclpy's way, for callbacks that are coroutines."""
        for entity, _, pointer, serve, _ in served:
            if pointer not in ready:
                continue
            if serve is None:
                self._make_handler(entity, None, take)
                continue
            serve(entity)

    def _take_subscription_now(self, subscription: Any) -> None:
        taken = None
        with contextlib.suppress(InvalidHandle), subscription.handle:  # destroyed by an earlier callback of the round
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if taken is None:
            return
        if subscription._callback_type is Subscription.CallbackType.MessageOnly:
            subscription.callback(taken[0])
        else:
            subscription.callback(*taken)

    def _take_client_now(self, client: Any) -> None:
        header = response = None
        with contextlib.suppress(InvalidHandle), client.handle:
            header, response = client.handle.take_response(client.srv_type.Response)
        if header is None:
            return
        try:
            future = client.get_pending_request(header.request_id.sequence_number)
        except KeyError:
            return  # nobody waits for it any more
        future._set_executor(self)
        future.set_result(response)

    def _take_service_now(self, service: Any) -> None:
        request = header = None
        with contextlib.suppress(InvalidHandle), service.handle:
            request, header = service.handle.service_take_request(service.srv_type.Request)
        if header is not None:
            service.send_response(service.callback(request, service.srv_type.Response()), header)

    def _run_tasks(self) -> bool:
        """Run what `create_task` was given, and done callbacks; return whether a coroutine is suspended."""
        while self._tasks:
            with self._tasks_lock:
                tasks = list(self._tasks)
            for task, _, _ in tasks:
                if not task.done() and not task.executing():
                    task()
                    if task.done() and not task.cancelled() and task.exception() is not None:
                        with self._tasks_lock:
                            self._tasks = [item for item in self._tasks if item[0] is not task]
                        raise task.exception()
            with self._tasks_lock:
                known = {id(item[0]) for item in tasks}
                added = any(id(item[0]) not in known for item in self._tasks)
                self._tasks = [item for item in self._tasks if not (item[0].done() or item[0].cancelled())]
            if not added:
                break
        return bool(self._tasks)


def _served(entity: Any, serve: Callable[[Any], None] | None) -> _Served:
    closes = type(entity.callback_group) not in _OPEN_GROUPS
    return entity, entity.handle, entity.handle.pointer, serve, closes


def _plain(callback: Any, serve: Callable[[Any], None]) -> Callable[[Any], None] | None:
    """Return ``serve`` for a callback that can be called directly, None for a coroutine."""
    return None if inspect.iscoroutinefunction(callback) else serve
