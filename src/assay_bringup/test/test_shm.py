"""What a killed process leaves in /dev/shm is removed, what a living one needs stays, and too little room is named."""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import WORKSPACE, until

from assay_bringup import shm
from assay_core.errors import ConfigError
from assay_ros.testing import domain

PROFILE = WORKSPACE / "config" / "fastdds.xml"

PARTICIPANT = """
import sys
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node(sys.argv[1], start_parameter_services=False)
publisher = node.create_publisher(String, sys.argv[1], 10)
received = []
node.create_subscription(String, sys.argv[2], lambda m: received.append(m.data), 10)
node.create_timer(0.02, lambda: publisher.publish(String(data=sys.argv[1])))
print("up", flush=True)
while True:
    rclpy.spin_once(node, timeout_sec=0.1)
    if received:
        print("heard " + received.pop(), flush=True)
        received.clear()
"""


@contextmanager
def participant(name: str, hears: str, number: int) -> Iterator[subprocess.Popen[str]]:
    """Run a node with our DDS profile that talks on one topic and says what it hears on another."""
    environ = {
        **os.environ,
        "ROS_DOMAIN_ID": str(number),
        "FASTRTPS_DEFAULT_PROFILES_FILE": str(PROFILE),
        "FASTDDS_DEFAULT_PROFILES_FILE": str(PROFILE),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",
    }
    with subprocess.Popen(
        [sys.executable, "-c", PARTICIPANT, name, hears], env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str], name: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line == f"heard {name}\n":
            return
    raise AssertionError(f"it ended before it heard {name}")


def files_of(process: subprocess.Popen[str]) -> set[str]:
    """Return the segments and ports that a process holds the lock of.

    Without ports below 7400, which belong to no ROS domain: another process may take them over at once.
    """
    names = set()
    for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
        target = str(descriptor.readlink())
        if target.startswith("/dev/shm/") and target.endswith(("_el", "_sl")):
            names.add(Path(target).name.rpartition("_")[0])
    return {name for name in names if re.search(r"_port7[0-3]\d\d$", name) is None}


def there(names: set[str]) -> set[str]:
    return {name for name in names if (shm.SHM / name).exists()}


def test_what_a_killed_process_left_goes_and_a_living_one_is_not_disturbed() -> None:
    with (
        domain() as number,
        participant("alpha", "beta", number) as alpha,
        participant("beta", "alpha", number) as beta,
    ):
        heard(alpha, "beta")
        heard(beta, "alpha")
        left, kept = files_of(beta), files_of(alpha)
        assert left, "the profile must use shared memory, or this test shows nothing"
        beta.send_signal(signal.SIGKILL)
        beta.wait(timeout=20)
        assert there(left) == left, "a killed process leaves its files, or there would be nothing to do"
        shm.sweep()
        assert there(left) == set()
        assert not [name for name in shm.leftovers() for base in left if base in name], "locks and mutexes must go too"
        assert there(kept) == kept
        with participant("gamma", "alpha", number) as gamma:  # takes over beta's ports
            heard(gamma, "alpha")
        with participant("beta", "alpha", number) as beta_again:
            heard(beta_again, "alpha")
            heard(alpha, "beta")


