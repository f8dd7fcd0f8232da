"""Builds the workspace with colcon and shows how far it is.

A build that was interrupted leaves a marker: if the next one fails, it is repeated from nothing before the user is
asked to look, because a half-written build folder fails in ways that say nothing about the sources.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from assay_tools.console import say
from assay_tools.discard import discard
from assay_tools.errors import SetupError
from assay_tools.layout import Layout
from assay_tools.process import run_logged
from assay_tools.stamps import read_stamp, write_stamp

__all__ = ["COLCON", "build", "colcon_environ", "jobs", "wipe"]

COLCON = ["-c", "import sys; from colcon_core.command import main; sys.exit(main())"]
"""Arguments for the environment's Python that run colcon: its script's first line may be too long for the kernel."""
JOB_BYTES = 1_000_000_000
"""Memory that one compiler of generated C++ may take."""
SHOWN = 12
"""How many lines of a failed build are shown, from the first error on."""
_ERROR = re.compile(r"\berror\b|\bError\b|FAILED:|Traceback")
_NINJA = re.compile(r"^\[(\d+)/(\d+)\]")
_STARTING = re.compile(r"^Starting >>> (\S+)")
_FINISHED = re.compile(r"^Finished <<< (\S+)")


def jobs() -> int:
    """Return how many compilers may run at once: one a core, as far as the memory goes."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, int(memory // JOB_BYTES)))


def colcon_environ(layout: Layout, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that colcon runs in: without the user's own settings of colcon and of desktop pop-ups."""
    env = dict(environ)
    env["COLCON_HOME"] = str(layout.state / "colcon")
    env["COLCON_EXTENSION_BLOCKLIST"] = "colcon_core.event_handler.desktop_notification"
    env.pop("COLCON_DEFAULTS_FILE", None)
    # colcon asks for a load limit of its own, which makes the build serial, unless a number of jobs is set here.
    env["MAKEFLAGS"] = f"-j{jobs()}"
    return env


def wipe(layout: Layout) -> None:
    """Remove everything that colcon made."""
    # The stamp lies in the install folder: with it gone first, nothing takes the rest for complete.
    for folder in (layout.install, layout.build, layout.log):
        discard(layout, folder)


def _generators(lock: str) -> str:
    """Return a hash over the pins of what generates and compiles code: other ones ask for a build from nothing."""
    pins = re.findall(r"(?m)^(?:ros|ament|numpy|cmake|ninja|setuptools|empy)[\w.-]*==\S+", lock)
    return hashlib.sha256("\n".join(pins).encode()).hexdigest()


class _Watch:
    """Turns colcon's output into one line of progress."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._running: list[str] = []
        self._steps = ""

    def __call__(self, line: str) -> str | None:
        if match := _STARTING.match(line):
            self._running.append(match.group(1))
        elif match := _FINISHED.match(line):
            self._done += 1
            if match.group(1) in self._running:
                self._running.remove(match.group(1))
            self._steps = ""
        elif match := _NINJA.match(line):
            self._steps = f" {match.group(1)}/{match.group(2)}"
        else:
            return None
        return f"{self._done} of {self._total} packages built, now {', '.join(self._running) or '...'}{self._steps}"


def build(layout: Layout, mode: str, environ: Mapping[str, str], lock_fd: int, fingerprint: str) -> None:
    """Build all packages, merged and linked to the sources.

    Args:
        layout: The checkout.
        mode: ``wheels`` or ``ros-DISTRO``; another one than last time starts from nothing.
        environ: Environment in which ROS 2 is found.
        lock_fd: The held setup lock, inherited by colcon.
        fingerprint: Of the build's inputs, kept in the stamp.

    Raises:
        SetupError: A package failed to build; the message shows the end of what it said.
    """
    identity = {
        "root": str(layout.root),
        "mode": mode,
        "python": str(layout.python.resolve()),
        "generators": _generators(layout.requirements(mode.partition("-")[0]).read_text(encoding="utf-8")),
    }
    before = read_stamp(layout.build_ready)
    removed = set(before.get("packages", ())) - {path.name for path in layout.packages()}
    last = before or read_stamp(layout.build_dirty)
    if removed or {key: last.get(key) for key in identity} != identity:
        wipe(layout)
    fresh = not layout.build.exists()
    resumed = layout.build_dirty.exists()
    write_stamp(layout.build_dirty, identity)
    layout.build_ready.unlink(missing_ok=True)
    code, output = _colcon(layout, environ, lock_fd)
    if code != 0 and resumed and not fresh:
        say("      it failed after an interrupted build: building again from nothing")
        wipe(layout)
        code, output = _colcon(layout, environ, lock_fd)
    if code != 0:
        raise _failed(output)
    packages = [path.name for path in layout.packages()]
    write_stamp(layout.build_ready, {**identity, "fingerprint": fingerprint, "packages": packages})
    layout.build_dirty.unlink(missing_ok=True)


def _colcon(layout: Layout, environ: Mapping[str, str], lock_fd: int) -> tuple[int, str]:
    log = layout.logs / "build.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    ninja = (layout.venv / "bin" / "ninja").exists() or shutil.which("ninja", path=environ.get("PATH")) is not None
    command = [str(layout.python), *COLCON, "--log-base", str(layout.log), "build", "--merge-install"]
    command += ["--symlink-install", "--base-paths", str(layout.src), "--build-base", str(layout.build)]
    command += ["--install-base", str(layout.install), "--metas", str(layout.root / "colcon.meta")]
    command += ["--event-handlers", "console_direct+", "status-", "--cmake-args", *(["-GNinja"] if ninja else [])]
    command.append(f"-DPython3_EXECUTABLE={layout.python}")
    return run_logged(
        command,
        environ=colcon_environ(layout, environ),
        cwd=layout.root,
        log=log,
        doing="colcon starts",
        keep_fd=lock_fd,
        watch=_Watch(len(layout.packages())),
    )


def _failed(output: str) -> SetupError:
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("--")]
    names = re.findall(r"(?m)^Failed   <<< (\S+)", output)
    first = next((number for number, line in enumerate(lines) if _ERROR.search(line)), max(0, len(lines) - SHOWN))
    shown = "\n  ".join(lines[first : first + SHOWN])
    if "no space left" in output.lower():
        return SetupError(
            "build", expected="room on the disk", got="No space left on device", fix="free 1 GB and run it again"
        )
    return SetupError(
        f"build of {', '.join(names) or 'the workspace'}",
        expected="colcon to succeed",
        got=f"\n  {shown}\n",
        fix=f"correct it and run ./assay setup again; the whole output is in {Path('.assay/logs/build.log')}",
        code=1,
    )
