"""A low-rate clip of one trial: all cameras side by side, as Motion JPEG in an AVI file.

Every player knows the format, a frame is an ordinary JPEG, and the container is a header, the frames and an index. So
it is written here: OpenCV's own writer takes five times the processor time of its JPEG encoder and says nothing of a
full disk. Frames go to disk as they come, so that a long trial takes no memory.

Source: Microsoft, "AVI RIFF File Reference" (main header, stream header, old-style index).
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["CLIP_FILE", "CLIP_HZ", "ClipFile", "Mosaic", "steps_per_frame", "tile_pixels"]

CLIP_FILE = "clip.avi"
CLIP_HZ = {"lockstep": 1.0, "paced": 2.0}
"""Pictures per second of task time by mode, as near as whole control steps come to it.

Simulated trials run many times faster than real time on the processors that also draw them, and can be drawn again."""

TILE_WIDTH = 320
"""Widest picture of one camera [pixels]."""

MAX_BYTES = 1 << 30
"""Frames beyond this size are left out: players stumble over larger files of this kind."""

_HAS_INDEX, _KEYFRAME = 0x10, 0x10


def steps_per_frame(control_hz: float, mode: str) -> int:
    """Return how many control steps lie between two pictures of a clip.

    Args:
        control_hz: Control rate [Hz].
        mode: ``lockstep`` or ``paced``.
    """
    return max(1, round(control_hz / CLIP_HZ[mode]))


def _tile(width: int, height: int) -> tuple[int, int]:
    """Return the size of one camera's picture in a clip [pixels]."""
    tile_width = min(width, TILE_WIDTH)
    return tile_width, max(1, round(height * tile_width / width))


def tile_pixels(width: int, height: int) -> int:
    """Return how many pixels of a clip one camera's picture takes, for a camera of this size [pixels]."""
    tile_width, tile_height = _tile(width, height)
    return tile_width * tile_height


class Mosaic:
    """Puts the pictures of all cameras side by side, in the layout of the first set.

    Args:
        images: Arrays (height, width, 3) uint8, by camera.
    """

    def __init__(self, images: Mapping[str, Any]) -> None:
        self._tiles: dict[str, tuple[int, int, int]] = {}
        self._shown: Mapping[str, Any] = {}
        left = 0
        for camera, image in images.items():
            height, width = image.shape[:2]
            tile_width, tile_height = _tile(width, height)
            self._tiles[camera] = (left, tile_width, tile_height)
            left += tile_width
        self.width, self.height = left, max(tile[2] for tile in self._tiles.values())
        """Size of the picture [pixels]."""

    def shows(self, images: Mapping[str, Any]) -> bool:
        """Return whether these are the pictures that were put together last, as where a rig does not park."""
        import numpy as np

        return images.keys() == self._shown.keys() and all(
            image is self._shown[camera] or np.array_equal(image, self._shown[camera])
            for camera, image in images.items()
        )

    def put_together(self, images: Mapping[str, Any]) -> npt.NDArray[np.uint8]:
        """Return one picture (height, width, 3) uint8 in the channels' own order; a camera that is missing is black."""
        import cv2
        import numpy as np

        self._shown = images
        whole = np.zeros((self.height, self.width, 3), np.uint8)
        for camera, (left, width, height) in self._tiles.items():
            if camera in images:
                tile = cv2.resize(images[camera], (width, height), interpolation=cv2.INTER_AREA)
                whole[:height, left : left + width] = tile
        return whole


class ClipFile:
    """An AVI file that grows frame by frame and gets its name when it is whole.

    Args:
        path: Its final name; until `finish`, ``.part`` takes the place of its suffix.
        size: Width and height of every frame [pixels].
        rate_hz: Frames per second when it is played.

    Raises:
        OSError: It cannot be written.
    """

    def __init__(self, path: Path, size: tuple[int, int], rate_hz: float) -> None:
        self._path, self._part = path, path.with_suffix(".part")
        self._size, self._rate_hz = size, rate_hz
        self._offsets: list[tuple[int, int]] = []
        self._written = 4
        """Bytes in list ``movi`` [bytes], its name included."""
        self._largest = 0
        self._file = self._part.open("wb")
        self._file.write(self._header())

    def add(self, jpeg: bytes) -> None:
        """Append one frame, a whole JPEG.

        Raises:
            OSError: It cannot be written.
        """
        if self._written + len(jpeg) > MAX_BYTES:
            return
        padded = jpeg + b"\0" * (len(jpeg) % 2)
        self._file.write(struct.pack("<4sI", b"00dc", len(jpeg)))
        self._file.write(padded)
        self._offsets.append((self._written, len(jpeg)))
        self._written += 8 + len(padded)
        self._largest = max(self._largest, len(jpeg))

    def finish(self) -> None:
        """Write the index and the header that counts the frames, and give the file its name.

        Raises:
            OSError: It cannot be written; nothing is left of it.
        """
        try:
            with self._file:
                self._file.write(struct.pack("<4sI", b"idx1", 16 * len(self._offsets)))
                for offset, size in self._offsets:
                    self._file.write(struct.pack("<4sIII", b"00dc", _KEYFRAME, offset, size))
                self._file.seek(0)
                self._file.write(self._header())
            os.replace(self._part, self._path)  # noqa: PTH105 - one call, no second lookup
        except OSError:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Leave nothing of it."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._part.unlink()

    def _header(self) -> bytes:
        """Return everything before the first frame, for the frames written so far."""
        (width, height), frames = self._size, len(self._offsets)
        main = struct.pack(
            "<14I", round(1e6 / self._rate_hz), 0, 0, _HAS_INDEX, frames, 0, 1, self._largest, width, height, 0, 0, 0, 0
        )
        stream = struct.pack(
            "<4s4sIHHIIIIIIiI4H",
            b"vids",
            b"MJPG",
            0,
            0,
            0,
            0,
            *self._rate(),
            0,
            frames,
            self._largest,
            -1,
            0,
            0,
            0,
            width,
            height,
        )
        picture = struct.pack("<IiiHH4sIiiII", 40, width, height, 1, 24, b"MJPG", width * height * 3, 0, 0, 0, 0)
        stream_list = _list(b"strl", _chunk(b"strh", stream) + _chunk(b"strf", picture))
        headers = _list(b"hdrl", _chunk(b"avih", main) + stream_list)
        whole = 4 + len(headers) + 8 + self._written + 8 + 16 * frames
        return (
            struct.pack("<4sI4s", b"RIFF", whole, b"AVI ")
            + headers
            + struct.pack("<4sI4s", b"LIST", self._written, b"movi")
        )

    def _rate(self) -> tuple[int, int]:
        """Return the frame rate as scale and rate: rate / scale is in Hz."""
        return 1000, max(1, round(self._rate_hz * 1000))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack("<4sI", name, len(data)) + data


def _list(name: bytes, data: bytes) -> bytes:
    return struct.pack("<4sI4s", b"LIST", 4 + len(data), name) + data
