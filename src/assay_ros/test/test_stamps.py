"""Whatever arrives, the sample that is waited for stays, and memory does not grow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from assay_ros.convert import from_ns
from assay_ros.stamps import StampBuffer

FUTURE_NS = 2**31 * 10**9 - 1


def message(ns: int) -> JointState:
    sample = JointState()
    sample.header.stamp = from_ns(ns)
    return sample


RAW = {ns: serialize_message(message(ns)) for ns in range(40)}

adds = st.integers(0, 39)
wants = st.integers(0, 39).map(lambda ns: -ns - 1)
"""A number below zero stands for waiting for ``-number - 1``."""


@given(st.integers(2, 9), st.lists(adds | wants, max_size=80))
def test_what_is_waited_for_is_kept_and_memory_is_bounded(keep, events):
    watch = {"another stream"}
    buffer = StampBuffer("s", watch, keep)
    wanted, arrived_since = None, False
    for event in events:
        if event < 0:
            wanted = -event - 1
            buffer.want(wanted)
            arrived_since = wanted in buffer.samples
        else:
            buffer.add(RAW[event])
            arrived_since = arrived_since or event == wanted
        assert len(buffer.samples) <= keep, "a stream must not fill the memory"
        assert buffer.latest_ns == max(buffer.samples, default=None)
        assert all(RAW[ns] == raw for ns, raw in buffer.samples.items()), "a sample stands under another one's stamp"
        if wanted is not None:
            assert (wanted in buffer.samples) == arrived_since, "the sample that is waited for was pushed out"
            assert ("s" in watch) == (not arrived_since), "a wait ends without its sample, or does not end with it"
    assert "another stream" in watch


@given(st.integers(2, 9), st.lists(adds, unique=True, max_size=40))
def test_without_a_wait_the_last_to_arrive_are_kept(keep, arrivals):
    buffer = StampBuffer("s", set(), keep)
    for ns in arrivals:
        buffer.add(RAW[ns])
    assert list(buffer.samples) == arrivals[-keep:]


def test_stamps_in_the_future_push_out_nothing_that_is_waited_for():
    watch: set[str] = set()
    buffer = StampBuffer("left/joint_states", watch, 8)
    for i in range(100):
        buffer.add(message(FUTURE_NS - i))
    buffer.want(2_000_000_000)
    assert watch == {"left/joint_states"}
    buffer.add(message(2_000_000_000))
    assert watch == set(), "a sample of the present must be taken in spite of all the future ones"
    for i in range(100):
        buffer.add(message(FUTURE_NS - i))
    assert 2_000_000_000 in buffer.samples


def test_a_stream_recovers_from_a_stamp_in_the_future():
    buffer = StampBuffer("s", set(), 4)
    buffer.add(message(FUTURE_NS))
    for ns in range(1, 5):
        buffer.add(message(ns))
    assert buffer.latest_ns == 4, "one broken stamp must not hide every later sample"


@pytest.mark.parametrize("torn", [b"", b"\0", b"\0\1\0\0", RAW[7][:11]])
def test_a_message_without_a_stamp_is_counted_and_dropped(torn):
    buffer = StampBuffer("s", set(), 4)
    buffer.want(0)
    buffer.add(torn)
    assert (buffer.torn, buffer.samples) == (1, {})
