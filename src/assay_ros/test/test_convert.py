from __future__ import annotations

import array

import numpy as np
import pytest
from cv_bridge import CvBridge
from hypothesis import given
from hypothesis import strategies as st
from sensor_msgs.msg import Image

from assay_core.journal_events import VerdictContent
from assay_core.realization import TrialRealization
from assay_msgs.msg import Verdict
from assay_ros import convert
from assay_ros.testing import image_array


def realization() -> TrialRealization:
    return TrialRealization(
        task="kitchenbench/pour_pasta",
        task_version="2",
        instance_id="pour_pasta/full-box",
        scene_id="pour-pasta-full-box",
        epoch=3,
        seed=4294967295,
        instruction="pour the dry pasta into the pot – slowly",
        target_kind="pour_into",
        checklist=("fill_g = 312.5",),
        values={"fill_g": 312.4999999999999, "vessel": "pot", "count": 3},
        layout={"objects": [{"x_cm": -12.0}]},
        rubric=(),
        max_steps=100,
        horizon_s=10.0,
    )


def test_a_realization_survives_the_message_with_its_hash() -> None:
    data = realization()
    message = convert.realization_to_msg(data, session_id="s", trial_id="000000-0")
    assert convert.realization_from_msg(message) == data
    assert convert.realization_from_msg(message).content_hash() == message.content_hash


def test_any_change_of_content_changes_the_hash() -> None:
    data = realization()
    changed = TrialRealization.from_dict({**data.to_dict(), "values": {**data.values, "count": 4}})
    assert changed.content_hash() != data.content_hash()


@given(st.integers(min_value=0, max_value=2**31 * 1_000_000_000 - 1))
def test_stamps_convert_without_loss(ns: int) -> None:
    assert convert.to_ns(convert.from_ns(ns)) == ns


def test_an_image_of_cv_bridge_is_read_without_change() -> None:
    pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    assert np.array_equal(image_array(CvBridge().cv2_to_imgmsg(pixels, "rgb8")), pixels)


@pytest.mark.parametrize(
    "change", [{"encoding": "bgr8"}, {"data": array.array("B", bytes(71))}, {"width": 7}, {"height": 5}]
)
def test_a_torn_or_foreign_frame_is_refused(change: dict[str, object]) -> None:
    message: Image = CvBridge().cv2_to_imgmsg(np.zeros((4, 6, 3), np.uint8), "rgb8")
    for name, value in change.items():
        setattr(message, name, value)
    with pytest.raises(ValueError, match="expected rgb8"):
        image_array(message)


@pytest.mark.parametrize(
    ("outcome", "reason", "stage"), [("success", "", 4), ("failure", "", 0), ("invalid", "other", None)]
)
def test_a_verdict_becomes_the_message_that_its_grader_sent(outcome: str, reason: str, stage: int | None) -> None:
    said = VerdictContent("u-2", "ann", outcome, reason, stage, "a note", "rqt", "u-1", 5_000_000_001, 6_000_000_002)
    message = convert.verdict_to_msg(said, "s1", "000003-1")
    assert (message.uuid, message.supersedes, message.trial_id) == ("u-2", "u-1", "000003-1")
    assert (message.grader_id, message.source, message.note) == ("ann", "rqt", "a note")
    assert (convert.to_ns(message.asked_at), convert.to_ns(message.header.stamp)) == (5_000_000_001, 6_000_000_002)
    assert message.outcome == getattr(Verdict, f"OUTCOME_{outcome.upper()}")
    assert message.invalid_reason == (Verdict.INVALID_OTHER if reason else Verdict.INVALID_NONE)
    assert (message.has_stage, message.stage) == (stage is not None, stage or 0)
