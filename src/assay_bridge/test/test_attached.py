"""Joining a graph that runs: what it serves is asked first, and a difference costs nothing."""

from __future__ import annotations

from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node

from assay_bridge.attached import Serving, adopt, ask_graph, check_plan
from assay_bridge.planning import EvalOptions, make_plan
from assay_bridge.stop import Stop
from assay_core.errors import ConfigError
from assay_msgs.srv import InferPolicy, OpenSession
from assay_ros import qos
from assay_ros.testing import domain, graph

VALUES: dict[str, Any] = {
    "policy": "noop",
    "policy_args": "",
    "cameras": 1,
    "camera_width": 320,
    "camera_height": 240,
    "control_hz": 20.0,
    "mode": "lockstep",
}
ASKED = EvalOptions(tasks=("stack/cups",))


def test_what_was_not_asked_for_is_taken_from_the_graph() -> None:
    got = adopt(ASKED, frozenset(), Serving(7, VALUES))
    assert (got.policy, got.cameras, got.camera_width, got.control_hz) == ("noop", 1, 320, 20.0)
    check_plan(make_plan(got), Serving(7, VALUES))


def test_what_was_asked_for_otherwise_is_refused_with_every_difference() -> None:
    with pytest.raises(ConfigError) as caught:
        adopt(ASKED, frozenset({"policy", "cameras"}), Serving(7, VALUES))
    assert str(caught.value) == (
        "graph in ROS domain 7: expected policy scripted, cameras 3, got policy noop, cameras 1. "
        "fix: start the graph with policy:=scripted cameras:=3, or leave out --policy, --cameras"
    )
    with pytest.raises(ConfigError, match=r"expected policy scripted, cameras 3, control_hz 10\.0, camera_width 640"):
        check_plan(make_plan(ASKED), Serving(7, VALUES))


def test_the_size_of_no_pictures_does_not_matter() -> None:
    values = {**VALUES, "cameras": 0}
    plan = make_plan(EvalOptions(tasks=("stack/cups",), policy="noop", cameras=0, control_hz=20.0))
    check_plan(plan, Serving(0, values))
    adopt(EvalOptions(tasks=(), cameras=0), frozenset({"cameras", "camera_width"}), Serving(0, values))


def test_a_policy_that_nobody_names_is_asked_for() -> None:
    with pytest.raises(ConfigError, match="name it with --policy P"):
        adopt(ASKED, frozenset(), Serving(0, {}))
    assert adopt(ASKED, frozenset({"policy"}), Serving(0, {})).policy == "scripted"


def test_nobody_there_is_said_at_once_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("assay_bridge.attached.TELL_S", 0.2)
    with domain() as number, Stop() as stop:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
        with pytest.raises(ConfigError, match=r"expected benchmark/open_session and policy/infer within 0.7 s"):
            ask_graph(stop, said.append, deadline_s=0.7)
    assert said[0] == f"looking for a graph in ROS domain {number} (ROS_DOMAIN_ID), for up to 0.7 s"
    assert said[1] == "still waiting for benchmark/open_session and policy/infer; no node there"


def test_the_policy_node_says_what_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    with graph() as (context, _executor, number), Stop() as stop:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
        node = Node("policy", context=context)
        publisher = node.create_publisher(DiagnosticStatus, "policy/serving", qos.LATCHED)
        values = [KeyValue(key=name, value=str(value)) for name, value in VALUES.items()]
        publisher.publish(DiagnosticStatus(name="policy", values=values))
        assert ask_graph(stop, lambda _: None) == Serving(number, VALUES)
        node.destroy_node()


def test_a_policy_node_that_does_not_say_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay_bridge.attached.SILENT_S", 0.2)
    with graph() as (context, _executor, number), Stop() as stop:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
        node = Node("others", context=context)
        node.create_service(InferPolicy, "policy/infer", lambda _, answer: answer)
        node.create_service(OpenSession, "benchmark/open_session", lambda _, answer: answer)
        assert ask_graph(stop, lambda _: None) == Serving(number, {})
        node.destroy_node()
