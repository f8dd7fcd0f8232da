"""Services whose answer comes later, without blocking or polling the executor.

rclpy wants the answer when the callback returns. A coroutine may wait, but the executor of Jazzy runs a waiting
coroutine again and again, which takes a whole core. `DeferredService` keeps the caller's header instead and sends the
answer whenever the node has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node

__all__ = ["DeferredService", "Reply"]

Reply = Callable[[Any], None]
"""Sends the answer of one request; called once, from the executor's thread. Later calls are ignored."""


class _Call:
    """One request and where its answer goes."""

    def __init__(self, send: Callable[[Any, Any], None]) -> None:
        self._send = send
        self._header: Any = None
        self._answer: Any = None
        self._answered = False

    def reply(self, answer: Any) -> None:
        if self._answered:
            return
        self._answered, self._answer = True, answer
        if self._header is not None:
            self._send(answer, self._header)

    def arrived(self, header: Any) -> None:
        self._header = header
        if self._answered:
            self._send(self._answer, header)


class DeferredService:
    """A service that answers when it can.

    For nodes that one thread spins.

    Args:
        node: Owner.
        kind: Service type.
        name: Service name, relative.
        handler: Called with request and reply; must not raise and must make sure that ``reply`` is called in the end.
    """

    def __init__(self, node: Node, kind: Any, name: str, handler: Callable[[Any, Reply], None]) -> None:
        self.service = node.create_service(kind, name, self._on_request)
        self._node = node
        self._handler = handler
        self._current: _Call | None = None
        # The executor hands the callback's return value and the caller's header to send_response: only the header is
        # of use here.
        self._send = self.service.send_response
        self.service.send_response = self._on_header

    def _on_request(self, request: Any, response: Any) -> Any:
        self._current = _Call(self._send)
        self._handler(request, self._current.reply)
        return response

    def _on_header(self, _response: Any, header: Any) -> None:
        call, self._current = self._current, None
        if call is not None:
            call.arrived(header)

    def destroy(self) -> None:
        """Take the service off the graph; answers that are still due are not sent."""
        self._node.destroy_service(self.service)
