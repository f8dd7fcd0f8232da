"""A port that a hung process holds is no business of the user of another graph."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay_ros.shm_noise import held_back, is_noise
from assay_ros.testing import domain

SHM = Path("/dev/shm")
FIRST, LAST = 7000, 7040
ATTEMPTS = 20

JOIN = """
import contextlib, os, sys
from assay_ros.shm_noise import held_back
import rclpy
from rclpy.node import Node
with held_back() if sys.argv[1] == "held back" else contextlib.nullcontext():
    os.write(2, b"something else\\n")
    rclpy.init()
    node = Node("newcomer", start_parameter_services=False)
rclpy.spin_once(node, timeout_sec=0.2)  # the complaint comes from a thread
node.destroy_node()
rclpy.shutdown()
"""


@contextlib.contextmanager
def locked_ports() -> Iterator[None]:
    """Hold the locks of the first ports as hung processes do whose ports were removed; those of living ones stay."""
    with contextlib.ExitStack() as stack:
        for number in range(FIRST, LAST):
            lock = SHM / f"fastrtps_port{number}_el"
            ours = not lock.exists()
            handle = stack.enter_context(lock.open("a"))
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if ours:
                stack.callback(lock.unlink, missing_ok=True)
        yield


def join(how: str, number: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
    both = subprocess.STDOUT
    command = [sys.executable, "-c", JOIN, how]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=both, text=True, timeout=60, check=True).stdout


def test_the_complaint_about_a_held_port_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    complained = False
    with domain() as number:
        for _ in range(ATTEMPTS):  # a process elsewhere that ends just then leaves a free port: nothing to complain of
            with locked_ports():
                complained = any(is_noise(line) for line in join("shown", number, monkeypatch).splitlines())
                assert join("held back", number, monkeypatch) == "something else\n"
            if complained:
                break
    assert complained, "Fast DDS says it otherwise, or nothing any more: look whether this is still needed"


def test_what_is_not_noise_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with held_back():
        os.write(1, b"from C++\n")
        os.write(2, b"[RTPS_TRANSPORT_SHM Error] Failed init_port fastrtps_port7002: open_and_lock_file failed\n")
    os.write(1, b"{}\n")
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("{}\n", "from C++\n")


@pytest.mark.parametrize(
    ("line", "noise"),
    [
        (
            "\x1b[37;1m2026-11-30 11:22:17.911 \x1b[31;1m[\x1b[37;1mRTPS_TRANSPORT_SHM\x1b[31;1m Error] \x1b[37mFailed "
            "init_port fastrtps_port7002: open_and_lock_file failed\x1b[34;1m -> Function \x1b[36mopen_port_internal",
            True,
        ),
        ("[RTPS_TRANSPORT_SHM Error] Failed init_port fastrtps_port7661: open_and_lock_file failed", False),
        ("[RTPS_TRANSPORT_SHM Error] Failed to create segment fastrtps_1081080dd0aec2be: No space left", False),
        ("[RTPS_MSG_OUT Error] Failed init_port", False),
    ],
)
def test_only_this_very_line_is_held_back(line: str, noise: bool) -> None:
    assert is_noise(line) is noise
