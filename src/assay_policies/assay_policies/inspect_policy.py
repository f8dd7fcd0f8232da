"""Any policy registered with Inspect Robots, served by the policy node.

Such policies know neither the graph nor stamps: they get the framework's observation and return its chunk. What they
raise is sorted by consequence: a server that does not answer is a fault of the rig, anything else is the policy's own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from inspect_robots.compat import check_compatibility
from inspect_robots.embodiment import Embodiment
from inspect_robots.registry import resolve
from inspect_robots.scene import Scene, Target
from inspect_robots.types import Observation

from assay_core.contained import in_words
from assay_core.errors import AssayError, ConfigError, PolicyError, RigFault
from assay_core.rig import ACTION_DIM, ARMS, Camera
from assay_core.rig_spaces import STATE_KEY, embodiment_info
from assay_policies.api import MOST_STEPS, ChunkOut, Inputs, Trial

__all__ = ["InspectPolicy", "seed_everything"]

_UNREACHABLE = (ConnectionError, TimeoutError)

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end the node: a policy that catches them would outlive its graph."""


class InspectPolicy:
    """One policy of Inspect Robots.

    Args:
        name: Its registered name.
        args: Keyword arguments of its factory.
        cameras: Cameras of the rig.
        control_hz: Control rate of the rig [Hz].
        mode: ``lockstep`` or ``paced``.

    Raises:
        ConfigError: The policy cannot be built.
    """

    slow = True

    def __init__(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        cameras: tuple[Camera, ...],
        control_hz: float,
        mode: str = "lockstep",
    ) -> None:
        self.label = name
        self._rig = embodiment_info(cameras, control_hz, mode=mode)
        with _Sorted(name, None, building=True):
            self._policy = resolve("policy", name, **args)
            bind = getattr(self._policy, "bind", None)
            if callable(bind):
                bind(self._rig)
            needed = self._policy.info.observation_space
            # A policy that declares nothing takes what there is.
            everything = not needed.camera_names and not needed.state_keys
            wanted = {c.key for c in cameras} if everything else set(needed.camera_names)
            self._cameras = tuple(camera for camera in cameras if camera.key in wanted)
            joints = [f"{arm}/joint_states" for arm in ARMS] if everything or needed.state_keys else []
        self.streams = tuple(joints + [camera.topic for camera in self._cameras])

    def reset(self, trial: Trial) -> None:
        """Check that the policy fits the rig, seed what it draws from, and begin the scene.

        Raises:
            ConfigError: It does not fit; names every mismatch.
            PolicyError: It failed.
            RigFault: Its server does not answer.
        """
        with _Sorted(self.label, self._policy):
            report = check_compatibility(self._policy, cast(Embodiment, SimpleNamespace(info=self._rig)))
        if report.errors:
            told = "; ".join(f"{issue.message} [{issue.code}]" for issue in report.errors)
            raise ConfigError(
                f"policy 'inspect:{self.label}'",
                expected=f"{ACTION_DIM} absolute joint targets from cameras "
                f"{', '.join(sorted(self._rig.observation_space.camera_names)) or '(none)'} and state {STATE_KEY}",
                got=told,
                fix="choose a policy for this rig, or change its cameras",
            )
        seed_everything(trial.seed)
        with _Sorted(self.label, self._policy):
            seed = getattr(self._policy, "seed", None)
            if callable(seed):
                seed(trial.seed)
            self._policy.reset(_scene(trial))

    def infer(self, inputs: Inputs) -> ChunkOut:
        """Return the policy's chunk.

        Raises:
            PolicyError: It failed.
            RigFault: Its server does not answer.
        """
        state = {} if inputs.joint_pos is None else {STATE_KEY: inputs.joint_pos}
        newest = max(inputs.stamps.values(), default=0)
        observation = Observation(
            images=inputs.images,
            state=state,
            instruction=inputs.instruction,
            image_times={key: ns / 1e9 for key, ns in inputs.image_stamps.items()},
            state_time=inputs.stamps.get(f"{ARMS[0]}/joint_states", newest) / 1e9,
            extra={"env_step": inputs.step, "approvals": []},
        )
        with _Sorted(self.label, self._policy):
            chunk = self._policy.act(observation)
            if not hasattr(chunk, "actions"):
                raise PolicyError(
                    f"chunk of policy '{self.label}'",
                    expected="an ActionChunk of Inspect Robots",
                    got=type(chunk).__name__,
                    fix="correct what act returns",
                )
            actions = itertools.islice(chunk.actions, MOST_STEPS + 1)  # one too many is enough to refuse it
            rows = [np.asarray(action.data, dtype=np.float64).reshape(-1) for action in actions]
            widths = sorted({row.size for row in rows})
            if len(widths) > 1:
                raise PolicyError(
                    f"chunk of policy '{self.label}'",
                    expected=f"actions of {ACTION_DIM} values",
                    got=f"actions of {', '.join(map(str, widths))} values",
                    fix="correct the policy",
                )
            return ChunkOut(np.array(rows), chunk.control_hz)


class _Sorted:
    """Turns what a policy raises into the workspace's errors, and undoes what it did to the process.

    Args:
        label: The policy's name.
        policy: The policy; None while it is being built.
        building: Whether nothing has moved yet, so that whatever it raises is a matter of configuration.
    """

    def __init__(self, label: str, policy: Any, *, building: bool = False) -> None:
        self._label, self._policy, self._building = label, policy, building
        self._directory = ""
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> None:
        with contextlib.suppress(OSError):
            self._directory = str(Path.cwd())
        if threading.current_thread() is threading.main_thread():
            self._handlers = {signum: signal.getsignal(signum) for signum in _SIGNALS}

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        with contextlib.suppress(OSError):
            os.chdir(self._directory)
        for signum, handler in self._handlers.items():
            if signal.getsignal(signum) is not handler:
                signal.signal(signum, handler)
        if error is None or isinstance(error, ConfigError if self._building else AssayError):
            return
        if self._building:
            raise ConfigError(
                f"policy 'inspect:{self._label}'",
                expected="a policy that can be built for this rig",
                got=in_words(error),
                fix="correct policy_args, or install what the policy needs",
            ) from error
        told = f"policy 'inspect:{self._label}': {in_words(error)}"
        if any(isinstance(link, _UNREACHABLE) for link in _chain(error)):
            server = getattr(self._policy, "server_url", None)
            remedy = getattr(self._policy, "remedy", None)
            told += f" (server {server})" if server else ""
            raise RigFault(told + (f". fix: {remedy}" if remedy else "")) from error
        raise PolicyError(told) from error


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and what caused it, outermost first."""
    links: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in links:
        links.append(current)
        reason = getattr(current, "reason", None)
        current = current.__cause__ or current.__context__ or (reason if isinstance(reason, BaseException) else None)
    return links


def _scene(trial: Trial) -> Scene:
    """Return the scene as the framework knows it, with the realization's instruction."""
    data = trial.scene
    target = data.get("target")
    return Scene(
        id=trial.scene_id,
        instruction=trial.instruction,
        target=None if target is None else Target(kind=target["kind"], spec=target.get("spec") or {}),
        init_seed=data.get("init_seed"),
        setup=data.get("setup"),
        metadata=data.get("metadata") or {},
    )


def seed_everything(seed: int) -> None:
    """Seed the generators that policies commonly draw from: Python's, numpy's and, where it is loaded, torch's."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
