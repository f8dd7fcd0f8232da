"""The verbs of `./assay` that run inside the environment: ``python -m assay_cli VERB ...``.

Nothing is imported before it is known which verb is meant, because a user who mistypes should not wait for ROS.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from assay_cli.console import DONE, complain, guarded, say
from assay_cli.signals import leaving
from assay_core.program import command
from assay_core.streams import forgiving_output

__all__ = ["VERBS", "main"]

VERBS: dict[str, str] = {
    "eval": "run tasks with a policy and print success rates",
    "resume": "go on with a session that stopped",
    "list": "list tasks, policies, backends or sessions",
    "show": "show a task instance (distributions, goal, objects, success), or a task's instances",
    "realize": "print one realization of a task instance as JSON",
    "launch": "start a launch file",
    "bench": "measure speed against a floor",
}


def usage() -> str:
    """Return the help text of all verbs."""
    lines = [f"usage: {command('VERB')} ...", "", "verbs:"]
    lines.extend(f"  {verb:<8} {text}" for verb, text in VERBS.items())
    lines += ["", f"{command('VERB', '--help')} says more."]
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Run one verb and return the exit code of the process."""
    forgiving_output()
    if not argv or argv[0] in ("-h", "--help", "help"):
        say(usage())
        return DONE
    return guarded(_dispatch, argv)


def _dispatch(argv: Sequence[str]) -> int:
    verb, rest = argv[0], list(argv[1:])
    if verb not in VERBS:
        from assay_core.errors import unknown_name

        raise unknown_name("verb", verb, VERBS)
    with leaving():
        run = importlib.import_module(f"assay_cli.verbs.{verb}").main
        code: int = run(rest)
        return code


if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
    except KeyboardInterrupt:
        complain("interrupted")
        status = 130
    sys.exit(status)
