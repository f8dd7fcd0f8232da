r"""Text with substitutions: ``$(name argument ...)`` inside any attribute of a launch file.

The grammar is that of `ros2 launch`: arguments are separated by one space, may be quoted with ' or ", and may hold
substitutions themselves; a backslash takes the meaning from the character that follows. Parsing happens for the whole
file before anything is evaluated, so that a mistake in a branch that is not taken is still found.

Source: ros2/launch 3.4, `share/launch/frontend/grammar.lark`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from assay_bringup.launch.source import Where
from assay_core.errors import ConfigError, unknown_name

__all__ = ["ARITY", "Call", "Template", "parse", "unescape"]

ARITY: dict[str, tuple[int, int]] = {
    "var": (1, 1),
    "env": (1, 2),
    "eval": (1, 1),
    "dirname": (0, 0),
    "filename": (0, 0),
    "find-pkg-share": (1, 1),
    "find-pkg-prefix": (1, 1),
    "exec-in-pkg": (2, 2),
    "find-exec": (1, 1),
    "if": (2, 3),
    "not": (1, 1),
    "and": (2, 2),
    "or": (2, 2),
    "equals": (2, 2),
    "not-equals": (2, 2),
}
"""Substitutions that are understood, with the fewest and the most arguments."""

REFUSED = ("all", "anon", "any", "command", "file-content", "param", "path-join")
"""Substitutions of `ros2 launch` that this runner does not evaluate; `any` and `all` fail in Jazzy's own."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Call:
    """One substitution."""

    name: str
    arguments: tuple[Template, ...]


@dataclass(frozen=True)
class Template:
    """Text and substitutions in order."""

    parts: tuple[str | Call, ...]
    where: Where

    @property
    def literal(self) -> str | None:
        """The text, where there is no substitution in it."""
        if any(isinstance(part, Call) for part in self.parts):
            return None
        return "".join(part for part in self.parts if isinstance(part, str))


def unescape(text: str) -> str:
    """Return ``text`` with each backslash removed that precedes a character."""
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def parse(text: str, where: Where) -> Template:
    """Return the parts of ``text``.

    Raises:
        ConfigError: A substitution is malformed or unknown, or has too few or too many arguments.
    """
    return _Parser(text, where).template()


class _Parser:
    """Recursive descent over one attribute."""

    def __init__(self, text: str, where: Where) -> None:
        self.text = text
        self.where = where
        self.at = 0

    def template(self) -> Template:
        parts = self._fragments(quote="")
        return Template(tuple(parts), self.where)

    def _fragments(self, quote: str) -> list[str | Call]:
        """Read text and substitutions up to the end, or up to ``quote``, which is consumed."""
        parts: list[str | Call] = []
        literal = ""
        while self.at < len(self.text):
            char = self.text[self.at]
            if quote and char == quote:
                break
            if self._opens():
                if literal:
                    parts.append(unescape(literal))
                literal = ""
                parts.append(self._call(quote))
                continue
            literal += self._char()
        if literal:
            parts.append(unescape(literal))
        if quote:
            if self.at >= len(self.text):
                self._fail(f"a closing {quote}", "the end of the text")
            self.at += 1
        return parts

    def _opens(self) -> bool:
        return self.text.startswith("$(", self.at)

    def _char(self) -> str:
        """Consume one character, or a backslash with the one it escapes."""
        length = 2 if self.text[self.at] == "\\" and self.at + 1 < len(self.text) else 1
        taken = self.text[self.at : self.at + length]
        self.at += length
        return taken

    def _call(self, quote: str) -> Call:
        start = self.at
        self.at += 2
        found = _NAME.match(self.text, self.at)
        if found is None:
            self._fail("the name of a substitution after '$('", repr(self.text[self.at : self.at + 12]))
        name = found.group()
        self.at = found.end()
        arguments: list[Template] = []
        while self.text.startswith(" ", self.at):
            self.at += 1
            arguments.append(self._argument(quote))
        if not self.text.startswith(")", self.at):
            got = repr(self.text[self.at]) if self.at < len(self.text) else "the end of the text"
            self._fail(f"')' or one space and an argument after '{self.text[start : self.at]}'", got)
        self.at += 1
        self._check(name, len(arguments))
        return Call(name, tuple(arguments))

    def _argument(self, quote: str) -> Template:
        """Read one argument; within a quoted one the other quote is an ordinary character."""
        if not quote and self.at < len(self.text) and self.text[self.at] in "'\"":
            opening = self.text[self.at]
            self.at += 1
            return Template(tuple(self._fragments(opening)), self.where)
        stop = " ()" + (quote or "'\"")
        parts: list[str | Call] = []
        literal = ""
        while self.at < len(self.text):
            if self._opens():
                if literal:
                    parts.append(unescape(literal))
                literal = ""
                parts.append(self._call(quote))
            elif self.text[self.at] in stop:
                break
            else:
                literal += self._char()
        if literal:
            parts.append(unescape(literal))
        if not parts:
            self._fail("an argument after the space", "nothing")
        return Template(tuple(parts), self.where)

    def _check(self, name: str, count: int) -> None:
        if name in REFUSED:
            raise ConfigError(
                f"{self.where}: substitution '$({name} ...)'",
                expected="one of " + ", ".join(sorted(ARITY)),
                got="one that only `ros2 launch` evaluates",
                fix="write it without, or run the file with `ros2 launch`",
            )
        if name not in ARITY:
            error = unknown_name("substitution", name, ARITY)
            raise ConfigError(f"{self.where}: {error.subject}", expected=error.expected, got=error.got, fix=error.fix)
        fewest, most = ARITY[name]
        if count < fewest or (most is not None and count > most):
            wanted = (
                str(fewest) if fewest == most else f"{fewest} to {most}" if most is not None else f"{fewest} or more"
            )
            self._fail(f"{wanted} argument(s) for '$({name} ...)'", str(count))

    def _fail(self, expected: str, got: str) -> NoReturn:
        raise ConfigError(
            f"{self.where}: {self.text!r}", expected=expected, got=got, fix="write it as $(name argument 'another one')"
        )
