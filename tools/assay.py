"""Starts the tools that need no environment: puts their folder on the path and calls them."""

import os
import signal
import sys


def leave(_signum, _frame):
    """End without a traceback: nothing has begun yet."""
    os.write(2, b"interrupted\n")
    os._exit(130)


def open_closed():
    """Give closed standard streams a place to go: Python and what it starts would fail at the first word."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number, which is this one
            setattr(sys, name, os.fdopen(number, mode))
            os.set_inheritable(number, True)


if __name__ == "__main__":
    open_closed()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)

    from pathlib import Path

    ROOT = Path(__file__).resolve().parent.parent
    sys.path.insert(0, str(ROOT / "tools"))

    from assay_tools.main import run

    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run(ROOT, sys.argv[1:]))
