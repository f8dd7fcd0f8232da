"""Names and namespaces of nodes, put together as `ros2 launch` does it."""

from __future__ import annotations

import re

from assay_bringup.launch.source import Where
from assay_core.errors import ConfigError

__all__ = ["absolute", "check_namespace", "check_node_name"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def absolute(base: str | None, namespace: str | None) -> str | None:
    """Return ``namespace`` below ``base``, with a leading slash; None where neither is given."""
    if namespace is None:
        joined = base
    elif not base or namespace.startswith("/"):
        joined = namespace
    else:
        joined = f"{'' if base == '/' else base}/{namespace}"
    if joined is None:
        return None
    if joined != "/":
        joined = joined.rstrip("/")
    return joined if joined.startswith("/") else f"/{joined}"


def check_node_name(name: str, where: Where) -> None:
    """Refuse a node name that ROS 2 would refuse when the node starts.

    Raises:
        ConfigError: It holds other characters than letters, digits and '_', or starts with a digit.
    """
    if _NAME.fullmatch(name) is None:
        raise ConfigError(
            f"{where}: node name",
            expected="letters, digits and '_', not starting with a digit",
            got=repr(name),
            fix="rename it; a namespace goes into 'namespace'",
        )


def check_namespace(namespace: str, where: Where) -> None:
    """Refuse a namespace that ROS 2 would refuse.

    Raises:
        ConfigError: One of its parts is no valid name.
    """
    if namespace == "/":
        return
    if any(_NAME.fullmatch(part) is None for part in namespace[1:].split("/")):
        raise ConfigError(
            f"{where}: namespace",
            expected="names of letters, digits and '_', separated by '/'",
            got=repr(namespace),
            fix="rename it",
        )
