"""``assay bench step``: one control step through the bridge against bare rclpy that exchanges the same messages.

Both graphs are up at the same time, each in its own domain; blocks of steps alternate between them, so that whatever
else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay_cli.bench.floor import ROLES, FloorClient
from assay_cli.bench.graphs import floor_graph, real_graph
from assay_cli.bench.report import Report, percentiles
from assay_core import rig

__all__ = ["LIMIT", "run"]

LIMIT = 1.3
"""Largest ratio at the median."""

TASK = "kitchenbench/pour_pasta"
BLOCK = 100
"""Steps between two changes of side."""

WATCHED = ("left/command", "left/joint_states", "right/joint_states", "world/task_state", "world/privileged")


def run(argv: Sequence[str]) -> Report:
    """Measure and return the report.

    Args:
        argv: ``--steps N`` steps a side and camera setting (default 1200).
    """
    parser = argparse.ArgumentParser(prog="assay bench step")
    parser.add_argument("--steps", type=int, default=1200)
    steps = max(2 * BLOCK, parser.parse_args(list(argv)).steps)
    report = Report("step")
    report.figures["executor"] = report.floor["executor"] = "rclpy.executors.SingleThreadedExecutor"
    report.figures["steps"] = steps
    for count in (0, 3):
        _measure(report, count, steps)
    return report


def _measure(report: Report, count: int, steps: int) -> None:
    cameras = rig.cameras(count)
    suffix = f"{count}_cameras"
    with (
        tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch,
        floor_graph(cameras) as floor,
        real_graph(Path(scratch) / "log", {"cameras": str(count)}) as graph,
    ):
        embodiment, action = _embodiment(count, Path(scratch) / "session")
        try:
            real, bare = _alternate(embodiment, action, floor, steps)
            node = embodiment.link.client.node
            report.figures[f"subscribers_{suffix}"] = _subscribers(node, count)
            report.floor[f"subscribers_{suffix}"] = _subscribers(floor.node, count)
            report.figures["qos"], report.floor["qos"] = _qos(node), _qos(floor.node)
            report.figures["processes"], report.floor["processes"] = len(graph.running()) + 1, len(ROLES) + 1
        finally:
            embodiment.close()
    report.figures.update(percentiles(real, f"step_{suffix}"))
    report.floor.update(percentiles(bare, f"step_{suffix}"))
    ratio = float(np.median(real) / np.median(bare))
    report.ratios[f"step_{suffix}"] = round(ratio, 3)
    report.limits[f"step_{suffix}"] = LIMIT


def _embodiment(count: int, session: Path) -> tuple[Any, Any]:
    """Return an embodiment in a running trial with the scripted policy, and an action that holds still."""
    from inspect_robots.task import TaskEnvelope
    from inspect_robots.types import Action

    from assay_benchmarks.catalog import resolve_task
    from assay_bridge.embodiment import AssayEmbodiment
    from assay_bridge.policy import AssayPolicy

    scene = next(iter(resolve_task(TASK).scenes))
    embodiment, policy = AssayEmbodiment(cameras=count, session=str(session)), AssayPolicy()
    embodiment.bind_task(TaskEnvelope(TASK, 100))
    policy.bind(embodiment.info)
    policy.reset(scene)
    observation = embodiment.reset(scene, seed=0)
    policy.act(observation)
    return embodiment, Action(np.array(observation.state["joint_pos"], dtype=np.float64))


def _alternate(
    embodiment: Any, action: Any, floor: FloorClient, steps: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return durations of real and floor steps, each shape (steps,) [s]; the first block of each warms up."""
    from time import perf_counter

    real: list[float] = []
    bare: list[float] = []
    for block in range(-1, (steps + BLOCK - 1) // BLOCK):
        for _ in range(BLOCK):
            begun = perf_counter()
            embodiment.step(action)
            if block >= 0:
                real.append(perf_counter() - begun)
        for _ in range(BLOCK):
            took = floor.step()
            if block >= 0:
                bare.append(took)
    return np.array(real[:steps]), np.array(bare[:steps])


def _subscribers(node: Any, count: int) -> dict[str, int]:
    topics = [*WATCHED, *(camera.topic for camera in rig.cameras(count))]
    return {topic: len(node.get_subscriptions_info_by_topic(f"/{topic}")) for topic in topics}


def _qos(node: Any) -> dict[str, str]:
    found = {}
    for topic in ("left/command", "left/joint_states"):
        info = node.get_publishers_info_by_topic(f"/{topic}")[0].qos_profile
        found[topic] = f"{info.reliability.name} {info.durability.name} {info.history.name} {info.depth}"
    return found
