"""`./assay resume SESSION`: go on with a session that stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence

from assay_cli.console import Parser, complain

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Run what is pending of a session."""
    parser = Parser("resume", "Go on with a session after an interruption, a fault or a power cut.")
    parser.add_argument("session", metavar="SESSION", help="a session directory, or the name of one under sessions/")
    parser.add_argument("--attach", action="store_true", help="use the graph that runs in this ROS domain")
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    asked = parser.parse_args(list(argv))

    from assay_bridge.preflight import bytes_needed, check_disk
    from assay_bridge.running import Job
    from assay_bridge.sessions import check_resumable, find_session
    from assay_bringup.launch.backends import backend
    from assay_cli.host import attached_graph, run_session

    found = check_resumable(find_session(asked.session), tell=complain)
    has_world = backend(found.plan.backend, os.environ).has_world
    check_disk(found.directory, bytes_needed(found.plan, (entry for entry, _ in found.pending)))

    if asked.attach:
        from assay_bridge.attached import check_plan

        check_plan(found.plan, attached_graph())

    def prepare() -> Job:
        return Job.resumed(found, has_world=has_world)

    return run_session(found.plan, prepare, attach=asked.attach, as_json=asked.json)
