"""How the benchmark node says no: a result code and a sentence with expected, got and fix."""

from __future__ import annotations

from assay_msgs.msg import ResultCode

__all__ = ["Refusal", "code_name"]

_NAMES = {
    getattr(ResultCode, name): name
    for name in dir(ResultCode)
    if name.isupper() and isinstance(getattr(ResultCode, name), int)
}


def code_name(code: int) -> str:
    """Return the name of a result code, e.g. ``TRIAL_STATE``."""
    return _NAMES.get(code, f"CODE_{code}")


class Refusal(Exception):
    """A request or message that is not acted on; nothing is journaled.

    Args:
        code: ``ResultCode`` number.
        subject: What it is about.
        expected: What would have been right.
        got: What came instead.
        fix: What to do about it.
        conflicts_with: UUID of the verdict that stands.
    """

    def __init__(
        self, code: int, subject: str, *, expected: str = "", got: str = "", fix: str = "", conflicts_with: str = ""
    ) -> None:
        parts = [f"{word} {text}" for word, text in (("expected", expected), ("got", got)) if text]
        message = subject + (": " + ", ".join(parts) if parts else "") + (f". fix: {fix}" if fix else "")
        super().__init__(message)
        self.code = code
        self.message = message
        self.conflicts_with = conflicts_with
