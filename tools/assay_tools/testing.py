"""``./assay test``: checks, the tests of every package through colcon, the tests of the whole; one closing line.

Everything runs even when something has failed, so that one run shows all there is to mend.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay_tools import lint
from assay_tools.build import COLCON, colcon_environ
from assay_tools.errors import SetupError
from assay_tools.layout import Layout
from assay_tools.process import run_shown
from assay_tools.results import Totals, of_file

__all__ = ["USAGE", "main", "parse"]

USAGE = """usage: ./assay test [--packages NAME...] [--no-lint]
       ./assay test PATH... [PYTEST-ARGUMENT...]

Without arguments: all checks of ./assay lint, the tests of every package (colcon test), and those below tests/.

  --packages NAME...  only the tests of these packages
  --no-lint           all tests, without the checks
  PATH... ARGUMENT... pytest on these files or folders, with any arguments of its own: ./assay test tests/graph -x
"""
NO_TESTS = 5
"""Exit code of pytest where it found nothing to run."""

USAGE_ERROR = 4
"""Exit code of pytest where it cannot take its arguments, or a conftest.py cannot be imported."""


def parse(layout: Layout, arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return what to run (``all``, ``tests``, ``packages`` or ``pytest``) and its names or arguments.

    Raises:
        SetupError: A package is not in the workspace, or nothing is named after ``--packages``.
    """
    if not arguments:
        return "all", []
    if list(arguments) == ["--no-lint"]:
        return "tests", []
    if arguments[0] != "--packages":
        return "pytest", list(arguments)
    names = list(arguments[1:])
    known = [path.name for path in layout.packages()]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise SetupError(
            "./assay test --packages",
            expected=f"some of {', '.join(known)}",
            got=", ".join(unknown) or "no name",
            fix="name packages of this workspace",
        )
    return "packages", names


def main(layout: Layout, arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run tests; return 0 only if something ran and nothing failed."""
    what, names = parse(layout, arguments)
    start = time.monotonic()
    totals = Totals()
    if what == "all":
        totals.add(lint.check(layout, environ))
    if what in ("all", "tests", "packages"):
        totals.add(_packages(layout, names, environ))
    if what in ("all", "tests"):
        totals.add(_pytest(layout, ["tests"], environ))
    if what == "pytest":
        totals.add(_pytest(layout, names, environ))
    sys.stdout.write(f"\n== summary ({time.monotonic() - start:.0f} s)\n")
    for name in totals.failures:
        sys.stdout.write(f"failed: {name}\n")
    if totals.passed + totals.failed == 0:
        sys.stdout.write("nothing was tested\n")
    sys.stdout.write(f"{totals.closing_line()}\n")
    return 0 if totals.passed and not totals.failed else 1


def _result_files(layout: Layout, package: str) -> list[Path]:
    base = layout.build / package
    return [*base.glob("pytest.xml"), *base.glob("test_results/**/*.xml")]


def _has_tests(package: Path) -> bool:
    return any((package / "test").glob("**/test_*.py"))


def _packages(layout: Layout, names: Sequence[str], environ: Mapping[str, str]) -> Totals:
    """Run the tests of packages through colcon."""
    chosen = [path for path in layout.packages() if not names or path.name in names]
    for package in chosen:
        for path in _result_files(layout, package.name):
            path.unlink()
    sys.stdout.write(f"\n== tests of {len(chosen)} packages\n")
    sys.stdout.flush()
    command = [str(layout.python), *COLCON, "--log-base", str(layout.log), "test", "--merge-install"]
    command += ["--base-paths", str(layout.src), "--build-base", str(layout.build)]
    command += ["--install-base", str(layout.install), "--return-code-on-test-failure"]
    command += ["--event-handlers", "console_direct+", "status-"]
    command += ["--packages-select", *(package.name for package in chosen)]
    code = run_shown(command, cwd=layout.root, environ=colcon_environ(layout, environ))
    totals = Totals()
    for package in chosen:
        files = _result_files(layout, package.name)
        for path in files:
            totals.add(of_file(path, package.name))
        if not files and _has_tests(package):
            totals.fail(f"{package.name}: its tests left no results (did the runner die?)")
    if code != 0 and not totals.failed:
        totals.fail(f"colcon test: exit code {code}")
    return totals


def _pytest(layout: Layout, arguments: Sequence[str], environ: Mapping[str, str]) -> Totals:
    """Run pytest itself."""
    if list(arguments) == ["tests"]:
        sys.stdout.write("\n== tests of the whole\n")
        sys.stdout.flush()
    results = layout.state / "test-results.xml"
    results.unlink(missing_ok=True)
    command = [str(layout.python), "-m", "pytest", f"--junit-xml={results}", *arguments]
    # The user's folder stays the current one: paths are relative to it.
    cwd = layout.root if list(arguments) == ["tests"] else None
    code = run_shown(command, cwd=cwd, environ=environ)
    if code == NO_TESTS:
        return Totals()
    missing = [] if cwd is not None or code != USAGE_ERROR else _missing_files(arguments)
    if missing:
        raise SetupError(
            "./assay test",
            expected="paths of tests from the current directory",
            got=f"no such file: {', '.join(missing)}",
            fix="correct the path, or name packages with --packages",
        )
    totals = of_file(results, "pytest") if results.exists() else Totals()
    if code != 0 and not totals.failed:
        totals.fail(f"pytest: exit code {code}")
    return totals


def _missing_files(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that must be paths and lead to nothing; what follows an option may be its value."""
    paths = [
        argument.partition("::")[0]
        for before, argument in zip(("", *arguments), arguments, strict=False)
        if not argument.startswith("-") and not before.startswith("-")
    ]
    return [path for path in paths if not Path(path).exists()]
