"""`QuickExecutor` serves whatever rclpy's own executor serves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rclpy
from rclpy.action import ActionClient, ActionServer
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import Int64
from std_srvs.srv import Trigger

from assay_msgs.action import MoveArm
from assay_ros import qos
from assay_ros.executor import QuickExecutor
from assay_ros.testing import domain

DEADLINE_S = 20.0


class Bench:
    """A node, a peer that another executor spins by hand, and waits with a deadline."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.node = Node("under_test", context=context)
        self.peer = Node("peer", context=context)
        self.executor = QuickExecutor(context=context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.peer)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < end, f"{what}: not within {DEADLINE_S} s"
            self.executor.spin_once(timeout_sec=0.1)

    def matched(self, publisher: Any, count: int = 1) -> Any:
        self.until(lambda: publisher.get_subscription_count() >= count, "subscription matched")
        return publisher


@pytest.fixture
def bench() -> Iterator[Bench]:
    with domain() as number:
        context = Context()
        rclpy.init(context=context, domain_id=number)
        made = Bench(context)
        yield made
        made.executor.shutdown()
        for node in (made.node, made.peer):
            node.destroy_node()
        rclpy.try_shutdown(context=context)


def test_every_message_arrives_in_order_and_once(bench: Bench) -> None:
    got: list[int] = []
    raw: list[bytes] = []
    infos: list[Any] = []
    bench.node.create_subscription(Int64, "numbers", lambda message: got.append(message.data), qos.EVENT)
    bench.node.create_subscription(Int64, "numbers", raw.append, qos.EVENT, raw=True)
    bench.node.create_subscription(Int64, "numbers", lambda _message, info: infos.append(info), qos.EVENT)
    publisher = bench.matched(bench.peer.create_publisher(Int64, "numbers", qos.EVENT), 3)
    for i in range(50):
        publisher.publish(Int64(data=i))
    bench.until(lambda: min(len(got), len(raw), len(infos)) >= 50, "50 messages")
    assert got == list(range(50))
    assert all(isinstance(item, bytes) for item in raw)
    assert "source_timestamp" in infos[0]


def test_services_answer_plain_callbacks_and_coroutines(bench: Bench) -> None:
    def plain(_request: Any, response: Any) -> Any:
        response.success, response.message = True, "plain"
        return response

    async def slow(_request: Any, response: Any) -> Any:
        answer = Future(executor=bench.executor)
        bench.peer.create_timer(0.01, lambda: answer.done() or answer.set_result("later"))
        response.message = await answer
        return response

    bench.node.create_service(Trigger, "plain", plain)
    bench.node.create_service(Trigger, "slow", slow)
    for name, expected in (("plain", "plain"), ("slow", "later")):
        client = bench.peer.create_client(Trigger, name)
        bench.until(client.service_is_ready, name)
        told: list[str] = []
        future = client.call_async(Trigger.Request())
        future.add_done_callback(lambda done, told=told: told.append(done.result().message))
        bench.until(lambda told=told: bool(told), f"answer of {name}")
        assert told == [expected]


def test_an_answer_that_nobody_waits_for_any_more_is_dropped(bench: Bench) -> None:
    bench.node.create_service(Trigger, "ask", lambda _request, response: response)
    client = bench.peer.create_client(Trigger, "ask")
    bench.until(client.service_is_ready, "service")
    given_up = client.call_async(Trigger.Request())
    client.remove_pending_request(given_up)
    second = client.call_async(Trigger.Request())
    bench.until(second.done, "the second answer")
    assert not given_up.done()


def test_timers_guards_and_lifecycle_are_served(bench: Bench) -> None:
    ticks: list[int] = []
    triggered: list[int] = []
    bench.node.create_timer(0.001, lambda: ticks.append(1))
    guard = bench.node.create_guard_condition(lambda: triggered.append(1))
    bench.until(lambda: len(ticks) >= 3, "three ticks")
    guard.trigger()
    bench.until(lambda: triggered == [1], "the guard condition")

    class Cycled(LifecycleNode):
        def on_configure(self, _state: Any) -> TransitionCallbackReturn:
            ticks.append(-1)
            return TransitionCallbackReturn.SUCCESS

    node = Cycled("cycled", context=bench.context)
    bench.executor.add_node(node)
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    client = bench.peer.create_client(ChangeState, "cycled/change_state")
    bench.until(client.service_is_ready, "lifecycle service")
    request = ChangeState.Request()
    request.transition.id = Transition.TRANSITION_CONFIGURE
    future = client.call_async(request)
    bench.until(future.done, "transition")
    assert future.result().success
    assert -1 in ticks
    bench.executor.remove_node(node)
    node.destroy_node()


