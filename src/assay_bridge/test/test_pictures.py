"""The last pictures of a trial are on disk, in the right colours, and a full disk is reported, not fatal."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from assay_bridge.pictures import PictureWriter, picture_name


def test_pictures_are_written_in_the_right_colours(tmp_path: Path) -> None:
    red = np.zeros((36, 64, 3), np.uint8)
    red[:, :, 0] = 200
    writer = PictureWriter(tmp_path)
    writer.put("000001-0", {"top_cam": red})
    assert writer.close() == ()
    got = cv2.imread(str(tmp_path / "000001-0" / picture_name("top_cam")))
    assert got.shape == (36, 64, 3)
    blue, green, seen_red = got.reshape(-1, 3).mean(axis=0)
    assert seen_red > 180
    assert max(blue, green) < 20, "red and blue are swapped"
    assert [p.name for p in (tmp_path / "000001-0").iterdir()] == ["final_top_cam.jpg"]


def test_what_cannot_be_written_is_said_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "000001-0").write_text("a file where a directory should be")
    writer = PictureWriter(tmp_path)
    writer.put("000001-0", {"top_cam": np.zeros((8, 8, 3), np.uint8)})
    [failure] = writer.close()
    assert "000001-0" in failure


def test_a_session_directory_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    writer = PictureWriter(tmp_path / "gone" / "trials")
    writer.put("000001-0", {"top_cam": np.zeros((8, 8, 3), np.uint8)})
    assert len(writer.close()) == 1
    assert not (tmp_path / "gone").exists()


def test_a_full_disk_leaves_no_half_of_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    writer = PictureWriter(tmp_path)
    writer.put("000001-0", {"top_cam": np.zeros((8, 8, 3), np.uint8)})
    [failure] = writer.close()
    assert "No space left on device" in failure
    assert list((tmp_path / "000001-0").iterdir()) == []
