"""What other packages have registered with Inspect Robots, where one of them may end the process when it is loaded.

The framework loads every plug-in to know the names, goes on without one that raises, and does not expect one that calls
``sys.exit``. Such a plug-in would end any command of ours with an exit code of its own.
"""

from __future__ import annotations

from assay_core.contained import in_words
from assay_core.errors import ConfigError

__all__ = ["registered_names"]


def registered_names(kind: str) -> tuple[str, ...]:
    """Return the names that are registered with Inspect Robots, sorted.

    Args:
        kind: ``policy``, ``task`` or another kind of the framework.

    Raises:
        ConfigError: An installed plug-in ends the process when it is loaded; names it.
    """
    from inspect_robots.registry import registered

    try:
        return tuple(sorted(registered(kind)))
    except (SystemExit, GeneratorExit) as error:
        raise ConfigError(
            "plug-ins of Inspect Robots",
            expected="modules that can be imported",
            got=f"{in_words(error)} from {_culprit()}",
            fix="correct or uninstall the package that registers it",
        ) from error


def _culprit() -> str:
    """Return the first plug-in whose import raises what the framework does not catch."""
    from importlib.metadata import entry_points

    found = entry_points()
    for group in sorted(name for name in found.groups if name.startswith("inspect_robots.")):
        for point in found.select(group=group):
            try:
                point.load()
            except (SystemExit, GeneratorExit):
                return f"{point.name!r} ({point.value})"
            except Exception:  # noqa: BLE001 (the framework warns of it and goes on)
                continue
    return "one of them"
