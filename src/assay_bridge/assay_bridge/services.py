"""Service calls with a deadline, a named peer, and an error that says what is known about it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from lifecycle_msgs.srv import GetState

from assay_bridge.answers import error_for
from assay_bridge.motion import nodes_on_graph
from assay_bridge.publishers import LEASE_S
from assay_bridge.spinner import Gate, Spinner
from assay_core.errors import DeadlineError, RigFault
from assay_msgs.msg import ResultCode

__all__ = ["ServiceCall", "Services", "Unanswered"]

LIFECYCLE_S = 1.0
"""Longest wait for a node's lifecycle state when something else went wrong [s]."""

NOT_READY_S = 0.1
"""Pause before a node is asked again that is not active yet [s]."""

_STATE = "lifecycle state"


class Unanswered(DeadlineError):
    """A node that is on the graph did not answer a call in time."""


class ServiceCall:
    """A request that was sent, whose answer is still to be waited for.

    Args:
        spinner: Spins the node while the answer is waited for.
        client: Of the service.
        request: Request message.
        opened: Lets answers through while its block runs.
        end: Monotonic time until which there must be an answer [s].
        repeat_s: An unanswered request is sent again after this [s]; None: never.
        missing: Says what is known when there is no answer.
    """

    def __init__(
        self,
        spinner: Spinner,
        client: Any,
        request: Any,
        *,
        opened: Callable[[], AbstractContextManager[None]],
        end: float,
        repeat_s: float | None,
        missing: Callable[[], str],
    ) -> None:
        self._spinner, self._client, self._request = spinner, client, request
        self._opened, self._end, self._repeat_s, self._missing = opened, end, repeat_s, missing
        self._futures: list[Any] = []
        self._send()

    def __enter__(self) -> ServiceCall:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.forget()

    @property
    def repeated(self) -> bool:
        """Whether the request had to be sent again, and so may have arrived after later ones."""
        return len(self._futures) > 1

    def answer(self) -> Any:
        """Wait for the answer and return it, whatever its code.

        Raises:
            Unanswered: There was none in time.
            RigFault: A process of the graph died.
        """
        try:
            with self._opened():
                self._spinner.wait(
                    lambda: any(future.done() for future in self._futures),
                    self._end - time.monotonic(),
                    self._missing,
                    again=None if self._repeat_s is None else self._send,
                    again_s=self._repeat_s or 0.0,
                )
        except DeadlineError as error:
            raise Unanswered(str(error)) from None
        finally:
            self.forget()
        return next(future for future in self._futures if future.done()).result()

    def forget(self) -> None:
        """Take no answer any more. May be called again."""
        for future in self._futures:
            if not future.done():
                self._client.remove_pending_request(future)

    def _send(self) -> None:
        with self._spinner.guard:
            self._futures.append(self._client.call_async(self._request))


