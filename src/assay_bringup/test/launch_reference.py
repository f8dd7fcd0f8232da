"""Resolves a launch file with ROS 2's own `launch` and `launch_ros`, as commands, parameters and environment."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import yaml


def reference(path: Path, arguments: dict[str, str]) -> list[dict[str, Any]]:
    """Return what `ros2 launch` would start, without starting it."""
    import launch_ros.actions  # noqa: F401 - registers node and friends
    from launch.actions import IncludeLaunchDescription
    from launch.actions.execute_local import ExecuteLocal
    from launch.launch_description_sources import AnyLaunchDescriptionSource

    from launch import LaunchContext, LaunchDescription

    before = dict(os.environ)  # `launch` changes the environment of its own process
    started: list[Any] = []

    def prepare_only(action: Any, context: Any) -> None:
        action.prepare(context)
        started.append(action.process_description)

    execute, ExecuteLocal.execute = ExecuteLocal.execute, prepare_only
    loop = asyncio.new_event_loop()
    try:
        context = LaunchContext()
        context._set_asyncio_loop(loop)
        source = AnyLaunchDescriptionSource(str(path))
        _visit(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments.items())]), context)
    finally:
        ExecuteLocal.execute = execute
        loop.close()
        os.environ.clear()
        os.environ.update(before)
    return [_described(each, before) for each in started]


def _visit(entity: Any, context: Any) -> None:
    for each in entity.visit(context) or []:
        _visit(each, context)


def _described(process: Any, before: dict[str, str]) -> dict[str, Any]:
    command: list[str] = []
    parameters: list[Any] = []
    for word in process.final_cmd:
        name = Path(word).name
        if name.startswith("launch_params_") and Path(word).is_file():
            values = yaml.safe_load(Path(word).read_text(encoding="utf-8"))
            Path(word).unlink()
            (key, content), *_ = values.items()
            # One file for each value there, one for neighbouring values here: the node reads the same.
            if command[-3:] == ["--params-file", "{parameters}", "--params-file"]:
                parameters[-1]["values"].update(content["ros__parameters"])
                command.pop()
                continue
            parameters.append({"key": key, "values": dict(content["ros__parameters"])})
            word = "{parameters}"
        elif command and command[-1] == "--params-file":
            parameters.append(word)
        command.append(word)
    environ = process.final_env
    changed: dict[str, str | None] = {k: v for k, v in environ.items() if before.get(k) != v}
    changed.update({k: None for k in before if k not in environ})
    return {"command": command, "parameters": parameters, "environment": changed, "cwd": process.final_cwd}
