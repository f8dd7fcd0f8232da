"""Decides which DDS profile and middleware a command gets, and says what of the user's environment that overrules.

A shell often carries settings of another project. One of them is enough to make a graph listen on every network of the
machine, without a word; so ours win, and who wants others says so with a variable of our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay_tools.errors import SetupError
from assay_tools.modes import WHEELS

__all__ = ["PROFILE", "remarks", "settings"]

PROFILE = "ASSAY_DDS_PROFILE"
"""Names a DDS profile to use instead of ``config/fastdds.xml``."""

MIDDLEWARE, OURS = "RMW_IMPLEMENTATION", "rmw_fastrtps_cpp"
_PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
_RANGE, _RANGE_VALUE = "ROS_AUTOMATIC_DISCOVERY_RANGE", "SYSTEM_DEFAULT"
"""Any other range makes rmw_fastrtps add transports of its own, which listen beyond this machine."""
_REMOVED = ("ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS")
"""They add transports and peers too."""


def settings(root: Path, mode: str, environ: Mapping[str, str]) -> dict[str, str | None]:
    """Return the variables to set, and None for those to remove.

    Args:
        root: The top folder of the checkout.
        mode: ``wheels`` or ``ros-DISTRO``.
        environ: The user's environment.

    Raises:
        SetupError: The profile that the user names does not exist, or the middleware is not in the wheels.
    """
    middleware = environ.get(MIDDLEWARE) or OURS
    if middleware != OURS and mode == WHEELS:
        raise SetupError(
            MIDDLEWARE,
            expected=f"{OURS}, the one middleware of the wheels",
            got=repr(middleware),
            fix=f"unset {MIDDLEWARE}, or source a ROS 2 that has it",
        )
    found: dict[str, str | None] = {MIDDLEWARE: middleware, _RANGE: _RANGE_VALUE, **dict.fromkeys(_REMOVED)}
    named = environ.get(PROFILE)
    profile = Path(named).absolute() if named else root / "config" / "fastdds.xml"
    if named:
        if not profile.is_file():
            raise SetupError(
                PROFILE, expected="a DDS profile, an XML file", got=repr(named), fix="correct the path, or unset it"
            )
        found[PROFILE] = str(profile)
    return {**found, **dict.fromkeys(_PROFILES, str(profile))}


def remarks(settled: Mapping[str, str | None], environ: Mapping[str, str]) -> list[str]:
    """Return one line that names what of the user's environment was overruled, and a warning of another middleware.

    Args:
        settled: What `settings` returned.
        environ: The user's environment.
    """
    names = (*_PROFILES, _RANGE, *_REMOVED)
    foreign = [f"{name}={environ[name]}" for name in names if environ.get(name) and environ[name] != settled[name]]
    lines = []
    if foreign:
        lines.append(
            f"assay: not used: {', '.join(foreign)}. DDS profile: {settled[_PROFILES[0]]}; "
            f"{PROFILE}=FILE names another one"
        )
    if settled[MIDDLEWARE] != OURS:
        lines.append(
            f"warning: {MIDDLEWARE}={settled[MIDDLEWARE]}: what is promised about transport, also that it stays on "
            f"this machine, holds for {OURS}"
        )
    return lines
