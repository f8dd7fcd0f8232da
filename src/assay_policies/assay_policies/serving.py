"""What the policy node serves, and for which rig, as whoever attaches to a running graph asks first.

A runner that joins a graph can plan with the policy and the cameras that are there, or refuse at once, before a trial
is spent on finding out.
"""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from assay_policies.parameters import PolicyParams
from assay_ros.names import serves_policy

__all__ = ["serving_status"]

SAID = ("policy", "policy_args", "cameras", "camera_width", "camera_height", "control_hz", "mode")
"""Parameters of the node that are said."""


def serving_status(params: PolicyParams) -> DiagnosticStatus:
    """Return the message of ``policy/serving``: one value for each of `SAID`."""
    return DiagnosticStatus(
        name="policy",
        message=serves_policy(params.policy),
        values=[KeyValue(key=name, value=str(getattr(params, name))) for name in SAID],
    )
