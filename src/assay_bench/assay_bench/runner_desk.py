"""What a runner may ask for: open, start, advance, finish, close. Each is an operation (see `pipeline`) that returns
the service's answer, and each gives a repeat its first answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from assay_bench.bench import Bench, Steps
from assay_bench.opening import open_files
from assay_bench.refusal import Refusal
from assay_bench.session import REVISION_STEP, CurrentTrial, Session
from assay_core import journal_events as events
from assay_core.errors import ConfigError, DataError, bounded
from assay_core.plan import PlanEntry, entry_from_json, trial_id
from assay_core.runner_id import runner_process_gone
from assay_core.seal import write_seal
from assay_core.trial import TERMINAL, Event, State, Trial
from assay_msgs.msg import ResultCode
from assay_msgs.srv import AdvanceTrial, CloseSession, FinishTrial, OpenSession, StartTrial
from assay_ros.convert import from_ns, realization_to_msg

__all__ = ["RunnerDesk"]

MIN_SILENCE_S = 1.5
"""A runner that was heard within this time is alive, whatever its process id says [s]."""

_ADVANCE = {
    int(State.RUNNING): Event.ADVANCE_RUNNING,
    int(State.PARKING): Event.ADVANCE_PARKING,
    int(State.JUDGE): Event.ADVANCE_JUDGE,
}
_FINISH = {
    FinishTrial.Request.STATUS_COMPLETED: ("completed", Event.FINISH_COMPLETED, ResultCode.CANCELLED),
    FinishTrial.Request.STATUS_POLICY_ERROR: ("policy_error", Event.FINISH_POLICY_ERROR, ResultCode.POLICY_FAILED),
    FinishTrial.Request.STATUS_RIG_FAULT: ("rig_fault", Event.FINISH_RIG_FAULT, ResultCode.INTERNAL),
    FinishTrial.Request.STATUS_SAFETY: ("safety", Event.FINISH_SAFETY, ResultCode.CANCELLED),
    FinishTrial.Request.STATUS_CANCELLED: ("cancelled", Event.FINISH_CANCELLED, ResultCode.CANCELLED),
}
_CLOSE = {
    CloseSession.Request.STATUS_DONE: "done",
    CloseSession.Request.STATUS_INCOMPLETE: "incomplete",
    CloseSession.Request.STATUS_HALTED: "halted",
}


class RunnerDesk:
    """Serves the five services of the benchmark node."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    # -- session ------------------------------------------------------------------------------------------------------

    def open_session(self, request: OpenSession.Request) -> Steps[OpenSession.Response]:
        """Open or resume a session.

        Raises:
            Refusal: See `opening.open_files`; SESSION_OTHER_OPEN while another runner is alive.
        """
        bench = self.bench
        before = bench.session
        if before is not None:
            if (before.id, before.runner_id) == (request.session_id, request.runner_id) and not before.close_journaled:
                before.runner_seen = bench.monotonic()
                return before.opened
            self._refuse_while_alive(before)
            bench.session = None
            yield from self._close_journal(before)
        bench.opening = bench.offload(lambda: open_files(request, bench.realizer, clock=bench.clock, probe=bench.probe))
        opened = yield bench.opening
        session = Session(
            id=request.session_id,
            directory=Path(request.directory),
            plan=opened.plan,
            plan_hash=opened.plan_hash,
            writer=opened.writer,
            fold=opened.fold,
            receipts=opened.receipts,
            runner_id=request.runner_id,
            opened=OpenSession.Response(),
            revision=REVISION_STEP * (opened.writer.head[0] + 1),
            runner_seen=bench.monotonic(),
        )
        try:
            yield from bench.commit(session, *opened.entries)
        except Refusal:
            bench.opening = None
            yield bench.offload(opened.writer.close)
            raise
        session.finished = {result.entry.index for result in session.fold.results()}
        session.opened = OpenSession.Response(
            code=ResultCode.OK, next_plan_index=session.fold.next_plan_index(), head_hash=session.writer.head[1]
        )
        bench.session, bench.opening = session, None
        bench.publish(session)
        return session.opened

    def _refuse_while_alive(self, session: Session) -> None:
        silent_s = self.bench.monotonic() - session.runner_seen
        gone = silent_s > MIN_SILENCE_S and runner_process_gone(session.runner_id)
        if silent_s > self.bench.params.heartbeat_timeout_s or gone:
            return
        raise Refusal(
            ResultCode.SESSION_OTHER_OPEN,
            f"this rig is in use by session '{session.id}' in {session.directory}",
            expected="no other runner",
            got=f"runner '{session.runner_id}', heard {silent_s:.1f} s ago",
            fix=f"stop that runner, or wait until it has been silent for {self.bench.params.heartbeat_timeout_s:g} s",
        )

    def close_session(self, request: CloseSession.Request) -> Steps[CloseSession.Response]:
        """Close the session; seal it when it is done.

        Raises:
            Refusal: SESSION_UNKNOWN, INVALID_ARGUMENT, TRIAL_STATE, PLAN_MISMATCH or JOURNAL_FAILED.
        """
        bench = self.bench
        if bench.session is None and bench.closed is not None and bench.closed[0] == request.session_id:
            return bench.closed[2]
        session = bench.require_session(request.session_id)
        status = _CLOSE.get(request.status)
        if status is None:
            _bad("close_session: status", "DONE, INCOMPLETE or HALTED", str(request.status))
        session.runner_seen = bench.monotonic()
        if not session.close_journaled:
            yield from self._journal_close(session, status, request.reason)
        root = ""
        yield from self._close_journal(session)
        if status == "done":
            try:
                root = yield bench.offload(lambda: write_seal(session.directory))
            except DataError as error:
                raise Refusal(ResultCode.JOURNAL_FAILED, str(error)) from error
        answer = CloseSession.Response(code=ResultCode.OK, root_hash=root)
        bench.session, bench.closed = None, (session.id, bool(root), answer)
        session.current = None
        bench.publish(session)
        return answer

    def _close_journal(self, session: Session) -> Steps[None]:
        try:
            yield self.bench.offload(session.writer.close)
        except DataError as error:
            raise Refusal(ResultCode.JOURNAL_FAILED, str(error)) from error

    def _journal_close(self, session: Session, status: str, reason: str) -> Steps[None]:
        bench, current = self.bench, session.current
        closed = events.session_closed(status, bounded(reason))
        in_progress = current is not None and current.trial.in_progress
        if status == "done":
            if current is not None and in_progress:
                raise Refusal(
                    ResultCode.TRIAL_STATE,
                    "close_session",
                    expected="no trial in progress",
                    got=f"trial {current.id} in {current.trial.state.name}",
                    fix="finish it, or close as INCOMPLETE",
                )
            missing = session.fold.next_plan_index()
            if missing < len(session.fold.entries()):
                got = f"entry {missing} has none"
                fix = "run what is pending, or close as INCOMPLETE"
                raise Refusal(
                    ResultCode.PLAN_MISMATCH, "close_session", expected="a result for every entry", got=got, fix=fix
                )
        if current is not None and in_progress:
            yield from bench.end(
                session,
                current,
                Event.INTERRUPTED,
                code=ResultCode.CANCELLED,
                message=f"the session was closed as {status} in {current.trial.state.name}",
            )
        yield from bench.commit(session, closed)
        session.close_journaled = True

    # -- trial --------------------------------------------------------------------------------------------------------

    def start_trial(self, request: StartTrial.Request) -> Steps[StartTrial.Response]:
        """Start one attempt at a plan entry.

        Raises:
            Refusal: SESSION_UNKNOWN, INVALID_ARGUMENT, PLAN_MISMATCH, TRIAL_STATE, NOT_READY or JOURNAL_FAILED.
        """
        bench = self.bench
        session = bench.require_session(request.session_id)
        session.runner_seen = bench.monotonic()
        if request.trial_id != trial_id(request.plan_index, request.attempt):
            _bad("start_trial: trial_id", trial_id(request.plan_index, request.attempt), f"'{request.trial_id}'")
        current = session.current
        if current is not None and current.id == request.trial_id:
            return StartTrial.Response(code=ResultCode.OK, realization=current.realization)
        entry, added = self._entry(session, request)
        self._may_start(session, entry, request.attempt)
        try:
            data = bench.realizer.realize(entry, session.plan.control_hz)
        except ConfigError as error:
            raise Refusal(ResultCode.PLAN_MISMATCH, str(error)) from error
        yield from bench.commit(session, events.trial_started(entry, request.attempt, data, added=added))
        message = realization_to_msg(
            data, session_id=session.id, trial_id=request.trial_id, stamp=from_ns(bench.clock())
        )
        trial = Trial()
        trial.apply(Event.START if bench.params.world else Event.START_WITHOUT_WORLD)
        current = CurrentTrial(trial, request.trial_id, entry, request.attempt, message)
        current.reached.add(State.ARRANGE)
        session.current = current
        bench.set_deadline(current)
        bench.ports.publish_realization(message)
        bench.publish(session)
        if bench.params.world:
            bench.ports.reset_world(message)
        return StartTrial.Response(code=ResultCode.OK, realization=message)

    def _entry(self, session: Session, request: StartTrial.Request) -> tuple[PlanEntry, bool]:
        entries = session.fold.entries()
        if not session.plan.open:
            if request.entry_json or request.plan_index >= len(entries):
                raise Refusal(
                    ResultCode.PLAN_MISMATCH,
                    "start_trial",
                    expected=f"a plan index below {len(entries)}, and no entry_json",
                    got=f"index {request.plan_index}" + (" with an entry" if request.entry_json else ""),
                    fix="the plan of this session is fixed",
                )
            return entries[request.plan_index], False
        try:
            entry = entry_from_json(request.entry_json)
        except ConfigError as error:
            raise Refusal(ResultCode.INVALID_ARGUMENT, f"start_trial: {error}") from error
        known = entries[request.plan_index] if request.plan_index < len(entries) else entry
        if entry.index != request.plan_index or request.plan_index > len(entries) or known != entry:
            raise Refusal(
                ResultCode.PLAN_MISMATCH,
                f"start_trial: entry {entry.index}",
                expected=f"the next entry, {len(entries)}, or an earlier one unchanged",
                got=f"plan_index {request.plan_index}",
                fix="append entries one by one",
            )
        return entry, True

    def _may_start(self, session: Session, entry: PlanEntry, attempt: int) -> None:
        current = session.current
        if session.halted or session.close_journaled:
            fix = "look at the rig, then resume the session"
            why = session.halted or "the session is being closed"
            raise Refusal(ResultCode.NOT_READY, f"no further trial starts: {why}", fix=fix)
        if current is not None and current.trial.in_progress:
            raise Refusal(
                ResultCode.TRIAL_STATE,
                "start_trial",
                expected="no trial in progress",
                got=f"trial {current.id} in {current.trial.state.name}",
                fix="finish it first",
            )
        attempts = session.fold.attempts_of(entry.index)
        if attempts:
            result = session.fold.result_of(entry)
            if result is not None:
                raise Refusal(
                    ResultCode.TRIAL_STATE,
                    f"start_trial: plan entry {entry.index}",
                    expected="an entry without a result",
                    got=f"{result.outcome} in trial {result.trial_id}",
                    fix="go on with the next entry",
                )
        if attempt != len(attempts):
            code = ResultCode.TRIAL_STATE if attempt < len(attempts) else ResultCode.INVALID_ARGUMENT
            subject = f"start_trial: attempt at plan entry {entry.index}"
            raise Refusal(code, subject, expected=str(len(attempts)), got=str(attempt), fix="start the next attempt")

    def advance_trial(self, request: AdvanceTrial.Request) -> Steps[AdvanceTrial.Response]:
        """Take the trial to RUNNING, PARKING or JUDGE.

        Raises:
            Refusal: SESSION_UNKNOWN, TRIAL_UNKNOWN, TRIAL_NOT_CURRENT, TRIAL_STATE, INVALID_ARGUMENT, JOURNAL_FAILED.
        """
        bench = self.bench
        session, current = self._named(request)
        event = _ADVANCE.get(request.state)
        if event is None:
            _bad("advance_trial: state", "RUNNING (4), PARKING (5) or JUDGE (6)", str(request.state))
        target = State(request.state)
        ended_otherwise = current.trial.state in TERMINAL - {State.DONE}
        if target in current.reached and not ended_otherwise:
            return AdvanceTrial.Response(code=ResultCode.OK, state=int(current.trial.state))
        if bool(request.record_json) != (target is State.JUDGE):
            _bad("advance_trial: record_json", "the trial record with JUDGE, nothing otherwise", "the contrary")
        record = _record("advance_trial", request.record_json)
        yield from self.runner_heard()
        bench.check(current, event)
        yield from bench.commit(session, events.trial_advanced(current.id, target, record))
        bench.happen(current, event)
        bench.publish(session)
        return AdvanceTrial.Response(code=ResultCode.OK, state=int(current.trial.state))

    def finish_trial(self, request: FinishTrial.Request) -> Steps[FinishTrial.Response]:
        """End the trial by the runner's word, or take the record of one that has ended already.

        Raises:
            Refusal: SESSION_UNKNOWN, TRIAL_UNKNOWN, TRIAL_NOT_CURRENT, TRIAL_STATE, INVALID_ARGUMENT, JOURNAL_FAILED.
        """
        bench = self.bench
        session, current = self._named(request)
        if current.finish is not None:
            return current.finish
        if request.status not in _FINISH:
            _bad("finish_trial: status", "one of STATUS_COMPLETED to STATUS_CANCELLED", str(request.status))
        status, event, code = _FINISH[request.status]
        error = bounded(request.error)
        record = _record("finish_trial", request.record_json)
        if current.trial.in_progress:
            yield from self.runner_heard()
            message = error or f"finished as {status}"
            if status == "completed" and current.trial.state is State.JUDGE:
                attempt = session.fold.attempts[current.id]
                message = attempt.outcome()[2] if attempt.verdict is not None else message
            stored = yield from bench.end(
                session, current, event, code=code, message=message, status=status, error=error, record=record
            )
        else:
            entry = events.trial_recorded(current.id, current.trial.state, status=status, error=error, record=record)
            stored = yield from bench.commit(session, entry)
        current.finish = FinishTrial.Response(
            code=ResultCode.OK, state=int(current.trial.state), journal_index=stored[-1].idx
        )
        return current.finish

    def runner_heard(self) -> Steps[None]:
        """Take note that the runner lives; ends a pause.

        Raises:
            Refusal: JOURNAL_FAILED.
        """
        session = self.bench.session
        if session is None:
            return
        session.runner_seen = self.bench.monotonic()
        current = session.current
        if current is not None and current.trial.paused:
            yield from self.bench.commit(session, events.runner_back(current.id, current.trial.state))
            self.bench.happen(current, Event.RUNNER_BACK)
            current.message = ""
            self.bench.publish(session)

    def _named(self, request: Any) -> tuple[Session, CurrentTrial]:
        session = self.bench.require_session(request.session_id)
        session.runner_seen = self.bench.monotonic()
        return session, self.bench.require_trial(session, request.trial_id)


def _record(subject: str, text: str) -> dict[str, Any] | None:
    """Return a trial record, or None for an empty text."""
    if not text:
        return None

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        record = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        record, got = None, str(error) or "too deeply nested"
    else:
        got = type(record).__name__
    if not isinstance(record, dict):
        _bad(f"{subject}: record_json", "a JSON object", got)
    return record


def _bad(subject: str, expected: str, got: str) -> NoReturn:
    raise Refusal(ResultCode.INVALID_ARGUMENT, subject, expected=expected, got=got, fix="correct the request")
