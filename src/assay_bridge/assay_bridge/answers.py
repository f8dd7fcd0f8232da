"""What a refused service call means for the caller, in the workspace's own errors.

Every service of the graph answers with a result code. The consequence (fix the configuration, count the trial as a
failure, stop the rig) follows from the code alone, so the mapping is one table.
"""

from __future__ import annotations

from assay_core.errors import AssayError, ConfigError, DataError, DeadlineError, PolicyError, RigFault
from assay_msgs.msg import ResultCode
from assay_ros.names import code_name

__all__ = ["error_for"]

_CONSEQUENCE: dict[int, type[AssayError]] = {
    ResultCode.INVALID_ARGUMENT: ConfigError,
    ResultCode.DEADLINE_EXCEEDED: DeadlineError,
    ResultCode.SESSION_OTHER_OPEN: ConfigError,
    ResultCode.SESSION_SEALED: ConfigError,
    ResultCode.PLAN_MISMATCH: ConfigError,
    ResultCode.GRADER_UNKNOWN: ConfigError,
    ResultCode.JOURNAL_FAILED: DataError,
    ResultCode.POLICY_UNKNOWN: ConfigError,
    ResultCode.POLICY_FAILED: PolicyError,
}


def error_for(subject: str, code: int, message: str) -> AssayError | None:
    """Return the error for an answer, or None when it is OK.

    Args:
        subject: The service, e.g. ``benchmark/start_trial``.
        code: ResultCode of the answer.
        message: The server's sentence.
    """
    if code == ResultCode.OK:
        return None
    kind = _CONSEQUENCE.get(code, RigFault)
    return kind(f"{subject}: {message or 'refused without a reason'} [{code_name(code)}]")
