"""The last picture of every camera and trial, as JPEG, written beside the control loop.

A verdict months later needs to show what the scene looked like. Encoding three pictures costs milliseconds that a trial
must not wait for, so a thread does it; OpenCV leaves the interpreter's lock while it encodes.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["PictureWriter", "picture_name"]

JPEG_QUALITY = 90
FLUSH_S = 10.0
NICE = 10
"""The next trial goes first."""


def picture_name(camera: str) -> str:
    """Return the file name of one camera's last picture, e.g. ``final_top_cam.jpg``."""
    return f"final_{camera}.jpg"


class PictureWriter:
    """Writes pictures to ``<directory>/<trial_id>/`` from a thread of its own.

    Args:
        directory: The session's ``trials`` directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._jobs: queue.Queue[tuple[str, Mapping[str, Any]] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="pictures", daemon=True)
        self._failures: list[str] = []
        self._thread.start()

    def put(self, trial_id: str, images: Mapping[str, Any]) -> None:
        """Queue the pictures of one trial, by camera: arrays (height, width, 3) uint8 rgb that nobody changes."""
        if images:
            self._jobs.put((trial_id, dict(images)))

    def close(self, deadline_s: float = FLUSH_S) -> tuple[str, ...]:
        """Write what is queued, stop the thread, and return what could not be written, one line each."""
        self._jobs.put(None)
        self._thread.join(deadline_s)
        if self._thread.is_alive():
            self._failures.append(f"pictures: {self._jobs.qsize()} not written within {deadline_s:g} s")
        return tuple(self._failures)

    def _run(self) -> None:
        import cv2

        cv2.setNumThreads(1)
        with contextlib.suppress(OSError):  # Linux: of this thread alone
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        while (job := self._jobs.get()) is not None:
            trial_id, images = job
            for camera, image in images.items():
                path = self._directory / trial_id / picture_name(camera)
                try:
                    bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
                    ok, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
                    if not ok:
                        raise OSError("the encoder refused the picture")
                    # Not the session's directory: where that is gone, a new one must not take its place.
                    self._directory.mkdir(exist_ok=True)
                    path.parent.mkdir(exist_ok=True)
                    _write(path, data.tobytes())
                except (OSError, cv2.error) as error:
                    self._failures.append(f"{path}: {error}")


def _write(path: Path, data: bytes) -> None:
    part = path.with_suffix(".part")
    try:
        part.write_bytes(data)
        os.replace(part, path)  # noqa: PTH105 - one call, no second lookup
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
