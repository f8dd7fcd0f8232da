"""Output that cannot fail for a character: a terminal that knows no combining circumflex must not end a session."""

from __future__ import annotations

import contextlib
import sys

__all__ = ["forgiving_output"]


def forgiving_output() -> None:
    r"""Let standard output and error write what their encoding lacks as an escape, e.g. ``\u0302``.

    Call it where a process begins. Replacements of the streams that cannot be told are left alone.
    """
    for stream in (sys.stdout, sys.stderr):
        # In the C locale it is surrogateescape, which fails for what is no part of a path.
        if getattr(stream, "errors", None) in ("strict", "surrogateescape"):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
