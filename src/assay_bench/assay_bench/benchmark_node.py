"""Benchmark node (lifecycle, default name ``benchmark``): carries trials, operator messages and the journal.

Services: benchmark/open_session, benchmark/start_trial, benchmark/advance_trial, benchmark/finish_trial and
benchmark/close_session (assay_msgs/OpenSession, StartTrial, AdvanceTrial, FinishTrial, CloseSession).
Publishes: benchmark/realization (Realization, LATCHED, once a trial), benchmark/trial (TrialState, LATCHED, on every
change), benchmark/receipt (Receipt, EVENT, one for each operator message), diagnostics (EVENT, every 5 s).
Subscribes: benchmark/ready, benchmark/verdict, benchmark/skip, benchmark/abort (Ready, Verdict, Skip, Abort; EVENT),
session/heartbeat (Heartbeat, EVENT, a few times a second).
Client: world/reset (ResetWorld), with parameter ``world``.

Everything is decided in `runner_desk`, `operator_desk` and `watch`; this file only carries messages to and fro. An
answer or receipt leaves after the commit, and no callback waits for it: the journal's thread wakes the executor through
a guard condition, and a `DeferredService` answers then.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from assay_bench.bench import Bench
from assay_bench.crash import crash_probe
from assay_bench.health import Health
from assay_bench.operator_desk import OperatorDesk
from assay_bench.pipeline import Operation, Pipeline
from assay_bench.refusal import Refusal
from assay_bench.runner_desk import RunnerDesk
from assay_bench.settings import BenchmarkParams
from assay_bench.watch import Watch
from assay_bench.world_client import WorldClient
from assay_msgs.msg import Abort, Heartbeat, Ready, Realization, Receipt, ResultCode, Skip, TrialState, Verdict
from assay_msgs.srv import AdvanceTrial, CloseSession, FinishTrial, OpenSession, StartTrial
from assay_ros import node_main, params, qos, quiet
from assay_ros.deferred import DeferredService, Reply

__all__ = ["BenchmarkNode", "main"]

NODE_NAME = "benchmark"
WATCH_PERIOD_S = 1.0
"""How often deadlines and the runner's silence are looked at [s]."""


