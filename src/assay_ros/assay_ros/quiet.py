"""Event callbacks that add no entity to a node: each would be one more that the executor waits on at every wake-up."""

from __future__ import annotations

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks

__all__ = ["PUBLISHER", "SUBSCRIPTION"]

PUBLISHER = PublisherEventCallbacks(use_default_callbacks=False)
SUBSCRIPTION = SubscriptionEventCallbacks(use_default_callbacks=False)
