"""The one way in which every node process of the workspace starts, spins and stops.

Jazzy's rclpy has no ``with rclpy.init()``. `run` installs handlers for SIGINT and SIGTERM that end the spin, shuts
down in the right order, prints a configuration error without a traceback, and gives each process an exit code.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from assay_core.errors import ConfigError
from assay_core.streams import forgiving_output
from assay_ros.executor import QuickExecutor

__all__ = ["run"]

SPIN_PERIOD_S = 0.5
"""Longest time between a signal and its effect when nothing else wakes the executor."""


def run(make_node: Callable[[], Node], argv: Sequence[str] | None = None) -> int:
    """Run one node until SIGINT, SIGTERM or shutdown of its context; return the exit code of the process.

    Args:
        make_node: Builds the node; `rclpy` is initialised before the call.
        argv: Command line, with ``--ros-args``; None takes `sys.argv`.

    A node may define ``stop()``, called before it is destroyed: bring hardware to rest, close files.
    Returns 0 after a clean stop, 2 for a configuration error.
    """
    forgiving_output()
    stopping = False

    def on_signal(_signum: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    rclpy.init(args=list(argv) if argv is not None else None, signal_handler_options=SignalHandlerOptions.NO)
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, on_signal)
    node: Node | None = None
    try:
        node = make_node()
        executor = QuickExecutor()
        executor.add_node(node)
        # A handler only runs between bytecodes: the wait is bounded so that a signal always ends it.
        while not stopping and rclpy.ok():
            executor.spin_once(timeout_sec=SPIN_PERIOD_S)
    except ConfigError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        if node is not None:
            stop = getattr(node, "stop", None)
            if callable(stop):
                stop()
            node.destroy_node()
        rclpy.try_shutdown()
    return 0
