"""``./assay bench step``: one control step through the bridge against bare rclpy that exchanges the same messages.

Both graphs are up at the same time, each in its own domain; blocks of steps alternate between them, so that whatever
else the machine does falls on both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from assay_cli.bench.floor import ROLES, FloorClient
from assay_cli.bench.graphs import floor_graph, real_graph
from assay_cli.bench.report import Report, percentiles
from assay_cli.console import Parser, whole_number
from assay_core import rig
from assay_core.program import command

__all__ = ["LIMIT", "run"]

LIMIT = 1.3
"""Largest ratio at the median."""

TASK = "kitchenbench/pour_pasta"
BLOCK = 10
"""Steps between two changes of side."""

WARM_UP = 100
"""Steps a side before the first that counts."""


def run(argv: Sequence[str]) -> Report:
    """Measure and return the report.

    Args:
        argv: ``--steps N`` steps a side and camera setting (default 1200).
    """
    parser = Parser("bench step", f"Measure speed; see {command('bench', '--help')}.")
    parser.add_argument("--steps", default="1200", metavar="N")
    steps = max(2 * BLOCK, whole_number("--steps", parser.parse_args(list(argv)).steps, 1, 1_000_000))
    report = Report("step")
    report.figures["steps"], report.floor["steps"] = steps, steps
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
            _compare(report, suffix, embodiment.link.client.node, floor.node, (len(graph.running()), len(ROLES)))
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
    """Return durations of real and floor steps, each shape (steps,) [s], after a warm-up of both."""

    def real_step() -> float:
        begun = perf_counter()
        embodiment.step(action)
        return perf_counter() - begun

    for _ in range(WARM_UP):
        real_step()
        floor.step()
    real: list[float] = []
    bare: list[float] = []
    while len(real) < steps:
        real += [real_step() for _ in range(BLOCK)]
        bare += [floor.step() for _ in range(BLOCK)]
    return np.array(real[:steps]), np.array(bare[:steps])


def _compare(report: Report, suffix: str, real: Any, bare: Any, processes: tuple[int, int]) -> None:
    """Say in the report what both graphs consist of; a difference that would flatter the ratio exceeds a limit."""
    for side, node, running in ((report.figures, real, processes[0]), (report.floor, bare, processes[1])):
        side["executor"] = f"{type(node.executor).__module__}.{type(node.executor).__name__}"
        side["processes"] = running + 1
        side[f"streams_{suffix}"] = _streams(node, suffix.startswith("0"))
    ours, theirs = report.figures[f"streams_{suffix}"], report.floor[f"streams_{suffix}"]
    report.figures[f"differences_{suffix}"] = sum(ours.get(topic) != stream for topic, stream in theirs.items()) + (
        processes[0] != processes[1]
    )
    report.limits[f"differences_{suffix}"] = 0


def _streams(node: Any, without_cameras: bool) -> dict[str, str]:
    """Return how each topic of a step and a chunk travels: publishers and subscribers on the whole graph, and the QoS.

    Depth and history are those of this node's end; discovery does not tell them of other ends.
    """
    topics = [f"{arm}/command" for arm in rig.ARMS] + [f"{arm}/joint_states" for arm in rig.ARMS]
    topics += ["world/task_state", "world/privileged", "policy/chunk"]
    if not without_cameras:
        for camera in rig.cameras(len(rig.CAMERAS)):
            topics += [camera.topic, f"cameras/{camera.name}/camera_info"]
    ends = {end.topic_name.lstrip("/"): end.qos_profile for end in [*node.publishers, *node.subscriptions]}
    found = {}
    for topic in topics:
        publishers = node.get_publishers_info_by_topic(f"/{topic}")
        subscribers = node.get_subscriptions_info_by_topic(f"/{topic}")
        qos = sorted({_policies(info.qos_profile) for info in [*publishers, *subscribers]})
        words = [f"{len(publishers)} publishers, {len(subscribers)} subscribers", *qos]
        if topic in ends:
            words.append(f"{ends[topic].history.name.lower()} {ends[topic].depth}")
        found[topic] = ", ".join(words)
    return found


def _policies(profile: Any) -> str:
    return f"{profile.reliability.name.lower()} {profile.durability.name.lower()}"
