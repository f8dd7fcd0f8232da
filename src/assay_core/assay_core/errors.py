"""Errors grouped by consequence, because the consequence is what a caller must decide on.

`ConfigError` is raised before anything moves. `PolicyError` ends a trial, which stays in the count.
`RigFault` and `SafetyStop` halt the rig until an operator has looked at it. Every message says what was
expected, what came, and how to fix it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "AssayError",
    "ConfigError",
    "DataError",
    "DeadlineError",
    "PolicyError",
    "RigFault",
    "SafetyStop",
    "bounded",
    "unknown_name",
]

MOST_CHARACTERS = 4000
"""Longest error text that is recorded, published or shown [characters]."""


class AssayError(Exception):
    """Base of all errors that a user can act on.

    Args:
        subject: What the error is about, e.g. ``camera 'wrist_left'``.
        expected: What would have been right.
        got: What came instead.
        fix: What to do about it.

    A single positional argument is taken as the whole message.
    """

    def __init__(self, subject: str, *, expected: str = "", got: str = "", fix: str = "") -> None:
        self.subject, self.expected, self.got, self.fix = subject, expected, got, fix
        parts = []
        if expected:
            parts.append(f"expected {expected}")
        if got:
            parts.append(f"got {got}")
        message = subject + (": " + ", ".join(parts) if parts else "")
        if fix:
            message += f". fix: {fix}"
        super().__init__(message)


class ConfigError(AssayError):
    """Something asked for cannot be served; found before anything moved."""


class DataError(AssayError):
    """Stored data (journal, plan, log, bag) is missing, damaged, foreign or contradictory."""


class PolicyError(AssayError):
    """The policy failed; the trial ends and stays in the count."""


class RigFault(AssayError):
    """The rig (arm, camera, world, node) failed; the trial is invalid and the session pauses."""


class DeadlineError(RigFault):
    """Something that was waited for did not arrive in time; the message names it."""


class SafetyStop(AssayError):
    """Motion was stopped for safety; nothing moves until an operator re-arms."""


def bounded(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return an error text that can be kept: a long one is cut and says how much is missing.

    The words of strangers (a policy, a scorer, a server) can be of any length; a policy that fails with a megabyte in
    every trial must not fill the journal, the logs and the screen with it.

    Args:
        text: Any text.
        most: Longest result [characters].
    """
    if len(text) <= most:
        return text
    kept = most
    while True:
        note = f" ... ({len(text) - kept} characters cut)"
        if kept + len(note) <= most:
            return text[:kept] + note
        kept = most - len(note)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ConfigError:
    """Return the error for a name that is not known, with near matches and the valid names.

    Args:
        kind: What the name stands for, e.g. ``task``.
        name: What the user gave.
        known: All valid names.
    """
    valid = sorted(known)
    near = difflib.get_close_matches(name, valid, n=3, cutoff=0.5)
    shown = ", ".join(valid[:12]) + (f", ... ({len(valid)} in all)" if len(valid) > 12 else "")
    fix = f"did you mean {' or '.join(near)}?" if near else "choose one of the names listed"
    return ConfigError(
        f"unknown {kind} '{name}'", expected=f"one of {shown or '(none registered)'}", got=repr(name), fix=fix
    )
