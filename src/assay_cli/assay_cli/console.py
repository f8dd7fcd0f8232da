"""What every verb shares: exit codes, one form of error message, and a parser that names near matches.

A user never sees a traceback for something that a user can cause. A defect of ours still must be reportable, so its
traceback goes to a file whose name is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from assay_bridge.exit_codes import DONE, HALTED, INCOMPLETE, INTERRUPTED, USAGE
from assay_core.errors import AssayError, ConfigError, DataError, SafetyStop, unknown_name
from assay_core.program import command

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table

__all__ = [
    "DONE",
    "HALTED",
    "INCOMPLETE",
    "INTERRUPTED",
    "USAGE",
    "Parser",
    "Whole",
    "complain",
    "guarded",
    "number",
    "own_output",
    "page",
    "say",
    "silence_output",
    "whole_number",
]

FILE_WIDTH = 140
"""Width of what goes to a file or a pipe [characters]."""

_WIDEST = 10_000
"""Widest table [characters]."""


def say(text: str = "") -> None:
    """Write a result to standard output."""
    sys.stdout.write(text + "\n")


def page(content: RenderableType) -> None:
    """Write something that rich lays out to standard output; a file gets wide lines instead of a terminal's."""
    from rich.console import Console

    try:
        Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH).print(content, crop=False)
    except SystemExit:  # rich's way to say that nobody reads any more
        raise BrokenPipeError from None


class Whole:
    """A table as wide as its content, which rich would fold or cut to the terminal's width: its names are copied."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the table, for the terminal to wrap."""
        from rich.text import Text

        wide = options.update(max_width=_WIDEST)
        for line in console.render_lines(self._table, wide, pad=False):
            text = Text.assemble(*((part.text, part.style or "") for part in line), no_wrap=True, overflow="ignore")
            text.rstrip()
            yield text


def silence_output(stream: TextIO | None = None) -> None:
    """Send further output nowhere: whoever read it has left.

    What the stream still holds would otherwise fail again while Python shuts down, which then overrides the exit code.

    Args:
        stream: Standard output or error; None takes standard output.
    """
    with contextlib.suppress(OSError, ValueError):  # it may be closed, or no file at all
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, (sys.stdout if stream is None else stream).fileno())
        os.close(nothing)


@contextlib.contextmanager
def own_output() -> Iterator[None]:
    """Keep standard output for what Python writes inside the block: C++ code, which logs there, gets standard error.

    A test's or a caller's replacement of `sys.stdout` is left alone.
    """
    before = sys.stdout
    try:
        before.flush()
        kept = os.dup(1) if before.fileno() == 1 else -1
    except (OSError, ValueError):
        kept = -1
    if kept < 0:
        yield
        return
    sys.stdout = os.fdopen(kept, "w", encoding=before.encoding, errors=before.errors)
    with contextlib.suppress(OSError):  # a closed standard error
        os.dup2(2, 1)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(kept, 1)
        ours, sys.stdout = sys.stdout, before
        with contextlib.suppress(OSError, ValueError):
            ours.close()


def complain(text: str) -> None:
    """Write a message to standard error; a closed terminal is no error."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        silence_output(sys.stderr)


def guarded(main: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """Run a verb and turn whatever it raises into a message and an exit code."""
    try:
        code = main(argv)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                silence_output(stream)
    except _Shown:
        return DONE
    except SystemExit as stop:
        # None of ours: code of a plug-in that must not choose what our exit code says.
        complain(
            f"error: a plug-in ended the command: expected it to return, got SystemExit: {str(stop.code)[:200]}. "
            "fix: correct or uninstall it (traceback: " + _save_traceback() + ")"
        )
        return INCOMPLETE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        silence_output()
        return DONE
    except AssayError as error:
        complain(f"error: {error}")
        if isinstance(error, (ConfigError, DataError)):
            return USAGE
        return HALTED if isinstance(error, SafetyStop) else INCOMPLETE
    except Exception as error:  # noqa: BLE001 - the last line of defence against a traceback
        if type(error).__module__.startswith("inspect_robots"):
            complain(f"error: {error}")
            return USAGE
        complain(f"error: internal: {type(error).__name__}: {error}. fix: report it with {_save_traceback()}")
        return INCOMPLETE
    return code


def _save_traceback() -> str:
    text = traceback.format_exc()
    try:
        handle, path = tempfile.mkstemp(prefix="assay-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return "this traceback:\n" + text
    return path


class _Shown(SystemExit):
    """What was asked for, such as help, is on the terminal."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors read like all others.

    Raises:
        ConfigError: An argument is unknown, missing or malformed.
    """

    def __init__(self, prog: str, description: str, **kwargs: Any) -> None:
        super().__init__(
            prog=command(*prog.split()),
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **kwargs,
        )

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse words and options in any order, and name an option that does not exist with its near matches."""
        for word in args or ():
            if any("\ud800" <= char <= "\udfff" for char in word):  # bytes that are not UTF-8
                raise ConfigError(
                    self.prog, expected="words in UTF-8", got=ascii(word), fix="rename it, or type it anew"
                )
        parsed, rest = self.parse_known_intermixed_args(args, namespace)
        if rest:
            options = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
            strange = next((text for text in rest if text.startswith("-")), rest[0])
            if strange.startswith("-"):
                raise unknown_name(f"{self.prog} option", strange.split("=")[0], options)
            raise ConfigError(
                f"{self.prog}", expected="no further argument", got=repr(strange), fix=f"see {self.prog} --help"
            )
        return parsed

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:  # noqa: ARG002 (the signature is argparse's)
        """End the command after help was shown."""
        raise _Shown(status)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the whole usage."""
        raise ConfigError(f"{self.prog}: {message}. fix: see {self.prog} --help")


def whole_number(name: str, text: str, low: int, high: int) -> int:
    """Return an option's value.

    Args:
        name: The option, e.g. ``--epochs``.
        text: What the user gave.
        low: Smallest value.
        high: Largest value.

    Raises:
        ConfigError: No whole number, or out of range.
    """
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise ConfigError(name, expected=f"a whole number from {low} to {high}", got=repr(text), fix=f"change {name}")
    return value


def number(name: str, text: str, low: float, high: float) -> float:
    """Return an option's value as a number; see `whole_number`."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise ConfigError(name, expected=f"a number from {low:g} to {high:g}", got=repr(text), fix=f"change {name}")
    return value
