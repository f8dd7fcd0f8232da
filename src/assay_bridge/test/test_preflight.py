"""The machine is checked before a session touches it."""

from __future__ import annotations

import os
import resource
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from assay_bridge import preflight
from assay_bridge.planning import EvalOptions, make_plan
from assay_core.errors import ConfigError
from assay_core.journal import JournalReader, JournalWriter
from assay_core.plan import load_plan, plan_hash

Usage = namedtuple("Usage", "total used free")
MIB = 1024 * 1024


def test_an_existing_session_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"expected a directory that does not exist yet, got an existing directory. fix: choose another",
    ) as caught:
        preflight.check_directory(tmp_path)
    assert "resume" not in str(caught.value), "what is no session cannot be resumed"
    (tmp_path / "plan.yaml").write_text("")
    with pytest.raises(ConfigError, match=r"got an existing session.*\./assay resume"):
        preflight.check_directory(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"got an existing file"):
        preflight.check_directory(tmp_path / "file")
    with pytest.raises(ConfigError, match=r"expected a directory to create it in, got file"):
        preflight.check_directory(tmp_path / "file" / "session")
    preflight.check_directory(tmp_path / "new" / "deeper")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match=r"a writable directory .* got Permission denied"):
        preflight.check_directory(tmp_path / "session")


def test_a_file_system_that_takes_no_files_is_called_unwritable() -> None:
    with pytest.raises(ConfigError, match=r"session '/proc/x/y': expected a writable directory '/proc', got "):
        preflight.check_directory(Path("/proc/x/y"))


@pytest.mark.parametrize(("limit", "got"), [(512, "File too large"), (MIB, "files of at most 1048576 bytes")])
def test_a_directory_that_can_be_made_and_not_written_is_named(tmp_path: Path, limit: int, got: str) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(ConfigError, match=rf"expected a writable directory .*, got {got}. fix: .*ulimit -f"):
            preflight.check_directory(tmp_path / "session")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == [], "nothing may be left of the trial"
    preflight.check_directory(tmp_path / "session")


def test_what_the_kernel_refuses_is_named_even_for_root(tmp_path: Path) -> None:
    plan = make_plan(EvalOptions(tasks=("kitchenbench/stack",)))
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"expected a directory that can be created and written"):
        preflight.create_session(tmp_path / "file" / "session", plan)


def test_a_full_disk_is_named_with_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(100 * MIB, 95 * MIB, 5 * MIB))
    plan = make_plan(EvalOptions(tasks=("kitchenbench/stack",)))
    with pytest.raises(ConfigError, match=r"MiB free for this plan, got 5 MiB. fix: free some"):
        preflight.check_disk(tmp_path / "not" / "yet", preflight.bytes_needed(plan))


def test_more_trials_and_cameras_need_more_disk() -> None:
    def need(**options: int) -> int:
        return preflight.bytes_needed(make_plan(EvalOptions(tasks=("kitchenbench/stack",), **options)))

    assert need(cameras=0) < need(cameras=3) < need(cameras=3, epochs=50)


def test_a_session_directory_holds_its_plan_and_can_be_taken_back(tmp_path: Path) -> None:
    plan = make_plan(EvalOptions(tasks=("kitchenbench/stack",)))
    digest = preflight.create_session(tmp_path / "a" / "session", plan)
    data = (tmp_path / "a" / "session" / "plan.yaml").read_bytes()
    assert digest == plan_hash(data)
    assert load_plan(tmp_path / "a" / "session") == plan
    preflight.discard_session(tmp_path / "a" / "session")
    assert not (tmp_path / "a" / "session").exists()


def test_a_session_with_results_is_never_taken_back(tmp_path: Path) -> None:
    preflight.create_session(tmp_path / "session", make_plan(EvalOptions(tasks=("kitchenbench/stack",))))
    (tmp_path / "session" / "journal.sqlite").write_text("")
    preflight.discard_session(tmp_path / "session")
    assert (tmp_path / "session" / "plan.yaml").exists()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("x" * 300, "a name of 300 bytes, more than 255"),
        ("missing/" + "é" * 150, "a name of 300 bytes, more than 255"),
        ("/".join(["x" * 100] * 6), r"a path of \d+ bytes, more than 480"),
        (os.fsdecode(b"x\xff"), "bytes that are not UTF-8"),
    ],
)
def test_a_path_that_can_be_none_is_named(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"session '.*got {problem}. fix: choose another --session"):
        preflight.check_directory(tmp_path / name)


def test_a_journal_can_be_made_where_the_path_is_as_long_as_it_may_be(tmp_path: Path) -> None:
    room = preflight._PATH_BYTES - len(str(tmp_path)) - 4
    directory = tmp_path.joinpath("x" * (room // 2), "x" * (room - room // 2))
    preflight.check_directory(directory)
    directory.mkdir(parents=True)
    JournalWriter.create(directory).close()
    assert JournalReader(directory).count == 0


def test_a_log_directory_that_the_user_named_must_be_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match=r"ROS_LOG_DIR '.*file': expected a directory to write to, got .*unset ROS"):
        preflight.check_ros_log()
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "new" / "deeper"))
    preflight.check_ros_log()


@pytest.mark.parametrize("home", [None, ""])
def test_no_home_at_all_keeps_no_session_from_running(
    home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if home is None:
        monkeypatch.delenv("HOME", raising=False)
    else:
        monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("ROS_HOME", raising=False)
    monkeypatch.setenv("ROS_LOG_DIR", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    preflight.check_ros_log()
    assert Path(os.environ["ROS_LOG_DIR"]).parent == tmp_path


def test_a_home_that_cannot_be_written_keeps_no_session_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ROS_HOME", raising=False)
    monkeypatch.setenv("ROS_LOG_DIR", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    preflight.check_ros_log()
    assert Path(os.environ["ROS_LOG_DIR"]).parent == tmp_path
