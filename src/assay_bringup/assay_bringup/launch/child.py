"""One child process: started apart from the terminal, watched by a thread, ended without leaving descendants.

A child is the leader of a session of its own. Ctrl-C in the terminal therefore reaches the launcher alone, which can
finish its trial before it stops the graph. The kernel sends a child SIGTERM when the launcher dies, however it dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from assay_core.errors import ConfigError

__all__ = ["Child", "Echo", "describe_end", "last_line"]

Echo = Callable[[str, str], None]
"""Takes a line of output and the stream it came from, ``stdout`` or ``stderr``."""

_PR_SET_PDEATHSIG = 1

_WITH_PARENT = ("--pdeathsig", "TERM", "--", "/bin/sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"')
"""Arguments of `setpriv`: SIGTERM when the parent dies, and no start at all where it died before that was arranged."""

_TAIL = 4096
"""Bytes of a log that are searched for its last line."""


class Child:
    """A running process. Once `watch` is called, a thread reaps it when it ends and calls ``on_end``."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        cwd: str | None,
        log: Path,
        echo: Echo | None,
        on_end: Callable[[Child], None],
    ) -> None:
        """Start the process.

        Args:
            command: Program and arguments.
            environ: Its whole environment.
            cwd: Working directory; None takes this process's.
            log: File that gets its output, appended.
            echo: Called for each line as well, from a thread; None writes to the file without detour.
            on_end: Called from a thread when the process has ended.

        Raises:
            ConfigError: It cannot be started.
        """
        self.log = log
        self.returncode: int | None = None
        """Exit code, or the negative number of a signal; None while it runs."""
        self.ended = threading.Event()
        self._on_end = on_end
        self._reaping = threading.Lock()
        self._readers: list[threading.Thread] = []
        setpriv = shutil.which("setpriv")
        with log.open("ab") as file:
            target: IO[bytes] | int = file if echo is None else subprocess.PIPE
            try:
                self._process = subprocess.Popen(
                    [setpriv, *_WITH_PARENT, str(os.getpid()), *command] if setpriv else list(command),
                    env=dict(environ),
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=target,
                    stderr=target,
                    start_new_session=True,
                    preexec_fn=None if setpriv else functools.partial(_die_with_parent, os.getpid()),
                )
            except OSError as error:
                raise ConfigError(
                    command[0], expected="a program that starts", got=str(error), fix="check the file and its rights"
                ) from error
        if echo is not None:
            for name in ("stdout", "stderr"):
                self._read(name, echo)

    def watch(self) -> None:
        """Start to wait for the end of the process."""
        threading.Thread(target=self._wait, name=f"wait-{self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Process id, which is also that of its session and group."""
        return self._process.pid

    def send(self, signum: int) -> None:
        """Send a signal to the process, not to its descendants."""
        with self._reaping, contextlib.suppress(ProcessLookupError):
            if not self.ended.is_set():
                os.kill(self.pid, signum)

    def kill(self) -> None:
        """Kill the process and its descendants."""
        with self._reaping, contextlib.suppress(ProcessLookupError):
            if not self.ended.is_set():
                os.killpg(self.pid, signal.SIGKILL)

    def _wait(self) -> None:
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        # Not reaped yet: the group id still belongs to it, and takes its descendants along.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for reader in self._readers:
            reader.join(timeout=1.0)
        with self._reaping:  # afterwards its id may mean somebody else
            self.returncode = self._process.wait(1.0)  # it has ended: see above
            self.ended.set()
        self._on_end(self)

    def _read(self, name: str, echo: Echo) -> None:
        stream: IO[bytes] = getattr(self._process, name)

        def pump() -> None:
            with stream, self.log.open("ab") as file:
                for raw in stream:
                    file.write(raw)
                    file.flush()
                    echo(raw.decode("utf-8", errors="replace").rstrip("\n"), name)

        reader = threading.Thread(target=pump, name=f"read-{self.pid}-{name}", daemon=True)
        reader.start()
        self._readers.append(reader)


def _die_with_parent(parent: int) -> None:
    """Do the same as `_WITH_PARENT`, in the child, where `setpriv` is not installed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def describe_end(returncode: int) -> str:
    """Return how a process ended, in words."""
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    return f"died: {name}"


def last_line(log: Path) -> str:
    """Return the last line of a log that says something, without control characters; empty where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL))
            tail = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    for line in reversed(tail.splitlines()):
        text = "".join(char for char in line if char.isprintable()).strip()
        if text:
            return text
    return ""
