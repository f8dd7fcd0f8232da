r"""Fast DDS's complaint about a port that a hung process of another graph holds: nothing that a user could act on.

rmw_fastrtps gives one endpoint of each process (it carries the names of nodes) a port of its own. Numbers start at 7000
and are shared by all ROS domains of a machine. A process that does not serve its port for a second, because it is
stopped, hangs, or is starved on a busy machine, is taken for dead by the next process that starts: its port is removed,
while its lock stays. Every process that starts from then on finds the lock held, prints ``Failed init_port
fastrtps_port70..: open_and_lock_file failed`` and takes the next number. That is all that happens to it; topics and
services use the ports of their domain. Only this very line is held back, and the log files of a graph keep it.

Source: Fast DDS 2.14, ``SharedMemGlobal.hpp`` (open_port_internal, init_port); measured with a lock held by a test.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator

__all__ = ["held_back", "is_noise"]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NOISE = re.compile(
    r"\[RTPS_TRANSPORT_SHM Error\] Failed init_port fast(rtps|dds)_port7[0-3]\d\d: open_and_lock_file failed"
)


def is_noise(line: str) -> bool:
    """Return whether a line of a process's standard error is that complaint."""
    return _NOISE.search(_COLOUR.sub("", line)) is not None


SETTLE_S = 0.05
"""Fast DDS logs from a thread of its own, which may be this late [s]."""


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold back what is written to standard output and error inside the block, and pass the rest on to the latter.

    For the moment in which a process joins the graph. Fast DDS logs to standard output, where a user of ``--json``
    expects one object and nothing else.
    """
    _flush()
    try:
        kept, spool = [os.dup(1), os.dup(2)], tempfile.TemporaryFile()  # noqa: SIM115 (closed below)
    except OSError:  # a closed terminal, or no room: show everything rather than fail
        yield
        return
    try:
        for descriptor in (1, 2):
            os.dup2(spool.fileno(), descriptor)
        try:
            yield
            time.sleep(SETTLE_S)
        finally:
            _flush()
            for descriptor, before in enumerate(kept, 1):
                os.dup2(before, descriptor)
            spool.seek(0)
            lines = spool.read().decode(errors="replace").splitlines(keepends=True)
            with contextlib.suppress(OSError):
                os.write(2, "".join(line for line in lines if not is_noise(line)).encode())
    finally:
        for descriptor in kept:
            os.close(descriptor)
        spool.close()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
