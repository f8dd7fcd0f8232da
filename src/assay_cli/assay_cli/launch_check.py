"""Checks what a resolved launch gives to our nodes before any of them starts.

A node refuses bad parameters by itself, but only after its process has come up, and then the whole graph comes down.
Every node's parameters are a dataclass; this is the one place that may know all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_core.errors import ConfigError

if TYPE_CHECKING:
    from assay_bringup.launch.model import Resolved, ResolvedProcess

__all__ = ["CHECKS", "check_launch"]


def _world(values: Mapping[str, Any], node: str) -> None:
    from assay_core.rig import cameras
    from assay_ros.params import check
    from assay_sim.faults import parse_faults
    from assay_sim.mock_params import MockWorldParams

    params = check(MockWorldParams, values, node)
    cameras(params.cameras, params.camera_width, params.camera_height)
    parse_faults(params.faults)


def _policy(values: Mapping[str, Any], node: str) -> None:
    from assay_policies.parameters import PolicyParams
    from assay_policies.registry import check_settings
    from assay_ros.params import check

    params = check(PolicyParams, values, node)
    params.rig_cameras()
    check_settings(params.settings())


def _benchmark(values: Mapping[str, Any], node: str) -> None:
    from assay_bench.settings import BenchmarkParams
    from assay_ros.params import check

    check(BenchmarkParams, values, node)


def _operator(values: Mapping[str, Any], node: str) -> None:
    from assay_operator.auto_operator import OperatorParams
    from assay_ros.params import check

    check(OperatorParams, values, node)


def _manager(values: Mapping[str, Any], node: str) -> None:
    from assay_bringup.bringup_plan import Limits, stages_of
    from assay_bringup.lifecycle_manager import ManagerParams
    from assay_ros.params import check

    params = check(ManagerParams, values, node)
    limits = Limits(params.appear_deadline_s, params.transition_deadline_s)
    stages_of(params.stages, limits, params.deadlines, params.manual)


def _runner(values: Mapping[str, Any], node: str) -> None:
    from assay_bridge.planning import make_plan
    from assay_bridge.session_runner import RunnerParams, eval_options
    from assay_ros.params import check

    params = check(RunnerParams, values, node)
    if not (params.session and Path(params.session).is_dir()):
        make_plan(eval_options(params))


CHECKS: dict[tuple[str, str], Callable[[Mapping[str, Any], str], None]] = {
    ("assay_sim", "mock_world"): _world,
    ("assay_policies", "policy_node"): _policy,
    ("assay_bench", "benchmark_node"): _benchmark,
    ("assay_operator", "auto_operator"): _operator,
    ("assay_bringup", "lifecycle_manager"): _manager,
    ("assay_bridge", "session_runner"): _runner,
}
"""Check of each node of ours, by package and executable; it raises `ConfigError`."""


def check_launch(resolved: Resolved) -> None:
    """Check the parameters of every node of ours; others are left to themselves.

    Raises:
        ConfigError: A node would refuse its parameters; the message names node and parameter.
    """
    for process in resolved.processes:
        check = CHECKS.get((process.package or "", Path(process.executable).name))
        if check is not None:
            check(_values(process), process.label)


def _values(process: ResolvedProcess) -> dict[str, Any]:
    """Return the parameters that a node will get, by name."""
    result: dict[str, Any] = {}
    for source in process.parameters:
        result.update(source.values if source.file is None else _from_file(source.file, process))
    return result


def _from_file(file: str, process: ResolvedProcess) -> dict[str, Any]:
    """Return what a parameter file says for one node.

    Raises:
        ConfigError: It cannot be read as one.
    """
    from assay_core.located_yaml import load_located

    data = load_located(file).data
    name = process.node or process.label
    namespace = (process.namespace or "/").rstrip("/")
    keys = ("/**", name, f"/**/{name}", f"{namespace}/{name}")
    found: dict[str, Any] = {}
    if not isinstance(data, dict):
        raise _no_parameters(file, data)
    for key, content in data.items():
        if not isinstance(content, dict):
            raise _no_parameters(file, content)
        if key in keys:
            values = content.get("ros__parameters", {})
            if not isinstance(values, dict):
                raise _no_parameters(file, values)
            found.update(_flat(values))
    return found


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in values.items():
        result.update(_flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value})
    return result


def _no_parameters(file: str, got: Any) -> ConfigError:
    return ConfigError(
        f"parameter file {file}", expected="NODE: {ros__parameters: {...}}", got=repr(got)[:80], fix="correct the file"
    )
