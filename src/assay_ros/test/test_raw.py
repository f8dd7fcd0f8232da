"""What is read from serialized messages equals what rclpy converts."""

from __future__ import annotations

import array

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image, JointState

from assay_ros.raw import image_pixels, stamp_of


def image(width=5, height=4, padding=0, encoding="rgb8", frame="top"):
    step = width * 3 + padding
    message = Image(width=width, height=height, encoding=encoding, step=step)
    message.header.frame_id = frame
    message.data = array.array("B", np.arange(height * step, dtype=np.uint32).astype(np.uint8).tobytes())
    return message


@settings(deadline=None)
@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 999_999_999), st.text("abcdef", max_size=9))
def test_the_stamp_of_any_message_with_a_header(sec, nanosec, frame):
    message = JointState(name=["a"], position=[1.0])
    message.header.stamp, message.header.frame_id = Time(sec=sec, nanosec=nanosec), frame
    assert stamp_of(serialize_message(message)) == sec * 10**9 + nanosec


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 5), st.text("abcdefgh", max_size=9))
def test_the_pixels_of_any_rgb8_image(width, height, padding, frame):
    message = image(width, height, padding, frame=frame)
    expected = np.array(message.data, dtype=np.uint8).reshape(height, -1)[:, : width * 3].reshape(height, width, 3)
    pixels = image_pixels(serialize_message(message))
    assert pixels.shape == (height, width, 3)
    assert (pixels == expected).all()
    assert not pixels.flags.writeable, "a view of received bytes must not be changed"


def test_torn_and_foreign_images_are_refused():
    with pytest.raises(ValueError, match="expected rgb8 4x5, got bgr8 with step 15"):
        image_pixels(serialize_message(image(encoding="bgr8")))
    torn = image()
    torn.data = torn.data[:-7]
    with pytest.raises(ValueError, match="expected rgb8 4x5, got rgb8 with step 15 and 53 bytes"):
        image_pixels(serialize_message(torn))
    whole = serialize_message(image())
    with pytest.raises(ValueError, match="expected rgb8 4x5, got rgb8 with step 15 and 40 bytes"):
        image_pixels(whole[:-20])
    with pytest.raises(ValueError, match="expected a whole message, got 30 bytes"):
        image_pixels(whole[:30])


def test_what_is_wrong_with_an_image_decides_the_fix():
    def fix(message: Image, cut: int = 0) -> str:
        raw = serialize_message(message)
        with pytest.raises(ValueError, match="expected rgb8 4x5") as caught:
            image_pixels(raw[: len(raw) - cut])
        return str(caught.value).partition("fix: ")[2]

    narrow, short = image(), image()
    narrow.step = 10
    short.data = short.data[:-7]
    assert fix(image(encoding="bgr8")) == "publish rgb8"
    assert fix(narrow) == "publish a step of at least 15 bytes: 3 for each of 5 pixels"
    assert fix(short) == "publish 60 bytes: 4 rows of 15"
    assert fix(image(), cut=20) == "publish all of the 60 bytes that the message announces"
