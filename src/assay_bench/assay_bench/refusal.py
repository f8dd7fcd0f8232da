"""How the benchmark node says no: a result code and a sentence with expected, got and fix."""

from __future__ import annotations

__all__ = ["Refusal"]


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
