"""What a session shows while it runs: a bar for a person, plain lines for a log file.

All of it goes to standard error, so that standard output stays clean for results. A terminal that has been closed must
not end a session, so writing never raises.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Progress"]

LINE_EVERY_S = 10.0
"""Plain lines come at most this often, besides the first and the last [s]."""

LATER_S, LINE_LATER_S = 600.0, 60.0
"""After this long [s], plain lines come at most this often [s]: nobody reads a thousand of them."""

ENOUGH = 3
"""Trials after which the time left can be told; the first ones also pay for what happens once."""


class Progress:
    """Progress of one session.

    Args:
        total: Planned trials.
        finished: Trials that have their result already, from before a resume.
        stream: Where to write; a terminal gets a bar.
        quiet: Write messages only.
    """

    def __init__(self, total: int, finished: int = 0, *, stream: TextIO | None = None, quiet: bool = False) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._total, self._finished, self._begun = total, finished, finished
        self._counted = self._successes = self._invalid = 0
        self._quiet = quiet
        self._started: float | None = None
        self._last_line = -LINE_EVERY_S
        self._bar: Bar | None = None
        self._task: Any = None
        if not quiet and self._stream.isatty():
            self._bar = self._open_bar()

    def _open_bar(self) -> Bar:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        bar = RichProgress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.description}", markup=False),
            console=Console(file=self._stream),
            refresh_per_second=2,
            transient=True,
        )
        self._task = bar.add_task("", total=self._total, completed=self._finished, rate=self._rate(), left="")
        bar.start()
        return bar

    def message(self, text: str) -> None:
        """Write one line that stays."""
        with contextlib.suppress(OSError, ValueError):
            if self._bar is not None:
                self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
            else:
                self._stream.write(text + "\n")
                self._stream.flush()

    def count(self, success: bool) -> None:
        """Count a result from before a resume into the running rate."""
        self._counted += 1
        self._successes += success
        self._draw()

    def trial_started(self, name: str, attempt: int) -> None:
        """Show which trial runs.

        Args:
            name: Instance or scene and epoch, e.g. ``pour_pasta/full-box #3``.
            attempt: 0 for the first.
        """
        if self._started is None:
            self._started = time.monotonic()
        if self._bar is not None:
            again = f" (attempt {attempt + 1})" if attempt else ""
            with contextlib.suppress(OSError, ValueError):
                self._bar.update(self._task, description=name + again)

    def trial_invalid(self) -> None:
        """Count an attempt that does not count as a trial."""
        self._invalid += 1
        self._show("")

    def trial_finished(self, name: str, success: bool | None) -> None:
        """Count one finished plan entry.

        Args:
            name: As for `trial_started`.
            success: None when the entry ended without a result.
        """
        self._finished += 1
        if success is not None:
            self.count(success)
        self._show(name)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            with contextlib.suppress(OSError, ValueError):
                self._bar.stop()
            self._bar = None

    def _show(self, name: str) -> None:
        if self._bar is not None:
            self._draw()
            return
        now = time.monotonic()
        last = self._finished == self._total
        every_s = LINE_LATER_S if self._started is not None and now - self._started > LATER_S else LINE_EVERY_S
        if self._quiet or not name or (now - self._last_line < every_s and not last):
            return
        self._last_line = now
        parts = [f"{self._finished}/{self._total} trials", self._rate(), self._left(now), f"last {name}"]
        self.message(", ".join(part for part in parts if part))

    def _draw(self) -> None:
        """Bring the bar up to date, where there is one."""
        if self._bar is not None:
            left = self._left(time.monotonic())
            with contextlib.suppress(OSError, ValueError):
                self._bar.update(self._task, completed=self._finished, rate=self._rate(), left=left)

    def _rate(self) -> str:
        rate = f"P̂ {self._successes / self._counted:.2f}" if self._counted else "P̂ -"
        return f"{rate}, {self._invalid} invalid" if self._invalid else rate

    def _left(self, now: float) -> str:
        """Return the time left; empty while it cannot be told, or when there is none."""
        done, to_do = self._finished - self._begun, self._total - self._finished
        if self._started is None or done < ENOUGH or not to_do:
            return ""
        seconds = round((now - self._started) / done * to_do)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02d}:{seconds:02d} left"
