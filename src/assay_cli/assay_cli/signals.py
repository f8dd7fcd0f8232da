"""What Ctrl-C does while there is nothing to take down yet: end the program, at once and without a traceback.

Python turns SIGINT into an exception wherever the main thread happens to be. During imports that is inside somebody
else's code, which may print a traceback, swallow it, or leave a mark that changes the exit code. So a verb starts with
handlers that end the process, and whatever starts something (a session, a launch, a benchmark) brings its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from assay_bridge.exit_codes import INTERRUPTED

__all__ = ["leaving", "raising"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """End the process with `INTERRUPTED` on a signal inside the block; main thread only.

    Handlers that are not Python's own are left alone. The entry script may have blocked SIGINT until here.
    """
    with _handled(_leave):
        yield


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """Raise `KeyboardInterrupt` on a signal inside the block, which has something to take down on its way out."""
    with _handled(_raise):
        yield


@contextlib.contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    ours = (*_DEFAULTS, _leave)
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    taken = [each for each, kept in before.items() if kept in ours]
    for signum in taken:
        signal.signal(signum, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        for signum in taken:
            if signal.getsignal(signum) is handler:
                signal.signal(signum, before[signum])


def _leave(_signum: int, _frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _raise(signum: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(signum).name)
