"""Installs the locked packages into the virtual environment, and explains what a failed download means.

The lock pins every package by hash. `uv` installs them (it comes from the same lock, by pip); pip itself is the
fallback where there is no `uv` for the platform. Downloads are kept below ``.assay/cache``, so that an interrupted
setup goes on where it stopped and a moved checkout is set up again without a network.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from assay_tools.console import say
from assay_tools.errors import SetupError
from assay_tools.layout import Layout
from assay_tools.process import output_of, run_logged

__all__ = ["count", "explain_failure", "index_settings", "install", "lock_block"]

_OFFLINE = (
    "error sending request",
    "dns error",
    "connection refused",
    "connection reset",
    "connection error",
    "newconnectionerror",
    "network is unreachable",
    "temporary failure in name resolution",
    "timed out",
    "timeout",
    "could not connect",
    "failed to connect",
    "client error",
    "proxyerror",
    "no matching distribution found",
    "http status",
    "http error",
    "failed to fetch",
    "unable to fetch",
)
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s`'\")]*", re.IGNORECASE)


def lock_block(lock: str, name: str) -> str:
    """Return the lines of one package in a lock file (pin and hashes), empty if it is not there."""
    found = re.search(rf"(?m)^{re.escape(name)}==.*(?:\n[ \t]+\S.*)*\n?", lock)
    return found.group(0) if found else ""


def count(lock: str) -> int:
    """Return how many pins a lock file holds."""
    return len(re.findall(r"(?m)^[A-Za-z0-9][\w.-]*==", lock))


def index_settings(environ: Mapping[str, str], pip_config: str) -> dict[str, str]:
    """Return the variables that make `uv` use the package index that pip was told to use.

    Args:
        environ: Environment variables; what is set for `uv` already wins.
        pip_config: What ``pip config list`` prints.
    """
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string("[pip]\n" + pip_config)
    except configparser.Error:
        parser.read_string("[pip]\n")
    configured = {key: value.strip().strip("'\"") for key, value in parser["pip"].items()}

    def pip(option: str) -> str:
        variable = "PIP_" + option.replace("-", "_").upper()
        return environ.get(variable) or configured.get(f"install.{option}") or configured.get(f"global.{option}") or ""

    settings: dict[str, str] = {}
    if not any(environ.get(name) for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL")) and pip("index-url"):
        settings["UV_DEFAULT_INDEX"] = pip("index-url")
    if not environ.get("SSL_CERT_FILE") and Path(pip("cert") or "/nonexistent").is_file():
        settings["SSL_CERT_FILE"] = pip("cert")
    if pip("no-index") in ("1", "true", "yes", "on"):
        settings["UV_NO_INDEX"] = "1"
        if pip("find-links"):
            settings["UV_FIND_LINKS"] = pip("find-links")
    return settings


def _last_words(output: str) -> str:
    """Return the telling lines of an installer's output, without the addresses of package hosts."""
    lines = [" ".join(_ADDRESS.sub(_host_less, line).split()) for line in output.splitlines()]
    telling = [line for line in lines if line and not line.startswith(("WARNING", "hint", "[notice]", "Looking in"))]
    return " / ".join(telling[-4:])[:600] or "no output"


def _host_less(match: re.Match[str]) -> str:
    """Keep of an address what it stands for: the name of the package or file at its end."""
    return match.group(0).rstrip("/.,:").rpartition("/")[2] or "the package index"


def explain_failure(output: str, what: str) -> SetupError:
    """Return the error for an installation that failed.

    Args:
        output: What the installer printed.
        what: What was being installed, e.g. ``212 packages``.
    """
    said = _last_words(output)
    low = output.lower()
    if "no space left" in low or "disk quota" in low:
        return SetupError(
            f"installing {what}", expected="room on the disk", got=said, fix="free 2 GB and run ./assay setup again"
        )
    if "hash mismatch" in low or "do not match the hashes" in low:
        return SetupError(
            f"installing {what}",
            expected="the files whose hashes are locked",
            got=said,
            fix="the package index (a mirror or proxy?) serves other files; use one that does not change them",
        )
    if "certificate" in low or "sslerror" in low:
        return SetupError(
            f"downloading {what}",
            expected="a package index whose certificate this machine trusts",
            got=said,
            fix="add the certificate of the proxy or mirror to the system's (package ca-certificates, then "
            "update-ca-certificates), or name it with SSL_CERT_FILE and PIP_CERT",
        )
    if any(word in low for word in _OFFLINE):
        return SetupError(
            f"downloading {what}",
            expected="a package index that answers",
            got=said,
            fix="connect this machine to the network, or name a reachable mirror with UV_DEFAULT_INDEX and "
            "PIP_INDEX_URL, and run ./assay setup again; what was downloaded is kept",
        )
    return SetupError(
        f"installing {what}", expected="all locked packages to install", got=said, fix="see .assay/logs/packages.log"
    )