class BenchmarkNode(LifecycleNode):
    """Carries messages between the graph and the desks."""

    def __init__(self, **node_kwargs: Any) -> None:
        node_kwargs.setdefault("start_parameter_services", False)
        super().__init__(NODE_NAME, **node_kwargs)
        self.params = params.declare(self, BenchmarkParams)
        self.bench: Bench | None = None
        self._active = False
        self._entities: list[Callable[[], Any]] = []
        self._world: WorldClient | None = None
        self._timer: Any = None
        self._paused = False
        self._soon: deque[Callable[[], None]] = deque()
        self._health = Health()

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def on_configure(self, _state: LifecycleState) -> TransitionCallbackReturn:
        """Make services, publishers and subscriptions."""
        try:
            self._probe = crash_probe(os.environ)
        except ValueError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._guard = self.create_guard_condition(self._run_soon)
        self._entities = [self._health.open(self), lambda: self.destroy_guard_condition(self._guard)]
        self._trial = self._publisher(TrialState, "benchmark/trial", qos.LATCHED)
        self._realization = self._publisher(Realization, "benchmark/realization", qos.LATCHED)
        self._receipt = self._publisher(Receipt, "benchmark/receipt", qos.EVENT)
        if self.params.world:
            p = self.params
            self._world = WorldClient(self, p.world_deadline_s, p.world_retry_s, self._on_world)
        for service in (OpenSession, StartTrial, AdvanceTrial, FinishTrial, CloseSession):
            self._service(service, re.sub(r"(?<!^)(?=[A-Z])", "_", service.__name__).lower())
        for message in (Ready, Verdict, Skip, Abort):
            self._messages(message, message.__name__.lower())
        self._subscribe(Heartbeat, "session/heartbeat", self._on_heartbeat)
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to answer, with desks of a fresh start, and to watch deadlines."""
        self._soon.clear()
        self._pipeline = Pipeline(self._call_soon)
        self.bench = Bench(self, self.params, probe=self._probe)
        self.bench.health = self._health
        self._health.state("active")
        self._runner, self._operators = RunnerDesk(self.bench), OperatorDesk(self.bench)
        self._watch = Watch(self.bench, self._runner)
        self.bench.take_up = lambda held: self._submit(self._operators.take_up(held))
        self.bench.offload(self.bench.realizer.warm)
        self._active = True
        self._timer = self.create_timer(WATCH_PERIOD_S, self._on_timer)
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop answering. An open session's journal is closed; the session can be resumed."""
        self._rest()
        return super().on_deactivate(state)

    def on_cleanup(self, _state: LifecycleState) -> TransitionCallbackReturn:
        """Undo `on_configure`."""
        self._clean()
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, _state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the journal to rest after a defect, and start over unconfigured."""
        self._clean()
        return TransitionCallbackReturn.SUCCESS

    def stop(self) -> None:
        """Close the journal of an open session before the process ends."""
        self._rest()

    def _rest(self) -> None:
        self._active = False
        self._health.state("inactive")
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        if self.bench is not None:
            for problem in self.bench.stop():
                self.get_logger().error(problem)
            self.bench = None

    def _clean(self) -> None:
        self._rest()
        if self._world is not None:
            self._world.destroy()
            self._world = None
        for destroy in self._entities:
            destroy()
        self._entities = []

    # -- what goes out (Ports) ----------------------------------------------------------------------------------------

    def publish_trial(self, message: TrialState) -> None:
        """Publish on benchmark/trial."""
        self._trial.publish(message)
        if message.paused and not self._paused:
            self.get_logger().warning(f"trial {message.trial_id}: {message.message}")
        self._paused = bool(message.paused)

    def publish_realization(self, message: Realization) -> None:
        """Publish on benchmark/realization."""
        self._realization.publish(message)

    def publish_receipt(self, message: Receipt) -> None:
        """Publish on benchmark/receipt."""
        self._receipt.publish(message)
        if not message.accepted:
            self._health.refused += 1
            self.get_logger().warning(f"message {message.uuid} refused: {message.message}")

    def reset_world(self, message: Realization) -> None:
        """Call world/reset."""
        if self._world is not None:
            self._world.reset(message)

    # -- what comes in ------------------------------------------------------------------------------------------------

    def _service(self, kind: Any, name: str) -> None:
        def serve(request: Any, reply: Reply) -> None:
            if not self._active:
                text = "benchmark node: expected the active state, got another. fix: activate the node"
                reply(kind.Response(code=ResultCode.NOT_READY, message=text))
                return
            operation = getattr(self._runner, name)(request)
            self._pipeline.submit(operation, reply, lambda error: reply(self._refuse(kind.Response, name, error)))

        service = DeferredService(self, kind, f"benchmark/{name}", serve)
        self._entities.append(service.destroy)

    def _messages(self, kind: Any, name: str) -> None:
        def receive(message: Any) -> None:
            if self._active:
                self._submit(getattr(self._operators, name)(message))

        self._subscribe(kind, f"benchmark/{name}", receive)

    def _on_heartbeat(self, message: Heartbeat) -> None:
        if self._active and self._watch.heard(message):
            self._submit(self._watch.back())

    def _on_world(self, trial_id: str, code: int, message: str, stamp_ns: int) -> None:
        if self._active:
            self._submit(self._watch.world_answered(trial_id, code, message, stamp_ns))

    def _on_timer(self) -> None:
        if self._world is not None:
            self._world.tick()
        if self._pipeline.idle and self._watch.due():
            self._submit(self._watch.tick())

    # -- inside -------------------------------------------------------------------------------------------------------

    def _submit(self, operation: Operation) -> None:
        if self._active:
            self._pipeline.submit(operation, lambda _: None, lambda error: self._log("benchmark", error))

    def _refuse(self, make: Callable[..., Any], name: str, error: BaseException) -> Any:
        self._log(name, error)
        if isinstance(error, Refusal):
            return make(code=error.code, message=error.message)
        text = f"benchmark node: {type(error).__name__}: {error}. fix: see the node's log"
        return make(code=ResultCode.INTERNAL, message=text)

    def _log(self, name: str, error: BaseException) -> None:
        if isinstance(error, Refusal):
            self.get_logger().warning(f"{name}: {error.message}")
        else:
            trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self.get_logger().error(f"{name}: unexpected {trace}")

    def _call_soon(self, function: Callable[[], None]) -> None:
        self._soon.append(function)
        self._guard.trigger()

    def _run_soon(self) -> None:
        while self._soon and self._active:
            self._soon.popleft()()

    def _publisher(self, kind: Any, topic: str, profile: Any) -> Any:
        publisher = self.create_publisher(kind, topic, profile, event_callbacks=quiet.PUBLISHER)
        self._entities.append(lambda: self.destroy_publisher(publisher))
        return publisher

    def _subscribe(self, kind: Any, topic: str, callback: Callable[[Any], None]) -> None:
        subscription = self.create_subscription(kind, topic, callback, qos.EVENT, event_callbacks=quiet.SUBSCRIPTION)
        self._entities.append(lambda: self.destroy_subscription(subscription))


def main() -> int:
    """Run the node until SIGINT or SIGTERM."""
    return node_main.run(BenchmarkNode)


if __name__ == "__main__":
    sys.exit(main())
