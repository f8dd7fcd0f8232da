"""A graph that runs already, asked what it serves before a session is planned on it.

A session on somebody else's graph takes its policy, cameras and rate from there. What the user asked for differently is
refused now: found in the first trial, it would have cost a session directory and an attempt.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay_core.domains import from_environment
from assay_core.errors import ConfigError
from assay_core.plan import Plan
from assay_core.program import command

if TYPE_CHECKING:
    from rclpy.node import Node

    from assay_bridge.client_types import ClientConfig
    from assay_bridge.planning import EvalOptions
    from assay_bridge.stop import Stop

__all__ = ["Serving", "adopt", "ask_graph", "check_config", "check_plan", "domain_number", "heard_serving"]

ATTACH_S = 30.0
"""Longest wait for the graph [s]."""

TELL_S = 5.0
"""How often it is said what is still missing [s]."""

SILENT_S = 3.0
"""A policy node that offers its services and says nothing for this long is one that does not say what it serves [s]."""

OPTIONS = {
    "policy": "--policy",
    "cameras": "--cameras",
    "camera_width": "--camera-size",
    "camera_height": "--camera-size",
    "control_hz": "control_hz:=",
    "mode": "mode:=",
}
"""Options that a graph decides, by the name of the value."""


@dataclass(frozen=True)
class Serving:
    """What a graph says that it serves; empty where it does not say."""

    domain: int
    """Its ROS domain."""
    values: Mapping[str, Any]
    """By the names of `OPTIONS`, and ``policy_args``."""


def domain_number() -> int:
    """Return the ROS domain that the environment names, 0 where it names none.

    Raises:
        ConfigError: It is no number that ROS 2 can use.
    """
    named = from_environment()
    return named.number if named is not None else 0


def ask_graph(stop: Stop, tell: Callable[[str], None], *, deadline_s: float = ATTACH_S) -> Serving:
    """Return what the graph of this ROS domain serves, once it is there.

    Args:
        stop: The user may want to leave.
        tell: Takes a line about what is waited for.
        deadline_s: Longest wait [s].

    Raises:
        ConfigError: There is no graph: nothing of the session has begun.
    """
    import rclpy
    from diagnostic_msgs.msg import DiagnosticStatus
    from rclpy.context import Context
    from rclpy.node import Node

    from assay_ros import qos, quiet
    from assay_ros.executor import QuickExecutor
    from assay_ros.names import SERVING_TOPIC
    from assay_ros.shm_noise import held_back

    number = domain_number()
    named = "ROS_DOMAIN_ID" if os.environ.get("ROS_DOMAIN_ID", "").strip() else "ROS_DOMAIN_ID is not set"
    tell(f"looking for a graph in ROS domain {number} ({named}), for up to {deadline_s:g} s")
    context = Context()
    rclpy.init(args=[], context=context, domain_id=number)
    with held_back():
        node = Node("runner_asking", context=context, start_parameter_services=False)
    executor = QuickExecutor(context=context)
    heard: list[Any] = []
    try:
        node.create_subscription(
            DiagnosticStatus, SERVING_TOPIC, heard.append, qos.LATCHED, event_callbacks=quiet.SUBSCRIPTION
        )
        executor.add_node(node)
        begun = told = time.monotonic()
        silent_since: float | None = None
        while not heard:
            stop.check()
            executor.spin_once(0.1)
            now = time.monotonic()
            missing = _missing(node)
            silent_since = None if missing else silent_since or now
            if silent_since is not None and now - silent_since > SILENT_S:
                break
            if now - begun > deadline_s:
                raise ConfigError(
                    f"graph in ROS domain {number}",
                    expected=f"{' and '.join(missing) or SERVING_TOPIC} within {deadline_s:g} s",
                    got=_nodes(node),
                    fix=f"start one in this domain, e.g. {command('launch', 'eval')}, or set ROS_DOMAIN_ID to its own",
                )
            if now - told > TELL_S:
                told = now
                tell(f"still waiting for {' and '.join(missing) or SERVING_TOPIC}; {_nodes(node)}")
        return Serving(number, _values(heard[-1]) if heard else {})
    finally:
        executor.shutdown(0)
        node.destroy_node()
        rclpy.try_shutdown(context=context)


@contextmanager
def heard_serving(node: Node, config: ClientConfig) -> Iterator[Callable[[], None]]:
    """Listen to what a graph says that it serves, and yield a check of a configuration against it.

    The check raises `ConfigError` once the graph has said something that the configuration has otherwise.
    """
    from diagnostic_msgs.msg import DiagnosticStatus

    from assay_ros import qos, quiet
    from assay_ros.names import SERVING_TOPIC

    heard: list[Any] = []
    subscription = node.create_subscription(
        DiagnosticStatus, SERVING_TOPIC, heard.append, qos.LATCHED, event_callbacks=quiet.SUBSCRIPTION
    )
    try:
        yield lambda: check_config(config, Serving(domain_number(), _values(heard[-1]))) if heard else None
    finally:
        node.destroy_subscription(subscription)


def check_config(config: ClientConfig, serving: Serving) -> None:
    """Check that a graph serves what embodiment `assay` was made for; cameras that are not used do no harm.

    Raises:
        ConfigError: It does not; says with which options it would.
    """
    served = serving.values
    wanted: dict[str, Any] = {"control_hz": config.control_hz, "mode": config.mode}
    if len(config.cameras) > served.get("cameras", len(config.cameras)):
        wanted["cameras"] = len(config.cameras)
    elif config.cameras:
        wanted |= {"camera_width": config.cameras[0].width, "camera_height": config.cameras[0].height}
    differ = [name for name, value in wanted.items() if served.get(name, value) != value]
    if differ:
        raise ConfigError(
            f"embodiment 'assay' on the graph in ROS domain {serving.domain}",
            expected=", ".join(f"{name} {wanted[name]}" for name in differ),
            got=", ".join(f"{name} {served[name]}" for name in differ),
            fix=f"add {' '.join(f'-E {name}={served[name]}' for name in differ)}, or start the graph with "
            + " ".join(f"{name}:={wanted[name]}" for name in differ),
        )


def _missing(node: Node) -> list[str]:
    """Return the services of a graph that are not there."""
    there = {name for name, _ in node.get_service_names_and_types()}
    wanted = ("benchmark/open_session", "policy/infer")
    return [name for name in wanted if node.resolve_service_name(name) not in there]


def _nodes(node: Node) -> str:
    names = sorted(set(node.get_node_names()) - {node.get_name()})
    return f"nodes there: {', '.join(names)}" if names else "no node there"


def _values(status: Any) -> dict[str, Any]:
    kinds: dict[str, Callable[[str], Any]] = {
        "cameras": int,
        "camera_width": int,
        "camera_height": int,
        "control_hz": float,
    }
    return {item.key: kinds.get(item.key, str)(item.value) for item in status.values}


def adopt(options: EvalOptions, given: frozenset[str], serving: Serving) -> EvalOptions:
    """Return the options with what the graph decides taken from the graph.

    Args:
        options: What the user asks for.
        given: Names of the values that the user gave; the others are defaults.
        serving: What the graph serves.

    Raises:
        ConfigError: The user gave something that the graph serves otherwise, or nobody says which policy it is.
    """
    if "policy" not in serving.values and "policy" not in given:
        raise ConfigError(
            f"policy of the graph in ROS domain {serving.domain}",
            expected="a policy node that says on policy/serving what it serves",
            got="one that does not",
            fix="name it with --policy P",
        )
    asked = {name: getattr(options, name) for name in OPTIONS if name in given}
    _must_agree(asked, serving)
    found = {name: serving.values[name] for name in OPTIONS if name in serving.values}
    arguments = serving.values.get("policy_args", "")
    launch = {**options.launch, **({"policy_args": arguments} if arguments else {})}
    return replace(options, **found, launch=launch)


def check_plan(plan: Plan, serving: Serving) -> None:
    """Check that a graph serves what a session was planned with.

    Raises:
        ConfigError: It does not; names every difference.
    """
    planned: dict[str, Any] = {
        "policy": plan.policies[0],
        "cameras": len(plan.cameras),
        "control_hz": plan.control_hz,
        "mode": plan.mode,
    }
    if plan.cameras:
        planned |= {"camera_width": plan.cameras[0].width, "camera_height": plan.cameras[0].height}
    _must_agree(planned, serving)


def _must_agree(wanted: Mapping[str, Any], serving: Serving) -> None:
    """Compare what is wanted with what is served, where both are known."""
    without_pictures = serving.values.get("cameras") == 0 and wanted.get("cameras", 0) == 0
    differ = [
        name
        for name, value in wanted.items()
        if name in serving.values and serving.values[name] != value and not (without_pictures and "camera_" in name)
    ]
    if differ:
        raise ConfigError(
            f"graph in ROS domain {serving.domain}",
            expected=", ".join(f"{name} {wanted[name]}" for name in differ),
            got=", ".join(f"{name} {serving.values[name]}" for name in differ),
            fix="start the graph with "
            + " ".join(f"{name}:={wanted[name]}" for name in differ)
            + f", or leave out {', '.join(dict.fromkeys(OPTIONS[name] for name in differ))}",
        )
