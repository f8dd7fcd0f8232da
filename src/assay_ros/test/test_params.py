from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter

from assay_core.errors import ConfigError
from assay_ros import params, testing


@dataclass(frozen=True)
class Demo:
    rate_hz: float = params.param(10.0, "Control rate.", unit="Hz", low=1.0, high=100.0)
    mode: str = params.param("lockstep", "Clock.", choices=("lockstep", "paced"))
    names: tuple[str, ...] = params.param(("a",), "Names.")
    limits: tuple[float, ...] = params.param((0.1, 0.2), "Limits.", unit="rad", low=0.0, high=1.0)
    count: int = params.param(3, "Cameras.", low=0, high=3)
    loud: bool = params.param(False, "Say more.")


def declared(**overrides: object) -> Demo:
    with testing.graph() as (context, _executor, _domain):
        given = [Parameter(k, value=v) for k, v in overrides.items()]
        node = Node("demo", context=context, parameter_overrides=given)
        try:
            return params.declare(node, Demo)
        finally:
            node.destroy_node()


def test_defaults_are_in_force_when_nothing_is_given() -> None:
    assert declared() == Demo()


def test_given_values_are_in_force() -> None:
    assert declared(rate_hz=30.0, mode="paced", limits=[0.5], names=["x", "y"]) == Demo(
        rate_hz=30.0, mode="paced", limits=(0.5,), names=("x", "y")
    )


def test_an_integer_serves_where_a_float_is_asked_for() -> None:
    assert declared(rate_hz=30).rate_hz == 30.0


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("rate_hz", 1000.0, "from 1.0 to 100.0, got 1000.0"),
        ("rate_hz", float("nan"), "got nan"),
        ("mode", "fast", "one of lockstep, paced, got 'fast'"),
        ("limits", [0.5, 2.0], "from 0.0 to 1.0, got 2.0"),
        ("count", -1, "from 0 to 3, got -1"),
        ("count", 1.5, "expected integer, got 1.5"),
        ("loud", "yes", "expected bool, got 'yes'"),
    ],
)
def test_a_wrong_value_is_refused_and_named(name: str, value: object, text: str) -> None:
    with pytest.raises(ConfigError, match=f"demo: parameter '{name}'") as caught:
        declared(**{name: value})
    assert text in str(caught.value)
    assert "fix: " in str(caught.value)


def test_the_table_lists_every_parameter_with_its_unit() -> None:
    table = params.markdown_table(Demo)
    assert "| `rate_hz` | `10.0` | Hz | 1.0 .. 100.0 | Control rate. |" in table
    assert table.count("\n") == 2 + 6


def test_a_parameter_that_the_node_does_not_have_is_refused_with_near_matches() -> None:
    with pytest.raises(ConfigError, match=r"unknown parameter of demo 'rate_hs'.*did you mean rate_hz"):
        declared(rate_hs=5.0)


def test_parameters_that_every_node_has_are_left_to_rclpy() -> None:
    assert declared(use_sim_time=True) == Demo()


def test_an_empty_list_of_a_parameter_file_is_no_value(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("/**:\n  ros__parameters:\n    names: []\n", encoding="utf-8")
    with testing.graph() as (context, _executor, _domain):
        node = Node("demo", context=context, cli_args=["--ros-args", "--params-file", str(path)])
        try:
            assert params.declare(node, Demo).names == ()
        finally:
            node.destroy_node()


def test_values_are_checked_without_a_node_by_the_same_rules() -> None:
    assert params.check(Demo, {"rate_hz": 30, "limits": [0, 1], "use_sim_time": True}, "demo") == Demo(
        rate_hz=30.0, limits=(0.0, 1.0)
    )
    with pytest.raises(ConfigError, match=r"demo: parameter 'count': expected a number from 0 to 3, got 9"):
        params.check(Demo, {"count": 9}, "demo")
    with pytest.raises(ConfigError, match=r"unknown parameter of demo 'rate_hs'.*did you mean rate_hz"):
        params.check(Demo, {"rate_hs": 9.0}, "demo")
