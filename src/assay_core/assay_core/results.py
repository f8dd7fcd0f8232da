"""What the events of a journal add up to: attempts, verdicts in force, and one result per plan entry.

The rules, in order of precedence, for one attempt:

1. A verdict that was acknowledged counts once its trial reached JUDGE, whatever happened afterwards: success and
   failure count, invalid does not.
2. A trial that ended because the policy failed counts as a failure.
3. Skipped and halted trials do not count and are not repeated: they are the result of their entry.
4. Everything else (rig fault, abort, deadline, silent runner, interruption) is invalid: it does not count.

An entry's result is its first attempt that is final by these rules. Invalid attempts are kept and repeated, at most
``max_repeats`` times; after that the last one is the entry's result, and it is invalid. So breaking the rig earns no
more retries than the plan grants, and a failure cannot be turned into a retry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay_core.errors import DataError
from assay_core.journal_format import JournalEvent
from assay_core.plan import Plan, PlanEntry
from assay_core.trial import State

__all__ = ["OUTCOMES", "Attempt", "ReadBody", "SessionFold", "TrialResult", "VerdictRecord"]

OUTCOMES = ("success", "failure", "invalid", "skipped", "halted")

ReadBody = Callable[[int, str], Mapping[str, Any]]
"""Returns the body of a stored event, by its index and its hash."""


@dataclass(frozen=True)
class VerdictRecord:
    """A verdict as it was accepted."""

    idx: int
    """Index of its event."""
    time_ns: int
    """When it was committed [ns since 1970]."""
    trial_id: str
    uuid: str
    grader_id: str
    source: str
    outcome: str
    """``success``, ``failure`` or ``invalid``."""
    invalid_reason: str
    """Empty unless invalid."""
    stage: int | None
    """0..4 by the task's rubric; None when the grader gave none."""
    note: str
    supersedes: str
    """UUID of the verdict that it corrects; empty for a first one."""


@dataclass
class _Bulk:
    """Where the large parts of an attempt lie: index and hash of their events."""

    read: ReadBody
    started: tuple[int, str]
    ready: tuple[int, str] | None = None
    records: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class Attempt:
    """One attempt at a plan entry, as far as the journal goes.

    Record, realization and ready event stay in the journal and are read from it at every access: take them once.
    """

    trial_id: str
    entry: PlanEntry
    attempt: int
    """0 for the first."""
    started_ns: int
    state: State = State.ARRANGE
    reached_judge: bool = False
    verdicts: list[VerdictRecord] = field(default_factory=list)
    """All verdicts, in order; the last one is in force."""
    status: str = ""
    """How the runner finished: completed, policy_error, rig_fault, safety, cancelled; empty when it did not."""
    error: str = ""
    code: str = ""
    """Name of the ``ResultCode`` of the end."""
    message: str = ""
    ended_ns: int = 0
    """0 while the journal holds no end."""
    bulk: _Bulk | None = field(default=None, repr=False, compare=False)
    """Where the rest lies; None where nobody can read it."""

    @property
    def realization(self) -> Mapping[str, Any]:
        """`TrialRealization.to_dict` as published."""
        return {} if self.bulk is None else dict(self.bulk.read(*self.bulk.started)["realization"])

    @property
    def ready(self) -> Mapping[str, Any] | None:
        """Body of the operator's ready event."""
        return None if self.bulk is None or self.bulk.ready is None else self.bulk.read(*self.bulk.ready)

    @property
    def record(self) -> Mapping[str, Any] | None:
        """The trial record: what came with JUDGE, updated by what came with `finish_trial`."""
        if self.bulk is None or not self.bulk.records:
            return None
        record: dict[str, Any] = {}
        for stored in self.bulk.records:
            # What came with JUDGE is not sent again with the end; keys of the later record win.
            record |= self.bulk.read(*stored)["record"]
        return record

    @property
    def plan_index(self) -> int:
        """Position in the plan."""
        return self.entry.index

    @property
    def ended(self) -> bool:
        """Whether the journal holds the end of the attempt."""
        return self.ended_ns != 0

    @property
    def verdict(self) -> VerdictRecord | None:
        """The verdict in force."""
        return self.verdicts[-1] if self.verdicts else None

    def outcome(self) -> tuple[str, bool, str]:
        """Return outcome, whether it counts, and why it does not (or what went wrong)."""
        verdict = self.verdict
        if verdict is not None and self.reached_judge:
            if verdict.outcome == "invalid":
                return "invalid", False, f"verdict invalid: {verdict.note or verdict.invalid_reason}"
            return verdict.outcome, True, self.error
        if self.state is State.DONE and self.status == "policy_error":
            return "failure", True, self.error or self.message
        if self.state is State.SKIPPED:
            return "skipped", False, self.message
        if self.state is State.HALTED:
            return "halted", False, self.message
        if self.ended:
            return "invalid", False, self.message or self.error
        return "invalid", False, f"interrupted in {self.state.name}"


@dataclass(frozen=True)
class TrialResult:
    """The final result of one plan entry."""

    entry: PlanEntry
    attempt: int
    """Number of the attempt that decided; earlier ones were invalid."""
    trial_id: str
    outcome: str
    """success, failure, invalid, skipped or halted."""
    counted: bool
    """Whether it belongs into the rate."""
    verdict: VerdictRecord | None
    reason: str
    """Why it does not count, or the policy's error; empty otherwise."""
    decided_by: Attempt = field(repr=False, compare=False)
    """The attempt itself."""

    @property
    def record(self) -> Mapping[str, Any]:
        """The trial record (docs/sessions.md); empty when the trial never got that far. Read at every access."""
        return self.decided_by.record or {}

    @property
    def realization(self) -> Mapping[str, Any]:
        """`TrialRealization.to_dict` as published. Read at every access."""
        return self.decided_by.realization