def install(layout: Layout, mode: str, environ: Mapping[str, str], lock_fd: int) -> None:
    """Install what the lock says into a fresh virtual environment.

    Never bring an old one up to date: ROS 2 wheels carry the metadata of further packages, which an installer takes for
    packages that nobody asked for, and removing those takes files of the wheels with it.

    Args:
        layout: The checkout.
        mode: ``wheels`` or ``ros-DISTRO``.
        environ: Environment variables.
        lock_fd: The held setup lock; children inherit it, so that it is held until the last of them has ended.

    Raises:
        SetupError: Something could not be downloaded or installed; the message names it.
    """
    kind = mode.partition("-")[0]
    lock_path = layout.requirements(kind)
    lock = lock_path.read_text(encoding="utf-8")
    what = f"{count(lock)} packages"
    layout.logs.mkdir(parents=True, exist_ok=True)
    log = layout.logs / "packages.log"
    log.write_text("", encoding="utf-8")
    python = str(layout.python)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    env = {key: value for key, value in environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env["PIP_CACHE_DIR"] = str(layout.cache / "pip")
    env["UV_CACHE_DIR"] = str(layout.cache / "uv")
    # A proxy's certificate is known to the system, not to the installer.
    env.setdefault("UV_SYSTEM_CERTS", "1")

    # Packages that exist as source alone are built with this pinned setuptools, not with whatever is newest.
    constraints = layout.state / "build-constraints.txt"
    constraints.write_text(lock_block(lock, "setuptools"), encoding="utf-8")
    uv = _installer(layout, lock, pip, env, log, lock_fd)
    if uv is None:
        say("      no uv for this platform: using pip, which takes longer")
        command = [*pip, "install", "--retries", "2", "--require-hashes", "--no-deps", "-r", str(lock_path)]
        code, output = run_logged(command, environ=env, log=log, doing=f"installing {what}", keep_fd=lock_fd)
    else:
        env.update(index_settings(env, output_of([*pip, "config", "list"], env)))
        command = [str(uv), "pip", "install", "--python", python, "--no-deps", "--require-hashes", "--no-progress"]
        command += ["--build-constraints", str(constraints), "-r", str(lock_path)]
        # What was downloaded before is enough for a moved checkout: ask the network only where it is not.
        code, output = 1, ""
        if (layout.cache / "uv").exists():
            code, output = run_logged(
                [*command, "--offline"], environ=env, log=log, doing=f"installing {what}", keep_fd=lock_fd
            )
        if code != 0:
            code, output = run_logged(command, environ=env, log=log, doing=f"installing {what}", keep_fd=lock_fd)
    if code != 0:
        raise explain_failure(output, what)


def _installer(
    layout: Layout, lock: str, pip: list[str], environ: Mapping[str, str], log: Path, lock_fd: int
) -> Path | None:
    """Return the locked `uv`, downloaded once by pip and kept in the cache; None where there is none to be had.

    Raises:
        SetupError: It could not be downloaded.
    """
    block = lock_block(lock, "uv")
    if not block:
        return None
    kept = layout.cache / block.split()[0].replace("==", "-")
    if os.access(kept, os.X_OK):
        return kept
    bootstrap = layout.state / "bootstrap.txt"
    bootstrap.write_text(block, encoding="utf-8")
    command = [*pip, "install", "--retries", "2", "--require-hashes", "--only-binary", ":all:", "-r", str(bootstrap)]
    code, output = run_logged(command, environ=environ, log=log, doing="installer", keep_fd=lock_fd)
    if code != 0 and ("no matching distribution" not in output.lower() or _unreachable(output)):
        raise explain_failure(output, "the installer (uv)")
    installed = layout.venv / "bin" / "uv"
    if not installed.exists():
        return None
    layout.cache.mkdir(parents=True, exist_ok=True)
    temporary = kept.with_suffix(".tmp")
    shutil.copy2(installed, temporary)
    temporary.replace(kept)
    return kept


def _unreachable(output: str) -> bool:
    """Say whether pip found no file because it could not ask, rather than because there is none."""
    low = output.lower()
    return any(word in low for word in ("connection", "timed out", "name resolution", "proxy"))
