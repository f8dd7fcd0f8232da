"""The policy of docs/own-policy.md runs as it stands there, and the page says what is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inspect_robots.registry import policy as register

from assay_core.rig import ACTION_LABELS, action_high, action_low, cameras
from assay_policies.api import MOST_STEPS, Inputs, Trial, checked
from assay_policies.inspect_policy import InspectPolicy

PAGE = Path(__file__).resolve().parents[3] / "docs" / "own-policy.md"


@pytest.fixture
def text() -> str:
    if not PAGE.is_file():
        pytest.skip("installed without the documentation")
    return PAGE.read_text()


def block(text: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_its_policy_fits_the_rig_and_answers(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    point = re.search(r'points."inspect_robots.policies"\]\nmy = "(\w+):(\w+)"\n', block(text, "toml"))
    assert point is not None
    module, name = point.groups()
    assert f'py-modules = ["{module}"]' in text
    scope: dict[str, Any] = {"__name__": module}
    exec(block(text, "python"), scope)
    register("test_own")(scope[name])
    policy = InspectPolicy("test_own", {"stride": 0.05, "horizon": 5}, cameras=cameras(3), control_hz=10.0)
    assert policy.streams == ("left/joint_states", "right/joint_states", "cameras/top/image_raw")
    chunks = []
    for _ in range(2):
        policy.reset(Trial("000000-0", "t", "s", 0, 7, "pour"))
        picture = np.full((360, 640, 3), 128, dtype=np.uint8)
        seen = Inputs(0, "pour", {}, joint_pos=np.full(14, 0.5), images={"top_cam": picture})
        chunks.append(checked(policy.infer(seen), "test_own"))
    assert chunks[0].shape == (5, 14)
    assert np.array_equal(*chunks), "the same seed gives the same trial"
    assert "new trial: pour" in capfd.readouterr().out


def test_its_numbers_are_those_of_the_code(text: str) -> None:
    assert f"1 to {MOST_STEPS:,} `Action`s" in text
    assert [text.index(f"`{name}`") for name in (ACTION_LABELS[0], ACTION_LABELS[5], ACTION_LABELS[6])]
    low, high = action_low(), action_high()
    pair = r": (\S+) \.\. (\S+), "
    shown = re.search(rf"1{pair}2{pair}3{pair}4 and 5: ±(\S+), 6: ±(\S+) ", text)
    assert shown is not None
    limits = [value for i in range(3) for value in (low[i], high[i])] + [high[3], high[5]]
    assert [float(value) for value in shown.groups()] == pytest.approx(limits, abs=6e-4)
    for camera in cameras(3):
        assert f"`{camera.key}`" in text
