"""A command is followed as it was meant or refused whole."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from assay_core.rig import joint_names
from assay_msgs.msg import ArmCommand
from assay_sim.commands import Command, read_command


def message(*rows, times=(), names=None):
    points = [JointTrajectoryPoint(positions=[float(x) for x in row]) for row in rows]
    for point, seconds in zip(points, times, strict=False):
        point.time_from_start = Duration(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))
    made = ArmCommand(lease="me", sequence=4)
    made.trajectory = JointTrajectory(joint_names=list(joint_names("left") if names is None else names), points=points)
    made.header.stamp.sec, made.header.stamp.nanosec = 3, 500_000_000
    return made


def test_one_point_holds_for_ever():
    command = read_command("left", message(range(7)))
    assert isinstance(command, Command)
    assert (command.stamp_ns, command.sequence, command.lease) == (3_500_000_000, 4, "me")
    assert command.at(0.0).tolist() == command.at(99.0).tolist() == list(range(7))


def test_a_chunk_is_interpolated_and_its_last_point_holds():
    command = read_command("left", message([0] * 7, [1] * 7, [5] * 7, times=(0.0, 0.5, 1.0)))
    assert isinstance(command, Command)
    assert [float(command.at(t)[0]) for t in (-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 9.0)] == [0, 0, 0.5, 1, 3, 5, 5]


def test_without_joint_names_the_documented_order_counts():
    assert isinstance(read_command("left", message(range(7), names=())), Command)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (message(range(7), names=joint_names("right")), "expected joints left_joint1"),
        (message(), "expected at least one point"),
        (message(range(6)), "expected 7 values, got 6"),
        (message(range(7), [np.nan] * 7, times=(0, 1)), "expected finite values, got nan at index 0"),
        (message(range(7), range(7), times=(1, 1)), "expected increasing time_from_start"),
    ],
)
def test_malformed_commands_are_refused_with_a_reason(made, text):
    reason = read_command("left", made)
    assert isinstance(reason, str)
    assert text in reason
