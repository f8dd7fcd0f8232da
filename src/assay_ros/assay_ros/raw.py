"""Reading serialized messages without rclpy's conversion.

rclpy turns every received picture into a C struct and then into a Python object: two copies of a megabyte, of which a
subscriber that only looks at the pixels needs neither. A raw subscription hands over the bytes as they came (CDR, as
DDS prescribes); the stamp of any message that begins with a header, and the pixels of an image, lie at known places.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

__all__ = ["image_pixels", "stamp_of"]

_BODY = 4
"""Bytes before the first field; the lowest bit of the second one says that numbers are little-endian."""

_STAMP = {True: struct.Struct("<iI"), False: struct.Struct(">iI")}
_LENGTH = {True: struct.Struct("<I"), False: struct.Struct(">I")}


def stamp_of(raw: bytes) -> int:
    """Return ``header.stamp`` [ns] of a serialized message whose first field is a header.

    Raises:
        ValueError: The message is too short to have one.
    """
    try:
        sec, nanosec = _STAMP[bool(raw[1] & 1)].unpack_from(raw, _BODY)
    except (IndexError, struct.error):
        raise ValueError(f"message: expected a header, got {len(raw)} bytes") from None
    return int(sec) * 1_000_000_000 + int(nanosec)


def image_pixels(raw: bytes) -> npt.NDArray[np.uint8]:
    """Return the pixels of a serialized rgb8 `sensor_msgs/Image` without copying.

    Args:
        raw: The message as a raw subscription hands it over.

    Returns:
        Shape (height, width, 3), RGB, read-only: a view of ``raw``.

    Raises:
        ValueError: The message is cut off, its encoding is not rgb8, or its buffer does not fit its size.
    """
    try:
        number = _LENGTH[bool(raw[1] & 1)].unpack_from
        at = _BODY + 8
        at += 4 + number(raw, at)[0]  # frame_id
        at = _aligned(at)
        (height,), (width,), (length,) = number(raw, at), number(raw, at + 4), number(raw, at + 8)
        encoding = raw[at + 12 : at + 11 + length]
        at = _aligned(at + 12 + length + 1)  # encoding, is_bigendian
        (step,), (size,) = number(raw, at), number(raw, at + 4)
        at += 8
    except (IndexError, struct.error):
        raise ValueError(f"image: expected a whole message, got {len(raw)} bytes of one") from None
    if encoding != b"rgb8" or size != height * step or step < width * 3 or len(raw) < at + size:
        if encoding != b"rgb8":
            fix = "publish rgb8"
        elif step < width * 3:
            fix = f"publish a step of at least {width * 3} bytes: 3 for each of {width} pixels"
        elif size != height * step:
            fix = f"publish {height * step} bytes: {height} rows of {step}"
        else:
            fix = f"publish all of the {size} bytes that the message announces"
        raise ValueError(
            f"image: expected rgb8 {height}x{width}, got {_words(encoding)} with step {step} and "
            f"{min(size, len(raw) - at)} bytes. fix: {fix}"
        )
    rows = np.frombuffer(raw, dtype=np.uint8, count=size, offset=at).reshape(height, step)
    return rows[:, : width * 3].reshape(height, width, 3)


def _words(encoding: bytes) -> str:
    """Return an encoding for an error message: whatever a stranger wrote there, one short line."""
    text = "".join(char for char in encoding[:40].decode(errors="replace") if char.isprintable())
    return text or "no encoding"


def _aligned(at: int) -> int:
    """Return the next multiple of 4 after the message's first field."""
    return at + (_BODY - at) % 4
