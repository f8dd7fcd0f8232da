"""The automatic operator on a graph, against a benchmark node that loses messages and restarts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from assay_msgs.msg import Ready, Realization, Receipt, ResultCode, TaskState, TrialState, Verdict
from assay_msgs.srv import ResetWorld
from assay_operator.auto_operator import AutoOperator
from assay_ros import qos
from assay_ros.testing import graph, spin_until


class Bench:
    """Plays benchmark node and world: publishes states, keeps what the operator says, answers when told to."""

    def __init__(self, context: Any, executor: SingleThreadedExecutor) -> None:
        self.node = node = Node("bench", context=context, start_parameter_services=False)
        self.context, self.executor = context, executor
        executor.add_node(node)
        self.answer = True
        self.code = ResultCode.OK
        self.ready: list[Ready] = []
        self.verdicts: list[Verdict] = []
        self.resets: list[str] = []
        self.last: TaskState | None = None
        self._trial = node.create_publisher(TrialState, "benchmark/trial", qos.LATCHED)
        self._realization = node.create_publisher(Realization, "benchmark/realization", qos.LATCHED)
        self._receipt = node.create_publisher(Receipt, "benchmark/receipt", qos.EVENT)
        self._task_state = node.create_publisher(TaskState, "world/task_state", qos.SENSOR)
        node.create_subscription(Ready, "benchmark/ready", lambda m: self._take(self.ready, m), qos.EVENT)
        node.create_subscription(Verdict, "benchmark/verdict", lambda m: self._take(self.verdicts, m), qos.EVENT)
        node.create_service(ResetWorld, "world/reset", self._on_reset)

    def _take(self, kept: list[Any], message: Any) -> None:
        kept.append(message)
        if self.answer:
            accepted = self.code == ResultCode.OK
            self._receipt.publish(Receipt(uuid=message.uuid, accepted=accepted, code=self.code, message="scripted"))

    def _on_reset(self, request: Any, response: Any) -> Any:
        self.resets.append(request.realization.trial_id)
        if self.last is not None:
            self._task_state.publish(self.last)
        response.code = ResultCode.OK
        return response

    def operator(self, **params: Any) -> AutoOperator:
        values = {"resend_s": 0.1, "grace_s": 0.3, **params}
        node = AutoOperator(
            context=self.context, parameter_overrides=[Parameter(name, value=value) for name, value in values.items()]
        )
        self.executor.add_node(node)
        spin_until(
            self.executor,
            lambda: (
                self._trial.get_subscription_count() > 0
                and self._task_state.get_subscription_count() > 0
                and self._receipt.get_subscription_count() > 0
                and self.node.count_publishers("benchmark/ready") > 0
                and self.node.count_publishers("benchmark/verdict") > 0
            ),
            what="operator",
        )
        return node

    def remove(self, node: AutoOperator) -> None:
        self.executor.remove_node(node)
        node.destroy_node()

    def realization(self, trial: str, max_steps: int = 60, rubric: int = 0) -> None:
        lines = [f"stage {i}" for i in range(rubric)]
        self._realization.publish(Realization(session_id="s", trial_id=trial, max_steps=max_steps, rubric=lines))

    def trial(self, state: int, trial: str = "t0", **changes: Any) -> None:
        waiting = {TrialState.ARRANGE: ["operator"], TrialState.JUDGE: ["grader"]}.get(state, ["runner"])
        self._trial.publish(TrialState(session_id="s", trial_id=trial, state=state, waiting_for=waiting, **changes))

    def step(self, step: int, trial: str = "t0", *, success: bool = False, session: str = "s") -> None:
        message = TaskState(session_id=session, trial_id=trial, step=step, progress=step / 20)
        message.success = message.terminated = success
        message.termination_reason = "success" if success else ""
        self.last = message
        self._task_state.publish(message)

    def until(self, what: list[Any], count: int = 1) -> Any:
        spin_until(self.executor, lambda: len(what) >= count, what="message of the operator")
        return what[-1]


@pytest.fixture
def bench() -> Iterator[Bench]:
    with graph() as (context, executor, _):
        yield Bench(context, executor)


def test_a_whole_trial(bench: Bench) -> None:
    bench.operator()
    bench.realization("t0", rubric=5)
    bench.trial(TrialState.ARRANGE)
    ready = bench.until(bench.ready)
    assert (ready.trial_id, ready.operator_id, ready.source) == ("t0", "auto", "auto")
    for step in range(20):
        bench.step(step)
    bench.step(20, success=True)
    bench.trial(TrialState.JUDGE)
    verdict = bench.until(bench.verdicts)
    assert (verdict.outcome, verdict.grader_id, verdict.has_stage, verdict.stage) == (
        Verdict.OUTCOME_SUCCESS,
        "checker",
        True,
        4,
    )
    assert verdict.invalid_reason == Verdict.INVALID_NONE


def test_a_trial_at_its_horizon_is_a_failure(bench: Bench) -> None:
    bench.operator()
    bench.realization("t0", max_steps=10)
    for step in range(11):
        bench.step(step)
    bench.trial(TrialState.JUDGE)
    verdict = bench.until(bench.verdicts)
    assert (verdict.outcome, verdict.has_stage) == (Verdict.OUTCOME_FAILURE, False)


def test_it_does_not_answer_when_nobody_asked(bench: Bench) -> None:
    bench.operator()
    bench.realization("t0")
    bench.step(20, success=True)
    for state in (TrialState.IDLE, TrialState.READY, TrialState.RUNNING, TrialState.PARKING, TrialState.DONE):
        bench.trial(state)
    bench.trial(TrialState.JUDGE, has_verdict=True, verdict=Verdict(uuid="somebody was faster"))
    bench.trial(TrialState.ARRANGE, "t1")
    bench.until(bench.ready)
    assert [m.trial_id for m in bench.ready] == ["t1"]
    assert bench.verdicts == []


def test_messages_are_repeated_with_their_uuid_until_a_receipt(bench: Bench) -> None:
    bench.operator()
    bench.answer = False
    bench.trial(TrialState.ARRANGE)
    bench.until(bench.ready, 3)
    bench.answer, bench.code = True, ResultCode.SESSION_UNKNOWN
    bench.until(bench.ready, 5)
    bench.code = ResultCode.OK
    count = len(bench.ready)
    bench.until(bench.ready, count + 1)
    bench.trial(TrialState.READY)
    bench.realization("t0")
    bench.step(60)
    bench.trial(TrialState.JUDGE)
    bench.until(bench.verdicts)
    assert len({m.uuid for m in bench.ready}) == 1
    assert len(bench.ready) <= count + 2, "it went on after the receipt"


@pytest.mark.parametrize("state", [TrialState.ARRANGE, TrialState.JUDGE])
def test_a_restarted_operator_takes_up_from_the_latched_state(bench: Bench, state: int) -> None:
    first = bench.operator()
    bench.answer = False
    bench.realization("t0")
    bench.step(20, success=True)
    bench.trial(state)
    kept = bench.ready if state == TrialState.ARRANGE else bench.verdicts
    before = bench.until(kept)
    bench.remove(first)
    bench.answer = True
    count = len(kept)
    bench.operator()
    after = bench.until(kept, count + 1)
    assert after.uuid == before.uuid, "the benchmark node could not know that it is the same intent"
    if state == TrialState.JUDGE:
        assert after.outcome == Verdict.OUTCOME_SUCCESS
        assert bench.resets == ["t0"], "the world was not asked for the state that the restart lost"


def test_without_any_state_of_the_world_the_trial_is_invalid(bench: Bench) -> None:
    bench.operator(state_s=0.5)
    bench.realization("t0")
    bench.step(20, "of another trial", success=True)
    bench.trial(TrialState.JUDGE)
    verdict = bench.until(bench.verdicts)
    assert (verdict.outcome, verdict.invalid_reason) == (Verdict.OUTCOME_INVALID, Verdict.INVALID_RIG_FAULT)
