"""Shared by the launch tests: packages whose executables are small scripts, and launch files written on the spot."""

from __future__ import annotations

import os
import stat
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).resolve().parents[3]


class Prefix:
    """An install prefix with packages made for a test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index = path / "share" / "ament_index" / "resource_index" / "packages"
        self.index.mkdir(parents=True)

    def add(self, package: str, executable: str, code: str = "") -> Path:
        """Add an executable that runs Python ``code``."""
        (self.index / package).touch()
        (self.path / "share" / package).mkdir(parents=True, exist_ok=True)
        directory = self.path / "lib" / package
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / executable
        path.write_text(f"#!{sys.executable}\n{textwrap.dedent(code)}", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def environ(self) -> dict[str, str]:
        """Return this process's environment with the prefix in front."""
        old = os.environ.get("AMENT_PREFIX_PATH", "")
        return {**os.environ, "AMENT_PREFIX_PATH": f"{self.path}{os.pathsep}{old}" if old else str(self.path)}


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prefix:
    """Return an empty prefix that is first in AMENT_PREFIX_PATH."""
    made = Prefix(tmp_path / "prefix")
    monkeypatch.setenv("AMENT_PREFIX_PATH", made.environ()["AMENT_PREFIX_PATH"])
    return made


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a launch file and returns its path."""

    def make(text: str, name: str = "test.launch.yaml") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return make


WAITER = """
import signal, sys, time
name = sys.argv[1] if len(sys.argv) > 1 else "waiter"
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("ready", flush=True)
while True:
    time.sleep(60)
"""
"""A well-behaved process: ends at SIGINT and at SIGTERM."""

STUBBORN = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(60)
"""
"""A process that only SIGKILL ends."""


def until(condition: Callable[[], bool], what: str, deadline_s: float = 20.0) -> None:
    """Wait until a condition holds, or fail naming ``what``."""
    end = time.monotonic() + deadline_s
    waiting = threading.Event()
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {deadline_s} s: {what}")
        waiting.wait(0.02)


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
