"""Asks the world for a scene, again when it does not answer, and gives up at a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from assay_msgs.msg import Realization, ResultCode
from assay_msgs.srv import ResetWorld
from assay_ros.convert import to_ns
from assay_ros.names import code_name

__all__ = ["WorldClient"]

Answered = Callable[[str, int, str, int], None]
"""Called with trial id, ``ResultCode``, message, and the stamp of the first frame set [ns]."""

SERVICE = "world/reset"


class WorldClient:
    """The benchmark node's client of world/reset.

    Args:
        node: Node that owns the client.
        deadline_s: Longest wait for an answer, repeats included [s].
        retry_s: An unanswered call is repeated after this [s].
        answered: Takes the outcome of each reset, once.
    """

    def __init__(self, node: Node, deadline_s: float, retry_s: float, answered: Answered) -> None:
        self._node = node
        self._client = node.create_client(ResetWorld, SERVICE)
        self._deadline_s, self._retry_s, self._answered = deadline_s, retry_s, answered
        self._request: Realization | None = None
        self._asked = self._sent = 0.0
        self._calls: list[Any] = []
        self._last = "no server on the graph"

    def destroy(self) -> None:
        """Forget what is pending and remove the client."""
        self._request = None
        self._drop_calls()
        self._node.destroy_client(self._client)

    def reset(self, realization: Realization) -> None:
        """Ask for the scene of a realization; replaces an earlier request."""
        self._drop_calls()
        self._request, self._asked = realization, time.monotonic()
        self._last = "no server on the graph"
        self._send()

    def tick(self) -> None:
        """Repeat what is unanswered and give up what is overdue; called once a second."""
        request, now = self._request, time.monotonic()
        if request is None:
            return
        if now - self._asked > self._deadline_s:
            self._finish(
                request, ResultCode.DEADLINE_EXCEEDED, f"no scene within {self._deadline_s:g} s ({self._last})", 0
            )
        elif now - self._sent > self._retry_s or not self._calls:
            self._send()

    def _send(self) -> None:
        if self._request is None or not self._client.service_is_ready():
            return
        self._sent, self._last = time.monotonic(), "no answer"
        request = self._request
        future = self._client.call_async(ResetWorld.Request(realization=request))
        self._calls.append(future)
        future.add_done_callback(lambda done: self._on_answer(request, done))

    def _on_answer(self, request: Realization, future: Any) -> None:
        if future in self._calls:
            self._calls.remove(future)
        if request is not self._request or future.cancelled():
            return
        answer = future.result()
        if answer.code == ResultCode.NOT_READY:
            self._last = f"{answer.message or 'the world is not ready'} [NOT_READY]"
            return
        text = answer.message if answer.code == ResultCode.OK else f"{answer.message} [{code_name(answer.code)}]"
        self._finish(request, int(answer.code), text, to_ns(answer.stamp))

    def _finish(self, request: Realization, code: int, message: str, stamp_ns: int) -> None:
        self._request = None
        self._drop_calls()
        self._answered(request.trial_id, code, message, stamp_ns)

    def _drop_calls(self) -> None:
        for future in self._calls:
            self._client.remove_pending_request(future)
        self._calls.clear()
