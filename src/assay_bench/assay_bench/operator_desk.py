"""What operators and graders may say: ready, verdict, skip, abort. Each is answered with a receipt after its commit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from assay_bench.bench import Bench, Steps
from assay_bench.intake import Intake, raw_intake, read_abort, read_ready, read_skip, read_verdict
from assay_bench.receipts import ReceiptBook, content_digest
from assay_bench.refusal import Refusal
from assay_bench.session import CurrentTrial, Session
from assay_core import journal_events as events
from assay_core.journal import Attempt, Entry, VerdictRecord
from assay_core.trial import TERMINAL, Event, State
from assay_msgs.msg import Abort, Ready, Receipt, ResultCode, Skip, Verdict

__all__ = ["OperatorDesk"]

_ABORTS = {
    "early_stop": Event.ABORT_EARLY_STOP,
    "unsafe": Event.ABORT_UNSAFE,
    "rig_fault": Event.ABORT_RIG_FAULT,
    "other": Event.ABORT_OTHER,
}

_Reader = Callable[[Any], Intake]
_Handler = Callable[[Session, Intake], Steps["_Done | None"]]


@dataclasses.dataclass(frozen=True)
class _Done:
    """An accepted message: its event, and anything worth saying."""

    idx: int
    time_ns: int
    message: str = ""


class OperatorDesk:
    """Serves the four operator topics. Each method is an operation that returns the receipt, or None when the answer
    comes later.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def ready(self, message: Ready) -> Steps[Receipt | None]:
        """Take note that the scene is arranged."""
        return self._receive(Receipt.KIND_READY, message, read_ready, self._ready)

    def verdict(self, message: Verdict) -> Steps[Receipt | None]:
        """Take a verdict, or the correction of one."""
        return self._receive(Receipt.KIND_VERDICT, message, read_verdict, self._verdict)

    def skip(self, message: Skip) -> Steps[Receipt | None]:
        """Leave the realization out."""
        return self._receive(Receipt.KIND_SKIP, message, read_skip, self._skip)

    def abort(self, message: Abort) -> Steps[Receipt | None]:
        """End motion, the trial or the session."""
        return self._receive(Receipt.KIND_ABORT, message, read_abort, self._abort)

    def take_up(self, held: Intake) -> Steps[Receipt | None]:
        """Go on with a ready message that waited for the world."""
        return self._answer(held, lambda: held, self._ready)

    # -- the same for all four ----------------------------------------------------------------------------------------

    def _receive(self, kind: int, message: Any, read: _Reader, act: _Handler) -> Steps[Receipt | None]:
        return self._answer(raw_intake(kind, message), lambda: read(message), act)

    def _answer(self, raw: Intake, read: Callable[[], Intake], act: _Handler) -> Steps[Receipt | None]:
        bench, intake, digest = self.bench, raw, None
        session = bench.session
        book = session.receipts if session is not None else ReceiptBook()
        published = session.revision if session is not None else 0
        try:
            intake = read()
            if session is None:
                raise bench.no_session(intake.session_id)
            _about(session, intake)
            computed = content_digest(intake.kind, intake.trial_id, intake.body)
            try:
                known = book.find(intake.uuid, intake.kind, computed)
            except KeyError:
                raise Refusal(
                    ResultCode.UUID_REUSED,
                    f"message {intake.uuid}",
                    expected="the content that this UUID was first used with",
                    got="other content",
                    fix="make a fresh UUID for each intent",
                ) from None
            digest = computed
            if known is not None:
                bench.ports.publish_receipt(known)
                return known
            done = yield from act(session, intake)
            if done is None:
                return None
            receipt = book.accept(
                intake.uuid, intake.kind, computed, intake.trial_id, done.time_ns, done.idx, done.message
            )
        except Refusal as refusal:
            receipt = book.refuse(
                intake.uuid,
                intake.kind,
                digest,
                intake.trial_id,
                bench.clock(),
                code=refusal.code,
                message=refusal.message,
                conflicts_with=refusal.conflicts_with,
            )
        bench.ports.publish_receipt(receipt)
        if receipt.accepted and session is not None and session.revision == published:
            bench.publish(session)
        return receipt

    def _operator(self, session: Session, intake: Intake) -> None:
        if intake.person not in session.plan.operators:
            self._unknown_person("operator", intake.person, session.plan.operators)

    def _unknown_person(self, kind: str, person: str, known: tuple[str, ...]) -> None:
        raise Refusal(
            ResultCode.GRADER_UNKNOWN,
            f"{kind} '{person}'",
            expected="one of " + (", ".join(known) or "(nobody)"),
            got=f"'{person}'",
            fix="use an id of the session's plan",
        )

    # -- one each -----------------------------------------------------------------------------------------------------

    def _ready(self, session: Session, intake: Intake) -> Steps[_Done | None]:
        bench = self.bench
        current = bench.require_trial(session, intake.trial_id)
        self._operator(session, intake)
        state = bench.check(current, Event.OPERATOR_READY)
        if "world" in current.trial.waiting_for:
            current.held[intake.uuid] = intake
            return None
        picture, files = intake.body["picture"], {}
        if picture is not None:
            name = f"trials/{current.id}/ready.{picture['format'].replace('jpeg', 'jpg')}"
            picture, files = {**picture, "file": name}, {name: intake.picture}
        body = {key: intake.body[key] for key in ("uuid", "operator_id", "source", "note", "decided_ns")}
        entry = events.operator_ready(current.id, state, **body, picture=picture, files=files)
        (event,) = yield from bench.commit(session, entry)
        bench.happen(current, Event.OPERATOR_READY)
        return _Done(event.idx, event.time_ns)

    def _verdict(self, session: Session, intake: Intake) -> Steps[_Done | None]:
        bench, content = self.bench, intake.verdict
        assert content is not None
        if intake.person not in session.plan.graders:
            self._unknown_person("grader", intake.person, session.plan.graders)
        attempt = session.fold.attempts.get(intake.trial_id)
        current = session.current
        if attempt is None or current is None or current.id != intake.trial_id:
            if attempt is None or not content.supersedes:
                bench.require_trial(session, intake.trial_id)
            assert attempt is not None
            current = None
        standing = attempt.verdict
        if standing is not None and _same(standing, intake):
            return _Done(standing.idx, standing.time_ns, f"already recorded as verdict {standing.uuid}")
        self._may_judge(attempt, intake)
        event = Event.VERDICT_INVALID if content.outcome == "invalid" else Event.VERDICT
        judging = current is not None and current.trial.state not in TERMINAL
        state = attempt.state
        if judging and current is not None:
            state = bench.check(current, event)
        elif standing is None:
            raise Refusal(
                ResultCode.TRIAL_STATE,
                f"trial {attempt.trial_id}",
                expected="a trial in JUDGE, or one with a verdict to correct",
                got=f"{state.name} without a verdict",
                fix="a trial that was never judged is repeated, not judged afterwards",
            )
        (stored,) = yield from bench.commit(session, events.verdict(attempt.trial_id, state, content))
        if current is not None:
            if judging:
                bench.happen(current, event)
            current.verdict = content
        if not judging:
            bench.settle(session, attempt.plan_index)
        return _Done(stored.idx, stored.time_ns)

    def _may_judge(self, attempt: Attempt, intake: Intake) -> None:
        standing, supersedes = attempt.verdict, intake.body["supersedes"]
        if standing is not None and supersedes != standing.uuid:
            names = {verdict.uuid for verdict in attempt.verdicts}
            got = "none" if not supersedes else f"'{supersedes}'"
            if supersedes and supersedes not in names:
                got += ", which is no verdict of this trial"
            raise Refusal(
                ResultCode.VERDICT_CONFLICT,
                f"trial {attempt.trial_id} has a verdict ({standing.outcome} by {standing.grader_id})",
                expected=f"supersedes '{standing.uuid}' to correct it",
                got=got,
                fix="correct the verdict in force, or leave it",
                conflicts_with=standing.uuid,
            )
        if standing is None and supersedes:
            raise Refusal(
                ResultCode.INVALID_ARGUMENT,
                f"verdict: supersedes '{supersedes}'",
                expected="a verdict of this trial",
                got="none: the trial has no verdict yet",
                fix="leave supersedes empty for a first verdict",
            )

    def _skip(self, session: Session, intake: Intake) -> Steps[_Done | None]:
        bench = self.bench
        current = bench.require_trial(session, intake.trial_id)
        self._operator(session, intake)
        bench.check(current, Event.SKIP)
        body = dict(intake.body)
        message = _why(body["reason"], body["note"], intake.person)
        stored = yield from bench.end(
            session, current, Event.SKIP, events.skip(current.id, **body), code=ResultCode.CANCELLED, message=message
        )
        return _Done(stored[0].idx, stored[0].time_ns)

    def _abort(self, session: Session, intake: Intake) -> Steps[_Done | None]:
        bench, body = self.bench, dict(intake.body)
        unsafe, whole = body["reason"] == "unsafe", body["scope"] == "session"
        if not unsafe:
            self._operator(session, intake)
        current = session.current if session.current is not None and session.current.trial.in_progress else None
        message = _why(body["reason"], body["note"], intake.person)
        if current is None and (whole or unsafe):
            # Between trials: nothing to end, but no further trial starts.
            (event,) = yield from bench.commit(session, events.abort("", State.IDLE, **body))
            session.halted = f"the session was stopped: {message}"
            return _Done(event.idx, event.time_ns)
        if current is None or not unsafe:
            # Anybody may stop what is unsafe, whatever trial they named; all else must name the trial in progress.
            current = bench.require_trial(session, intake.trial_id)
        event_kind = _ABORTS[body["reason"]]
        state = bench.check(current, event_kind)
        entry = events.abort(current.id, state, **body)
        if state in TERMINAL:
            stored = yield from self._end(session, current, event_kind, entry, message)
        else:
            stored = yield from bench.commit(session, entry)
            bench.happen(current, event_kind)
        if whole and not session.halted:
            session.halted = f"the session was stopped: {message}"
        return _Done(stored[0].idx, stored[0].time_ns)

    def _end(
        self, session: Session, current: CurrentTrial, event: Event, entry: Entry, message: str
    ) -> Steps[list[Any]]:
        return self.bench.end(session, current, event, entry, code=ResultCode.CANCELLED, message=message)


def _about(session: Session, intake: Intake) -> None:
    """Check that a message is about this session: trials of all sessions have the same ids.

    Anybody may stop what is unsafe, whatever they named.

    Raises:
        Refusal: SESSION_UNKNOWN.
    """
    unsafe = intake.kind == Receipt.KIND_ABORT and intake.body["reason"] == "unsafe"
    if intake.session_id != session.id and not unsafe:
        raise Refusal(
            ResultCode.SESSION_UNKNOWN,
            f"message about trial '{intake.trial_id}'",
            expected=f"the open session '{session.id}'",
            got=f"'{intake.session_id}'" if intake.session_id else "none",
            fix="name the session and the trial that benchmark/trial tells",
        )


def _why(reason: str, note: str, person: str) -> str:
    return f"{reason.replace('_', ' ')}, by {person}" + (f": {note}" if note else "")


def _same(standing: VerdictRecord, intake: Intake) -> bool:
    """Whether the same grader says the same again, under a new UUID and without meaning a correction."""
    names = ("grader_id", "outcome", "invalid_reason", "stage", "note", "supersedes")
    said = {**intake.body, "supersedes": intake.body["supersedes"] or standing.supersedes}
    return all(getattr(standing, name) == said[name] for name in names)
