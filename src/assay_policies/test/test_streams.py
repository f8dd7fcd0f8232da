"""What the policy node keeps of its streams, and that a broken sample is never taken for the policy's failure."""

from __future__ import annotations

import math
from typing import Any

import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from assay_core.errors import RigFault
from assay_core.rig import ACTION_LABELS, joint_names
from assay_msgs.msg import Privileged
from assay_policies.api import PRIVILEGED
from assay_policies.streams import KEEP, StreamStore
from assay_ros.convert import from_ns

LEFT = "left/joint_states"
T0 = 2_000_000_000


def joints(ns: int = T0, position: Any = (0.5,) * 7) -> bytes:
    message = JointState(name=list(joint_names("left")), position=list(position))
    message.header.stamp = from_ns(ns)
    return bytes(serialize_message(message))


def privileged(**fields: Any) -> bytes:
    given = {"position": [0.0] * 14, "goal": [1.0] * 14, "step_limit": [0.05] * 14, **fields}
    message = Privileged(labels=list(ACTION_LABELS), **given)
    message.header.stamp = from_ns(T0)
    return bytes(serialize_message(message))


def test_a_named_sample_outlasts_any_number_of_others():
    store = StreamStore([LEFT], ())
    store.want({LEFT: T0})
    assert store.missing == {LEFT}
    keep = store.keeper(LEFT)
    for i in range(5 * KEEP):
        keep(joints(2**31 * 10**9 - 1 - i))
    keep(joints())
    for i in range(5 * KEEP):
        keep(joints(2**31 * 10**9 - 1 - i))
    assert not store.missing, "a forger with a clock in the future kept the policy from its own samples"
    assert store.inputs({LEFT: T0}, 0, "go").joint_pos[:7].tolist() == [0.5] * 7


@pytest.mark.parametrize(
    ("stream", "raw", "told"),
    [
        (LEFT, joints(position=[0.5] * 6 + [math.nan]), "expected 7 finite values, got .*nan"),
        (LEFT, joints(position=[0.5] * 6), "expected 7 values named left_joint1.*got 6 values"),
        (LEFT, joints()[:20], "torn or foreign message of 20 bytes|got 0 values"),
        (PRIVILEGED, privileged(goal=[math.nan] * 14), "expected 14 finite values, got .*nan"),
        (PRIVILEGED, privileged(step_limit=[0.1] * 13), "expected 14 values named .*got 13 values"),
    ],
)
def test_a_broken_sample_is_a_fault_of_the_rig_and_names_the_stream(stream, raw, told):
    store = StreamStore([stream], ())
    store.want({stream: T0})
    store.keeper(stream)(raw)
    with pytest.raises(RigFault, match=f"^{stream}: .*({told})"):
        store.inputs({stream: T0}, 0, "go")


def test_what_has_arrived_is_told_with_what_was_torn():
    store = StreamStore([LEFT], ())
    assert store.seen(LEFT) == "none received"
    store.keeper(LEFT)(b"\0\1")
    assert store.seen(LEFT) == "none received; 1 torn messages"
    store.keeper(LEFT)(joints())
    assert store.seen(LEFT) == "newest stamp 2.000000000; 1 torn messages"