class Services:
    """Clients of the services of the graph, made when first used.

    Args:
        spinner: Spins the node while a call waits.
        gate: Group of every client; closed while nothing is called, so that idle clients cost nothing per step.
    """

    def __init__(self, spinner: Spinner, gate: Gate) -> None:
        self._spinner = spinner
        self._gate = gate
        self._clients: dict[str, Any] = {}

    def add(self, kind: Any, name: str) -> None:
        """Make the client of service ``name`` ahead of its first call, so that discovery has time."""
        if name not in self._clients:
            self._clients[name] = self._spinner.node.create_client(kind, name, callback_group=self._gate)

    def ready(self, name: str) -> bool:
        """Return whether a server of ``name`` is on the graph."""
        return bool(self._clients[name].service_is_ready())

    def call(
        self, kind: Any, name: str, request: Any, *, deadline_s: float, node: str, repeat_s: float | None = None
    ) -> Any:
        """Return the answer of one call.

        Args:
            kind: Service type.
            name: Service name, relative.
            request: Request message.
            deadline_s: Longest wait [s], discovery of the server included.
            node: Name of the node that serves it, for the error.
            repeat_s: An unanswered call is made again after this [s], in case request or answer was lost; None for
                a service to which a repeat is not the same call.

        Raises:
            DeadlineError: No server in time; says what is known about the node.
            Unanswered: There is a server, and it did not answer in time.
            AssayError: The answer's code is not OK (see `answers.error_for`).
        """
        answer = self.ask(kind, name, request, deadline_s=deadline_s, node=node, repeat_s=repeat_s)
        error = error_for(name, answer.code, answer.message)
        if error is not None:
            raise error
        return answer

    def call_when_ready(
        self,
        kind: Any,
        name: str,
        request: Any,
        *,
        deadline_s: float,
        ready_s: float,
        node: str,
        repeat_s: float | None = None,
    ) -> Any:
        """Return the answer of a call to a node that may not be active yet, as in a graph that was just started.

        Args as for `call`, and ready_s: how long the node may refuse because it is not active [s].
        """
        end = time.monotonic() + ready_s
        while True:
            answer = self.ask(kind, name, request, deadline_s=deadline_s, node=node, repeat_s=repeat_s)
            if answer.code != ResultCode.NOT_READY or time.monotonic() >= end:
                break
            self.pause(NOT_READY_S)
        error = error_for(name, answer.code, answer.message)
        if error is not None:
            raise error
        return answer

    def ask(
        self, kind: Any, name: str, request: Any, *, deadline_s: float, node: str, repeat_s: float | None = None
    ) -> Any:
        """Return the answer of one call, whatever its code. Arguments and deadline errors as in `call`."""
        with self.begin(kind, name, request, deadline_s=deadline_s, node=node, repeat_s=repeat_s) as call:
            return call.answer()

    def begin(
        self, kind: Any, name: str, request: Any, *, deadline_s: float, node: str, repeat_s: float | None = None
    ) -> ServiceCall:
        """Send a request, and leave waiting for its answer to the caller. Arguments and deadline errors as in `call`.

        Its own ``with`` block should hold the call, so that nothing is left of it when something else goes wrong.
        """
        self.add(kind, name)
        client = self._clients[name]
        end = time.monotonic() + deadline_s
        if not client.service_is_ready():
            with self._opened():
                self._spinner.wait(
                    client.service_is_ready,
                    deadline_s,
                    lambda: f"{name}: no server within {deadline_s:g} s ({self._known(node)})",
                )
        return ServiceCall(
            self._spinner,
            client,
            request,
            opened=self._opened,
            end=end,
            repeat_s=repeat_s,
            missing=lambda: f"{name}: no answer within {deadline_s:g} s ({self._known(node)})",
        )

    @contextlib.contextmanager
    def _opened(self) -> Iterator[None]:
        was_open, self._gate.open = self._gate.open, True
        try:
            yield
        finally:
            self._gate.open = was_open

    def pause(self, seconds: float) -> None:
        """Let time pass [s], with everything that a wait looks at."""
        self._spinner.pause(time.monotonic() + seconds)

    def alive(self, node: str) -> bool:
        """Return whether the process of a node lives although it does not answer; takes up to `LEASE_S`.

        A process that died without a word stays on the graph for the lease of DDS discovery. A live one shows by its
        lifecycle service, or, when all of it hangs, by outlasting the lease.

        Raises:
            RigFault: The process is known to be dead.
        """
        with self._opened():
            if self._lifecycle(node).startswith(_STATE):
                return True
            end = time.monotonic() + LEASE_S
            while node in self._spinner.node.get_node_names():
                if time.monotonic() > end:
                    return True
                self._spinner.once()
            return False

    def _known(self, node: str) -> str:
        """Return what discovery and lifecycle say about a node."""
        names = self._spinner.node.get_node_names()
        if node not in names:
            return f"{node} node: not on the graph; {nodes_on_graph(self._spinner.node)}"
        state = self._lifecycle(node)
        return f"{node} node: on the graph, {state}"

    def _lifecycle(self, node: str) -> str:
        name = f"{node}/get_state"
        client = self._spinner.node.create_client(GetState, name, callback_group=self._gate)
        end = time.monotonic() + LIFECYCLE_S
        try:
            while not client.service_is_ready():
                if time.monotonic() > end:
                    return "without a lifecycle service"
                self._spinner.once()
            future = client.call_async(GetState.Request())
            while not future.done():
                if time.monotonic() > end:
                    return f"does not answer {name}: it hangs or is overloaded"
                self._spinner.once()
            return f"{_STATE} {future.result().current_state.label}"
        except RigFault as error:
            return str(error)
        finally:
            self._spinner.node.destroy_client(client)
