"""What a node says of itself: at every change and now and then, without costing its executor an entity."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from assay_ros.diagnostics import TOPIC, Diagnostics, Latencies
from assay_ros.qos import EVENT
from assay_ros.testing import graph, spin_until


def test_readings_come_with_every_change_and_once_a_period() -> None:
    counted = {"steps": 0}
    with graph() as (context, executor, _):
        listener, node = Node("listener", context=context), Node("world", context=context)
        heard: list[Any] = []
        listener.create_subscription(DiagnosticArray, TOPIC, lambda m: heard.append(m.status[0]), EVENT)
        executor.add_node(listener)
        entities = len(list(node.waitables)) + len(list(node.timers)) + len(list(node.guards))
        told = Diagnostics(node, lambda: {"steps": counted["steps"], "rate_hz": 9.8765432}, period_s=0.1)
        assert len(list(node.waitables)) + len(list(node.timers)) + len(list(node.guards)) == entities
        spin_until(executor, lambda: len(heard) > 2, what="diagnostics")
        assert (heard[0].name, heard[0].level, heard[0].message) == ("world", b"\x00", "inactive")
        counted["steps"] = 7
        told.state("active")
        spin_until(executor, lambda: heard[-1].message == "active", what="diagnostics of the active node")
        values = {value.key: value.value for value in heard[-1].values}
        assert values == {"steps": "7", "rate_hz": "9.87654"}
        told.close()
        told.close()
        assert [thread for thread in threading.enumerate() if thread.name == "diagnostics"] == []
        node.destroy_node()


def test_a_problem_is_a_warning() -> None:
    with graph() as (context, executor, _):
        listener, node = Node("listener", context=context), Node("policy", context=context)
        heard: list[Any] = []
        listener.create_subscription(DiagnosticArray, TOPIC, lambda m: heard.append(m.status[0]), EVENT)
        executor.add_node(listener)
        told = Diagnostics(node, dict, lambda: "3 errors", period_s=0.1)
        spin_until(executor, lambda: bool(heard), what="diagnostics")
        assert (heard[0].level, heard[0].message) == (b"\x01", "inactive: 3 errors")
        told.close()
        node.destroy_node()


def test_readings_that_fail_are_said_once_and_the_next_ones_come(monkeypatch: pytest.MonkeyPatch) -> None:
    with graph() as (context, executor, _):
        listener, node = Node("listener", context=context), Node("policy", context=context)
        heard: list[Any] = []
        listener.create_subscription(DiagnosticArray, TOPIC, lambda m: heard.append(m.status[0]), EVENT)
        executor.add_node(listener)
        said: list[tuple[str, Any]] = []
        logger = node.get_logger()
        monkeypatch.setattr(type(logger), "warning", lambda _, text, **how: said.append((text, how)))
        failing = [True] * 3

        def read() -> dict[str, int]:
            if failing:
                failing.pop()
                raise KeyError("steps")
            return {"steps": 7}

        told = Diagnostics(node, read, period_s=0.02)
        spin_until(executor, lambda: bool(heard), what="diagnostics after readings that failed")
        told.close()
        assert {text for text, _ in said} == {"diagnostics cannot be published: KeyError('steps')"}
        assert all(how == {"once": True} for _, how in said)
        node.destroy_node()


def test_percentiles_are_of_the_newest() -> None:
    latencies = Latencies(keep=100)
    assert latencies.readings("inference") == {}
    for i in range(1, 201):
        latencies.add(i / 1000)
    assert latencies.readings("inference") == {"inference_p50_ms": 151.0, "inference_p99_ms": 199.0}
    assert latencies.count == 200
