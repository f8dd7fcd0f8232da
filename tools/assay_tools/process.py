"""Runs one long command: its output goes to a log, its progress to the user, and its end is never missed."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assay_tools.console import Progress

__all__ = ["output_of", "run_logged"]

TICK_S = 1.0
STOP_S = 10.0
"""How long an interrupted command may take to end before it is killed."""


def run_logged(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    log: Path,
    doing: str,
    cwd: Path | None = None,
    keep_fd: int | None = None,
    watch: Callable[[str], str | None] | None = None,
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
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress()
    text: list[str] = []
    rest = b""
    with log.open("ab") as handle:
        process = subprocess.Popen(
            list(command),
            env=dict(environ),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=() if keep_fd is None else (keep_fd,),
        )
        assert process.stdout is not None
        try:
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
            code = process.wait()
        except BaseException:
            _stop(process)
            raise
        finally:
            process.stdout.close()
            progress.close()
    if rest:
        text.append(rest.decode("utf-8", "replace"))
    return code, "\n".join(text)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a command: politely first, so that it ends its own children."""
    for signum in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(signum)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                continue
        return


def output_of(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return what a short command prints, empty where it fails."""
    try:
        done = subprocess.run(
            list(command), env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
