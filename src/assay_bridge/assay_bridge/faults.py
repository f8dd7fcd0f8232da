"""The workspace's errors as the framework's, so that each ends a trial the way it should.

The framework decides by type: a `PolicyError` is counted and the run goes on, an `EmbodimentFault` or a `SafetyAbort`
halts it until a person has looked. Anything else that escapes would be blamed on whom the framework happened to call:
a defect of this package must never become a failure of the policy.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from inspect_robots import errors as framework

from assay_core.errors import AssayError, ConfigError, PolicyError, RigFault, SafetyStop

if TYPE_CHECKING:
    from assay_bridge.link import Link

__all__ = ["framework_error", "framework_errors", "trial_errors"]


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


@contextmanager
def trial_errors(link: Link) -> Iterator[None]:
    """Like `framework_errors` in a trial: keeps what ended it in ``link.failure``, and makes a defect a rig fault."""
    try:
        yield
    except AssayError as error:
        link.failure = error
        raise framework_error(error) from error
    except framework.InspectRobotsError as error:
        cause = error.__cause__
        link.failure = cause if isinstance(cause, AssayError) else error
        raise
    except Exception as error:
        link.failure = fault = _defect(error)
        raise framework_error(fault) from error
    except BaseException as error:
        link.failure = error
        raise


def _defect(error: Exception) -> RigFault:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return RigFault(
        "bridge",
        expected="no defect",
        got=f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}",
        fix="report it; the trial does not count, and the session can be resumed",
    )
