"""`./assay launch NAME_OR_FILE key:=value...`: runs a launch file as `ros2 launch` does, where that is not installed.

Everything that can be wrong with the file and its arguments is found before any process starts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import NoReturn

from assay_bringup.launch.locate import launch_files
from assay_bringup.launch.model import Resolved
from assay_bringup.launch.processes import RIG_PACKAGE, End, GraphProcesses
from assay_bringup.launch.resolve import declared_arguments, parse_arguments, resolve
from assay_core.domains import from_environment, hold_rig
from assay_core.errors import AssayError, ConfigError, unknown_name
from assay_core.program import command
from assay_ros.shm_noise import is_noise

__all__ = ["main"]

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_SHOWN = {"screen": ("stdout", "stderr"), "both": ("stdout", "stderr"), "full": ("stdout", "stderr")}
"""Streams that each value of ``output`` shows; ``log`` and ``own_log`` show stderr, everything is in the logs."""

_WAKE_S = 0.5
"""Longest time until the main thread looks at a signal that came between two waits [s]."""


def main(argv: Sequence[str] | None = None, check: Callable[[Resolved], None] | None = None) -> int:
    """Run the verb; return 0 done, 1 a process failed, 2 usage or configuration, 130 interrupted.

    Args:
        argv: Command line; None takes that of the process.
        check: Raises `ConfigError` for what the nodes would refuse; called before anything starts or is printed.

    Where a process with ``on_exit: shutdown`` ended with an exit code of its own, that code is returned.
    """
    try:
        options = _options(sys.argv[1:] if argv is None else argv)
        if options.file is None:
            for name, path in launch_files(os.environ).items():
                sys.stdout.write(f"{name}\t{path}\n")
            return DONE
        arguments = parse_arguments(options.arguments)
        if options.show_args:
            return _show_arguments(options.file, arguments)
        if options.log_dir is not None and not options.log_dir.strip():
            fix = "name one, or leave --log-dir out"
            raise ConfigError("--log-dir", expected="a directory", got=repr(options.log_dir), fix=fix)
        resolved = resolve(options.file, arguments)
        if check is not None:
            check(resolved)
        if options.print:
            sys.stdout.write(json.dumps(resolved.to_json(), indent=2) + "\n")
            return DONE
        return _run(resolved, options.log_dir)
    except SystemExit as end:  # --help
        return int(end.code or 0)
    except ConfigError as error:
        sys.stderr.write(f"error: {error}\n")
        return USAGE
    except AssayError as error:
        sys.stderr.write(f"error: {error}\n")
        return FAILED


class _Parser(argparse.ArgumentParser):
    """Raises what argparse would print with the whole usage."""

    def error(self, message: str) -> NoReturn:
        """Raise `ConfigError`."""
        raise ConfigError(f"{self.prog}: {message}. fix: see {self.prog} --help")


def _options(argv: Sequence[str]) -> argparse.Namespace:
    """Return what the command line says.

    Raises:
        ConfigError: An option does not exist or has no value; a launch argument written as an option is named as such.
    """
    parser = _parser()
    options, rest = parser.parse_known_intermixed_args(argv)
    if not rest:
        return options
    strange, _, value = rest[0].partition("=")
    known = ("--print", "--show-args", "--log-dir", "--help")
    if get_close_matches(strange, known, n=1, cutoff=0.75) or not strange.lstrip("-"):
        raise unknown_name(f"{parser.prog} option", strange, known)
    following = list(argv[argv.index(rest[0]) + 1 :][:1])
    if not value and following and not following[0].startswith("-") and ":=" not in following[0]:
        value = following[0]
    argument = f"{strange.lstrip('-').replace('-', '_')}:={value or 'VALUE'}"
    raise ConfigError(
        f"{parser.prog} {strange}",
        expected="launch arguments as NAME:=VALUE",
        got="an option",
        fix=f"write {shlex.quote(argument)}",
    )


def _parser() -> _Parser:
    parser = _Parser(
        allow_abbrev=False,
        prog=command("launch"),
        description="Start the processes of a launch file. Ctrl-C ends them, a second one at once.",
        epilog="Without a file: list those of this workspace.",
    )
    parser.add_argument("file", nargs="?", metavar="NAME_OR_FILE", help="a launch file, or the name of one of ours")
    parser.add_argument(
        "arguments", nargs="*", default=[], metavar="key:=value", help="launch arguments, see --show-args"
    )
    parser.add_argument("--print", action="store_true", help="print the resolved processes as JSON, start nothing")
    parser.add_argument("--show-args", action="store_true", help="list the launch arguments, start nothing")
    parser.add_argument(
        "--log-dir", metavar="DIR", help="directory for logs (default: below ROS_LOG_DIR or ~/.ros/log)"
    )
    return parser


def _show_arguments(file: str, arguments: dict[str, str]) -> int:
    for argument in declared_arguments(file, arguments):
        default = "required" if argument.default is None else f"default: {argument.default!r}"
        words = argument.description
        if argument.choices:
            stop = "" if not words or words.endswith((".", "!", "?")) else "."
            words = f"{words}{stop} One of: {', '.join(argument.choices)}.".strip()
        sys.stdout.write(f"{argument.name}:=  {words} ({default})\n")
    return DONE


class _Interrupt:
    """Remembers signals; the second one hurries the stop."""

    def __init__(self) -> None:
        self.seen = threading.Event()
        self.graph: GraphProcesses | None = None
        self._before = {
            signum: signal.signal(signum, self._on_signal) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }

    def restore(self) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)

    def _on_signal(self, _signum: int, _frame: FrameType | None) -> None:
        if self.seen.is_set() and self.graph is not None:
            self.graph.hurry()
        self.seen.set()


def _run(resolved: Resolved, log_dir: str | None) -> int:
    """Start the processes, wait for an end, stop them, and say what happened."""
    outputs = {process.label: _SHOWN.get(process.output, ("stderr",)) for process in resolved.processes}
    writing = threading.Lock()

    def echo(label: str, line: str, stream: str) -> None:
        if stream in outputs[label] and not is_noise(line):
            _say(f"[{label}] {line}", writing)

    directory = Path(log_dir) if log_dir else _default_log_dir()
    interrupt = _Interrupt()
    try:
        for message in resolved.messages:
            _say(message, writing)
        named = from_environment()
        _say(f"ROS domain {0 if named is None else named.number}, logs: {directory}", writing)
        with _rig(resolved):
            graph = GraphProcesses.start(resolved, log_dir=directory, echo=echo, clients=0)
            interrupt.graph = graph
            try:
                for label, pid in graph.running().items():
                    _say(f"[{label}] started, pid {pid}", writing)
                cause = _watch(graph, interrupt, writing)
            finally:
                ends = graph.stop()
    finally:
        interrupt.restore()
    for end in ends:
        if end.stopped and (end.escalated or end.returncode > 0):
            _say(f"[{end.label}] {end.message}" + (f" after {end.escalated}" if end.escalated else ""), writing)
    if cause is not None and cause.returncode > 0:
        return cause.returncode
    if any(end.returncode != 0 for end in ends if not end.stopped) or any(end.escalated for end in ends):
        return FAILED
    return INTERRUPTED if cause is None and interrupt.seen.is_set() else DONE


def _rig(resolved: Resolved) -> contextlib.AbstractContextManager[object]:
    """Hold the rig of this ROS domain for a launch that has one: a benchmark node, of which there can be only one."""
    if all(process.package != RIG_PACKAGE for process in resolved.processes):
        return contextlib.nullcontext()
    domain = from_environment()
    return hold_rig(domain.number if domain is not None else 0)


def _watch(graph: GraphProcesses, interrupt: _Interrupt, writing: threading.Lock) -> End | None:
    """Report ends until a signal comes, nothing runs any more, or one ends that takes the rest along (returned)."""
    reported = 0
    ending = {process.label for process in graph.resolved.processes if process.on_exit == "shutdown"}
    while not interrupt.seen.is_set():
        ends = graph.ends()
        for end in ends[reported:]:
            _say(f"[{end.label}] {end.message}", writing)
            if end.label in ending and end.label not in graph.running() and not graph.restarting(end.label):
                return end
        reported = len(ends)
        if graph.finished():
            return None
        graph.wait_change(len(ends), _WAKE_S)
    return None


def _say(line: str, writing: threading.Lock) -> None:
    with writing:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _default_log_dir() -> Path:
    base = os.environ.get("ROS_LOG_DIR") or str(Path("~/.ros/log").expanduser())
    return Path(base) / f"{time.strftime('%Y-%m-%d-%H-%M-%S')}-{os.getpid()}"


if __name__ == "__main__":
    raise SystemExit(main())
