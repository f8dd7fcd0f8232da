"""`./assay eval TASK...`: run tasks with a policy and print success rates."""

from __future__ import annotations

import os
from collections.abc import Sequence

from assay_cli.console import complain
from assay_cli.eval_options import parse_eval

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Run a session; see `assay_bridge.exit_codes` for what comes back."""
    options, run = parse_eval(argv)

    from assay_benchmarks.catalog import colliding_entry_points
    from assay_bridge.planning import make_plan, session_directory
    from assay_bridge.preflight import bytes_needed, check_directory, check_disk, create_session
    from assay_bridge.running import Job
    from assay_bringup.launch.backends import backends
    from assay_cli.host import attached_graph, run_session

    known = backends(os.environ)
    plan = make_plan(options, backends=known)
    if run.attach:
        from assay_bridge.attached import adopt

        # Planned once more: what is wrong with the request itself was said before anybody waited for a graph.
        plan = make_plan(adopt(options, run.given, attached_graph()), backends=known)
    directory = session_directory(run.session, plan.session_id)
    check_directory(directory)
    check_disk(directory, bytes_needed(plan))
    for line in colliding_entry_points():
        complain(f"warning: {line}")

    def prepare() -> Job:
        digest = create_session(directory, plan)
        return Job.begun(plan, directory, digest, has_world=known[plan.backend].has_world)

    return run_session(plan, prepare, attach=run.attach, as_json=run.json)
