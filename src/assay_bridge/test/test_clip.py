"""A clip of a trial plays, shows every camera in its colours and at its time, and is whole or not there."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from assay_bridge import clip, pictures
from assay_bridge.clip import ClipFile, steps_per_frame
from assay_bridge.pictures import PictureWriter

RED, GREEN, BLUE, BLACK = (200, 0, 0), (0, 200, 0), (0, 0, 200), (0, 0, 0)


def picture(colour: tuple[int, int, int], width: int = 640, height: int = 360) -> Any:
    image = np.zeros((height, width, 3), np.uint8)
    image[:] = colour
    return image


def frames(path: Path) -> Iterator[Any]:
    """Yield the frames of a clip as rgb, decoded by a reader that is not ours."""
    reader = cv2.VideoCapture(str(path))
    assert reader.isOpened(), "it does not play"
    while True:
        ok, frame = reader.read()
        if not ok:
            return
        yield cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)


def colours(frame: Any, tiles: int = 2) -> list[str]:
    """Return the colour of each tile by its strongest channel."""
    width = frame.shape[1] // tiles
    means = [frame[:, i * width : (i + 1) * width].reshape(-1, 3).mean(axis=0) for i in range(tiles)]
    return ["black" if mean.max() < 30 else ("red", "green", "blue")[int(mean.argmax())] for mean in means]


def test_a_clip_shows_every_camera_at_every_picture(tmp_path: Path) -> None:
    writer = PictureWriter(tmp_path, 2.0)
    writer.put_frame("000001-0", {"top": picture(RED), "left": picture(GREEN)})
    writer.put_frame("000001-0", {"top": picture(BLUE)})
    writer.put("000001-0", {"top": picture(GREEN), "left": picture(RED)})
    writer.put_frame("000002-0", {"top": picture(RED, 64, 48), "left": picture(GREEN, 64, 48)})
    assert writer.close() == ()
    path = tmp_path / "000001-0" / "clip.avi"
    seen = list(frames(path))
    assert [frame.shape for frame in seen] == [(180, 640, 3)] * 3
    assert [colours(frame) for frame in seen] == [["red", "green"], ["blue", "black"], ["green", "red"]]
    reader = cv2.VideoCapture(str(path))
    assert reader.get(cv2.CAP_PROP_FPS) == 2.0
    assert reader.get(cv2.CAP_PROP_FRAME_COUNT) == 3
    assert int.from_bytes(path.read_bytes()[4:8], "little") + 8 == path.stat().st_size
    names = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert names == ["000001-0/clip.avi", "000001-0/final_left.jpg", "000001-0/final_top.jpg", "000002-0/clip.avi"]
    (only,) = frames(tmp_path / "000002-0" / "clip.avi")
    assert only.shape == (48, 128, 3), (
        "a trial that ended early keeps what there was, and small pictures stay as they are"
    )


def test_a_clip_keeps_its_time_and_shows_the_end_once(tmp_path: Path) -> None:
    writer = PictureWriter(tmp_path, 2.0)
    for _ in range(3):  # arms that do not move
        writer.put_frame("000001-0", {"top": picture(RED)})
    writer.put("000001-0", {"top": picture(RED)})
    assert writer.close() == ()
    assert len(list(frames(tmp_path / "000001-0" / "clip.avi"))) == 3


def test_without_clips_there_are_the_last_pictures_alone(tmp_path: Path) -> None:
    writer = PictureWriter(tmp_path)
    writer.put_frame("000001-0", {"top": picture(RED)})
    writer.put("000001-0", {"top": picture(RED)})
    assert writer.close() == ()
    assert [path.name for path in (tmp_path / "000001-0").iterdir()] == ["final_top.jpg"]


@pytest.mark.parametrize(("control_hz", "steps"), [(10.0, 5), (30.0, 15), (1.0, 1), (0.1, 1), (5.0, 2)])
def test_a_clip_of_a_rig_has_about_two_pictures_a_second(control_hz: float, steps: int) -> None:
    assert steps_per_frame(control_hz, "paced") == steps


@pytest.mark.parametrize(("control_hz", "steps"), [(10.0, 10), (30.0, 30), (1.0, 1), (0.1, 1)])
def test_a_clip_of_a_simulation_has_about_one_picture_a_second(control_hz: float, steps: int) -> None:
    assert steps_per_frame(control_hz, "lockstep") == steps


@pytest.mark.parametrize("at", ["open", "frame", "end"])
def test_a_full_disk_leaves_nothing_of_a_clip_and_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if at == "open":
        real = Path.open
        monkeypatch.setattr(Path, "open", lambda p, *a: full() if p.name == "clip.part" else real(p, *a))
    else:
        monkeypatch.setattr(*((ClipFile, "add") if at == "frame" else (clip.os, "replace")), full)
    writer = PictureWriter(tmp_path, 2.0)
    for _ in range(3):
        writer.put_frame("000001-0", {"top": picture(RED)})
    writer.put_frame("000002-0", {})
    failures = writer.close()
    assert [failure.split(": ")[-1] for failure in failures] == ["[Errno 28] No space left on device"]
    assert "000001-0/clip.avi" in failures[0]
    assert list(tmp_path.rglob("clip*")) == []


def test_memory_is_bounded_where_the_encoder_cannot_keep_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    real = pictures._jpeg
    monkeypatch.setattr(pictures, "_jpeg", lambda *given: go.wait(20) and real(*given))
    monkeypatch.setattr(pictures, "MAX_WAITING_BYTES", 8 * picture(RED, 64, 48).nbytes)
    writer = PictureWriter(tmp_path, 2.0)
    for _ in range(30):
        writer.put_frame("000001-0", {"top": picture(RED, 64, 48)})
    assert writer._jobs.qsize() <= 8
    assert writer.close(0.05)[0].startswith("pictures: "), "closing has a deadline"
    assert list(tmp_path.rglob("*.avi")) == [], "a clip in progress must not have its name"
    go.set()
    [left_out] = [line for line in writer.close() if line.startswith("clips: ")][-1:]
    assert left_out == "clips: 22 pictures left out: this machine is too slow to encode them"
    assert len(list(frames(tmp_path / "000001-0" / "clip.avi"))) == 8


def test_what_a_killed_runner_left_half_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / "000001-0").mkdir()
    (tmp_path / "000001-0" / "clip.part").write_bytes(b"RIFF")
    (tmp_path / "000001-0" / "final_top.jpg").write_bytes(b"whole")
    assert PictureWriter(tmp_path, 2.0).close() == ()
    assert [path.name for path in (tmp_path / "000001-0").iterdir()] == ["final_top.jpg"]
