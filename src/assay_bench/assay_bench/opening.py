"""Opens a session's journal, or takes up one that a crash left behind. File work only; runs on the worker thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay_bench.realizer import Realizer
from assay_bench.receipts import ReceiptBook
from assay_bench.refusal import Refusal
from assay_core import journal_events as events
from assay_core.errors import ConfigError, DataError
from assay_core.files import read_regular
from assay_core.journal import Attempt, Entry, JournalEvent, JournalWriter, SessionFold, SessionInUse
from assay_core.journal_format import JOURNAL_FILE
from assay_core.journal_writer import Probe
from assay_core.plan import PLAN_FILE, Plan, load_plan, plan_hash
from assay_core.seal import SEAL_FILE
from assay_core.session_lock import SessionSealed
from assay_core.session_traces import SessionTraces
from assay_core.trial import Event, Phase, State, Trial
from assay_msgs.msg import ResultCode
from assay_msgs.srv import OpenSession

__all__ = ["Opened", "interrupted", "open_files"]


@dataclass(frozen=True)
class Opened:
    """A session whose journal is ours to write."""

    plan: Plan
    plan_hash: str
    writer: JournalWriter
    fold: SessionFold
    """What the journal held before."""
    receipts: ReceiptBook
    entries: tuple[Entry, ...]
    """What must be committed before the session is open."""


def open_files(
    request: OpenSession.Request, realizer: Realizer, *, clock: Callable[[], int], probe: Probe | None
) -> Opened:
    """Check plan and journal and take the session's lock.

    Raises:
        Refusal: INVALID_ARGUMENT, PLAN_MISMATCH, SESSION_SEALED, SESSION_OTHER_OPEN or JOURNAL_FAILED.
    """
    directory = Path(request.directory)
    plan, digest = _plan(request, directory, realizer)
    if (directory / SEAL_FILE).exists():
        raise _sealed(plan, directory)
    traces = SessionTraces.of(directory)
    fold, receipts = SessionFold(subject=str(directory / JOURNAL_FILE)), ReceiptBook(plan.session_id)

    def take(event: JournalEvent) -> None:
        fold.apply(event)
        receipts.restore(event)

    try:
        if request.resume:
            writer = JournalWriter.resume(directory, clock=clock, probe=probe, take=take)
        else:
            writer = JournalWriter.create(directory, clock=clock, probe=probe)
    except SessionSealed as error:  # by whoever held the lock until now
        raise _sealed(plan, directory) from error
    except SessionInUse as error:
        raise Refusal(ResultCode.SESSION_OTHER_OPEN, str(error)) from error
    except DataError as error:
        raise Refusal(ResultCode.JOURNAL_FAILED, str(error)) from error
    try:
        traces.check(fold)
        if fold.plan is not None and fold.plan_hash != digest:
            raise Refusal(
                ResultCode.PLAN_MISMATCH,
                f"{directory / PLAN_FILE}",
                expected=f"the plan that the journal was opened with (SHA-256 {fold.plan_hash})",
                got=digest,
                fix="restore plan.yaml from a copy: a session's plan does not change",
            )
        entries = [] if fold.plan is not None else [events.plan(plan, digest)]
        entries.append(events.session_opened(plan.session_id, request.runner_id, digest, resumed=fold.plan is not None))
        entries.extend(interrupted(attempt) for attempt in fold.attempts.values() if not attempt.ended)
    except DataError as error:
        writer.close()
        raise Refusal(ResultCode.JOURNAL_FAILED, str(error)) from error
    except BaseException:
        writer.close()
        raise
    return Opened(plan, digest, writer, fold, receipts, tuple(entries))


def _sealed(plan: Plan, directory: Path) -> Refusal:
    fix = "start a new session; later gradings go to addenda"
    return Refusal(ResultCode.SESSION_SEALED, f"session '{plan.session_id}' in {directory} is sealed", fix=fix)


def interrupted(attempt: Attempt) -> Entry:
    """Return the end of an attempt that nobody ended: DONE when a verdict stands, else INVALID."""
    phase = Phase[attempt.state.name]
    if attempt.reached_judge and attempt.verdict is not None:
        phase = Phase.JUDGED_INVALID if attempt.verdict.outcome == "invalid" else Phase.JUDGED
    state = Trial(phase).apply(Event.INTERRUPTED)
    if state is State.DONE:
        return events.trial_ended(attempt.trial_id, state)
    message = f"interrupted in {attempt.state.name}: the runner or the benchmark node stopped before the trial ended"
    return events.trial_ended(attempt.trial_id, state, code="CANCELLED", message=message)


def _plan(request: OpenSession.Request, directory: Path, realizer: Realizer) -> tuple[Plan, str]:
    subject = "open_session"
    for name in ("session_id", "runner_id", "directory"):
        if not getattr(request, name).strip():
            raise Refusal(
                ResultCode.INVALID_ARGUMENT, f"{subject}: {name}", expected="a value", got="none", fix="give it"
            )
    if not directory.is_absolute() or not directory.is_dir():
        fix = "create the session directory on the benchmark node's machine and give its absolute path"
        raise Refusal(
            ResultCode.INVALID_ARGUMENT, subject, expected="an existing directory", got=f"'{directory}'", fix=fix
        )
    path = directory / PLAN_FILE
    try:
        digest = plan_hash(read_regular(path))
        plan = load_plan(path)
    except OSError as error:
        got = error.strerror or str(error)
        raise Refusal(
            ResultCode.PLAN_MISMATCH, f"{path}", expected="the plan", got=got, fix="write it first"
        ) from error
    except DataError as error:
        raise Refusal(ResultCode.PLAN_MISMATCH, str(error)) from error
    if digest != request.plan_hash:
        fix = "let runner and benchmark node see the same directory"
        raise Refusal(ResultCode.PLAN_MISMATCH, f"{path}", expected=f"SHA-256 {request.plan_hash}", got=digest, fix=fix)
    if plan.session_id != request.session_id:
        raise Refusal(
            ResultCode.PLAN_MISMATCH,
            f"{path}: session_id",
            expected=f"'{request.session_id}'",
            got=f"'{plan.session_id}'",
            fix="open the session by the id of its plan",
        )
    try:
        realizer.prepare(plan)
    except ConfigError as error:
        raise Refusal(ResultCode.PLAN_MISMATCH, f"{path}: {error}") from error
    return plan, digest
