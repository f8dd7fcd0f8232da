"""Checks of the machine before a session touches it, and the making of its directory.

A session that dies of a full disk after two hours loses two hours of robot time. Shared memory is checked by whoever
starts the graph's processes.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from assay_bridge.clip import steps_per_frame, tile_pixels
from assay_core.errors import ConfigError
from assay_core.files import sync_directory, write_atomically
from assay_core.plan import PLAN_FILE, Plan, PlanEntry, plan_hash
from assay_core.program import command

__all__ = [
    "bytes_needed",
    "check_directory",
    "check_disk",
    "check_ros_log",
    "create_session",
    "discard_session",
    "why_not_written",
]

_RECORD_BYTES = 40_000
"""Journal, log and side-cars of one trial, generously."""
_STEP_BYTES = 1_000
_JPEG_BYTES_PER_PIXEL = 0.5
_TRIAL_BYTES = 64 * 1024
"""What is written to see whether anything can be: more than an empty journal takes."""
_LEAST_LIMIT_BYTES = 128 * 1024 * 1024
"""The least limit of file sizes under which a journal and a segment of shared memory (64 MiB) fit."""
_CLIP_BYTES_PER_PIXEL = 0.15
_NAME_BYTES = 255
"""Longest name of a file on Linux."""
_PATH_BYTES = 480
"""Longest path of a session: SQLite opens files of up to 512, with the names of a journal and its log."""
_RESERVE_BYTES = 64 * 1024 * 1024
_MIB = 1024 * 1024


def bytes_needed(plan: Plan, entries: Iterable[PlanEntry] | None = None) -> int:
    """Return the disk space that a session may take, generously estimated [bytes].

    Args:
        plan: Its plan.
        entries: What is still to run; None means all.
    """
    pictures = sum(camera.width * camera.height * _JPEG_BYTES_PER_PIXEL for camera in plan.cameras)
    filmed = sum(tile_pixels(camera.width, camera.height) * _CLIP_BYTES_PER_PIXEL for camera in plan.cameras)
    per_step = _STEP_BYTES + (filmed / steps_per_frame(plan.control_hz, plan.mode) if plan.clips else 0.0)
    trials = sum(
        _RECORD_BYTES + pictures + entry.max_steps * per_step
        for entry in (plan.entries if entries is None else entries)
    )
    return int(trials) + _RESERVE_BYTES


def check_directory(directory: Path) -> None:
    """Check that a session directory can be created.

    Raises:
        ConfigError: It exists, its name cannot be one, or its parent cannot be written.
    """
    problem = _why_no_name(directory.absolute())
    if problem:
        raise ConfigError(
            f"session {str(directory)[:80]!a}",
            expected="a path in UTF-8 that this file system takes",
            got=problem,
            fix="choose another --session",
        )
    if directory.exists() or directory.is_symlink():
        fix = "choose another --session"
        if (directory / PLAN_FILE).exists():
            got, fix = "an existing session", f"{fix}, or go on with it: {command('resume', directory)}"
        elif directory.is_dir():
            got, fix = "an existing directory", f"{fix}, e.g. a name below it"
        else:
            got = "an existing file"
        raise ConfigError(f"session '{directory}'", expected="a directory that does not exist yet", got=got, fix=fix)
    parent = _existing(directory.absolute().parent)
    if not parent.is_dir():
        raise ConfigError(
            f"session '{directory}'", expected="a directory to create it in", got=f"file '{parent}'", fix="move it"
        )
    problem = why_not_written(parent)
    if problem:
        raise ConfigError(
            f"session '{directory}'",
            expected=f"a writable directory '{parent}'",
            got=problem,
            fix="choose another --session, or change permissions, quota or the limit of file sizes (ulimit -f)",
        )


def check_ros_log() -> None:
    """Check that ROS 2 can write its own log of this process: without one, it cannot join a graph at all.

    Where the user named no directory and the usual one cannot be written, or there is no home, a temporary one serves.

    Raises:
        ConfigError: The directory that the user named cannot be written.
    """
    named = os.environ.get("ROS_LOG_DIR") or ""
    home = os.environ.get("ROS_HOME") or "~/.ros"
    try:
        if not named and not os.environ.get("HOME"):  # ROS 2 does not ask the system where it is, as Python does
            raise RuntimeError("HOME is not set")
        directory = Path(named or f"{home}/log").expanduser()
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return
    except (OSError, RuntimeError) as error:  # a home that cannot be written, or none
        if not named:
            os.environ["ROS_LOG_DIR"] = tempfile.mkdtemp(prefix="assay-ros-log-")
            return
        got = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"ROS_LOG_DIR '{named}'",
            expected="a directory to write to",
            got=got,
            fix="name another one, or unset ROS_LOG_DIR",
        ) from error


def why_not_written(parent: Path) -> str:
    """Return why a session cannot be written into an existing directory; empty when a trial of it succeeds.

    Neither permissions nor free space tell: root may write anywhere but to a file system that takes no files, and a
    quota or a limit of file sizes lets directories be made that no journal can be written into.
    """
    try:
        with (
            tempfile.TemporaryDirectory(prefix=".assay-", dir=parent) as made,
            (Path(made) / "trial").open("wb") as file,
        ):
            file.write(bytes(_TRIAL_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and limit < _LEAST_LIMIT_BYTES:
        return f"files of at most {limit} bytes"
    return ""


def check_disk(directory: Path, needed: int) -> None:
    """Check that there is room for a session.

    Args:
        directory: Session directory, whether it exists or not.
        needed: See `bytes_needed` [bytes].

    Raises:
        ConfigError: There is not.
    """
    free = shutil.disk_usage(_existing(directory.absolute())).free
    if free < needed:
        raise ConfigError(
            f"disk of session '{directory}'",
            expected=f"{needed / _MIB:.0f} MiB free for this plan",
            got=f"{free / _MIB:.0f} MiB",
            fix="free some, or choose a --session on another disk",
        )


def create_session(directory: Path, plan: Plan) -> str:
    """Create a session directory with its plan and return the plan's SHA-256, hex.

    Raises:
        ConfigError: It cannot be written.
    """
    data = plan.to_yaml().encode()
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir()
        sync_directory(directory.parent)
        write_atomically(directory / PLAN_FILE, data)
    except OSError as error:
        raise ConfigError(
            f"session '{directory}'",
            expected="a directory that can be created and written",
            got=error.strerror or str(error),
            fix="choose another --session",
        ) from error
    return plan_hash(data)


def discard_session(directory: Path) -> None:
    """Remove a session directory that holds a plan and nothing else: its session never opened."""
    if {path.name for path in directory.iterdir()} <= {PLAN_FILE}:
        (directory / PLAN_FILE).unlink(missing_ok=True)
        directory.rmdir()


def _why_no_name(path: Path) -> str:
    """Return why a session's absolute path cannot be one; empty when it can."""
    try:
        encoded = [part.encode() for part in path.parts]
    except UnicodeEncodeError:
        return "bytes that are not UTF-8"
    longest = max(encoded, key=len, default=b"")
    if len(longest) > _NAME_BYTES:
        return f"a name of {len(longest)} bytes, more than {_NAME_BYTES}"
    size = sum(len(part) + 1 for part in encoded)
    return f"a path of {size} bytes, more than {_PATH_BYTES}" if size > _PATH_BYTES else ""


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
