"""Arms stand where their joints say: known poses of the YAM model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay_core.rig import ARM_DIM, ARMS, action_high, action_low
from assay_sim.kinematics import BASES_M, POINT_NAMES, arm_poses


def pose(left=(0.0,) * 7, right=(0.0,) * 7):
    return arm_poses(np.array([*left, *right], dtype=np.float64))


@pytest.mark.parametrize("arm", range(len(ARMS)))
def test_grasp_point_of_the_zero_pose_is_the_documented_one(arm):
    # i2rt v1.2.4: (0.2453, 0, 0.1735) in the base frame, which looks along +y of the bench.
    grasp = pose().points[arm, POINT_NAMES.index("grasp")] - BASES_M[arm]
    assert grasp == pytest.approx([0.0, 0.2453, 0.1735], abs=1e-4)


def test_first_joint_turns_the_arm_about_the_vertical_counter_clockwise():
    grasp = pose(left=(math.pi / 2, 0, 0, 0, 0, 0, 0)).points[0, -1] - BASES_M[0]
    assert grasp == pytest.approx([-0.2453, 0.0, 0.1735], abs=1e-4)


def change(joint, point, axis, by=0.4):
    """Return how far a point of the raised left arm moves along an axis of the bench when one joint turns."""
    start = [0.0, 1.2, 1.2, 0.0, 0.0, 0.0, 0.0]
    moved = list(start)
    moved[joint] += by
    index = POINT_NAMES.index(point)
    return pose(left=moved).points[0, index, axis] - pose(left=start).points[0, index, axis]


def test_joints_move_the_arm_the_documented_way():
    # inspect-robots-yam: joint 2 raises, 3 opens, 4 tips the gripper up, 5 swings it to the right.
    assert np.diff([pose(left=(0, a, 0, 0, 0, 0, 0)).points[0, 3, 2] for a in (0.0, 0.5, 1.0)]).min() > 0.05
    assert change(2, "wrist", 2) > 0.05
    assert change(3, "grasp", 2) > 0.03
    assert change(4, "grasp", 0) > 0.03


def test_links_keep_their_length_in_every_pose():
    rng = np.random.default_rng(3)
    lengths = []
    for _ in range(50):
        points = arm_poses(rng.uniform(action_low(), action_high())).points
        lengths.append(np.linalg.norm(np.diff(points, axis=1), axis=2))
    # The shoulder's centre line point turns about the first joint only, so every distance is a constant.
    assert np.ptp(np.array(lengths), axis=0).max() < 1e-9


def test_arms_move_independently():
    moved = pose(left=(0.3,) * ARM_DIM)
    assert np.array_equal(moved.points[1], pose().points[1])
    assert not np.allclose(moved.points[0], pose().points[0])
