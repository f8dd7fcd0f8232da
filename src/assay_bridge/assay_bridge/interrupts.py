"""Ctrl-C between two callbacks, never inside one.

Python raises `KeyboardInterrupt` wherever its main thread happens to be. Inside rclpy's message conversion that turns
into a RuntimeError and the interrupt is lost; inside the executor it leaves entities marked as busy for ever. While the
graph client is at work, an interrupt is therefore kept until nothing is half done. Programs that handle SIGINT
themselves are left alone.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["InterruptGuard"]


class InterruptGuard:
    """Keeps a SIGINT that arrives in its ``with`` block for the next safe point, or for the end of the block."""

    def __init__(self) -> None:
        self._depth = 0
        self._pending = False
        self._previous: Any = None

    def install(self) -> None:
        """Take over SIGINT from Python's own handler, where that is in place and this is the main thread."""
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._previous = signal.signal(signal.SIGINT, self._on_signal)

    def restore(self) -> None:
        """Give SIGINT back."""
        if self._previous is not None and signal.getsignal(signal.SIGINT) == self._on_signal:
            signal.signal(signal.SIGINT, self._previous)
        self._previous = None

    def safe_point(self) -> None:
        """Raise `KeyboardInterrupt` when one is pending: nothing is half done here."""
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt

    def _on_signal(self, _signum: int, _frame: FrameType | None) -> None:
        if self._depth == 0:
            raise KeyboardInterrupt
        self._pending = True

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.safe_point()
