"""Whether the process behind a runner id is gone, so that a crashed runner can be replaced without a long wait."""

from __future__ import annotations

import os
import re
import socket

__all__ = ["MIN_SILENCE_S", "runner_process_gone"]

MIN_SILENCE_S = 1.5
"""A runner that was heard within this time is alive, whatever its process id says [s]."""

_RUNNER = re.compile(r"(?P<host>.+)-(?P<pid>[0-9]{1,10})-[0-9A-Za-z]+\Z")


def runner_process_gone(runner_id: str) -> bool:
    """Return True only when the id names a process of this host that does not exist.

    Args:
        runner_id: ``<host>-<process id>-<nonce>``.
    """
    match = _RUNNER.match(runner_id)
    if match is None or match["host"] != socket.gethostname():
        return False
    try:
        os.kill(int(match["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
