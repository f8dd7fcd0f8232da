"""The desks without a graph: messages go in as operations, and come out into lists."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay_bench.bench import Bench
from assay_bench.operator_desk import OperatorDesk
from assay_bench.pipeline import Operation, Pipeline
from assay_bench.refusal import Refusal
from assay_bench.runner_desk import RunnerDesk
from assay_bench.settings import BenchmarkParams
from assay_bench.watch import Watch
from assay_core.journal import JournalReader
from assay_core.plan import PLAN_FILE, Plan, PlanEntry, plan_hash, trial_id
from assay_core.realization import TrialRealization
from assay_core.testing import example_plan, example_realization
from assay_core.trial import State
from assay_msgs.msg import Abort, Ready, Realization, Receipt, Skip, TrialState, Verdict
from assay_msgs.srv import AdvanceTrial, CloseSession, FinishTrial, OpenSession, StartTrial
from assay_ros.names import code_name

RUNNER = "elsewhere-1-abc"
RECORD = '{"steps":20,"timing":{"started_ns":1}}'


class FakeRealizer:
    """Realizations without the benchmark package."""

    def prepare(self, plan: Plan) -> None:
        pass

    def warm(self) -> None:
        pass

    def realize(self, entry: PlanEntry, control_hz: float) -> TrialRealization:
        return example_realization(entry)


class Harness:
    """A benchmark node without rclpy, on the thread of the test."""

    def __init__(self, directory: Path, *, probe: Any = None, **params: Any) -> None:
        self.directory = directory
        self.now_s = 1000.0
        self.trials: list[TrialState] = []
        self.realizations: list[Realization] = []
        self.receipts: list[Receipt] = []
        self.resets: list[Realization] = []
        self._calls: queue.Queue[Callable[[], None]] = queue.Queue()
        self.bench = Bench(
            self,
            replace(BenchmarkParams(), **params),
            realizer=FakeRealizer(),  # type: ignore[arg-type]
            clock=lambda: round(self.now_s * 1e9),
            monotonic=lambda: self.now_s,
            probe=probe,
        )
        self.pipeline = Pipeline(self._calls.put)
        self.runner, self.operators = RunnerDesk(self.bench), OperatorDesk(self.bench)
        self.watch = Watch(self.bench, self.runner)
        self.bench.take_up = lambda held: self.pipeline.submit(
            self.operators.take_up(held), lambda _: None, lambda error: None
        )

    # Ports
    def publish_trial(self, message: TrialState) -> None:
        self.trials.append(message)

    def publish_realization(self, message: Realization) -> None:
        self.realizations.append(message)

    def publish_receipt(self, message: Receipt) -> None:
        self.receipts.append(message)

    def reset_world(self, message: Realization) -> None:
        self.resets.append(message)

    # Running operations
    def run(self, operation: Operation) -> Any:
        """Run an operation to its end and return its answer; raises what it raised."""
        outcome: list[tuple[Any, BaseException | None]] = []
        self.pipeline.submit(
            operation, lambda value: outcome.append((value, None)), lambda error: outcome.append((None, error))
        )
        while not (outcome and self.pipeline.idle):
            self._calls.get(timeout=20)()
        value, error = outcome[0]
        if error is not None:
            raise error
        return value

    def code(self, operation: Operation) -> str:
        """Run an operation and return the name of its code."""
        try:
            return code_name(self.run(operation).code)
        except Refusal as refusal:
            return code_name(refusal.code)

    def write_plan(self, entries: int = 2, **changes: Any) -> Plan:
        plan = example_plan(entries, **changes)
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / PLAN_FILE).write_text(plan.to_yaml(), encoding="utf-8")
        return plan

    # Requests
    def open(self, *, resume: bool = False, runner: str = RUNNER, session: str = "s1", **changes: Any) -> Any:
        data = (self.directory / PLAN_FILE).read_bytes() if (self.directory / PLAN_FILE).exists() else b""
        values = {
            "session_id": session,
            "runner_id": runner,
            "directory": str(self.directory),
            "plan_hash": plan_hash(data),
            "resume": resume,
        }
        return self.runner.open_session(OpenSession.Request(**{**values, **changes}))

    def start(self, index: int = 0, attempt: int = 0, **changes: Any) -> Any:
        values = {"session_id": "s1", "trial_id": trial_id(index, attempt), "plan_index": index, "attempt": attempt}
        return self.runner.start_trial(StartTrial.Request(**{**values, **changes}))

    def advance(self, state: State, trial: str = "000000-0", **changes: Any) -> Any:
        record = RECORD if state is State.JUDGE else ""
        values = {"session_id": "s1", "trial_id": trial, "state": int(state), "record_json": record}
        return self.runner.advance_trial(AdvanceTrial.Request(**{**values, **changes}))

    def finish(
        self, trial: str = "000000-0", status: int = FinishTrial.Request.STATUS_COMPLETED, **changes: Any
    ) -> Any:
        values = {"session_id": "s1", "trial_id": trial, "status": status, "record_json": RECORD}
        return self.runner.finish_trial(FinishTrial.Request(**{**values, **changes}))

    def close(self, status: int = CloseSession.Request.STATUS_DONE, session: str = "s1") -> Any:
        return self.runner.close_session(CloseSession.Request(session_id=session, status=status))

    # Messages
    def ready(self, trial: str = "000000-0", **changes: Any) -> Receipt:
        values = {"uuid": str(uuid.uuid4()), "session_id": "s1", "trial_id": trial, "operator_id": "auto"}
        return self.run(self.operators.ready(Ready(**{**values, **changes})))

    def verdict(self, trial: str = "000000-0", **changes: Any) -> Receipt:
        values = {
            "uuid": str(uuid.uuid4()),
            "session_id": "s1",
            "trial_id": trial,
            "grader_id": "checker",
            "outcome": Verdict.OUTCOME_SUCCESS,
            "invalid_reason": Verdict.INVALID_NONE,
        }
        return self.run(self.operators.verdict(Verdict(**{**values, **changes})))

    def skip(self, trial: str = "000000-0", **changes: Any) -> Receipt:
        values = {"session_id": "s1", "trial_id": trial, "operator_id": "auto", "reason": Skip.REASON_INFEASIBLE}
        return self.run(self.operators.skip(Skip(**{"uuid": str(uuid.uuid4()), **values, **changes})))

    def abort(self, trial: str = "000000-0", **changes: Any) -> Receipt:
        values = {
            "session_id": "s1",
            "trial_id": trial,
            "operator_id": "auto",
            "reason": Abort.REASON_OTHER,
            "scope": Abort.SCOPE_TRIAL,
        }
        return self.run(self.operators.abort(Abort(**{"uuid": str(uuid.uuid4()), **values, **changes})))

    # Shortcuts
    def opened(self, entries: int = 2, **changes: Any) -> Harness:
        self.write_plan(entries, **changes)
        assert self.code(self.open()) == "OK"
        return self

    def to(self, state: State, index: int = 0, attempt: int = 0) -> str:
        """Bring a new trial to a state; returns its id."""
        trial = trial_id(index, attempt)
        assert self.code(self.start(index, attempt)) == "OK"
        if state >= State.READY:
            assert self.ready(trial).accepted
        for step in (State.RUNNING, State.PARKING, State.JUDGE):
            if state >= step:
                assert self.code(self.advance(step, trial)) == "OK"
        if state is State.DONE:
            assert self.verdict(trial).accepted
            assert self.code(self.finish(trial)) == "OK"
        assert self.state is state
        return trial

    @property
    def state(self) -> State:
        return State(self.trials[-1].state)

    def kinds(self) -> list[str]:
        return [event.kind for event in JournalReader(self.directory).events()]

    def crash(self, **params: Any) -> Harness:
        """Return another node on the same session, as after kill -9 of this one."""
        assert self.bench.session is not None
        self.bench.session.writer.close()
        self.bench.session = None
        return Harness(self.directory, **params)
