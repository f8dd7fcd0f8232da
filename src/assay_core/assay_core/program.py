"""The program's name as a user types it, in one place, so that every hint in a message can be copied and run."""

from __future__ import annotations

import shlex
from os import PathLike

__all__ = ["PROGRAM", "command"]

PROGRAM = "./assay"
"""The entry script, from the top of the checkout."""


def command(*words: str | PathLike[str]) -> str:
    """Return a command line of the entry script, quoted where a shell needs it.

    Args:
        words: Verb, options and arguments, e.g. ``"resume", directory``.
    """
    return shlex.join([PROGRAM, *map(str, words)])
