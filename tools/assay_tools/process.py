"""Runs long commands so that an interruption ends them with all their children.

Each runs in a session of its own, and whatever ends us by a signal is passed on to all of it: a compiler or a test that
outlives its command would go on writing into folders that the next setup thinks are its own.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from assay_tools.console import Progress
from assay_tools.errors import SetupError

__all__ = ["output_of", "run_logged", "run_shown", "stop_on_signals"]

TICK_S = 1.0
STOP_S = 10.0
"""How long an interrupted command may take to end before it is killed."""
LEFT_S = 2.0
"""How long those may take that it started and left."""
LONGEST_S = 2 * 3600.0
"""Longest download or build: ten times what it takes on a slow machine."""
SHOWN_S = 6 * 3600.0
"""Longest run of a command that the user watches, such as all tests."""
SHORT_S = 120.0
"""Longest run of a command that is only asked something."""


def run_logged(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    log: Path,
    doing: str,
    cwd: Path | None = None,
    keep_fd: int | None = None,
    watch: Callable[[str], str | None] | None = None,
    deadline_s: float = LONGEST_S,
) -> tuple[int, str]:
    """Run a command to its end; return its exit code and what it printed.

    Args:
        command: The command.
        environ: Its environment.
        log: File that its output is appended to.
        doing: What to show while it runs.
        cwd: Where it runs.
        keep_fd: A file descriptor that it inherits: a lock that must be held until it has ended, even if we die.
        watch: Called with every line; returns what to show from now on, or None.
        deadline_s: It is ended after this long.

    Raises:
        SetupError: It did not end in time; says what it was doing.
    """
    end = time.monotonic() + deadline_s
    log.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress()
    text: list[str] = []
    rest = b""
    with log.open("ab") as handle:
        with _interruption.deferred():
            process = subprocess.Popen(
                list(command),
                env=dict(environ),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=() if keep_fd is None else (keep_fd,),
                start_new_session=True,
            )
        assert process.stdout is not None
        try:
            _interruption.check()
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                while True:
                    if selector.select(TICK_S):
                        data = os.read(process.stdout.fileno(), 1 << 16)
                        if not data:
                            break
                        handle.write(data)
                        *lines, rest = (rest + data).split(b"\n")
                        for raw in lines:
                            line = raw.decode("utf-8", "replace")
                            text.append(line)
                            doing = (watch(line) if watch else None) or doing
                    progress.show(doing)
                    if time.monotonic() > end:
                        raise _too_long(doing, deadline_s, f"the last of its output is in {log}")
            try:
                code = process.wait(max(STOP_S, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise _too_long(doing, deadline_s, f"its output is in {log}") from None
        except BaseException:
            _stop(process)
            raise
        finally:
            process.stdout.close()
            progress.close()
    if rest:
        text.append(rest.decode("utf-8", "replace"))
    return code, "\n".join(text)


def run_shown(
    command: Sequence[str], *, environ: Mapping[str, str], cwd: Path | None = None, deadline_s: float = SHOWN_S
) -> int:
    """Run a command whose output the user sees; return its exit code.

    Raises:
        SetupError: It did not end within ``deadline_s``.
    """
    with _interruption.deferred():
        process = subprocess.Popen(
            list(command), env=dict(environ), cwd=cwd, stdin=subprocess.DEVNULL, start_new_session=True
        )
    try:
        _interruption.check()
        return process.wait(deadline_s)
    except subprocess.TimeoutExpired:
        _stop(process)
        raise _too_long(" ".join(command)[:80], deadline_s, "its output is above") from None
    except BaseException:
        _stop(process)
        raise


def _too_long(doing: str, deadline_s: float, where: str) -> SetupError:
    return SetupError(
        doing,
        expected=f"an end within {deadline_s / 60:g} min",
        got=f"none; {where}",
        fix="look there for what it waits for, and run the same command again: it goes on where it stopped",
        code=1,
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a command and then whatever is left of its session: politely first, so that they clean up."""
    _signal(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_S)
    # Children that a shell started in the background do not heed SIGINT.
    end = time.monotonic() + LEFT_S
    while _signal(process.pid, signal.SIGTERM) and time.monotonic() < end:
        time.sleep(0.05)
    _signal(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: nobody can end it
        process.wait(STOP_S)


def _signal(group: int, signum: signal.Signals) -> bool:
    """Send a signal to a group of processes; return whether there is any of it left."""
    try:
        os.killpg(group, signum)
    except ProcessLookupError:
        return False
    return True


class _Interruption:
    """Raises KeyboardInterrupt for every signal that ends us, but never while a command is being started.

    There, the exception would lose the command: nobody would know which process to end.
    """

    def __init__(self) -> None:
        self._starting = False
        self._pending = False

    def handle(self, _signum: int, _frame: FrameType | None) -> None:
        """Raise now, or remember to raise once the command has started."""
        self._pending = True
        if not self._starting:
            self.check()

    def check(self) -> None:
        """Raise what has come meanwhile."""
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Let signals wait."""
        self._starting = True
        try:
            yield
        finally:
            self._starting = False


_interruption = _Interruption()


def stop_on_signals() -> None:
    """Let SIGTERM and a closed terminal end this process as Ctrl-C does."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, _interruption.handle)


def output_of(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return what a short command prints, empty where it fails."""
    try:
        done = subprocess.run(
            list(command),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SHORT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
