"""A long trial with cameras must not fill the memory, and what shows its beginning and end stays readable."""

from __future__ import annotations

import numpy as np
import pytest

from assay_bridge.last_frames import LastFrames
from assay_core.errors import DataError


def picture(value: int) -> np.ndarray:
    return np.full((4, 6, 3), value, np.uint8)


def test_first_and_last_pictures_stay_and_the_rest_goes() -> None:
    store = LastFrames()
    refs = {t: [store.put("s-e0", t, camera, picture(t)) for camera in ("top", "left")] for t in range(5)}
    assert refs[0][0].load()[0, 0, 0] == 0
    assert refs[4][1].load()[0, 0, 0] == 4
    assert refs[4][0].camera == "top"
    with pytest.raises(DataError, match=r"camera 'top' at step 3: expected the first or the last one of the trial"):
        refs[3][0].load()
    assert sum(len(images) for images in store._images.values()) == 4
