"""The state that all operations of the benchmark node share, and what they have in common: commit, publish, end.

Nothing here knows rclpy: what goes out leaves through `Ports`, time comes from two clocks, and the node's thread runs
one operation at a time (see `pipeline`). So every rule can be tested without a graph.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from assay_bench.health import Health
from assay_bench.intake import Intake
from assay_bench.realizer import Realizer
from assay_bench.refusal import Refusal
from assay_bench.session import CurrentTrial, Session, trial_message
from assay_bench.settings import BenchmarkParams
from assay_core import journal_events as events
from assay_core.errors import DataError
from assay_core.journal import Entry, JournalEvent
from assay_core.journal_writer import JournalLost, Probe
from assay_core.trial import Event, State, TrialStateError
from assay_msgs.msg import Realization, Receipt, ResultCode, TrialState
from assay_msgs.srv import CloseSession
from assay_ros.names import code_name

__all__ = ["Bench", "Ports"]

T = TypeVar("T")

FILES_S = 5.0
"""Longest wait for file work when the node stops [s]; a disk that takes longer does not answer."""
Steps = Generator["Future[Any]", Any, T]


class Ports(Protocol):
    """How messages leave. Called on the node's thread only."""

    def publish_trial(self, message: TrialState) -> None:
        """Publish on benchmark/trial."""

    def publish_realization(self, message: Realization) -> None:
        """Publish on benchmark/realization."""

    def publish_receipt(self, message: Receipt) -> None:
        """Publish on benchmark/receipt."""

    def reset_world(self, message: Realization) -> None:
        """Ask the world for a scene; its answer comes back through `Watch.world_answered`."""


