"""Free ROS domains, so that graphs side by side on one machine do not hear each other.

A domain is held by binding a name in the abstract socket namespace. That namespace belongs to the network namespace,
exactly the scope in which two graphs on loopback could meet: it is shared by all users of the machine, needs no file
and no permission, and the kernel gives the name back when the holder dies, however it dies.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from assay_core.errors import ConfigError, RigFault
from assay_core.program import command

__all__ = ["SESSION_DOMAINS", "TEST_DOMAINS", "Domain", "claim", "from_environment", "hold_rig", "mark_ending"]

SESSION_DOMAINS = range(1, 60)
"""Domains of sessions. 0 is what everyone else uses; it is never taken."""

TEST_DOMAINS = range(60, 102)
"""Domains of tests. Above 101 the ports of a domain reach into those that Linux hands out to outgoing connections."""

HIGHEST_DOMAIN = 232
"""Above it a domain has no ports left."""

_NAME = "\0assay-ros-domain-{}"
_RIG_NAME = "\0assay-rig-in-ros-domain-{}"
_ENDING_NAME = "\0assay-graph-in-ros-domain-{}"
_RETRY_S = 0.05
_PROBED_PARTICIPANTS = 8

ENDING_S = 10.0
"""Longest wait for the processes of a graph whose launcher was killed to end [s]; they get 5 s, then SIGKILL."""


class Domain:
    """A ROS domain that is held until `close`, the end of its ``with`` block, or the end of this process."""

    def __init__(self, number: int, holder: socket.socket | None = None) -> None:
        self.number = number
        """What goes into ``ROS_DOMAIN_ID``."""
        self._holder = holder

    def close(self) -> None:
        """Give the domain back. May be called again."""
        if self._holder is not None:
            self._holder.close()
            self._holder = None

    def __enter__(self) -> Domain:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the domain back."""
        self.close()


def claim(preferred: int | None = None, *, pool: Sequence[int] = SESSION_DOMAINS, deadline_s: float = 0.0) -> Domain:
    """Take a free domain that nobody else on this machine holds or uses.

    Args:
        preferred: Take this one and no other.
        pool: Numbers to choose from, tried in order.
        deadline_s: Wait this long [s] for one to become free.

    Raises:
        RigFault: None is free within the deadline; the message names the domains.
    """
    numbers = pool if preferred is None else (preferred,)
    end = time.monotonic() + deadline_s
    while True:
        for number in numbers:
            holder = _hold(number)
            if holder is not None:
                return Domain(number, holder)
        if time.monotonic() >= end:
            break
        time.sleep(_RETRY_S)
    if preferred is not None:
        raise RigFault(
            f"ROS domain {preferred}",
            expected="a free domain",
            got="one that another graph of this machine uses",
            fix="leave the choice to assay, or name another one",
        )
    raise RigFault(
        "ROS domains",
        expected=f"a free one from {min(numbers)} to {max(numbers)} within {deadline_s:g} s",
        got="every one in use on this machine",
        fix="end other sessions, or name a domain with ROS_DOMAIN_ID",
    )


def hold_rig(number: int) -> Domain:
    """Take the right to start the graph of a domain: two worlds or benchmark nodes in one would answer for each other.

    Other nodes in the domain do not matter, and neither does who claimed it.

    Args:
        number: The domain, claimed or named by the user.

    Where the launcher of an earlier graph was killed, its processes are waited for: they may take some seconds to end.

    Raises:
        ConfigError: Another process of this machine has started a graph there, or one does not end.
    """
    holder = _bind(_RIG_NAME.format(number))
    if holder is None:
        raise ConfigError(
            f"rig in ROS domain {number}",
            expected="no other graph of assay",
            got="one that runs already",
            fix=f"use it with {command('eval', '--attach')}, end it, or name another domain with ROS_DOMAIN_ID",
        )
    end = time.monotonic() + ENDING_S
    while (mark := _bind(_ENDING_NAME.format(number))) is None:
        if time.monotonic() >= end:
            holder.close()
            raise ConfigError(
                f"rig in ROS domain {number}",
                expected=f"the processes of an earlier graph to end within {ENDING_S:g} s",
                got="some that still run",
                fix="end them, or name another domain with ROS_DOMAIN_ID",
            )
        time.sleep(_RETRY_S)
    mark.close()
    return Domain(number, holder)


def mark_ending(environ: Mapping[str, str]) -> socket.socket | None:
    """Return a socket that makes `hold_rig` wait while it, or a copy of it in another process, is open.

    Args:
        environ: Environment of a graph; its ``ROS_DOMAIN_ID`` counts.

    Returns:
        The socket; None where another graph of the domain has one, or the domain is none.
    """
    raw = environ.get("ROS_DOMAIN_ID", "").strip() or "0"
    return _bind(_ENDING_NAME.format(int(raw))) if raw.isascii() and raw.isdigit() else None


def _bind(name: str) -> socket.socket | None:
    """Return a socket of this name; None where another one has it."""
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        holder.bind(name)
    except OSError:
        holder.close()
        return None
    return holder


def from_environment(environ: Mapping[str, str] | None = None) -> Domain | None:
    """Return the domain that the user asked for with ``ROS_DOMAIN_ID``, or None where it is not set.

    Such a domain is used as it is, without claiming it: it may be there to join others.

    Raises:
        ConfigError: It is not a number that ROS 2 can use.
    """
    raw = (os.environ if environ is None else environ).get("ROS_DOMAIN_ID", "").strip()
    if not raw:
        return None
    if not raw.isascii() or not raw.isdigit() or int(raw) > HIGHEST_DOMAIN:
        raise ConfigError(
            "ROS_DOMAIN_ID",
            expected=f"a number from 0 to {HIGHEST_DOMAIN}",
            got=repr(raw),
            fix="correct or unset it",
        )
    return Domain(int(raw))


def _hold(number: int) -> socket.socket | None:
    """Return the socket whose name holds the domain, or None when it is held or in use."""
    holder = _bind(_NAME.format(number))
    if holder is None:
        return None
    if _in_use(number):
        holder.close()
        return None
    return holder


def _in_use(number: int) -> bool:
    """Whether processes are in this domain though nobody holds it: a foreign graph, or one whose holder just died.

    Source: DDSI-RTPS 2.5, 9.6.2.3: unicast discovery port = 7400 + 250 * domain + 10 + 2 * participant.
    """
    for participant in range(_PROBED_PARTICIPANTS):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", 7400 + 250 * number + 10 + 2 * participant))
            except OSError:
                return True
    return False
