"""Tracebacks of strangers' code, for logs: without the frames of ours that led there, and bounded.

One line says what a policy raised, and is what users see and the journal keeps. Whoever wrote the policy needs the line
of code. Formatting must neither raise nor fill a disk, whatever the error is.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from types import FrameType, TracebackType

from assay_core.errors import AssayError

__all__ = ["Place", "place_of", "stack_of_thread", "strangers_traceback"]

OURS = frozenset({"assay_bridge", "assay_core", "assay_policies", "assay_ros", "threading"})
"""Packages whose frames lead to a stranger's code."""

MOST_FRAMES = 30
"""Frames that are shown of one error, the innermost ones."""

MOST_LINE = 500
"""Longest line [characters]."""

MOST_CHARACTERS = 12_000
"""Longest text [characters]; of a longer one the middle is left out."""

Place = tuple[object, ...]
"""Where something was raised: equal for equal tracebacks, whatever the error says."""


def strangers_traceback(error: BaseException) -> str:
    """Return where a stranger's code raised an error, as Python prints it; empty where no code of strangers did.

    Args:
        error: What was raised, or an error of ours that was raised from it.
    """
    root = _root(error)
    trace = _strangers(root.__traceback__)
    if trace is None and root is error and isinstance(error, AssayError):
        return ""
    try:
        shown = traceback.TracebackException(
            type(root), root, trace or root.__traceback__, limit=-MOST_FRAMES, compact=True
        )
        return _bounded(shown.format())
    except Exception as second:  # noqa: BLE001 (it must not matter what a stranger's error does when it is looked at)
        return f"(its traceback cannot be shown: {type(second).__name__})"


def place_of(error: BaseException) -> Place:
    """Return where a stranger's code raised an error."""
    root = _root(error)
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(root.__traceback__)]
    return (type(root).__qualname__, *frames[-MOST_FRAMES:])


def stack_of_thread(ident: int | None) -> tuple[Place, str]:
    """Return where a thread is at this moment: its place, and its frames in words; empty words where it is gone."""
    frame = sys._current_frames().get(-1 if ident is None else ident)
    if frame is None:
        return (), ""
    frames = list(traceback.walk_stack(frame))[::-1]
    first = next((i for i, (one, _) in enumerate(frames) if not _is_ours(one)), 0)
    kept = frames[first:][-MOST_FRAMES:]
    return (
        tuple((one.f_code.co_filename, line) for one, line in kept),
        _bounded(traceback.StackSummary.extract(iter(kept)).format()),
    )


def _root(error: BaseException) -> BaseException:
    return error.__cause__ if isinstance(error, AssayError) and error.__cause__ is not None else error


def _strangers(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from its first frame of a stranger on; None where there is none."""
    while trace is not None and _is_ours(trace.tb_frame):
        trace = trace.tb_next
    return trace


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in OURS


def _bounded(parts: Iterable[str]) -> str:
    lines = "".join(parts).rstrip("\n").split("\n")
    text = "\n".join(line if len(line) <= MOST_LINE else f"{line[:MOST_LINE]} ..." for line in lines)
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters left out)\n{text[-half:]}"
