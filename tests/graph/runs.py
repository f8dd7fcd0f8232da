"""Helpers of the graph tests: `assay` as a process, its nodes, and what it leaves behind."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from assay_core.errors import DataError
from assay_core.journal import JournalReader
from assay_core.seal import verify_seal

DEADLINE_S = 90.0
"""Generous: the machine may be busy."""

POLL_S = 0.02

INSTANCE = "pour_pasta/full-box"
"""What a session runs where it does not matter."""


def wait_for(condition: Callable[[], Any], what: str, deadline_s: float = DEADLINE_S) -> Any:
    """Return what ``condition`` returns once it is true."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {deadline_s:g} s")
        time.sleep(POLL_S)


def bound(pid: int) -> set[str]:
    """Return the addresses of every UDP and TCP socket of a process, as the kernel lists them."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        target = str(descriptor.readlink())
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = set()
    for table in ("udp", "udp6", "tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes:
                raw = bytes.fromhex(fields[1].partition(":")[0])
                words = b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4))
                found.add(str(ipaddress.ip_address(words)))
    return found


class Assay:
    """A running `assay` command in a process group of its own."""

    def __init__(self, *argv: str, cwd: Path, env: dict[str, str] | None = None) -> None:
        self.out, self.err = cwd / "stdout.txt", cwd / "stderr.txt"
        self._files = [self.out.open("ab"), self.err.open("ab")]
        self._err_from = self.err.stat().st_size
        environ = {key: value for key, value in os.environ.items() if key != "ROS_DOMAIN_ID"}
        environ["XDG_STATE_HOME"] = str(cwd / "state")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "assay_cli", *argv],
            cwd=cwd,
            env={**environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=self._files[0],
            stderr=self._files[1],
            start_new_session=True,
        )
        self._children: dict[int, psutil.Process] = {}
        self._shared: set[str] = set()

    def nodes(self) -> dict[str, psutil.Process]:
        """Return the processes of the graph by node name."""
        found: dict[str, psutil.Process] = {}
        self._shared |= _segments_of(self.process.pid)
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children(recursive=True):
                self._children[child.pid] = child
                self._shared |= _segments_of(child.pid)
                with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    name = next((word[8:] for word in child.cmdline() if word.startswith("__node:=")), None)
                    if name:
                        found[name] = child
        return found

    def node(self, name: str) -> psutil.Process:
        """Return the process of one node, once it is there."""
        process: psutil.Process = wait_for(lambda: self.nodes().get(name), f"node {name}")
        return process

    def wait(self, deadline_s: float = DEADLINE_S) -> int:
        """Return the exit code."""
        try:
            return self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"assay did not end within {deadline_s:g} s:\n{self.stderr()}") from None

    def stdout(self) -> str:
        """Return everything on standard output so far."""
        return self.out.read_text()

    def stderr(self) -> str:
        """Return what this command wrote to standard error so far."""
        return self.err.read_bytes()[self._err_from :].decode()

    def survivors(self) -> list[str]:
        """Return the command lines of children that still run, after a moment to end."""
        alive = list(self._children.values())
        _, alive = psutil.wait_procs(alive, timeout=10)
        found = []
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(" ".join(process.cmdline()))
        return found

    def shared_memory_left(self) -> list[str]:
        """Return what the processes seen by `nodes` left in shared memory; other graphs of the machine do not count."""
        assert self._shared, "nodes() was never called while the graph ran"
        names = [path.name for path in Path("/dev/shm").iterdir()]
        return sorted(name for name in names if any(segment in name for segment in self._shared))

    def shared_memory_promised(self) -> dict[str, int]:
        """Return how much shared memory of each segment is not backed by memory yet [bytes]."""
        self.nodes()
        found = {}
        for name in self._shared:
            with contextlib.suppress(FileNotFoundError):
                status = (Path("/dev/shm") / name).stat()
                found[name] = max(0, status.st_size - 512 * status.st_blocks)
        return found

    def close(self) -> None:
        """End whatever is left, hard."""
        self.nodes()
        for process in [*self._children.values()]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for file in self._files:
            file.close()


@contextlib.contextmanager
def assay(*argv: str, cwd: Path, env: dict[str, str] | None = None) -> Iterator[Assay]:
    """Run `assay`, and end it in the end."""
    running = Assay(*argv, cwd=cwd, env=env)
    try:
        yield running
    finally:
        running.close()


def start(
    cwd: Path,
    *more: str,
    epochs: int = 1,
    cameras: int = 0,
    policy: str = "scripted",
    tasks: Sequence[str] = (INSTANCE,),
    env: dict[str, str] | None = None,
) -> contextlib.AbstractContextManager[Assay]:
    """Run `assay eval` with session `s` in ``cwd``."""
    return assay(
        *("eval", *tasks, "--session", "s", "--epochs", str(epochs), "--cameras", str(cameras)),
        *("--policy", policy, "--json", *more),
        cwd=cwd,
        env=env,
    )


def resume(cwd: Path, trials: int, env: dict[str, str] | None = None) -> JournalReader:
    """Run `assay resume` on session `s` to its end, which must be complete."""
    with assay("resume", "s", "--json", cwd=cwd, env=env) as again:
        assert again.wait() == 0, again.stderr()
        assert again.survivors() == []
    return check_complete(cwd / "s", trials)


def check_complete(session: Path, trials: int) -> JournalReader:
    """Every planned trial is in the results exactly once, and every attempt is accounted for."""
    reader = JournalReader(session)
    reader.verify()
    results = reader.results()
    assert [result.entry.index for result in results] == list(range(trials))
    assert all(result.counted for result in results), [(r.entry.index, r.outcome, r.reason) for r in results]
    summary = json.loads((session / "summary.json").read_text())
    invalid = sum(not attempt.outcome()[1] for attempt in reader.attempts())
    assert (summary["status"], summary["trials"], summary["invalid"]) == ("done", trials, invalid)
    assert verify_seal(session) == []
    return reader


def journal_events(session: Path) -> list[Any]:
    """Return the events that a journal holds so far; none before it exists."""
    try:
        return list(JournalReader(session).events())
    except (DataError, OSError):
        return []


def trials_ended(session: Path) -> int:
    """Return how many attempts have ended so far."""
    return sum(event.kind == "trial_ended" for event in journal_events(session))


def wait_for_trials(run: Assay, session: Path, count: int) -> None:
    """Wait until so many attempts have ended; a command that ends before is an error."""

    def enough() -> bool:
        if run.process.poll() is not None and trials_ended(session) < count:
            raise AssertionError(f"assay ended before {count} trials:\n{run.stderr()}")
        return trials_ended(session) >= count

    wait_for(enough, f"{count} trials in {session}")


_SEGMENT = re.compile(r"/dev/shm/((?:fastrtps|fastdds)_[0-9a-f]{16})")


def _segments_of(pid: int) -> set[str]:
    """Return the names of the shared-memory segments that a process has mapped; no two processes share a name."""
    try:
        return set(_SEGMENT.findall(Path(f"/proc/{pid}/maps").read_text()))
    except OSError:
        return set()


def kill(process: psutil.Process, signum: int = signal.SIGKILL) -> None:
    """Send a signal to one process."""
    os.kill(process.pid, signum)
