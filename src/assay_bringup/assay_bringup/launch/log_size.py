"""Bounds the logs of a graph's processes, because a policy that prints at every step fills a disk within minutes.

Processes write their files themselves, so that nothing they say waits for the launcher; it cuts the middle out of a
file that has become too large. Where trouble began stays, and so does what was said last.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["LARGEST", "LogSizes"]

LARGEST = 64 * 1024 * 1024
"""Size from which a log is cut [bytes]."""

_MARK = b"[assay: this log became too large;"


class LogSizes:
    """Keeps every log below a directory near a size.

    Args:
        directory: Where the logs lie, those of ROS 2 in directories below it.
        largest: A log that is larger loses its middle [bytes]; half of it is kept of the beginning, an eighth of the
            end.
    """

    def __init__(self, directory: Path, largest: int = LARGEST) -> None:
        self._directory = directory
        self._largest = largest
        self._dropped: dict[Path, int] = {}

    def trim(self) -> None:
        """Cut what has become too large. A log that cannot be cut stays as it is: a session must not end for it."""
        with contextlib.suppress(OSError):
            for path in self._directory.rglob("*.log"):
                if path.is_file() and path.stat().st_size > self._largest:
                    self._cut(path)

    def _cut(self, path: Path) -> None:
        """Cut one log, whose writers append: they go on where it ends then."""
        with path.open("r+b") as file:
            begin = file.read(self._largest // 2)
            begin = begin[: begin.rfind(b"\n") + 1] or begin
            begin = begin.partition(_MARK)[0]  # of an earlier cut
            size = file.seek(0, os.SEEK_END)
            file.seek(size - self._largest // 8)
            end = file.read(self._largest // 8)
            size = max(size, file.tell())
            end = end[end.find(b"\n") + 1 :] or end
            dropped = self._dropped.get(path, 0) + size - len(begin) - len(end)
            file.truncate(len(begin))
        self._dropped[path] = dropped
        with path.open("ab") as file:
            file.write(b"\n" * (not begin.endswith(b"\n")) + _MARK + b" about %d bytes dropped here]\n" % dropped + end)