class SessionFold:
    """Adds up events one by one; used on a whole journal and, by the benchmark node, while it grows.

    Args:
        subject: Name of the journal, for messages.
        read_body: Reads a stored event again when a record, a realization or a ready event is asked for; without it
            there are none.
    """

    def __init__(self, *, subject: str = "journal", read_body: ReadBody | None = None) -> None:
        self.subject = subject
        self._read_body = read_body
        self.plan: Plan | None = None
        self.plan_hash = ""
        self.attempts: dict[str, Attempt] = {}
        self.closed_status = ""
        """Status of the last close; empty while the session is open or was never closed."""
        self._by_entry: dict[int, list[Attempt]] = {}
        self._added: dict[int, PlanEntry] = {}

    def apply(self, event: JournalEvent) -> None:
        """Add one event.

        Raises:
            DataError: It contradicts the ones before it, or its body lacks what its kind needs.
        """
        try:
            if event.kind == "plan":
                self.plan, self.plan_hash = Plan.from_dict(event.body["plan"]), event.body["plan_hash"]
            elif event.kind == "session_opened":
                self.closed_status = ""
            elif event.kind == "session_closed":
                self.closed_status = event.body["status"]
            elif event.kind == "trial_started":
                self._start(event)
            elif not event.trial_id:
                pass  # an abort of the session between trials
            else:
                self._trial_event(self.attempts[event.trial_id], event)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DataError(
                self.subject,
                expected=f"event {event.idx} ({event.kind}) to continue the ones before",
                got=f"{type(error).__name__}: {error}",
                fix="read the journal with the version of assay that wrote it",
            ) from error

    def _start(self, event: JournalEvent) -> None:
        body = event.body
        if self.plan is None or event.trial_id in self.attempts:
            raise ValueError(f"trial {event.trial_id} was started before")
        index = body["plan_index"]
        if body["entry"] is not None:
            self._added.setdefault(index, PlanEntry(**body["entry"]))
        entry = self._added[index] if index in self._added else self.plan.entries[index]
        _check_mapping(body["realization"])
        attempt = Attempt(event.trial_id, entry, body["attempt"], event.time_ns)
        if self._read_body is not None:
            attempt.bulk = _Bulk(self._read_body, (event.idx, event.hash))
        self.attempts[event.trial_id] = attempt
        self._by_entry.setdefault(index, []).append(attempt)

    def _trial_event(self, attempt: Attempt, event: JournalEvent) -> None:
        body = event.body
        attempt.state = State[body["state"]]
        attempt.reached_judge |= attempt.state is State.JUDGE
        stored = (event.idx, event.hash)
        if body.get("record") is not None:
            _check_mapping(body["record"])
            if attempt.bulk is not None:
                attempt.bulk.records.append(stored)
        if event.kind == "operator_ready":
            if attempt.bulk is not None:
                attempt.bulk.ready = stored
        elif event.kind == "verdict":
            names = ("uuid", "grader_id", "source", "outcome", "invalid_reason", "stage", "note", "supersedes")
            verdict = VerdictRecord(event.idx, event.time_ns, event.trial_id, **{name: body[name] for name in names})
            attempt.verdicts.append(verdict)
        elif event.kind == "trial_ended":
            attempt.status, attempt.error = body["status"], body["error"]
            attempt.code, attempt.message = body["code"], body["message"]
            attempt.ended_ns = event.time_ns

    def entries(self) -> tuple[PlanEntry, ...]:
        """Return the plan's entries, with those added to an open plan, by index."""
        planned = self.plan.entries if self.plan is not None else ()
        return (*planned, *(self._added[i] for i in sorted(self._added) if i >= len(planned)))

    def attempts_of(self, plan_index: int) -> tuple[Attempt, ...]:
        """Return the attempts at one plan entry, in order."""
        return tuple(self._by_entry.get(plan_index, ()))

    def result_of(self, entry: PlanEntry) -> TrialResult | None:
        """Return the final result of one entry, or None while an attempt is still due."""
        attempts = self._by_entry.get(entry.index, ())
        repeats = self.plan.max_repeats if self.plan is not None else 0
        for number, attempt in enumerate(attempts):
            outcome, counted, reason = attempt.outcome()
            if outcome != "invalid" or number >= repeats:
                return TrialResult(
                    entry,
                    attempt.attempt,
                    attempt.trial_id,
                    outcome,
                    counted,
                    attempt.verdict,
                    reason,
                    attempt,
                )
        return None

    def results(self) -> tuple[TrialResult, ...]:
        """Return the final result of every entry that has one, in plan order."""
        found = (self.result_of(entry) for entry in self.entries())
        return tuple(result for result in found if result is not None)

    def pending(self) -> tuple[tuple[PlanEntry, int], ...]:
        """Return the entries without a final result, each with the number of its next attempt."""
        return tuple(
            (entry, len(self._by_entry.get(entry.index, ())))
            for entry in self.entries()
            if self.result_of(entry) is None
        )

    def next_plan_index(self) -> int:
        """Return the first plan index without a final result, or the plan's length when there is none."""
        entries = self.entries()
        return next((entry.index for entry in entries if self.result_of(entry) is None), len(entries))


def _check_mapping(value: object) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"'{type(value).__name__}' object is not a mapping")
