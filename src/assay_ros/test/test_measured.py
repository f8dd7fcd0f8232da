"""What a stranger may publish on a measured stream is refused with the stream's name, and never taken for a value."""

from __future__ import annotations

import array

import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image

from assay_core.errors import RigFault
from assay_core.rig import cameras
from assay_ros.measured import by_label, camera_pixels

CAMERA = cameras(1, 64, 48)[0]


def picture(width: int = 64, height: int = 48, encoding: str = "rgb8") -> bytes:
    message = Image(width=width, height=height, encoding=encoding, step=width * 3)
    message.data = array.array("B", bytes(width * height * 3))
    return bytes(serialize_message(message))


def test_values_are_taken_by_name_in_any_order_and_company():
    assert by_label("s", ["b", "x", "a"], [2.0, 9.0, 1.0], ["a", "b"]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("names", "values", "got"),
    [
        (["a"], [1.0], "got 1 values named a"),
        (["a", "b"], [1.0], "got 1 values named a, b"),
        (["a", "b"], [1.0, 2.0, 3.0], "got 3 values named a, b"),
        (["a", "b", "a"], [1.0, 2.0, 3.0], "got 3 values named a, b, a"),
        ([], [], r"got 0 values named \(none\)"),
        (["a", "b"], [1.0, float("nan")], r"s: expected 2 finite values, got \[1.0, nan\]"),
        (["a", "b"], [float("-inf"), 1.0], r"s: expected 2 finite values, got \[-inf, 1.0\]"),
    ],
)
def test_wrong_names_numbers_and_values_are_named(names, values, got):
    with pytest.raises(RigFault, match=got):
        by_label("s", names, values, ["a", "b"])


def test_a_strangers_words_do_not_flood_the_error():
    with pytest.raises(RigFault) as error:
        by_label("s", ["\x1b[2J\n" + "n" * 10**6] * 1000, [0.0] * 1000, ["a"])
    text = str(error.value)
    assert len(text) < 2000
    assert text.isprintable(), "a message must not steer the terminal that shows it"


def test_a_picture_of_the_cameras_own_kind_is_taken():
    assert camera_pixels(picture(), CAMERA, "the bridge").shape == (48, 64, 3)


@pytest.mark.parametrize(
    ("raw", "got"),
    [
        (picture(width=32), r"expected uint8 \(48, 64, 3\), got \(48, 32, 3\)"),
        (picture(encoding="bgr8"), "torn or foreign picture: .*got bgr8"),
        (picture(encoding="\x1b[2J" * 1000), r"torn or foreign picture: .*got \[2J"),
        (picture(encoding=""), "torn or foreign picture: .*got no encoding"),
        (picture(width=0, height=0), r"got \(0, 0, 3\)"),
        (picture()[:-1], "torn or foreign picture"),
        (picture()[:20], "torn or foreign picture: .*expected a whole message, got 20 bytes"),
        (b"", "torn or foreign picture: .*got 0 bytes"),
        (b"\0\1\0\0" + b"\xff" * 64, "torn or foreign picture"),
    ],
)
def test_torn_and_foreign_pictures_are_named(raw, got):
    with pytest.raises(RigFault, match="cameras/top/image_raw: .*" + got) as error:
        camera_pixels(raw, CAMERA, "the bridge")
    assert str(error.value).isprintable()
