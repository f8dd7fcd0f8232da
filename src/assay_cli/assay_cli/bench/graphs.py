"""Brings up the two graphs that a benchmark compares: the real one and its floor, each in a ROS domain of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay_bringup import shm
from assay_bringup.launch.processes import GraphProcesses
from assay_bringup.launch.resolve import resolve
from assay_cli.bench.floor import ROLES, FloorClient
from assay_core.domains import claim

if TYPE_CHECKING:
    from assay_core.rig import Camera

__all__ = ["floor_graph", "real_graph", "running_session"]

STOP_S = 5.0
SESSION_STOP_S = 30.0


@contextlib.contextmanager
def running_session(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Yield the process of ``./assay eval`` with a session in ``directory``; it ends with the block, its graph with it.

    Args:
        directory: Of the session, not there yet.
        arguments: Further words of the command.
    """
    command = [sys.executable, "-m", "assay_cli", "eval", *arguments, "--session", str(directory), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=SESSION_STOP_S)
        except (subprocess.TimeoutExpired, ValueError):  # or its output was read to the end before
            process.kill()  # its warden ends the graph
            process.wait(STOP_S)


@contextlib.contextmanager
def floor_graph(cameras: tuple[Camera, ...]) -> Iterator[FloorClient]:
    """Yield the client of a running floor graph.

    Args:
        cameras: Cameras whose pictures the floor's world publishes, all of one size.
    """
    width, height = (cameras[0].width, cameras[0].height) if cameras else (640, 360)
    with claim() as domain, tempfile.TemporaryDirectory(prefix="assay-bench-") as logs:
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain.number), "ROS_LOG_DIR": logs}
        command = [sys.executable, "-m", "assay_cli.bench.floor"]
        shape = [str(len(cameras)), str(width), str(height)]
        processes = [subprocess.Popen([*command, role, *shape], env=environment) for role in ROLES]
        client: FloorClient | None = None
        try:
            client = FloorClient(domain.number, cameras)
            yield client
        finally:
            if client is not None:
                client.close()
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(STOP_S)
            shm.sweep()


@contextlib.contextmanager
def real_graph(log_dir: Path, arguments: dict[str, str]) -> Iterator[GraphProcesses]:
    """Yield the running graph of ``eval.launch.yaml``; this process's ``ROS_DOMAIN_ID`` is set to its domain meanwhile.

    Args:
        log_dir: Where its processes log.
        arguments: Launch arguments.
    """
    before = os.environ.get("ROS_DOMAIN_ID")
    with claim() as domain:
        os.environ["ROS_DOMAIN_ID"] = str(domain.number)
        try:
            with GraphProcesses.start(resolve("eval", arguments), log_dir=log_dir, clients=2 + len(ROLES)) as graph:
                graph.wait_ready()
                yield graph
        finally:
            if before is None:
                del os.environ["ROS_DOMAIN_ID"]
            else:
                os.environ["ROS_DOMAIN_ID"] = before
