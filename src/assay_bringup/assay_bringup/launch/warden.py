"""Sees to it that no process of a graph outlives its launcher, however that died and whatever the process is stuck in.

A launcher that was killed with SIGKILL cannot end its processes. The kernel then sends each of them SIGTERM, but a
process that holds Python's lock in native code, or ignores the signal, goes on: with its GPU memory, and with its voice
in the ROS domain. So every graph has a warden: a small process of the standard library alone, apart from the terminal,
that is told of each child through a pipe. When the pipe closes, the launcher is gone; what still runs gets the time
that is left of `GRACE_S`, then SIGKILL. Meanwhile the warden keeps the domain marked as ending, so that no new graph
meets the remains of the old one.

Run as a script, so that it starts in milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["Warden"]

GRACE_S = 5.0
"""What a process gets after its launcher's death, beginning with the kernel's SIGTERM [s]."""

_POLL_S = 0.05
_REAP_S = 2.0
"""Time after SIGKILL in which the kernel gives a process up [s]."""
_LEAVE_S = 1.0
"""Longest wait for the warden itself to leave after an ordered stop [s]."""

_SWEEP_S = 20.0
"""Longest time for clearing shared memory [s]; the warden and the mark on its domain must not stay for ever."""

_SWEEP = "from assay_bringup import shm; shm.sweep()"


class Warden:
    """The launcher's end of the pipe.

    Args:
        held: Socket whose name marks the domain; the warden takes it over, so that it lives as long as the warden does.
        grace_s: What a process gets after its launcher's death [s].
    """

    def __init__(self, held: socket.socket | None = None, grace_s: float = GRACE_S) -> None:
        read_end, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)  # a warden that was stopped must not stop the launcher
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-E", __file__, str(grace_s)],
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                pass_fds=() if held is None else (held.fileno(),),
                start_new_session=True,
            )
        finally:
            os.close(read_end)
            if held is not None:
                held.close()

    def watch(self, pid: int) -> None:
        """Tell it of a process that leads a group of its own."""
        self._tell(f"+{pid} {_started(pid)}\n")

    def forget(self, pid: int) -> None:
        """Tell it that a process and its group are gone."""
        self._tell(f"-{pid}\n")

    def close(self) -> None:
        """Let it go: at once where nothing runs any more, else it ends what does. May be called again."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVE_S)

    def _tell(self, line: str) -> None:
        # One write of this size arrives whole, whichever thread it is from. A warden that was killed cannot be told.
        with contextlib.suppress(OSError):
            os.write(self._pipe, line.encode("ascii"))


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name: state, parent, group, session, ...; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _started(pid: int) -> str:
    """Return when a process started, in the kernel's ticks; tells it from a later one with the same id."""
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else "0"


def _members(group: int) -> bool:
    """Return whether a group has a process that runs; a zombie does not."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if len(fields) > 2 and fields[2] == str(group) and fields[0] != "Z":
                return True
    return False


def _left(watched: dict[int, str]) -> list[int]:
    """Return the groups that still run. A leader's id that means another process by now is none of them."""
    return [pid for pid, start in watched.items() if _started(pid) in (start, "0") and _members(pid)]


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _end(watched: dict[int, str], grace_s: float) -> None:
    """End what the launcher left behind."""
    end = time.monotonic() + grace_s
    while (left := _left(watched)) and time.monotonic() < end + _REAP_S:
        for group in left:
            fields = _stat(group)
            orphaned = not fields or fields[0] == "Z"  # descendants end with their leader, as under a living launcher
            if orphaned or time.monotonic() >= end:
                _kill(group)
        time.sleep(_POLL_S)


def main() -> int:
    """Keep the list until the pipe closes, then end what is on it and clear shared memory."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    watched: dict[int, str] = {}
    for line in sys.stdin:
        word, _, start = line.strip().partition(" ")
        if word.startswith("+"):
            watched[int(word[1:])] = start
        else:
            watched.pop(int(word[1:]), None)
    if watched:
        _end(watched, float(sys.argv[1]))
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([sys.executable, "-c", _SWEEP], timeout=_SWEEP_S, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
