"""The last pictures of a trial are on disk, in the right colours, and a full disk is reported, not fatal."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

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