def test_a_process_that_ends_by_itself_leaves_nothing() -> None:
    with domain() as number, participant("alpha", "x", number) as alpha:
        names = files_of(alpha)
        alpha.send_signal(signal.SIGINT)
        alpha.wait(timeout=20)
        until(lambda: not there(names), "its files to go")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory that stands in for /dev/shm, with a segment and a port of a dead process."""
    monkeypatch.setattr(shm, "_age", lambda _path: 60.0)
    for name in (
        "fastrtps_0123456789abcdef",
        "fastrtps_0123456789abcdef_el",
        "fastrtps_port7411",
        "fastrtps_port7411_el",
        "sem.fastrtps_port7411_mutex",
    ):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_foreign_files_are_left_alone(fake: Path) -> None:
    others = ["sem.mine", "psm_1234", "fastrtps_notahexnumber", "fastrtps_portx", "j.sqlite", "fastrtps_0123_el"]
    for name in others:
        (fake / name).touch()
    shm.sweep(fake)
    assert names(fake) == sorted(others)


def test_a_locked_file_is_left_alone(fake: Path) -> None:
    with (fake / "fastrtps_port7411_el").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = shm.sweep(fake)
    assert names(fake) == ["fastrtps_port7411", "fastrtps_port7411_el", "sem.fastrtps_port7411_mutex"]
    assert result.kept == ["fastrtps_port7411"]
    assert sorted(result.removed) == ["fastrtps_0123456789abcdef", "fastrtps_0123456789abcdef_el"]


def test_a_port_that_others_read_is_left_alone(fake: Path) -> None:
    (fake / "fastrtps_port7411_el").rename(fake / "fastrtps_port7411_sl")
    with (fake / "fastrtps_port7411_sl").open() as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        shm.sweep(fake)
    assert "fastrtps_port7411" in names(fake)
    shm.sweep(fake)
    assert names(fake) == []


def test_a_process_that_is_just_starting_is_left_alone(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lock file is there, but not locked yet; by the second look it is."""
    monkeypatch.setattr(shm, "_age", lambda _path: 0.0)
    handles: list[Any] = []

    def settle(_seconds: float) -> None:
        handle = (fake / "fastrtps_port7411_el").open()
        fcntl.flock(handle, fcntl.LOCK_EX)
        handles.append(handle)

    monkeypatch.setattr(shm.time, "sleep", settle)
    shm.sweep(fake)
    for handle in handles:
        handle.close()
    assert "fastrtps_port7411" in names(fake)
    assert "fastrtps_0123456789abcdef" not in names(fake)


def test_files_without_a_lock_go_unless_a_process_has_them_mapped(fake: Path) -> None:
    for path in fake.glob("*_el"):
        path.unlink()
    with (fake / "fastrtps_port7411").open("r+b") as file, mmap.mmap(file.fileno(), 1):
        shm.sweep(fake)
        assert names(fake) == ["fastrtps_port7411", "sem.fastrtps_port7411_mutex"]
    shm.sweep(fake)
    assert names(fake) == []


def test_too_little_room_is_refused_with_how_to_get_more(tmp_path: Path) -> None:
    environ = {"FASTRTPS_DEFAULT_PROFILES_FILE": str(PROFILE)}
    shm.require_room(1, environ, tmp_path)
    with pytest.raises(ConfigError, match=r"MiB free for the 1000000 processes of the graph.*--shm-size=1g"):
        shm.require_room(1_000_000, environ, tmp_path)


def test_the_profile_in_force_says_how_much_room_is_needed(tmp_path: Path) -> None:
    free = shm.shutil.disk_usage(tmp_path).free
    many = free // (8 * 1024 * 1024)
    shm.require_room(many, {}, tmp_path)
    with pytest.raises(ConfigError, match="MiB free"):
        shm.require_room(many, {"FASTRTPS_DEFAULT_PROFILES_FILE": str(PROFILE)}, tmp_path)


def test_another_middleware_needs_no_room(tmp_path: Path) -> None:
    shm.require_room(1_000_000, {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}, tmp_path)


def test_a_profile_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.xml").write_text("<dds>", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"DDS profile .*broken\.xml"):
        shm.require_room(1, {"FASTRTPS_DEFAULT_PROFILES_FILE": str(tmp_path / "broken.xml")}, tmp_path)


def test_a_missing_profile_names_what_the_user_gave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "none.xml")
    name, own = "FASTRTPS_DEFAULT_PROFILES_FILE", "ASSAY_DDS_PROFILE"
    monkeypatch.delenv(own, raising=False)
    with pytest.raises(ConfigError, match=r"DDS profile .*none.xml: .* fix: correct dds_profile:=PATH"):
        shm.require_room(1, {name: path}, tmp_path)
    monkeypatch.setenv(own, path)
    with pytest.raises(ConfigError, match=f"fix: correct {own}"):
        shm.require_room(1, {name: path}, tmp_path)
