"""The workspace's errors as the framework's, so that each ends a trial the way it should.

The framework decides by type: a `PolicyError` is counted and the run goes on, an `EmbodimentFault` or a `SafetyAbort`
halts it until a person has looked. Anything else that escapes would lose the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from inspect_robots import errors as framework

from assay_core.errors import AssayError, ConfigError, PolicyError, SafetyStop

__all__ = ["framework_error", "framework_errors"]


def framework_error(error: AssayError) -> framework.InspectRobotsError:
    """Return the framework's error for one of ours; rig faults and damaged data become `EmbodimentFault`."""
    if isinstance(error, PolicyError):
        return framework.PolicyError(str(error))
    if isinstance(error, SafetyStop):
        return framework.SafetyAbort(str(error))
    if isinstance(error, ConfigError):
        return framework.ConfigError(str(error))
    return framework.EmbodimentFault(str(error))


@contextmanager
def framework_errors() -> Iterator[None]:
    """Raise what the body raises in the framework's terms; the original stays its ``__cause__``."""
    try:
        yield
    except AssayError as error:
        raise framework_error(error) from error