class Bench:
    """The benchmark node's state.

    Args:
        ports: Where messages leave.
        params: Parameters of the node.
        realizer: Recomputes realizations.
        clock: Wall time [ns since 1970].
        monotonic: Monotonic time [s].
        probe: Called around each commit; for tests.
    """

    def __init__(
        self,
        ports: Ports,
        params: BenchmarkParams,
        *,
        realizer: Realizer | None = None,
        clock: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
        probe: Probe | None = None,
    ) -> None:
        self.ports, self.params, self.clock, self.monotonic, self.probe = ports, params, clock, monotonic, probe
        self.realizer = realizer or Realizer()
        self.health = Health()
        """The node's, which outlives a deactivation."""
        self.session: Session | None = None
        self.closed: tuple[str, bool, CloseSession.Response] | None = None
        """The session closed last: id, whether it was sealed, and the answer."""
        self.take_up: Callable[[Intake], None] = lambda _: None
        """Submits a ready message that waited for the world; set by the node."""
        self.opening: Future[Any] | None = None
        """Files of a session that is being opened on the worker thread."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="bench-files")

    def stop(self) -> tuple[str, ...]:
        """Close the journal of an open session, which stays resumable, and the worker thread.

        Returns:
            What went wrong, in words.
        """
        ending = threading.Thread(
            target=self._pool.shutdown, kwargs={"wait": True, "cancel_futures": True}, name="bench-end", daemon=True
        )
        ending.start()
        ending.join(FILES_S)
        writers = [] if self.session is None else [self.session.writer]
        opening, self.opening, self.session = self.opening, None, None
        problems = []
        if ending.is_alive():
            problems.append(f"files of a session are still at work after {FILES_S:g} s: see whether its disk answers")
        if opening is not None and opening.done() and not opening.cancelled() and opening.exception() is None:
            writers.append(opening.result().writer)
        for writer in writers:
            try:
                writer.close()
            except DataError as error:
                problems.append(str(error))
        return tuple(problems)

    # -- finding ------------------------------------------------------------------------------------------------------

    def require_session(self, session_id: str) -> Session:
        """Return the open session when it is the one named.

        Raises:
            Refusal: SESSION_SEALED or SESSION_UNKNOWN.
        """
        if self.session is not None and self.session.id == session_id:
            return self.session
        raise self.no_session(session_id)

    def no_session(self, session_id: str) -> Refusal:
        """Return the refusal for a session that is not open; an empty id stands for the one closed last."""
        if self.closed is not None and self.closed[1] and session_id in ("", self.closed[0]) and self.session is None:
            fix = "start a new session; later gradings go to addenda"
            return Refusal(ResultCode.SESSION_SEALED, f"session '{self.closed[0]}' is closed and sealed", fix=fix)
        open_one = f"session '{self.session.id}' is open" if self.session is not None else "none is open"
        fix = "open it first, with resume=true when its journal exists"
        subject = f"session '{session_id}'" if session_id else "session"
        return Refusal(ResultCode.SESSION_UNKNOWN, subject, expected="an open session", got=open_one, fix=fix)

    def require_trial(self, session: Session, trial_id: str) -> CurrentTrial:
        """Return the current trial when it is the one named.

        Raises:
            Refusal: TRIAL_NOT_CURRENT or TRIAL_UNKNOWN.
        """
        current = session.current
        if current is not None and current.id == trial_id:
            return current
        got = f"trial {current.id} ({current.trial.state.name})" if current is not None else "no trial was started yet"
        known = trial_id in session.fold.attempts
        code = ResultCode.TRIAL_NOT_CURRENT if known else ResultCode.TRIAL_UNKNOWN
        why = "is over" if known else "is not known in this session"
        raise Refusal(
            code, f"trial '{trial_id}' {why}", expected="the current trial", got=got, fix="name the current trial"
        )

    def check(self, current: CurrentTrial, event: Event) -> State:
        """Return the state that an event leads to.

        Raises:
            Refusal: TRIAL_STATE: the trial's state does not allow it.
        """
        try:
            return current.trial.check(event).state
        except TrialStateError as error:
            raise Refusal(ResultCode.TRIAL_STATE, str(error)) from error

    # -- doing --------------------------------------------------------------------------------------------------------

    def offload(self, work: Callable[[], T]) -> Future[T]:
        """Run slow file work on the worker thread."""
        return self._pool.submit(work)

    def commit(self, session: Session, *entries: Entry) -> Steps[list[JournalEvent]]:
        """Append events in one transaction and return them once they are on disk.

        Raises:
            Refusal: JOURNAL_FAILED, or INVALID_ARGUMENT for text that is not Unicode: nothing was appended.
        """
        begun = self.monotonic()
        try:
            stored: list[JournalEvent] = yield session.writer.append_all(entries)
        except DataError as error:
            self._journal_failed(session, str(error), lost=isinstance(error, JournalLost))
            raise Refusal(ResultCode.JOURNAL_FAILED, str(error)) from error
        except ValueError as error:
            fix = "send finite numbers and Unicode text"
            raise Refusal(
                ResultCode.INVALID_ARGUMENT, "content", expected="what JSON can hold", got=str(error), fix=fix
            ) from error
        self.health.commits.add(self.monotonic() - begun)
        for event in stored:
            session.fold.apply(event)
        if session.trouble:
            if session.current is not None and session.current.message == session.trouble:
                session.current.message = ""
            session.trouble = ""
        return stored

    def _journal_failed(self, session: Session, why: str, *, lost: bool) -> None:
        """Tell everybody why nothing is recorded: the runner may be waiting for a person whose word cannot be kept."""
        current = session.current
        if lost:
            session.halted = session.halted or why
        if current is None or not current.trial.in_progress or why == session.trouble:
            return
        session.trouble = current.message = why
        if lost:
            current.code = ResultCode.JOURNAL_FAILED
        self.publish(session)

    def happen(self, current: CurrentTrial, event: Event) -> None:
        """Let a committed event take effect: state, and the deadline of a new state."""
        before = current.trial.state
        state = current.trial.apply(event)
        current.reached.add(state)
        if state is not before:
            self.set_deadline(current)

    def set_deadline(self, current: CurrentTrial) -> None:
        """Start the clock of the state in force."""
        limit_s = self.params.deadline_s(current.trial.state.name)
        if limit_s > 0 and current.trial.in_progress:
            current.deadline_ns = self.clock() + round(limit_s * 1e9)
            current.deadline_mono = self.monotonic() + limit_s
        else:
            current.deadline_ns, current.deadline_mono = 0, float("inf")

    def end(
        self,
        session: Session,
        current: CurrentTrial,
        event: Event,
        *before: Entry,
        code: int,
        message: str,
        status: str = "",
        error: str = "",
        record: Mapping[str, Any] | None = None,
    ) -> Steps[list[JournalEvent]]:
        """End the trial in progress by ``event`` and publish it; ``before`` is committed in the same transaction.

        Args:
            session: The open session.
            current: Its trial in progress.
            event: Leads to a terminal state, checked before.
            before: Entries that say why.
            code: ``ResultCode`` of an end that is not DONE.
            message: Why.
            status: How the runner finished.
            error: The runner's error.
            record: The trial record.

        Raises:
            Refusal: JOURNAL_FAILED: nothing happened.
        """
        state = self.check(current, event)
        if state is State.DONE:
            code, message = ResultCode.OK, ""
        entry = events.trial_ended(
            current.id, state, status=status, code=code_name(code), message=message, error=error, record=record
        )
        stored = yield from self.commit(session, *before, entry)
        self.happen(current, event)
        current.code, current.message = code, message
        self.settle(session, current.entry.index)
        if state is State.HALTED:
            session.halted = f"trial {current.id} was halted for safety: {message}"
        self.publish(session)
        self.release(current)
        return stored

    def release(self, current: CurrentTrial) -> None:
        """Take up the ready messages that waited for the world: it has answered, or the trial is over."""
        held, current.held = list(current.held.values()), {}
        for intake in held:
            self.take_up(intake)

    def settle(self, session: Session, plan_index: int) -> None:
        """Note whether a plan entry has its final result now."""
        entry = session.fold.attempts_of(plan_index)[0].entry
        if session.fold.result_of(entry) is None:
            session.finished.discard(plan_index)
        else:
            session.finished.add(plan_index)

    def publish(self, session: Session) -> None:
        """Publish where the trial stands."""
        message = trial_message(session, self.clock(), self.monotonic(), self.params.policy_label)
        self.ports.publish_trial(message)
