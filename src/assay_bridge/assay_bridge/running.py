"""One session over a graph that runs: connect, open, run, derive, and say what came of it.

The command line starts the graph around this; the runner node of a launch file finds it running.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay_bridge import exit_codes
from assay_bridge.preflight import discard_session
from assay_bridge.sessions import Resumable, where_it_stands
from assay_bridge.summary import instance_key
from assay_core.errors import AssayError
from assay_core.instances import MODEL_DRAFT
from assay_core.journal import JOURNAL_FILE, JournalReader
from assay_core.plan import PLAN_FILE, Plan, PlanEntry
from assay_core.program import command
from assay_core.seal_file import SEAL_FILE

if TYPE_CHECKING:
    from assay_bridge.client_types import ClientConfig
    from assay_bridge.derived import Derived
    from assay_bridge.progress import Progress
    from assay_bridge.session_end import SessionEnd
    from assay_bridge.stop import Watch

__all__ = [
    "Job",
    "client_config",
    "closing_words",
    "exit_code",
    "opening_words",
    "run_job",
    "uncounted_words",
    "unvalidated_instances",
    "waiting_words",
    "way_on",
]

CONNECT_S = 30.0
AUTOMATIC_S = 60.0
"""Longest wait for an operator or a grader that is a program [s]."""

PERSON_S = 4 * 3600.0
"""The same for a person [s]."""


@dataclass(frozen=True)
class Job:
    """A session to run or to go on with."""

    plan: Plan
    directory: Path
    plan_hash: str
    """SHA-256, hex, of ``plan.yaml``."""
    pending: tuple[tuple[PlanEntry, int], ...]
    """Entries without a result, each with the number of its next attempt."""
    finished: tuple[tuple[PlanEntry, bool | None], ...] = ()
    """Entries that have one."""
    resume: bool = False
    """Whether there is a journal."""
    has_world: bool = True
    """Whether a simulated world of the back end judges progress."""
    fresh: bool = False
    """Whether the directory was made for this run and may go again if the session never opens."""

    @classmethod
    def begun(cls, plan: Plan, directory: Path, digest: str, *, has_world: bool) -> Job:
        """Return the job of a new session, whose directory was made for it.

        Args:
            plan: Its plan.
            directory: Session directory.
            digest: SHA-256, hex, of the stored plan.
            has_world: See the field.
        """
        pending = tuple((entry, 0) for entry in plan.entries)
        return cls(plan, directory, digest, pending, has_world=has_world, fresh=True)

    @classmethod
    def resumed(cls, found: Resumable, *, has_world: bool) -> Job:
        """Return the job of a session that goes on.

        Args:
            found: What `assay_bridge.sessions.check_resumable` found.
            has_world: See the field.
        """
        return cls(
            found.plan,
            found.directory,
            found.plan_hash,
            found.pending,
            found.finished,
            resume=found.has_journal,
            has_world=has_world,
        )


def client_config(plan: Plan, *, has_world: bool) -> ClientConfig:
    """Return rig, rate and deadlines of a session.

    Args:
        plan: Its plan.
        has_world: Whether a simulated world of the back end judges progress.
    """
    from assay_bridge.client_types import ClientConfig

    patience_s = AUTOMATIC_S if plan.operator == "auto" else PERSON_S
    return ClientConfig(
        cameras=plan.cameras,
        control_hz=plan.control_hz,
        mode=plan.mode,
        session_id=plan.session_id,
        has_world=has_world,
        connect_s=CONNECT_S,
        arrange_s=patience_s,
        verdict_s=patience_s,
    )


def run_job(job: Job, watch: Watch, progress: Progress) -> tuple[SessionEnd, Derived | None]:
    """Run a session to its end over the graph of this process's ROS domain.

    Returns:
        How it ended, and logs and summary; None where the journal says nothing yet.

    Raises:
        ConfigError: The session was refused before it opened, e.g. because the rig is in use.
        RigFault: The graph is not complete.
    """
    from assay_benchmarks.catalog import resolve_task
    from assay_bridge.client import GraphClient
    from assay_bridge.derived import rederive
    from assay_bridge.embodiment import AssayEmbodiment
    from assay_bridge.policy import AssayPolicy
    from assay_bridge.session import SessionRunner
    from assay_ros.shm_noise import held_back

    try:
        with held_back():
            client = GraphClient(client_config(job.plan, has_world=job.has_world), liveness=watch)
        try:
            if job.plan.operator == "none":
                client.tell_waiting(lambda *who: progress.message(waiting_words(job.plan, *who)))
            else:
                client.tell_strangers(progress.message)
            client.connect(policy=True, tell=progress.message)
            client.open_session(str(job.directory.absolute()), job.plan_hash, resume=job.resume)
            if job.resume:
                # Another resume may have gone on with it, and ended, since the journal was looked at.
                pending, finished = where_it_stands(JournalReader(job.directory))
                job = replace(job, pending=pending, finished=finished)
            embodiment = AssayEmbodiment.attached(client)
            policy = AssayPolicy()
            policy.bind(embodiment.info)
            policy.expect(job.plan.policies[0])
            for _, success in job.finished:
                if success is not None:
                    progress.count(success)
            runner = SessionRunner(
                plan=job.plan,
                directory=job.directory,
                pending=job.pending,
                graph=client,
                link=embodiment.link,
                policy=policy,
                embodiment=embodiment,
                progress=progress,
                watch=watch,
                resolve_task=resolve_task,
                derive=lambda: rederive(job.directory),
            )
            end = runner.run()
        finally:
            client.close()
    except BaseException:
        if job.fresh and not (job.directory / JOURNAL_FILE).exists():
            discard_session(job.directory)
        raise
    if end.derived is not None:
        return end, end.derived
    try:
        return end, rederive(job.directory)
    except (AssayError, OSError) as error:
        progress.message(f"warning: logs and summary of {job.directory} could not be derived: {error}")
        return end, None


def waiting_words(plan: Plan, trial: str, state: str, people: tuple[str, ...]) -> str:
    """Return who is waited for, and by which ids they may answer.

    Args:
        plan: Plan of the session.
        trial: Id of the trial.
        state: Name of its state, e.g. ``ARRANGE``.
        people: ``operator``, ``grader`` or both.
    """
    ids = {"operator": plan.operators, "grader": plan.graders}
    named = " and ".join(f"{kind} {' or '.join(ids[kind])}" for kind in people)
    return f"trial {trial} is in {state}, waiting for {named}"


def exit_code(end: SessionEnd, derived: Derived | None) -> int:
    """Return the exit code of the process that ran a session."""
    from assay_bridge.session_end import Verdict

    if end.verdict is Verdict.DONE:
        return exit_codes.DONE if derived is not None and derived.complete else exit_codes.INCOMPLETE
    return {
        Verdict.STOPPED: exit_codes.INCOMPLETE,
        Verdict.REFUSED: exit_codes.USAGE,
        Verdict.HALTED: exit_codes.HALTED,
        Verdict.INTERRUPTED: exit_codes.INTERRUPTED,
    }[end.verdict]


def closing_words(job: Job, end: SessionEnd, derived: Derived | None) -> tuple[str, ...]:
    """Return what a user must read beside the table: how it ended, what was lost, and how to go on."""
    from assay_bridge.session_end import Verdict

    lines = [f"warning: {text}" for text in (*end.warnings, *(derived.problems if derived is not None else ()))]
    if end.verdict is Verdict.DONE:
        if derived is not None and not derived.complete:
            lines.append(uncounted_words(job.plan, derived))
        reports = command(
            "exec", "inspect-robots", "view", job.directory / "logs", "-o", f"reports/{job.directory.name}"
        )
        return (*lines, f"session {job.directory}: complete and sealed", f"look into it: {reports}")
    word = {
        Verdict.STOPPED: "error: the session stopped",
        Verdict.REFUSED: "error: the session cannot run",
        Verdict.HALTED: "error: halted for safety",
        Verdict.INTERRUPTED: "stopped",
    }[end.verdict]
    return (*lines, f"{word}: {end.reason}", way_on(job.directory))


def uncounted_words(plan: Plan, derived: Derived) -> str:
    """Return how many trials of a complete session have no result that counts, and why."""
    words = {
        "invalid": f"invalid at every attempt (at most {plan.max_repeats} repeats)",
        "skipped": "skipped by an operator",
        "halted": "stopped for safety",
    }
    found = ", ".join(f"{number} {words[outcome]}" for outcome, number in sorted(derived.uncounted.items()))
    return f"{sum(derived.uncounted.values())} of {len(plan.entries)} trials have no result that counts: {found}"


def way_on(directory: Path) -> str:
    """Return how to go on with a session that did not come to its end."""
    if (directory / SEAL_FILE).exists():
        return f"every planned trial has its result, and {directory} is sealed: there is nothing to resume"
    if not (directory / PLAN_FILE).exists():
        return f"{directory} is gone: there is nothing to resume"
    return f"go on with: {command('resume', directory)}"


def opening_words(job: Job) -> str:
    """Return what is about to run, and what earlier runs of the session came to."""
    words = f"session {job.directory}: {len(job.pending)} of {len(job.plan.entries)} trials to run"
    counted = [success for _, success in job.finished if success is not None]
    return f"{words}, P̂ {sum(counted) / len(counted):.2f} in {len(counted)} so far" if counted else words


def unvalidated_instances(plan: Plan) -> tuple[int, int]:
    """Return how many of a plan's instances no experts have validated, and how many of those a model wrote."""
    from assay_benchmarks.catalog import find_instance, instance_ids

    ours = set(instance_ids())
    names = {instance_key(entry) for entry in plan.entries} & ours
    ratings = [find_instance(name).validation for name in names]
    unvalidated = [one for one in ratings if not one.validated]
    return len(unvalidated), sum(one.source == MODEL_DRAFT for one in unvalidated)
