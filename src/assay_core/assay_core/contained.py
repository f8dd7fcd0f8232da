"""Running code of strangers where it can do no harm: in a copy of this process, with a deadline.

A policy may do anything when it is built: end the process with an exit code of its own, hang, print, catch signals,
change directory, crash in native code. Before a session that must not end the command that asks whether the policy
fits, let alone choose its exit code. So it happens in a fork, from which only an answer in JSON comes back.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from assay_core.tracebacks import strangers_traceback

__all__ = ["Broken", "contained", "in_words"]

MOST_CHARACTERS = 2000
"""Longest text of a stranger's error that is repeated."""

_POLL_S = 0.1
_PR_SET_PDEATHSIG = 1


class Broken(Exception):
    """The job raised, ended its process, or did not answer; the text says which."""


def in_words(error: BaseException) -> str:
    """Return kind and text of an error that a stranger raised; its text may be long, or fail to be one."""
    try:
        text = str(error)
    except BaseException as second:  # noqa: BLE001 (it must not matter what a stranger's __str__ does)
        text = f"(its text raised {type(second).__name__})"
    shown = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + " ..."
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def contained(job: Callable[[], Any], deadline_s: float, *, trace: bool = False) -> Any:
    """Return what ``job()`` returns in a fork of this process; what it prints goes to standard error.

    Args:
        job: Returns JSON-native data.
        deadline_s: Longest wait [s].
        trace: Write the traceback of what it raises to standard error.

    Raises:
        Broken: There is no answer; says why.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()  # else the copy would write it again
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(job, write_end, trace=trace)
    os.close(write_end)
    try:
        line = _line(read_end, child, time.monotonic() + deadline_s)
    finally:
        os.close(read_end)
        status = _end(child)
    if line.endswith(b"\n"):
        answer = json.loads(line)
        if "value" in answer:
            return answer["value"]
        raise Broken(answer["error"])
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        raise Broken(f"no answer within {deadline_s:g} s: it hangs")
    code = os.waitstatus_to_exitcode(status)
    raise Broken(f"the end of its process with exit code {code}" if code >= 0 else f"a crash: signal {-code}")


def _answer(job: Callable[[], Any], write_end: int, *, trace: bool) -> None:
    """Run the job in the copy, and end it."""
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        try:
            answer = {"value": job()}
            text = json.dumps(answer)
        except BaseException as error:  # noqa: BLE001 (whatever it is, it is the answer)
            text = json.dumps({"error": in_words(error)})
            if trace:
                with contextlib.suppress(Exception):  # standard error may be closed
                    sys.stderr.write(strangers_traceback(error) + "\n")
                    sys.stderr.flush()
        data = text.encode() + b"\n"
        while data:
            data = data[os.write(write_end, data) :]
    finally:
        os._exit(0)


def _line(read_end: int, child: int, end: float) -> bytes:
    """Return what came, up to the end of the line, the end of the process or the deadline."""
    data = b""
    while not data.endswith(b"\n") and time.monotonic() < end:
        if select.select([read_end], [], [], _POLL_S)[0]:
            part = os.read(read_end, 65536)
            if not part:
                break
            data += part
        elif os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            break  # a descendant of it may hold the pipe open
    return data


def _end(child: int) -> int:
    """End the copy with its descendants, unless it has ended itself; return how it did."""
    gone = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not gone:
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]
