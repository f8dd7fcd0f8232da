"""An answer may come later than the request, and requests may overlap."""

from __future__ import annotations

from rclpy.node import Node

from assay_msgs.srv import ArmRequest
from assay_ros.deferred import DeferredService
from assay_ros.testing import graph, spin_until


def test_answers_go_to_their_own_callers_whenever_they_are_ready():
    waiting = []

    def handler(request, reply):
        if request.reason == "later":
            waiting.append(reply)
        else:
            reply(ArmRequest.Response(message="at once"))

    with graph() as (context, executor, _):
        server, asker = Node("server", context=context), Node("asker", context=context)
        executor.add_node(server)
        executor.add_node(asker)
        DeferredService(server, ArmRequest, "later", handler)
        client = asker.create_client(ArmRequest, "later")
        spin_until(executor, client.service_is_ready, what="server")
        first = client.call_async(ArmRequest.Request(reason="later"))
        second = client.call_async(ArmRequest.Request(reason="later"))
        at_once = client.call_async(ArmRequest.Request(reason="now"))
        spin_until(executor, lambda: at_once.done() and len(waiting) == 2, what="the answer that is ready")
        assert at_once.result().message == "at once"
        assert not first.done()
        assert not second.done()
        waiting[1](ArmRequest.Response(message="second"))
        waiting[1](ArmRequest.Response(message="twice"))
        waiting[0](ArmRequest.Response(message="first"))
        spin_until(executor, lambda: first.done() and second.done(), what="the answers that came later")
        assert (first.result().message, second.result().message) == ("first", "second")
