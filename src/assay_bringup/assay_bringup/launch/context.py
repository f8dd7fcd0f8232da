"""What launch actions read and change while a file is resolved: variables, environment, namespace.

Nothing here touches this process's own environment: a launch file is resolved against a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Context", "Declared"]


@dataclass(frozen=True)
class Declared:
    """A launch argument as its file declares it."""

    name: str
    description: str
    default: str | None
    """After substitution; None where a value is required."""
    choices: tuple[str, ...]
    where: str


@dataclass
class Context:
    """State of one resolution. Groups save and restore variables and environment."""

    base_environ: Mapping[str, str]
    """Environment of the launcher, for reference."""
    variables: dict[str, str]
    """Launch configurations, as ``$(var ...)`` reads them."""
    environ: dict[str, str] = field(init=False)
    """Environment that processes get."""
    assigned: set[str] = field(default_factory=set)
    """Environment variables that actions set, added to or removed, whatever the launcher's environment has."""
    declared: dict[str, Declared] = field(default_factory=dict)
    """Arguments declared so far, of all files."""
    used: set[str] = field(default_factory=set)
    """Variables that something has read."""
    messages: list[str] = field(default_factory=list)
    """What `log` actions say."""
    directory: str = ""
    """Directory of the file being resolved."""
    file: str = ""
    """The file being resolved."""
    included: bool = False
    """Whether the file being resolved has included another one already."""

    def __post_init__(self) -> None:
        """Start from a copy of the launcher's environment."""
        self.environ = dict(self.base_environ)

    def set_env(self, name: str, value: str | None) -> None:
        """Set a variable of the processes' environment; None removes it."""
        self.assigned.add(name)
        if value is None:
            self.environ.pop(name, None)
        else:
            self.environ[name] = value

    def environment(self, further: Mapping[str, str]) -> dict[str, str | None]:
        """Return what the launch file makes of the environment: values, and None for what it removes.

        A variable that has its value already is among them: whoever reads this need not know the launcher's.

        Args:
            further: What one process gets besides.
        """
        final = {**self.environ, **further}
        return {name: final.get(name) for name in sorted(self.assigned | set(further))}

    @property
    def namespace(self) -> str | None:
        """Pushed namespace, absolute; None where none was pushed. Kept as a variable, as `ros2 launch` does."""
        return self.variables.get("ros_namespace")

    @namespace.setter
    def namespace(self, value: str) -> None:
        self.variables["ros_namespace"] = value
