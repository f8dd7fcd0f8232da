"""Taking messages that have arrived already, without another round through the executor.

rclpy's executor builds a wait set in Python for every few callbacks. A node that knows that several messages arrive
together (one step of a simulated world) is woken by the first and can take the others at once; this makes a step about
a fifth shorter. Only the thread that spins the node may do this.
"""

from __future__ import annotations

from typing import Any

__all__ = ["take"]


def take(subscription: Any) -> Any | None:
    """Return the next message that has arrived for a subscription, or None; its callback is not called.

    Args:
        subscription: An `rclpy.subscription.Subscription`.
    """
    with subscription.handle:
        found = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    return None if found is None else found[0]
