"""What the id of a runner says about its process, so that a crashed runner is replaced without a long wait and a live
one is never waited for.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

__all__ = ["runner_process_gone", "runner_process_lives"]

_RUNNER = re.compile(r"(?P<host>.+)-(?P<pid>[0-9]{1,10})-[0-9A-Za-z]+\Z")


def runner_process_gone(runner_id: str) -> bool:
    """Return True only when the id names a process of this host that does not run any more.

    Args:
        runner_id: ``<host>-<process id>-<nonce>``.
    """
    return _lives(runner_id) is False


def runner_process_lives(runner_id: str) -> bool:
    """Return True only when the id names a process of this host that runs."""
    return _lives(runner_id) is True


def _lives(runner_id: str) -> bool | None:
    """Return whether the process runs; None where that cannot be told."""
    match = _RUNNER.match(runner_id)
    if match is None or match["host"] != socket.gethostname():
        return None
    try:
        os.kill(int(match["pid"]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return None
    try:
        # One that has ended and was not collected yet keeps its number.
        fields = Path(f"/proc/{match['pid']}/stat").read_text(encoding="ascii", errors="replace").rpartition(") ")[2]
        return fields[0] != "Z"
    except (OSError, IndexError):
        return True
