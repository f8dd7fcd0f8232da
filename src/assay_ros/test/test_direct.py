"""Messages can be taken beside the executor, and none is seen twice."""

from __future__ import annotations

from rclpy.node import Node

from assay_msgs.msg import TaskState
from assay_ros import qos
from assay_ros.direct import take
from assay_ros.testing import graph, spin_until


def test_what_was_taken_is_not_delivered_again():
    with graph() as (context, executor, _):
        node = Node("reader", context=context)
        executor.add_node(node)
        first, second = [], []
        publisher = node.create_publisher(TaskState, "a", qos.SENSOR)
        marker = node.create_publisher(TaskState, "b", qos.SENSOR)
        subscription = node.create_subscription(TaskState, "a", first.append, qos.SENSOR)
        node.create_subscription(TaskState, "b", second.append, qos.SENSOR)
        spin_until(executor, lambda: publisher.get_subscription_count() == marker.get_subscription_count() == 1)
        assert take(subscription) is None
        publisher.publish(TaskState(step=7))
        taken = []

        def arrived():
            message = take(subscription)
            if message is not None:
                taken.append(message.step)
            return bool(taken or first)

        spin_until(executor, arrived, what="the message")
        marker.publish(TaskState())
        spin_until(executor, lambda: second, what="the marker")
        assert taken + [message.step for message in first] == [7]