def test_entities_come_and_go_from_within_callbacks(bench: Bench) -> None:
    got: list[str] = []
    held: dict[str, Any] = {}

    def first(_message: Any) -> None:
        got.append("first")
        bench.node.destroy_subscription(held.pop("second"))
        held["third"] = bench.node.create_subscription(Int64, "late", lambda _message: got.append("third"), qos.LATCHED)

    bench.node.create_subscription(Int64, "early", first, qos.EVENT)
    held["second"] = bench.node.create_subscription(Int64, "early", lambda _message: got.append("second"), qos.EVENT)
    bench.peer.create_publisher(Int64, "late", qos.LATCHED).publish(Int64(data=1))
    publisher = bench.matched(bench.peer.create_publisher(Int64, "early", qos.EVENT), 2)
    publisher.publish(Int64())
    bench.until(lambda: "third" in got, "the subscription made in the callback")
    publisher.publish(Int64())
    bench.node.destroy_subscription(held.pop("third"))
    bench.until(lambda: got.count("first") == 1, "one round")
    assert "second" not in got, "a subscription was served after it was destroyed"


def test_a_closed_callback_group_keeps_its_messages_until_it_opens(bench: Bench) -> None:
    class Gate(ReentrantCallbackGroup):
        open = False

        def can_execute(self, entity: Any) -> bool:
            return self.open

    gate, got, others = Gate(), [], []
    bench.node.create_subscription(Int64, "gated", lambda m: got.append(m.data), qos.EVENT, callback_group=gate)
    bench.node.create_subscription(Int64, "free", lambda m: others.append(m.data), qos.EVENT)
    gated = bench.matched(bench.peer.create_publisher(Int64, "gated", qos.EVENT))
    free = bench.matched(bench.peer.create_publisher(Int64, "free", qos.EVENT))
    for i in range(5):
        gated.publish(Int64(data=i))
        free.publish(Int64(data=i))
    bench.until(lambda: len(others) == 5, "what is not gated")
    assert got == []
    gate.open = True
    bench.until(lambda: got == [0, 1, 2, 3, 4], "what had waited")


def test_an_exception_in_a_callback_reaches_the_caller_and_the_next_message_is_served(bench: Bench) -> None:
    got: list[int] = []

    def callback(message: Int64) -> None:
        if message.data == 0:
            raise RuntimeError("callback failed")
        got.append(message.data)

    bench.node.create_subscription(Int64, "numbers", callback, qos.EVENT)
    publisher = bench.matched(bench.peer.create_publisher(Int64, "numbers", qos.EVENT))
    publisher.publish(Int64(data=0))
    with pytest.raises(RuntimeError, match="callback failed"):
        bench.until(lambda: False, "the exception")
    publisher.publish(Int64(data=1))
    bench.until(lambda: got == [1], "the message after it")


def test_a_callback_that_uses_what_was_destroyed_is_no_secret(bench: Bench) -> None:
    gone = bench.node.create_publisher(Int64, "gone", qos.EVENT)
    bench.node.destroy_publisher(gone)
    bench.node.create_subscription(Int64, "numbers", lambda message: gone.publish(message), qos.EVENT)
    publisher = bench.matched(bench.peer.create_publisher(Int64, "numbers", qos.EVENT))
    publisher.publish(Int64())
    with pytest.raises(InvalidHandle):
        bench.until(lambda: False, "the exception")


def test_tasks_run_and_their_exceptions_reach_the_caller(bench: Bench) -> None:
    done = bench.executor.create_task(lambda: 7)
    bench.until(done.done, "task")
    assert done.result() == 7

    def fail() -> None:
        raise ValueError("task failed")

    bench.executor.create_task(fail)
    with pytest.raises(ValueError, match="task failed"):
        bench.until(lambda: False, "the exception")
    bench.executor.spin_once(timeout_sec=0.0)


def test_another_thread_wakes_a_wait(bench: Bench) -> None:
    """A wait of an hour ends as soon as a task is handed in."""
    waiting, done = threading.Event(), threading.Event()
    for _ in range(20):  # what the nodes' creation left to do
        bench.executor.spin_once(timeout_sec=0.0)

    def spin() -> None:
        waiting.set()
        while not done.is_set():
            bench.executor.spin_once(timeout_sec=3600.0)

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    assert waiting.wait(DEADLINE_S)
    bench.executor.create_task(done.set)
    thread.join(DEADLINE_S)
    assert not thread.is_alive(), "the wait was not woken"


def test_a_context_that_is_shut_down_ends_the_spin(bench: Bench) -> None:
    rclpy.shutdown(context=bench.context)
    with pytest.raises(ExternalShutdownException):
        bench.until(lambda: False, "the exception")


