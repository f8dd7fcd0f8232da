from __future__ import annotations

import re

import pytest
from assay_tools import locking


def pins(text):
    return {match.group(1): match.group(2) for match in re.finditer(r"(?m)^([a-z0-9][\w.-]*)==([^ \\]+)", text)}


@pytest.mark.parametrize("kind", ["wheels", "ros"])
def test_every_package_is_pinned_by_hash(root, kind):
    text = (root / f"tools/requirements-{kind}.lock").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("    --hash=sha256:"):
            continue
        assert re.match(r"^[a-z0-9][\w.-]*==\S+( ; [^\\]+)? \\$", line), line
        assert following.startswith("    --hash=sha256:"), f"{line}: without a hash"


def wanted(root):
    lines = (root / "tools/requirements.in").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def test_the_locks_hold_what_is_wanted(root):
    locked = pins((root / "tools/requirements-wheels.lock").read_text())
    for line in wanted(root):
        name, _, version = line.partition("==")
        name = re.split(r"[<>!;\[ ]", name)[0].lower().replace("_", "-").replace(".", "-")
        assert name in locked, f"{name} is in requirements.in, but not locked: run ./assay setup --update-lock"
        assert not version or locked[name] == version, f"{name}: run ./assay setup --update-lock"


def test_beside_a_sourced_ros_nothing_hides_what_ros_was_built_against(root):
    locked = pins((root / "tools/requirements-ros.lock").read_text())
    assert not {"numpy", "opencv-python-headless", "opencv-python", "cv-bridge", "empy", "rclpy"} & locked.keys()
    assert not [name for name in locked if name.startswith("ros-")]
    assert {"inspect-robots", "pydantic", "colcon-core", "setuptools", "uv"} <= locked.keys()


def test_setuptools_is_one_that_colcon_can_link_with(root):
    for kind in ("wheels", "ros"):
        version = pins((root / f"tools/requirements-{kind}.lock").read_text())["setuptools"]
        assert int(version.split(".")[0]) < 80


def test_the_list_without_ros_keeps_the_rest():
    text = "# comment\nros-jazzy-rclpy==7\nnumpy<2.3\ncv-bridge==1\nrich==15\nruff\n"
    assert locking.without_ros(text) == "# comment\nrich==15\nruff\n"
