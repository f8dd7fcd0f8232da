"""Errors of the tools, in the same words as the workspace's own: expected, got, fix.

The workspace's error classes are not used, because the tools must work when the workspace cannot be imported.
"""

from __future__ import annotations

__all__ = ["SetupError"]


class SetupError(Exception):
    """Something on this machine stops the environment from being made; the user can act on the message.

    Args:
        subject: What the error is about, e.g. ``C++ compiler``.
        expected: What would have been right.
        got: What was found.
        fix: What to do about it.
        code: Exit code of the process: 2 for the machine or the usage, 1 for a build that failed.
    """

    def __init__(self, subject: str, *, expected: str, got: str, fix: str, code: int = 2) -> None:
        super().__init__(f"{subject}: expected {expected}, got {got}. fix: {fix}")
        self.code = code
