"""Decides what a verb needs: nothing, the environment, or the tools; then becomes the real command.

The process that the user started is the one that does the work: the last step is exec, so that Ctrl-C, SIGTERM and a
closed terminal reach it and its exit code is the command's own.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay_tools import stamps
from assay_tools.errors import SetupError
from assay_tools.layout import Layout

__all__ = ["run", "verbs"]

USAGE, INTERRUPTED = 2, 130
CLI = "assay_cli"

HELP_S = 30.0
"""Longest time for a verb's help from the sources [s]."""


def verbs(help_text: str) -> list[str]:
    """Return the verbs that the help text lists: it is the one place that names them."""
    return [line.split()[0] for line in help_text.splitlines() if line.startswith("  ") and line.split()]


def run(root: Path, arguments: Sequence[str]) -> int:
    """Run one verb; return the exit code where the process was not replaced by the command.

    Args:
        root: The top folder of the checkout.
        arguments: Command line after the script's name.
    """
    try:
        return _run(Layout(root), arguments)
    except SetupError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.code
    except KeyboardInterrupt:
        sys.stderr.write("\nassay: interrupted; the same command goes on where it stopped\n")
        return INTERRUPTED
    except OSError as error:
        # The disk, mostly: full, read-only, gone. Whatever it was, a name and a place help more than a traceback.
        place = f" ({error.filename})" if error.filename else ""
        sys.stderr.write(
            f"error: {error.strerror or error}{place}. fix: make room or correct the permissions, and run it again; "
            "./assay setup --clean starts from nothing\n"
        )
        return USAGE


def _run(layout: Layout, arguments: Sequence[str]) -> int:
    verb, rest = arguments[0], list(arguments[1:])
    environ = dict(os.environ)
    if verb in ("--version", "-V"):
        from assay_tools import version

        sys.stdout.write(version.text(layout) + "\n")
        return 0
    if verb == "setup":
        from assay_tools import process, setup

        process.stop_on_signals()
        return setup.main(layout, rest, environ)
    known = verbs((layout.tools / "assay_tools" / "help.txt").read_text(encoding="utf-8"))
    if verb not in known:
        raise _unknown(verb, known)
    if verb in ("test", "lint"):
        from assay_tools import lint, process, testing

        process.stop_on_signals()
        usage, command = (lint.USAGE, lint.main) if verb == "lint" else (testing.USAGE, testing.main)
        if rest in (["-h"], ["--help"]):
            sys.stdout.write(usage)
            return 0
        return command(layout, rest, _entered(layout, environ))
    if verb == "exec":
        return _exec(layout, rest, environ)
    if {"-h", "--help"} & set(rest) and _helped(layout, [verb, *rest], environ):
        return 0
    env = _entered(layout, environ)
    # What lies in the user's folder must not hide modules; Python 3.10 has no switch for that.
    safe = [] if (layout.venv / "bin" / "python3.10").exists() else ["-P"]
    # An interrupt waits until the verb can take it: nothing but a traceback could come of it before.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    return _become([str(layout.python), *safe, "-m", CLI, verb, *rest], env)


def _helped(layout: Layout, arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Print a verb's help from the sources where there is no current environment: nobody should wait for a build."""
    from assay_tools import modes

    if stamps.checked(layout, modes.chosen_mode(environ))[0]:
        return False
    sources = os.pathsep.join(str(path) for path in layout.packages())
    try:
        done = subprocess.run(
            [sys.executable, "-m", CLI, *arguments],
            env={**environ, "PYTHONPATH": sources, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HELP_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    sys.stdout.write(done.stdout if done.returncode == 0 else "")
    return done.returncode == 0


def _entered(layout: Layout, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of commands, made or brought up to date where needed."""
    from assay_tools import environment, modes, transport

    mode = modes.chosen_mode(environ)
    for line in transport.remarks(transport.settings(layout.root, mode, environ), environ):
        sys.stderr.write(line + "\n")
    stamp, _ = stamps.checked(layout, mode)
    if not stamp:
        _refuse_other_mode(layout, mode)
        from assay_tools import process, setup

        process.stop_on_signals()
        stamp = setup.make(layout, environ)
    kept: dict[str, Any] = stamp["environment"]
    return environment.apply(kept, environ)


def _refuse_other_mode(layout: Layout, mode: str) -> None:
    """Do not rebuild everything because a terminal has ROS 2 sourced and another has not."""
    made_for = stamps.read_stamp(layout.ready).get("mode", mode)
    if made_for == mode or stamps.read_stamp(layout.ready).get("root") != str(layout.root):
        return

    def called(name: str) -> str:
        return "ROS 2 from wheels" if name == "wheels" else f"ROS 2 {name.partition('-')[2]} sourced"

    back = f"source /opt/ros/{made_for.partition('-')[2]}/setup.bash" if made_for != "wheels" else "env -u ROS_DISTRO"
    raise SetupError(
        "environment",
        expected=f"a shell with {called(made_for)}, as this checkout was set up",
        got=called(mode),
        fix=f"{back} first; or ./assay setup to change this checkout over",
    )


def _exec(layout: Layout, command: list[str], environ: Mapping[str, str]) -> int:
    if command and command[0] in ("-h", "--help"):
        sys.stdout.write("usage: ./assay exec COMMAND [ARGUMENT...]\n\nRuns any command inside the environment.\n")
        return 0
    command = command[1:] if command[:1] == ["--"] else command
    env = _entered(layout, environ)
    if not command or shutil.which(command[0], path=env["PATH"]) is None:
        raise SetupError(
            "./assay exec",
            expected="a command on the environment's PATH",
            got=repr(command[0]) if command else "none",
            fix="check its name, or install what brings it",
        )
    return _become(command, env)


def _become(command: Sequence[str], environ: Mapping[str, str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvpe(command[0], list(command), dict(environ))


def _unknown(verb: str, known: Sequence[str]) -> SetupError:
    import difflib

    near = difflib.get_close_matches(verb, known, n=3, cutoff=0.5)
    return SetupError(
        f"unknown verb '{verb}'",
        expected=f"one of {', '.join(known)}",
        got=repr(verb),
        fix=f"did you mean {' or '.join(near)}?" if near else "./assay --help lists them",
    )