def test_a_guard_condition_counts_however_much_else_is_ready(bench: Bench) -> None:
    """A trigger from another thread is served once, while timers and messages keep the executor busy."""
    served: list[int] = []
    bench.node.create_timer(0.0005, lambda: None)
    bench.node.create_timer(0.0005, lambda: None)
    bench.node.create_subscription(Int64, "numbers", lambda message: publisher.publish(message), qos.EVENT)
    publisher = bench.matched(bench.peer.create_publisher(Int64, "numbers", qos.EVENT))
    publisher.publish(Int64())
    guard = bench.node.create_guard_condition(lambda: served.append(1))
    for i in range(1, 51):
        thread = threading.Thread(target=guard.trigger)
        thread.start()
        bench.until(lambda i=i: len(served) >= i, "the guard condition")
        thread.join(DEADLINE_S)
    assert len(served) == 50


def test_what_may_not_run_does_not_keep_the_executor_awake(bench: Bench) -> None:
    """A timer of a closed group is always due: waits last all the same, and it runs once its group opens."""

    class Gate(ReentrantCallbackGroup):
        open = False

        def can_execute(self, entity: Any) -> bool:
            return self.open

    gate, ticks = Gate(), []
    bench.node.create_timer(0.0001, lambda: ticks.append(1), callback_group=gate)
    for _ in range(20):  # what the nodes' creation left to do
        bench.executor.spin_once(timeout_sec=0.0)
    start = time.monotonic()
    for _ in range(5):
        bench.executor.spin_once(timeout_sec=0.05)
    assert time.monotonic() - start >= 0.2, "waits returned although nothing could run"
    assert ticks == []
    gate.open = True
    bench.until(lambda: bool(ticks), "the timer")


def test_an_action_runs_to_its_result(bench: Bench) -> None:
    heard: list[float] = []

    def execute(goal: Any) -> MoveArm.Result:
        goal.publish_feedback(MoveArm.Feedback(progress=0.5))
        goal.succeed()
        return MoveArm.Result(message="there")

    server = ActionServer(bench.node, MoveArm, "home", execute)
    client = ActionClient(bench.peer, MoveArm, "home")
    bench.until(client.server_is_ready, "action server")
    sent = client.send_goal_async(MoveArm.Goal(speed=0.5), lambda message: heard.append(message.feedback.progress))
    bench.until(sent.done, "goal accepted")
    result = sent.result().get_result_async()
    bench.until(result.done, "result")
    assert result.result().result.message == "there"
    bench.until(lambda: heard == [0.5], "feedback")
    client.destroy()
    server.destroy()


def test_a_timer_that_is_always_due_starves_nobody(bench: Bench) -> None:
    served = {"slow": 0, "other": 0, "coroutine": 0, "plain": 0}

    def slow() -> None:
        served["slow"] += 1
        end = time.perf_counter() + 0.003  # longer than its period: due again as soon as it is done
        while time.perf_counter() < end:
            pass

    def count(name: str) -> None:
        served[name] += 1

    async def coroutine(_message: Any) -> None:
        count("coroutine")

    bench.node.create_timer(0.001, slow)
    bench.node.create_timer(0.01, lambda: count("other"))
    bench.node.create_subscription(Int64, "numbers", coroutine, qos.EVENT)
    bench.node.create_subscription(Int64, "numbers", lambda _message: count("plain"), qos.EVENT)
    publisher = bench.matched(bench.peer.create_publisher(Int64, "numbers", qos.EVENT), 2)
    for i in range(20):
        publisher.publish(Int64(data=i))
    bench.until(lambda: served["coroutine"] == served["plain"] == 20 and served["other"] >= 20, "everybody's turn")
    assert served["slow"] >= 20


def test_a_timer_that_is_cancelled_while_it_is_due_does_not_run(bench: Bench) -> None:
    """By another timer, or by a message, of the same round."""
    ran: list[str] = []
    victims: list[Any] = []

    def cancel(_message: Any = None) -> None:
        ran.append("canceller")
        for victim in victims:
            victim.cancel()

    canceller = bench.node.create_timer(0.001, lambda: (canceller.cancel(), cancel()))
    victims.append(bench.node.create_timer(0.001, lambda: ran.append("victim of a timer")))
    end = time.monotonic() + 0.01
    while time.monotonic() < end:  # both are due before anything runs
        pass
    bench.until(lambda: "canceller" in ran, "the canceller")
    assert ran == ["canceller"]

    bench.node.create_subscription(Int64, "cancel", cancel, qos.EVENT)
    publisher = bench.matched(bench.peer.create_publisher(Int64, "cancel", qos.EVENT))
    ran.clear()
    victims.append(bench.node.create_timer(0.05, lambda: ran.append("victim of a message")))
    publisher.publish(Int64())
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
    bench.until(lambda: "canceller" in ran, "the message")
    for _ in range(5):
        bench.executor.spin_once(timeout_sec=0.01)
    assert ran == ["canceller"]
