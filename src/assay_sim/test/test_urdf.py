"""The rig's URDF, the limits of its action space and the kinematics of the pictures describe one robot."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from assay_core import rig
from assay_sim.kinematics import arm_poses

xacro = pytest.importorskip("xacro")

URDF = Path(__file__).resolve().parents[3] / "urdf" / "bimanual_yam.urdf.xacro"


def numbers(text: str | None) -> list[float]:
    return [float(word) for word in (text or "0 0 0").split()]


def rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    def turn(axis: int, angle: float) -> np.ndarray:
        a, b = (axis + 1) % 3, (axis + 2) % 3
        matrix = np.eye(3)
        matrix[a, a] = matrix[b, b] = math.cos(angle)
        matrix[b, a], matrix[a, b] = math.sin(angle), -math.sin(angle)
        return matrix

    return turn(2, yaw) @ turn(1, pitch) @ turn(0, roll)


def about(axis: list[float], angle: float) -> np.ndarray:
    x, y, z = axis
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * skew + (1 - math.cos(angle)) * skew @ skew


@pytest.fixture(scope="module")
def robot() -> ElementTree.Element:
    return ElementTree.fromstring(xacro.process_file(str(URDF)).toxml())


def grasp(robot: ElementTree.Element, arm: str, position: dict[str, float], base: str = "bench") -> np.ndarray:
    """Position of an arm's grasp point in the frame of the link ``base``, by the URDF."""
    parents = {j.find("child").attrib["link"]: j for j in robot.findall("joint")}  # type: ignore[union-attr]
    point, link = np.zeros(3), f"{arm}_grasp"
    while link != base:
        joint = parents[link]
        origin = joint.find("origin")
        assert origin is not None
        matrix = rotation(*numbers(origin.get("rpy")))
        if joint.attrib["type"] == "revolute":
            matrix = matrix @ about(numbers(joint.find("axis").attrib["xyz"]), position[joint.attrib["name"]])  # type: ignore[union-attr]
        point = matrix @ point + numbers(origin.get("xyz"))
        link = joint.find("parent").attrib["link"]  # type: ignore[union-attr]
    return point


def test_the_urdf_and_the_pictures_agree_where_the_grippers_are(robot: ElementTree.Element) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        values = rng.uniform(rig.action_low(), rig.action_high())
        position = dict(zip(rig.ACTION_LABELS, values.tolist(), strict=True))
        drawn = arm_poses(values).points
        for index, arm in enumerate(rig.ARMS):
            assert grasp(robot, arm, position) == pytest.approx(drawn[index, -1], abs=1e-9)


def test_the_folded_arm_reaches_where_the_vendor_says(robot: ElementTree.Element) -> None:
    folded = dict.fromkeys(rig.ACTION_LABELS, 0.0)
    assert grasp(robot, "left", folded, "left_base") == pytest.approx([0.2453, 0.0, 0.1735], abs=1e-3)


def test_the_joint_limits_are_those_of_the_action_space(robot: ElementTree.Element) -> None:
    limits = {j.attrib["name"]: j.find("limit") for j in robot.findall("joint") if j.attrib["type"] == "revolute"}
    for label, low, high in zip(rig.ACTION_LABELS, rig.action_low(), rig.action_high(), strict=True):
        if not label.endswith("gripper"):
            limit = limits.pop(label)
            assert limit is not None
            assert (float(limit.attrib["lower"]), float(limit.attrib["upper"])) == (low, high)
    assert limits == {}


def test_every_moving_link_has_a_mass_and_a_shape(robot: ElementTree.Element) -> None:
    for link in robot.findall("link"):
        name = link.attrib["name"]
        if name != "bench" and not name.endswith("_grasp"):
            assert link.find("collision") is not None, name
            assert float(link.find("inertial/mass").attrib["value"]) > 0, name  # type: ignore[union-attr]
