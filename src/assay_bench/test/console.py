"""A runner and an operator in one, for tests on a graph: calls services, sends messages, keeps what comes back."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from assay_core.plan import PLAN_FILE, plan_hash, trial_id
from assay_core.trial import State
from assay_msgs.msg import Abort, Heartbeat, Ready, Realization, Receipt, ResultCode, Skip, TrialState, Verdict
from assay_msgs.srv import AdvanceTrial, CloseSession, FinishTrial, OpenSession, ResetWorld, StartTrial
from assay_ros import qos
from assay_ros.testing import spin_until

RECORD = '{"steps":20,"timing":{"started_ns":1}}'
REPEAT_S, DEADLINE_S = 2.0, 60.0
KINDS = {"ready": Ready, "verdict": Verdict, "skip": Skip, "abort": Abort}


def repeated(executor: SingleThreadedExecutor, client: Any, request: Any, what: str) -> Any:
    """Return the answer of a call that is repeated: a server that was killed seems to be there for a while."""
    futures: list[Any] = []
    next_s = 0.0

    def answered() -> bool:
        nonlocal next_s
        if time.monotonic() > next_s and client.service_is_ready():
            futures.append(client.call_async(request))
            next_s = time.monotonic() + REPEAT_S
        return any(future.done() for future in futures)

    spin_until(executor, answered, DEADLINE_S, what=what)
    for future in futures:
        if not future.done():
            client.remove_pending_request(future)
    return next(future for future in futures if future.done()).result()


class Console:
    """Everything that talks to the benchmark node."""

    def __init__(self, context: Any, executor: SingleThreadedExecutor, directory: Path, name: str = "console") -> None:
        self.node = Node(name, context=context, start_parameter_services=False)
        self.executor, self.directory = executor, directory
        executor.add_node(self.node)
        self.trials: list[TrialState] = []
        self.realizations: list[Realization] = []
        self.receipts: list[Receipt] = []
        node = self.node
        node.create_subscription(TrialState, "benchmark/trial", self.trials.append, qos.LATCHED)
        node.create_subscription(Realization, "benchmark/realization", self.realizations.append, qos.LATCHED)
        node.create_subscription(Receipt, "benchmark/receipt", self.receipts.append, qos.EVENT)
        self.heart = node.create_publisher(Heartbeat, "session/heartbeat", qos.EVENT)
        self.publishers = {
            name: node.create_publisher(kind, f"benchmark/{name}", qos.EVENT) for name, kind in KINDS.items()
        }
        self.clients = {
            name: node.create_client(kind, f"benchmark/{name}")
            for name, kind in (
                ("open_session", OpenSession),
                ("start_trial", StartTrial),
                ("advance_trial", AdvanceTrial),
                ("finish_trial", FinishTrial),
                ("close_session", CloseSession),
            )
        }

    def connect(self) -> None:
        """Wait until the benchmark node is there, services and subscriptions."""
        spin_until(
            self.executor,
            lambda: (
                all(client.service_is_ready() for client in self.clients.values())
                and all(publisher.get_subscription_count() for publisher in self.publishers.values())
                and self.heart.get_subscription_count() > 0
                and self.node.count_publishers("benchmark/receipt") > 0
            ),
            what="benchmark node",
        )

    def call(self, name: str, request: Any, *, ok: bool = True) -> Any:
        answer = repeated(self.executor, self.clients[name], request, name)
        if ok:
            assert answer.code == ResultCode.OK, answer.message
        return answer

    def open(self, *, resume: bool = False, runner: str = "elsewhere-1-abc", ok: bool = True) -> Any:
        digest = plan_hash((self.directory / PLAN_FILE).read_bytes())
        request = OpenSession.Request(
            session_id="s1", runner_id=runner, directory=str(self.directory), plan_hash=digest, resume=resume
        )
        return self.call("open_session", request, ok=ok)

    def start(self, index: int, attempt: int = 0, *, ok: bool = True) -> Any:
        trial = trial_id(index, attempt)
        request = StartTrial.Request(session_id="s1", trial_id=trial, plan_index=index, attempt=attempt)
        return self.call("start_trial", request, ok=ok)

    def advance(self, state: State, trial: str, *, ok: bool = True) -> Any:
        record = RECORD if state is State.JUDGE else ""
        request = AdvanceTrial.Request(session_id="s1", trial_id=trial, state=int(state), record_json=record)
        return self.call("advance_trial", request, ok=ok)

    def finish(self, trial: str, status: int = FinishTrial.Request.STATUS_COMPLETED, *, ok: bool = True) -> Any:
        request = FinishTrial.Request(session_id="s1", trial_id=trial, status=status, record_json=RECORD)
        return self.call("finish_trial", request, ok=ok)

    def close(self, status: int = CloseSession.Request.STATUS_DONE, *, ok: bool = True) -> Any:
        return self.call("close_session", CloseSession.Request(session_id="s1", status=status), ok=ok)

    def message(self, kind: str, trial: str, **changes: Any) -> Any:
        values: dict[str, Any] = {"uuid": str(uuid.uuid4()), "session_id": "s1", "trial_id": trial}
        if kind == "verdict":
            values |= {"grader_id": "checker", "outcome": Verdict.OUTCOME_SUCCESS, "invalid_reason": 1}
        else:
            values["operator_id"] = "auto"
        if kind == "skip":
            values["reason"] = Skip.REASON_INFEASIBLE
        if kind == "abort":
            values |= {"reason": Abort.REASON_OTHER, "scope": Abort.SCOPE_TRIAL}
        return KINDS[kind](**{**values, **changes})

    def send(self, kind: str, message: Any) -> Receipt:
        """Publish a message and wait for its receipt."""
        count = len(self.receipts)
        self.publishers[kind].publish(message)
        spin_until(
            self.executor,
            lambda: any(receipt.uuid == message.uuid for receipt in self.receipts[count:]),
            what=f"receipt of {kind}",
        )
        return next(receipt for receipt in self.receipts[count:] if receipt.uuid == message.uuid)

    def wait(self, state: State, trial: str | None = None) -> TrialState:
        """Wait for a trial state."""
        spin_until(
            self.executor,
            lambda: bool(self.trials) and self.trials[-1].state == state and trial in (None, self.trials[-1].trial_id),
            what=f"state {state.name}",
        )
        return self.trials[-1]

    def trial(self, index: int, attempt: int = 0) -> str:
        """Run one whole trial."""
        trial = trial_id(index, attempt)
        self.start(index, attempt)
        assert self.send("ready", self.message("ready", trial)).accepted
        for state in (State.RUNNING, State.PARKING, State.JUDGE):
            self.advance(state, trial)
        assert self.send("verdict", self.message("verdict", trial)).accepted
        assert self.finish(trial).state == State.DONE
        return trial


class FakeWorld:
    """Serves world/reset; answers with codes from ``script``, then OK."""

    def __init__(self, context: Any, executor: SingleThreadedExecutor, script: tuple[int, ...] = ()) -> None:
        self.node = Node("world", context=context, start_parameter_services=False)
        executor.add_node(self.node)
        self.script, self.asked = list(script), []
        self.node.create_service(ResetWorld, "world/reset", self._on_reset)

    def _on_reset(self, request: Any, response: Any) -> Any:
        self.asked.append(request.realization.trial_id)
        response.code = self.script.pop(0) if self.script else ResultCode.OK
        response.message = "scripted"
        response.stamp.sec = 10 * len(self.asked)
        return response
