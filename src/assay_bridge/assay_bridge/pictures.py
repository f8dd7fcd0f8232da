"""The last picture of every camera and trial and a clip of it, written beside the control loop.

A verdict months later needs to show what the scene looked like, and how it came to. Encoding costs milliseconds that a
trial must not wait for, so a thread does it; OpenCV leaves the interpreter's lock while it encodes.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay_bridge.clip import CLIP_FILE, ClipFile, Mosaic

__all__ = ["PictureWriter", "picture_name"]

JPEG_QUALITY = 90
CLIP_QUALITY = 75
FLUSH_S = 10.0
NICE = 10
"""The next trial goes first."""

MAX_WAITING_BYTES = 32 * 1024 * 1024
"""Pictures of clips that may wait for the encoder [bytes], and one in any case; further ones are left out."""


def picture_name(camera: str) -> str:
    """Return the file name of one camera's last picture, e.g. ``final_top_cam.jpg``."""
    return f"final_{camera}.jpg"


@dataclass(frozen=True)
class _Job:
    trial_id: str
    images: Mapping[str, Any]
    final: bool

    @property
    def size(self) -> int:
        """What its pictures take [bytes]."""
        return sum(image.nbytes for image in self.images.values())


class PictureWriter:
    """Writes pictures to ``<directory>/<trial_id>/`` from a thread of its own.

    Args:
        directory: The session's ``trials`` directory.
        clip_hz: Pictures per second at which a clip is played; 0 makes none.
    """

    def __init__(self, directory: Path, clip_hz: float = 0.0) -> None:
        self._directory, self._clip_hz = directory, clip_hz
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._counting = threading.Lock()
        self._waiting_bytes = 0
        self._left_out = 0
        self._clip: tuple[str, Mosaic, ClipFile | None] | None = None
        """Trial and file of the clip in progress; no file where it could not be written."""
        self._thread = threading.Thread(target=self._run, name="pictures", daemon=True)
        self._failures: list[str] = []
        self._thread.start()

    def put_frame(self, trial_id: str, images: Mapping[str, Any]) -> None:
        """Queue one picture of the trial's clip; see `put`. Left out where the encoder cannot keep up."""
        if not images or not self._clip_hz:
            return
        job = _Job(trial_id, dict(images), final=False)
        with self._counting:
            if self._waiting_bytes and self._waiting_bytes + job.size > MAX_WAITING_BYTES:
                self._left_out += 1
                return
            self._waiting_bytes += job.size
        self._jobs.put(job)

    def put(self, trial_id: str, images: Mapping[str, Any]) -> None:
        """Queue the last pictures of one trial, which end its clip.

        Args:
            trial_id: Its id.
            images: By camera: arrays (height, width, 3) uint8 rgb that nobody changes.
        """
        if images:
            self._jobs.put(_Job(trial_id, dict(images), final=True))

    def close(self, deadline_s: float = FLUSH_S) -> tuple[str, ...]:
        """Write what is queued, stop the thread, and return what could not be written, one line each."""
        self._jobs.put(None)
        self._thread.join(deadline_s)
        if self._thread.is_alive():
            self._failures.append(f"pictures: {self._jobs.qsize()} not written within {deadline_s:g} s")
        if self._left_out:
            self._failures.append(f"clips: {self._left_out} pictures left out: this machine is too slow to encode them")
        return tuple(self._failures)

    def _run(self) -> None:
        import cv2

        cv2.setNumThreads(1)
        with contextlib.suppress(OSError):  # Linux: of this thread alone
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        self._discard_parts()
        while (job := self._jobs.get()) is not None:
            if self._clip_hz:
                self._film(job)
            if job.final:
                self._write_final(job)
            else:
                with self._counting:
                    self._waiting_bytes -= job.size
        self._end_clip()

    def _discard_parts(self) -> None:
        """Remove what a runner that was killed left half written."""
        with contextlib.suppress(OSError):
            for part in self._directory.glob("*/*.part"):
                part.unlink()

    def _film(self, job: _Job) -> None:
        """Append one picture to the trial's clip; a picture that is the last one ends it."""
        if self._clip is not None and self._clip[0] != job.trial_id:
            self._end_clip()
        path = self._directory / job.trial_id / CLIP_FILE
        with self._told(path):
            if self._clip is None:
                mosaic = Mosaic(job.images)
                self._clip = (job.trial_id, mosaic, None)
                self._make_directory(path.parent)
                size = (mosaic.width, mosaic.height)
                self._clip = (job.trial_id, mosaic, ClipFile(path, size, self._clip_hz))
            _, mosaic, file = self._clip
            if file is not None and not (job.final and mosaic.shows(job.images)):
                try:
                    file.add(_jpeg(mosaic.put_together(job.images), CLIP_QUALITY))
                except BaseException:
                    file.abandon()
                    self._clip = (job.trial_id, mosaic, None)
                    raise
        if job.final:
            self._end_clip()

    def _end_clip(self) -> None:
        clip, self._clip = self._clip, None
        if clip is not None and clip[2] is not None:
            with self._told(self._directory / clip[0] / CLIP_FILE):
                clip[2].finish()

    def _write_final(self, job: _Job) -> None:
        for camera, image in job.images.items():
            path = self._directory / job.trial_id / picture_name(camera)
            with self._told(path):
                data = _jpeg(image, JPEG_QUALITY)
                self._make_directory(path.parent)
                _write(path, data)

    def _make_directory(self, directory: Path) -> None:
        # Not the session's directory: where that is gone, a new one must not take its place.
        self._directory.mkdir(exist_ok=True)
        directory.mkdir(exist_ok=True)

    @contextlib.contextmanager
    def _told(self, path: Path) -> Any:
        """Keep what goes wrong for the end: a picture is no reason to stop a session."""
        import cv2

        try:
            yield
        except (OSError, ValueError, cv2.error) as error:
            self._failures.append(f"{path}: {error}")


def _jpeg(image: Any, quality: int) -> bytes:
    """Return an rgb picture as JPEG.

    Raises:
        OSError: The encoder refused it.
    """
    import cv2

    ok, data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not ok:
        raise OSError("the encoder refused the picture")
    return bytes(data)


def _write(path: Path, data: bytes) -> None:
    part = path.with_suffix(".part")
    try:
        part.write_bytes(data)
        os.replace(part, path)  # noqa: PTH105 - one call, no second lookup
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
