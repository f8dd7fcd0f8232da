"""The benchmark node on a graph: services, topics, receipts, the world, and what a flood of nonsense does to it."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from console import Console, FakeWorld
from rclpy.parameter import Parameter

from assay_bench.benchmark_node import BenchmarkNode
from assay_core.errors import ConfigError
from assay_core.journal import JournalReader, comparable
from assay_core.plan import PLAN_FILE, Plan, PlanEntry
from assay_core.seal import verify_seal
from assay_core.testing import example_plan
from assay_core.trial import State
from assay_msgs.msg import Heartbeat, ResultCode, TrialState
from assay_msgs.srv import AdvanceTrial, CloseSession, FinishTrial, OpenSession, StartTrial
from assay_ros.names import code_name
from assay_ros.testing import graph, spin_until

TASK = "kitchenbench/pour_pasta"


def real_plan(entries: int, **changes: Any) -> Plan:
    """Return a plan that the catalogue of tasks agrees with."""
    from assay_benchmarks import catalog

    task = catalog.resolve_task(TASK)
    scene = task.scenes[0]
    made = tuple(
        PlanEntry(
            index=i,
            task=TASK,
            task_version=catalog.task_version(task),
            instance_id=scene.metadata["instance_id"],
            scene_id=scene.id,
            scene_seed=scene.init_seed,
            epoch=i,
            seed=catalog.seed_of_trial(scene, 0, i),
            max_steps=task.max_steps,
        )
        for i in range(entries)
    )
    return replace(example_plan(1, **changes), entries=made)


Make = Callable[..., tuple[BenchmarkNode, Console]]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with graph() as (context, executor, _):

        def build(entries: int = 1, *, session: str = "session", active: bool = True, **params: Any) -> Any:
            directory = tmp_path / session
            directory.mkdir(exist_ok=True)
            if not (directory / PLAN_FILE).exists():
                (directory / PLAN_FILE).write_text(real_plan(entries).to_yaml())
            overrides = [Parameter(name, value=value) for name, value in params.items()]
            node = BenchmarkNode(context=context, parameter_overrides=overrides)
            executor.add_node(node)
            node.trigger_configure()
            if active:
                node.trigger_activate()
            console = Console(context, executor, directory)
            console.connect()
            return node, console

        yield build
        for node in list(executor.get_nodes()):
            stop = getattr(node, "stop", None)
            if stop is not None:
                stop()


def test_a_session_over_the_graph(make: Make) -> None:
    _, console = make(2)
    opened = console.open()
    assert (opened.next_plan_index, len(opened.head_hash)) == (0, 64)
    console.trial(0)
    console.trial(1)
    assert len(console.close().root_hash) == 64
    assert verify_seal(console.directory) == []
    assert [r.outcome for r in JournalReader(console.directory).results()] == ["success", "success"]
    console.wait(State.IDLE)
    assert console.realizations[-1].instruction
    assert console.realizations[-1].content_hash


def test_the_same_seed_gives_the_same_journal(make: Make) -> None:
    journals = []
    for name in ("first", "second"):
        node, console = make(2, session=name)
        console.open(runner=f"runner-1-{name}")
        console.trial(0)
        console.trial(1)
        console.close()
        journals.append(comparable(JournalReader(console.directory).events()))
        for each in (node, console.node):
            console.executor.remove_node(each)
            getattr(each, "stop", lambda: None)()
            each.destroy_node()
    assert journals[0] == journals[1]


def test_an_inactive_node_says_so_and_deactivation_keeps_the_session(make: Make) -> None:
    node, console = make(active=False)
    answer = console.open(ok=False)
    assert answer.code == ResultCode.NOT_READY
    assert "activate" in answer.message
    node.trigger_activate()
    console.open()
    console.start(0)
    node.trigger_deactivate()
    assert console.start(0, ok=False).code == ResultCode.NOT_READY
    node.trigger_cleanup()
    node.trigger_configure()
    node.trigger_activate()
    console.connect()
    console.open(resume=True)
    console.trial(0, 1)
    console.close()


def test_a_late_subscriber_gets_realization_and_trial(make: Make) -> None:
    _, console = make()
    console.open()
    console.start(0)
    late = Console(console.node.context, console.executor, console.directory, "late")
    spin_until(console.executor, lambda: bool(late.trials and late.realizations), what="latched messages")
    assert late.trials[-1].state == TrialState.ARRANGE
    assert late.realizations[-1].trial_id == "000000-0"


@pytest.mark.parametrize("script", [(), (ResultCode.NOT_READY,)])
def test_ready_waits_for_the_world(make: Make, script: tuple[int, ...]) -> None:
    _, console = make(world=True, world_retry_s=0.5)
    world = FakeWorld(console.node.context, console.executor, script)
    console.open()
    console.start(0)
    assert console.send("ready", console.message("ready", "000000-0")).accepted
    message = console.wait(State.READY)
    assert world.asked == ["000000-0"] * (len(script) + 1)
    assert message.world_stamp.sec == 10 * len(world.asked)


def test_a_world_that_refuses_or_never_answers_ends_the_trial(make: Make) -> None:
    _, console = make(world=True, world_deadline_s=0.5)
    console.open()
    console.start(0)
    message = console.wait(State.INVALID, "000000-0")
    assert message.code == ResultCode.WORLD_RESET_FAILED
    assert "no server on the graph" in message.message
    FakeWorld(console.node.context, console.executor, (ResultCode.REALIZATION_MISMATCH,))
    spin_until(console.executor, lambda: console.node.count_services("world/reset") > 0, what="world")
    console.start(0, 1)
    message = console.wait(State.INVALID, "000000-1")
    assert "REALIZATION_MISMATCH" in message.message


def test_a_silent_runner_pauses_and_may_be_replaced(make: Make) -> None:
    _, console = make(heartbeat_timeout_s=1.0)
    console.open()
    assert console.open(runner="second-2-x", resume=True, ok=False).code == ResultCode.SESSION_OTHER_OPEN
    console.start(0)
    spin_until(console.executor, lambda: console.trials[-1].paused, what="pause")
    console.heart.publish(Heartbeat(session_id="s1", runner_id="elsewhere-1-abc"))
    spin_until(console.executor, lambda: not console.trials[-1].paused, what="end of the pause")
    spin_until(console.executor, lambda: console.trials[-1].paused, what="second pause")
    assert console.open(runner="second-2-x", resume=True).next_plan_index == 0
    console.trial(0, 1)
    console.close()


def test_bad_parameters_are_named() -> None:
    with graph() as (context, _, _number), pytest.raises(ConfigError, match=r"heartbeat_timeout_s.*\[s\]"):
        BenchmarkNode(context=context, parameter_overrides=[Parameter("heartbeat_timeout_s", value=-1.0)])


def fuzzed(rng: random.Random, console: Console) -> tuple[str, Any]:
    """Return a message in which nearly everything may be wrong; never a valid one for the trial in progress."""
    texts = ["", " ", "x" * 5000, "000000-0", "000001-0", "../../x", "é\u2028\u0000", "checker", "auto", "\U0001f916"]
    texts.append("".join(rng.choices(string.printable, k=20)))
    kind = rng.choice(["ready", "verdict", "skip", "abort"])
    message = console.message(kind, "000000-0")
    fields = message.get_fields_and_field_types()
    for name, what in fields.items():
        if what == "string" and rng.random() < 0.4:
            setattr(message, name, rng.choice(texts))
        elif what in ("uint8", "uint16") and rng.random() < 0.6:
            setattr(message, name, rng.randrange(256))
    broken = rng.choice(["uuid", "person", "trial"])
    if broken == "uuid":
        message.uuid = rng.choice(["", "x", "00000000-0000-0000-0000-000000000000"])
    elif broken == "trial":
        message.trial_id = rng.choice(["", "000001-0", "junk"])
    else:
        setattr(message, "grader_id" if kind == "verdict" else "operator_id", rng.choice(["", "stranger"]))
    if kind == "abort":  # anybody may stop what is unsafe, and end a session between trials
        message.reason, message.scope = rng.choice([0, 3, 4, 99]), rng.choice([0, 1, 7])
    if kind == "ready":
        message.picture.format = rng.choice(texts)
        message.picture.data = rng.randbytes(rng.randrange(50))
    return kind, message


def test_nonsense_from_operators_leaves_the_node_healthy_and_the_journal_unchanged(make: Make) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed: {seed}")
    rng = random.Random(seed)
    _, console = make()
    console.open()
    console.start(0)
    before = JournalReader(console.directory).count
    for _ in range(250):
        kind, message = fuzzed(rng, console)
        count = len(console.receipts)
        console.publishers[kind].publish(message)
        spin_until(console.executor, lambda count=count: len(console.receipts) > count, what="a receipt")
        assert not console.receipts[-1].accepted, f"accepted: {message}"
    assert JournalReader(console.directory).count == before
    assert console.trials[-1].state == TrialState.ARRANGE
    assert console.send("ready", console.message("ready", "000000-0")).accepted, "the node is not healthy any more"


@pytest.mark.parametrize("when", ["idle", "open", "running"])
def test_nonsense_from_runners_is_refused_with_a_reason(make: Make, when: str) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed: {seed}")
    rng = random.Random(seed)
    _, console = make()
    if when != "idle":
        console.open()
    if when == "running":
        console.start(0)
        console.send("ready", console.message("ready", "000000-0"))
        console.advance(State.RUNNING, "000000-0")
    before = JournalReader(console.directory).count if when != "idle" else 0
    texts = [
        "",
        "s1",
        "s2",
        "000000-0",
        "000000-1",
        "000009-0",
        "/",
        "/proc/self/mem",
        "{}",
        "[",
        '{"a": NaN}',
        "\u2028",
    ]
    kinds = {"open_session": OpenSession, "start_trial": StartTrial, "advance_trial": AdvanceTrial}
    kinds |= {"finish_trial": FinishTrial, "close_session": CloseSession}
    for _ in range(120):
        name = rng.choice(list(kinds))
        request = kinds[name].Request()
        for field, what in request.get_fields_and_field_types().items():
            values = {"string": texts, "boolean": [True, False]}.get(what, [0, 1, 2, 77])
            setattr(request, field, rng.choice(values))
        request.session_id = rng.choice(["", "s2", "\u2028"]) if name in ("close_session", "finish_trial") else "s1"
        if name == "advance_trial":
            request.trial_id = rng.choice(["", "000000-7", "x"])
        if name == "start_trial":
            request.plan_index = rng.choice([1, 77, 2**64 - 1])
        if name == "open_session":
            request.plan_hash, request.runner_id = rng.choice(texts), "stranger"
        answer = console.call(name, request, ok=False)
        assert answer.code not in (ResultCode.OK, ResultCode.UNKNOWN, ResultCode.INTERNAL), (
            f"{request}: {answer.message}"
        )
        assert answer.message
    if when != "idle":
        assert JournalReader(console.directory).count == before


def test_a_node_that_was_deactivated_can_be_activated_again(make: Make) -> None:
    node, console = make()
    console.open()
    console.start(0)
    for _ in range(2):
        node.trigger_deactivate()
        node.trigger_activate()
    console.open(resume=True)
    console.trial(0, 1)
    console.close()


def test_codes_of_services_have_names() -> None:
    assert code_name(ResultCode.SESSION_OTHER_OPEN) == "SESSION_OTHER_OPEN"
    assert code_name(9999) == "CODE_9999"
