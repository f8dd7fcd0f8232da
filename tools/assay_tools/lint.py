"""``./assay lint``: format, style, types, data files and the house rules, each one named check."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from assay_tools import house_rules
from assay_tools.errors import SetupError
from assay_tools.layout import Layout
from assay_tools.process import run_shown
from assay_tools.results import Totals

__all__ = ["USAGE", "check", "checked_in", "main"]

USAGE = """usage: ./assay lint [--fix]

Checks format and style (ruff), types (mypy), YAML, JSON and XML files, Dockerfiles (hadolint) and the house rules.

  --fix  correct first what can be corrected by a program
"""
LIST_S = 60.0
"""Longest time for git to list the files [s]."""

TOOL_S = 1200.0
"""Longest time for one check [s]."""

_YAML_RULES = (
    "{extends: relaxed, rules: {line-length: disable, indentation: disable, braces: disable, brackets: disable, "
    "commas: disable, colons: disable, hyphens: disable, empty-lines: disable, new-line-at-end-of-file: enable, "
    "trailing-spaces: enable, key-duplicates: enable}}"
)


def checked_in(layout: Layout, *suffixes: str) -> list[Path]:
    """Return the files with these suffixes that belong to the project: known to git, or new and not ignored.

    Without git (an unpacked archive) every file outside of hidden and generated folders counts.
    """
    command = [
        "git",
        "-c",
        f"safe.directory={layout.root}",
        "-C",
        str(layout.root),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIST_S, check=False)
        listed = done.stdout.decode(errors="surrogateescape").split("\0") if done.returncode == 0 else []
    except (OSError, subprocess.TimeoutExpired):
        listed = []
    if listed:
        paths = [layout.root / name for name in listed if name]
    else:
        generated = {layout.build, layout.install, layout.log, layout.venv, layout.state}
        paths = [path for path in layout.root.rglob("*") if not generated & {path, *path.parents}]
    return sorted(path for path in paths if path.suffix in suffixes and path.is_file())


def main(layout: Layout, arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run all checks; return 0 if none has findings.

    Raises:
        SetupError: An unknown argument.
    """
    if list(arguments) not in ([], ["--fix"]):
        raise SetupError(
            "./assay lint", expected="--fix or nothing", got=" ".join(arguments), fix="./assay lint --help"
        )
    if arguments:
        for command in (["ruff", "check", "--fix", "--quiet", "."], ["ruff", "format", "."]):
            run_shown(command, cwd=layout.root, environ=environ, deadline_s=TOOL_S)
    totals = check(layout, environ)
    sys.stdout.write(f"{totals.closing_line()}\n")
    return 1 if totals.failed else 0


def check(layout: Layout, environ: Mapping[str, str]) -> Totals:
    """Run all checks, print their findings, return the totals: each check counts as one test."""
    totals = Totals()
    sys.stdout.write("\n== checks\n")
    for name, find in _checks(layout, environ):
        start = time.monotonic()
        findings = find().rstrip()
        sys.stdout.write(f"{'FAIL' if findings else ' ok '} {name} ({time.monotonic() - start:.1f} s)\n")
        if findings:
            sys.stdout.write(findings + "\n")
            totals.fail(f"lint: {name}")
        else:
            totals.passed += 1
        sys.stdout.flush()
    return totals


def _checks(layout: Layout, environ: Mapping[str, str]) -> Iterator[tuple[str, Callable[[], str]]]:
    def tool(*command: str) -> Callable[[], str]:
        return lambda: _findings(command, layout.root, environ)

    yield "ruff check", tool("ruff", "check", "--output-format", "concise", ".")
    yield "ruff format", tool("ruff", "format", "--check", "--output-format", "concise", ".")
    modules = [path / path.name for path in layout.packages()]
    typed = [str(path.relative_to(layout.root)) for path in modules if any(path.glob("*.py"))]
    yield "mypy", tool("mypy", "--no-error-summary", *typed, "tools/assay_tools")
    yaml = [str(path.relative_to(layout.root)) for path in checked_in(layout, ".yaml", ".yml")]
    if yaml:
        yield "YAML files", tool("yamllint", "-d", _YAML_RULES, *yaml)
    yield "JSON and XML files", lambda: _well_formed(layout)
    yield "shell scripts", lambda: "\n".join(_shell(layout))
    docker = [str(path.relative_to(layout.root)) for path in checked_in(layout, ".Dockerfile")]
    if docker:
        yield "Dockerfiles", tool("hadolint", *docker)
    modules_read = house_rules.read(layout.root, checked_in(layout, ".py"))
    for name, rule in house_rules.RULES.items():
        yield name, functools.partial(_broken, rule, modules_read)
    yield "lock files name no package host", lambda: "\n".join(_hosts(layout))


def _broken(rule: house_rules.Rule, modules: Sequence[house_rules.Module]) -> str:
    return "\n".join(rule(modules))


def _findings(command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> str:
    """Return what a tool found, empty if it is content; a tool that is missing is a finding."""
    try:
        done = subprocess.run(
            list(command),
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TOOL_S,
            check=False,
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror}: is it in tools/requirements.in?"
    except subprocess.TimeoutExpired:
        return f"{command[0]}: no end within {TOOL_S / 60:g} min"
    return "" if done.returncode == 0 else done.stdout or f"{command[0]}: exit code {done.returncode}"


def _well_formed(layout: Layout) -> str:
    findings = []
    for path in checked_in(layout, ".json", ".xml", ".xacro", ".urdf"):
        try:
            if path.suffix == ".json":
                json.loads(path.read_text(encoding="utf-8"))
            else:
                ElementTree.parse(path)
        except (OSError, ValueError, ElementTree.ParseError) as error:
            findings.append(f"{path.relative_to(layout.root)}: {error}")
    return "\n".join(findings)


def _shell(layout: Layout) -> Iterator[str]:
    """Yield what the shell that a script names says of its syntax."""
    for path in checked_in(layout, "", ".sh"):
        with path.open("rb") as handle:
            first = handle.readline().decode(errors="replace")
        if not first.startswith("#!") or not first.rstrip().endswith("sh"):
            continue
        shell = first.split("/")[-1].split()[-1]
        found = _findings([shell, "-n", str(path)], layout.root, os.environ)
        if found:
            yield found.strip()


def _hosts(layout: Layout) -> Iterator[str]:
    for path in sorted(layout.tools.glob("*.lock")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if "://" in line or line.startswith("-"):
                yield f"tools/{path.name}:{number}: an address or option in a lock file: {line.strip()[:60]}"
