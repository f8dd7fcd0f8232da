"""Automatic operator (plain node, default name ``operator``): arranges and judges for simulation and CI.

Publishes: benchmark/ready (Ready, EVENT) in ARRANGE, benchmark/verdict (Verdict, EVENT) in JUDGE, diagnostics
(diagnostic_msgs/DiagnosticArray, EVENT, every 5 s).
Subscribes: benchmark/trial (TrialState, LATCHED), benchmark/realization (Realization, LATCHED), benchmark/receipt
(Receipt, EVENT), world/task_state (TaskState, SENSOR; read only when a verdict is due).
Client: world/reset (ResetWorld), only to hear the state again after a restart in the middle of JUDGE.

Nothing that it sends gets lost: every message is repeated until its receipt, under a UUID that follows from session,
trial and content, so that neither a restart of this node nor one of the benchmark node makes a difference.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node

from assay_msgs.msg import Ready, Realization, Receipt, TaskState, TrialState, Verdict
from assay_msgs.srv import ResetWorld
from assay_operator.checker import Checker, Judgement, WorldState
from assay_operator.outbox import Outbox, stable_uuid
from assay_ros import node_main, params, qos
from assay_ros.diagnostics import Diagnostics, Readings
from assay_ros.names import OUTCOME_NUMBERS
from assay_ros.params import param

__all__ = ["AutoOperator", "OperatorParams", "main"]

NODE_NAME = "operator"
TICK_S = 0.02
"""How often waiting messages and judgements are looked at, while there are any [s]."""


@dataclass(frozen=True)
class OperatorParams:
    """Parameters of the automatic operator."""

    operator_id: str = param("auto", "id under which it answers ready; must be on the plan's list of operators")
    grader_id: str = param("checker", "id under which it judges; must be on the plan's list of graders")
    resend_s: float = param(0.5, "an unanswered message is sent again after", unit="s", low=0.05, high=60)
    give_up_s: float = param(120.0, "an unanswered message is given up after", unit="s", low=1, high=86400)
    grace_s: float = param(0.5, "wait for a newer state of the world before judging by one that may not be the last",
                           unit="s", low=0.05, high=60)  # fmt: skip
    state_s: float = param(10.0, "a trial without any state of the world is judged invalid after",
                           unit="s", low=0.1, high=3600)  # fmt: skip


class _ReadByHand(CallbackGroup):
    """Entities that the executor never waits for: their messages cost nothing until they are taken."""

    def can_execute(self, _entity: Any) -> bool:
        return False

    def beginning_execution(self, _entity: Any) -> bool:
        return False

    def ending_execution(self, _entity: Any) -> None:
        return None


class AutoOperator(Node):
    """Carries a `Checker` and an `Outbox`."""

    def __init__(self, **node_kwargs: Any) -> None:
        node_kwargs.setdefault("start_parameter_services", False)
        super().__init__(NODE_NAME, **node_kwargs)
        self.params = p = params.declare(self, OperatorParams)
        self._trial = TrialState()
        self._realization: Realization | None = None
        self._outbox = Outbox(p.resend_s, p.give_up_s, self.get_logger().warning)
        self._checker = Checker(self._newest_state, self._ask_again, grace_s=p.grace_s, give_up_s=p.state_s)
        self._judging = False
        self._state: WorldState | None = None
        self._ready = self._publisher(Ready, "benchmark/ready")
        self._verdict = self._publisher(Verdict, "benchmark/verdict")
        self._by_hand = _ReadByHand()
        self._world = self.create_client(ResetWorld, "world/reset", callback_group=self._by_hand)
        self._states = self._subscribe(TaskState, "world/task_state", lambda _: None, qos.SENSOR, self._by_hand)
        self._subscribe(Realization, "benchmark/realization", self._on_realization, qos.LATCHED)
        self._subscribe(Receipt, "benchmark/receipt", self._on_receipt, qos.EVENT)
        self._subscribe(TrialState, "benchmark/trial", self._on_trial, qos.LATCHED)
        self._timer = self.create_timer(TICK_S, self._on_timer)
        self._timer.cancel()
        self._diagnostics = Diagnostics(self, self._readings, self._problem)
        self._diagnostics.state("active")

    def destroy_node(self) -> None:
        """Take everything off the graph."""
        self._diagnostics.close()
        super().destroy_node()

    def _readings(self) -> Readings:
        box = self._outbox
        return {"messages_sent": box.sent, "messages_resent": box.resent, "answers": box.answers,
                "refused": box.refused, "given_up": box.given_up, "waiting": len(box)}  # fmt: skip

    def _problem(self) -> str:
        return f"{self._outbox.given_up} messages without a receipt" if self._outbox.given_up else ""

    def _publisher(self, kind: Any, topic: str) -> Any:
        quiet = PublisherEventCallbacks(use_default_callbacks=False)
        return self.create_publisher(kind, topic, qos.EVENT, event_callbacks=quiet)

    def _subscribe(
        self, kind: Any, topic: str, callback: Callable[[Any], None], profile: Any, group: CallbackGroup | None = None
    ) -> Any:
        # Event handlers would be entities that the executor waits on at every wake-up.
        quiet = SubscriptionEventCallbacks(use_default_callbacks=False)
        return self.create_subscription(kind, topic, callback, profile, callback_group=group, event_callbacks=quiet)

    # -- callbacks ----------------------------------------------------------------------------------------------------

    def _on_realization(self, message: Realization) -> None:
        self._realization = message

    def _on_receipt(self, message: Receipt) -> None:
        self._outbox.answered(message)

    def _on_trial(self, message: TrialState) -> None:
        self._trial = message
        self._outbox.keep_only(message.session_id, message.trial_id)
        self._judging = message.state == TrialState.JUDGE and not message.has_verdict
        if message.state == TrialState.ARRANGE and "operator" in message.waiting_for:
            self._send_ready(message)
        self._work()

    def _on_timer(self) -> None:
        self._outbox.tick(time.monotonic())
        self._work()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """Judge if a verdict is due, and keep the timer running while anything is waited for."""
        if self._judging:
            self._judge(time.monotonic())
        if self._judging or len(self._outbox):
            if self._timer.is_canceled():
                self._timer.reset()
        else:
            self._timer.cancel()

    def _send_ready(self, trial: TrialState) -> None:
        message = Ready(
            uuid=stable_uuid(trial.session_id, trial.trial_id, "ready", self.params.operator_id),
            session_id=trial.session_id,
            trial_id=trial.trial_id,
            operator_id=self.params.operator_id,
            source="auto",
        )
        message.header.stamp = self.get_clock().now().to_msg()
        self._outbox.send(message, self._ready.publish, time.monotonic())

    def _judge(self, now_s: float) -> None:
        trial, realization = self._trial, self._realization
        due = (trial.session_id, trial.trial_id)
        if realization is None or (realization.session_id, realization.trial_id) != due:
            return  # latched as well; it comes at once
        rubric = len(realization.rubric) > 4
        judgement = self._checker.judge(due, int(realization.max_steps), rubric, now_s)
        if judgement is not None:
            self._judging = False
            self._send_verdict(trial, judgement, now_s)

    def _send_verdict(self, trial: TrialState, judgement: Judgement, now_s: float) -> None:
        invalid = judgement.outcome == "invalid"
        said = (judgement.outcome, str(judgement.stage), judgement.note)
        message = Verdict(
            uuid=stable_uuid(trial.session_id, trial.trial_id, "verdict", self.params.grader_id, *said),
            session_id=trial.session_id,
            trial_id=trial.trial_id,
            grader_id=self.params.grader_id,
            source="checker",
            asked_at=trial.header.stamp,
            outcome=OUTCOME_NUMBERS[judgement.outcome],
            invalid_reason=Verdict.INVALID_RIG_FAULT if invalid else Verdict.INVALID_NONE,
            has_stage=judgement.stage is not None,
            stage=judgement.stage or 0,
            note=judgement.note,
        )
        message.header.stamp = self.get_clock().now().to_msg()
        self._outbox.send(message, self._verdict.publish, now_s)

    def _newest_state(self) -> WorldState | None:
        """Take what the world published; only the newest counts."""
        raw = None
        with self._states.handle:
            while (taken := self._states.handle.take_message(TaskState, True)) is not None:
                raw = taken[0]
        if raw is not None:
            self._state = _read(raw)
        return self._state

    def _ask_again(self) -> None:
        """Have the world publish the trial's state once more: a reset of the trial that it is in repeats it."""
        if self._realization is not None and self._world.service_is_ready():
            # What it answers with is the state; the answer itself is not waited for.
            self._world.remove_pending_request(
                self._world.call_async(ResetWorld.Request(realization=self._realization))
            )


def _read(raw: bytes) -> WorldState:
    from rclpy.serialization import deserialize_message

    message = deserialize_message(raw, TaskState)
    return WorldState(
        trial=(message.session_id, message.trial_id),
        step=int(message.step),
        progress=float(message.progress),
        success=bool(message.success),
        terminated=bool(message.terminated),
        reason=message.termination_reason,
    )


def main() -> int:
    """Run the node until SIGINT or SIGTERM."""
    return node_main.run(AutoOperator)


if __name__ == "__main__":
    sys.exit(main())
