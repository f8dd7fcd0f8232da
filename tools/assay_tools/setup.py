"""Makes the environment, or brings it up to date: tool chain, virtual environment, packages, build.

Each step knows whether its work is done, so a second run takes no time and an interrupted one goes on. One setup runs
at a time in a checkout; another waits and says for whom.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from assay_tools import build, environment, machine, modes, packages, repair, stamps, venv
from assay_tools.console import say
from assay_tools.discard import empty_trash
from assay_tools.errors import SetupError
from assay_tools.layout import Layout

__all__ = ["main", "make"]

LOCK_S = 2 * 3600.0
"""Longest wait for another setup of the same checkout."""
LOCK_TICK_S = 0.2

USAGE = """usage: ./assay setup [--clean | --update-lock]

Makes the environment in this checkout, or brings it up to date. Other verbs do it by themselves when it is needed.

  --clean        start from nothing: remove .venv, build, install and log first (downloads are kept)
  --update-lock  resolve tools/requirements.in anew and write the lock files (for developers; needs the network)
"""


@contextmanager
def _only_one(layout: Layout) -> Iterator[int]:
    """Hold the setup lock of the checkout; yield its file descriptor for children to inherit."""
    try:
        layout.state.mkdir(exist_ok=True)
        handle = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SetupError(
            str(layout.state),
            expected="a folder that setup can write",
            got=error.strerror or str(error),
            fix="clone the workspace to a disk that this user can write",
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            say(f"assay: another setup (process {holder}) runs in this checkout; waiting for it")
            _wait_for_lock(handle, holder)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield handle
    finally:
        os.close(handle)


def _wait_for_lock(handle: int, holder: str) -> None:
    """Wait until the setup that runs has ended.

    Raises:
        SetupError: It has not, after longer than any setup takes.
    """
    end = time.monotonic() + LOCK_S
    while time.monotonic() < end:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_TICK_S)
    raise SetupError(
        "setup of this checkout",
        expected=f"the setup that runs (process {holder}) to end within {LOCK_S / 60:g} min",
        got="still running",
        fix=f"see what process {holder} waits for, or end it; then run the same command again",
        code=1,
    )


def make(layout: Layout, environ: Mapping[str, str], *, clean: bool = False) -> dict[str, Any]:
    """Make sure of a complete, current environment and return its stamp.

    Args:
        layout: The checkout.
        environ: The user's environment.
        clean: Start from nothing.

    Raises:
        SetupError: The machine lacks something, a download or the build failed.
    """
    mode = modes.chosen_mode(environ)
    with _only_one(layout) as lock_fd:
        # Another setup may have done it while this one waited.
        stamp, reason = stamps.checked(layout, mode)
        if stamp and not clean:
            return stamp
        start = time.monotonic()
        way = "ROS 2 from wheels" if mode == modes.WHEELS else f"the sourced ROS 2 {mode.partition('-')[2]}"
        say(f"assay: setting up the environment ({way}): {'asked to start from nothing' if clean else reason}")
        layout.ready.unlink(missing_ok=True)
        empty_trash(layout)
        if clean:
            build.wipe(layout)
        python = _tool_chain(layout, mode, environ)
        requirements = stamps.digest(layout.requirements(mode.partition("-")[0]))
        fresh = _packages(layout, mode, python, requirements, environ, lock_fd, clean=clean)
        fingerprint = _build(layout, mode, environ, lock_fd, force=fresh)
        stamp = {
            "root": str(layout.root),
            "mode": mode,
            "format": stamps.FORMAT,
            "requirements": requirements,
            "build": fingerprint,
            "environment": environment.compute(layout, mode, environ),
        }
        layout.base_python.write_text(f"{python}\n", encoding="utf-8")
        stamps.write_stamp(layout.ready, stamp)
        say(f"assay: environment ready in {time.monotonic() - start:.0f} s")
        return stamp


def _tool_chain(layout: Layout, mode: str, environ: Mapping[str, str]) -> str:
    """Check the machine, install what is missing where that is allowed; return the interpreter to use."""
    say("[1/4] tool chain")
    if mode == modes.WHEELS:
        modes.check_platform()
    python = modes.pick_python(mode, environ)
    machine.ensure(lambda: machine.missing(mode, python, environ, layout.src), environ)
    return python


def _packages(
    layout: Layout,
    mode: str,
    python: str,
    requirements: str,
    environ: Mapping[str, str],
    lock_fd: int,
    *,
    clean: bool,
) -> bool:
    """Make the virtual environment with its packages unless it is complete; return whether it was made."""
    why = "asked to start from nothing" if clean else venv.reusable(layout, mode, python, requirements)
    if not why:
        say("[2/4] virtual environment: complete")
        say("[3/4] locked packages: installed")
        return False
    say(f"[2/4] virtual environment from {python}" + ("" if why == "there is none" else f": {why}"))
    machine.check_disk(layout.root)
    venv.create(layout, mode, python, environ, lock_fd)
    lock = layout.requirements(mode.partition("-")[0]).read_text(encoding="utf-8")
    say(f"[3/4] {packages.count(lock)} locked packages")
    packages.install(layout, mode, environ, lock_fd)
    if mode == modes.WHEELS:
        repair.repair(layout.venv / "share", venv.paths_of(layout))
    venv.complete(layout, mode, python, requirements)
    return True


def _build(layout: Layout, mode: str, environ: Mapping[str, str], lock_fd: int, *, force: bool) -> str:
    """Build the workspace unless it is current; return the fingerprint of what went into it."""
    fingerprint = stamps.build_fingerprint(layout)
    built = stamps.read_stamp(layout.build_ready)
    wanted = {"fingerprint": fingerprint, "root": str(layout.root), "mode": mode}
    if not force and {key: built.get(key) for key in wanted} == wanted:
        say("[4/4] build: current")
        return fingerprint
    first = "" if layout.build.exists() else "; the first time takes minutes"
    say(f"[4/4] building {len(layout.packages())} packages{first}")
    build.build(layout, mode, environment.base_environ(layout, mode, environ), lock_fd, fingerprint)
    return fingerprint


def main(layout: Layout, arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run ``./assay setup``; return its exit code."""
    if arguments in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        return 0
    if arguments == ["--update-lock"]:
        from assay_tools import locking

        locking.update(layout, make(layout, environ), environ)
        return 0
    if arguments not in ([], ["--clean"]):
        raise SetupError(
            "./assay setup",
            expected="--clean, --update-lock or nothing",
            got=" ".join(arguments),
            fix="./assay setup --help",
        )
    stamp, _ = stamps.checked(layout, modes.chosen_mode(environ))
    if stamp and not arguments:
        say("assay: the environment is complete and current")
        return 0
    make(layout, environ, clean=bool(arguments))
    return 0
