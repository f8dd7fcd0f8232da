"""What the tools say, always on standard error: standard output belongs to the verb that the user asked for."""

from __future__ import annotations

import sys
import time

__all__ = ["Progress", "say"]


def say(text: str) -> None:
    """Print one line."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


class Progress:
    """A line that is rewritten on a terminal, and said now and then where there is none.

    Args:
        quiet_s: Without a terminal, the shortest time between two lines, seconds.
    """

    def __init__(self, quiet_s: float = 20.0) -> None:
        self._terminal = sys.stderr.isatty()
        self._quiet_s = quiet_s
        self._start = self._last = time.monotonic()
        self._shown = False

    def show(self, text: str) -> None:
        """Show what is going on now."""
        now = time.monotonic()
        if self._terminal:
            sys.stderr.write(f"\r\033[K      {text[:100]} ({now - self._start:.0f} s)")
            sys.stderr.flush()
            self._shown = True
        elif now - self._last >= self._quiet_s:
            self._last = now
            say(f"      {text} ({now - self._start:.0f} s)")

    def close(self) -> float:
        """End the line; return the seconds since the start."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
        return time.monotonic() - self._start
