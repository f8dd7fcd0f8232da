"""Every hint that a user may copy names the program as it is typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from assay_cli.__main__ import VERBS
from assay_core.program import PROGRAM, command

ROOT = next(path for path in Path(__file__).resolve().parents if (path / "docs" / "cli.md").is_file())
WORDS = "|".join((*VERBS, "setup", "test", "lint", "exec", "VERB"))
HINT = re.compile(rf"(?<![\w/.-])(\./)?assay ({WORDS})\b")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and value of every string of a module, docstrings among them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def docstrings(path: Path) -> set[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]
    return {text for node in nodes if (text := ast.get_docstring(node, clean=False))}


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_hint_lacks_the_path_that_makes_it_run() -> None:
    modules = [*ROOT.glob("src/*/*/**/*.py"), *ROOT.glob("tools/**/*.py")]
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/*/README.md"), *ROOT.glob("launch/*")]
    pages += [*ROOT.glob("config/*"), *ROOT.glob("docker/*"), *ROOT.glob("tools/assay_tools/*.txt")]
    assert len(modules) > 100
    found = [(f"{shown(path)}:{line}", text) for path in modules for line, text in texts(path)]
    found += [(shown(path), text) for path in pages for text in path.read_text().splitlines()]
    bare = [(where, match[0]) for where, text in found for match in HINT.finditer(text) if not match[1]]
    assert bare == [], "a user who copies this gets 'command not found'"


def test_messages_take_the_name_from_one_place() -> None:
    literal = []
    for path in ROOT.glob("src/*/*/**/*.py"):
        if "test" in path.parts:
            continue
        known = docstrings(path)
        literal += [f"{shown(path)}:{line}" for line, text in texts(path) if text not in known and PROGRAM in text]
    assert literal == ["src/assay_core/assay_core/program.py:10"], "use assay_core.program.command"


def test_a_command_can_be_pasted_into_a_shell() -> None:
    assert command("resume", Path("sessions/my run")) == "./assay resume 'sessions/my run'"
