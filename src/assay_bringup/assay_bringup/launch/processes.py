"""Starts the processes of a resolved launch, knows which of them died, and ends them all.

Made for two callers: `./assay launch`, which shows their output and ends when the launch file says so, and the session
runner, which asks `dead()` at every step and decides for itself what a death means.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import yaml

from assay_bringup import shm
from assay_bringup.bringup_plan import CONFIGURE
from assay_bringup.launch.child import Child, describe_end, last_line
from assay_bringup.launch.log_size import LogSizes
from assay_bringup.launch.model import PARAMETERS, Resolved, ResolvedProcess
from assay_bringup.launch.stages import Stages
from assay_bringup.launch.warden import Warden
from assay_bringup.ready import STATE_FILE_VARIABLE, Bringup, read_state, renewed_ns
from assay_core.domains import mark_ending
from assay_core.errors import ConfigError, DeadlineError, RigFault

__all__ = ["End", "GraphProcesses"]

RIG_PACKAGE = "assay_bench"
"""Whose node there can be one of in a ROS domain; a launch with it is a rig."""

MANAGER = "lifecycle_manager"
"""Executable that writes the state which `GraphProcesses.wait_ready` reads."""

SILENCE_S = 60.0
"""Longest time without a sign of life of the lifecycle manager while a graph comes up [s]; it gives one a second."""

_CONFIGURATION = 2
"""Exit code of a process that refuses its configuration."""
_REFUSED = f"{CONFIGURE} was refused"
_POLL_S = 0.02
_LOGS_S = 0.5
"""Time between two looks at how large the logs are [s]."""
_REAP_S = 2.0
"""Time after SIGKILL in which the kernel gives a process up [s]; longer only where a driver hangs."""


@dataclass
class End:
    """How a process ended."""

    label: str
    returncode: int
    """Exit code, or the negative number of a signal."""
    stopped: bool
    """Whether it ended because it was told to."""
    message: str
    """E.g. ``world (mock_world, pid 123) died: SIGKILL``."""
    escalated: str = ""
    """SIGTERM or SIGKILL where SIGINT was not enough."""


@dataclass
class _Slot:
    """A process of the launch through its restarts."""

    spec: ResolvedProcess
    child: Child | None = None
    retries: int = 0
    restart_at: float | None = None
    """Monotonic time at which it is to be started again [s]."""
    stages: Stages | None = None
    """Signals sent to it, once it is being stopped."""


class GraphProcesses:
    """The running processes of one launch. Use `start`; end with `stop` or a ``with`` block.

    Must be started from a thread that lives as long as the graph, e.g. the main one: Linux takes the end of the
    starting thread for the launcher's death.
    """

    def __init__(
        self,
        resolved: Resolved,
        environ: Mapping[str, str],
        log_dir: Path,
        echo: Callable[[str, str, str], None] | None,
    ) -> None:
        self.resolved = resolved
        self.log_dir = log_dir
        """Directory with one log a process."""
        self.state_file = log_dir / "bringup.json"
        self._environ = environ
        self._echo = echo
        self._slots = [_Slot(spec) for spec in resolved.processes]
        self._changed = threading.Condition()
        self._stopping = False
        self._ending = threading.Event()
        self._hurried = False
        self._stop_began: float | None = None
        self._dead: str | None = None
        self._history: list[End] = []
        self._log_sizes = LogSizes(log_dir)
        rig = any(process.package == RIG_PACKAGE for process in resolved.processes)
        self._warden = Warden(mark_ending(environ) if rig else None)

    @classmethod
    def start(
        cls,
        resolved: Resolved,
        *,
        env: Mapping[str, str] | None = None,
        log_dir: str | os.PathLike[str] | None = None,
        echo: Callable[[str, str, str], None] | None = None,
        clients: int = 1,
    ) -> GraphProcesses:
        """Start every process, in the order of the launch file.

        Args:
            resolved: From `resolve`.
            env: Variables added to this process's environment, e.g. ``ROS_DOMAIN_ID``; the launch file wins.
            log_dir: Directory for logs, made where needed; None makes a temporary one.
            echo: Gets label, line and stream (``stdout``, ``stderr``) of all output, from threads.
            clients: How many further processes will join the graph; room in shared memory is checked for them too.

        Raises:
            ConfigError: There is too little shared memory, the log directory cannot be written, or a program does
                not start. Nothing is left running then.
        """
        environ = {**os.environ, **(env or {})}
        shm.sweep()
        nodes = [p for p in resolved.processes if p.node is not None]
        if nodes:
            shm.require_room(len(nodes) + clients, _environment(environ, nodes[0]))
        directory = Path(tempfile.mkdtemp(prefix="assay-launch-") if log_dir is None else log_dir)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "bringup.json").unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(
                f"log directory {directory}", expected="a directory to write to", got=str(error), fix="name another one"
            ) from error
        graph = cls(resolved, environ, directory.absolute(), echo)
        try:
            for slot in graph._slots:
                graph._spawn(slot)
            threading.Thread(target=graph._trim, name="log-sizes", daemon=True).start()
            if any(process.respawn for process in resolved.processes):
                threading.Thread(target=graph._restart, name="restart", daemon=True).start()
        except BaseException:
            graph.stop(now=True)
            raise
        return graph

    def dead(self) -> str | None:
        """Return who died and how, or None while every process runs. Costs nothing: call it at every step.

        A process that is being restarted counts as dead until it is back.
        """
        return self._dead

    def ends(self) -> list[End]:
        """Return how processes ended so far, in the order in which they did; a restarted one ends repeatedly."""
        with self._changed:
            return list(self._history)

    def running(self) -> dict[str, int]:
        """Return the process id of every running process by label."""
        return {s.spec.label: s.child.pid for s in self._slots if s.child is not None and not s.child.ended.is_set()}

    def wait_ready(self, silence_s: float = SILENCE_S, progress: Callable[[Bringup], None] | None = None) -> None:
        """Wait until the lifecycle manager has activated every node, or has given one up.

        How long a node may take is for the manager to say (config/lifecycle_manager.yaml); it says which one took too
        long, and why. Here only the manager itself is watched.

        Args:
            silence_s: Longest time without a sign of life of the manager [s].
            progress: Called with each new state.

        Raises:
            ConfigError: The launch has no lifecycle manager.
            ConfigError: Also when a process ended with exit code 2, or a node refused to be configured.
            RigFault: A process died or a node could not be brought up; the message names it and says why.
            DeadlineError: The manager is silent; the message says what was missing.
        """
        if all(Path(p.executable).name != MANAGER for p in self.resolved.processes):
            raise ConfigError(
                self.resolved.file, expected=f"a node with exec: {MANAGER}", got="none", fix="add one, or do not wait"
            )
        heard, renewed = time.monotonic(), 0
        last: Bringup | None = None
        while True:
            dead = self.dead()
            renewal = renewed_ns(self.state_file)
            if renewal != renewed:
                heard, renewed = time.monotonic(), renewal
            state = read_state(self.state_file)
            if state is not None and state != last:
                last = state
                if progress is not None:
                    progress(state)
            if dead is not None:
                refused = any(end.returncode == _CONFIGURATION and not end.stopped for end in self.ends())
                raise (ConfigError if refused else RigFault)(f"the graph did not come up: {dead}")
            if state is not None and state.ready:
                return
            if state is not None and state.failed:
                refused = any(node.state == "failed" and node.message.startswith(_REFUSED) for node in state.nodes)
                text = f"the graph did not come up: {state.message}. logs: {self.log_dir}"
                raise (ConfigError if refused else RigFault)(text)
            if time.monotonic() >= heard + silence_s:
                missing = f"{MANAGER}: not started" if last is None else last.missing() or last.message
                raise DeadlineError(
                    "the graph",
                    expected=f"a sign of life of {MANAGER} within {silence_s:g} s",
                    got=missing,
                    fix=f"see the logs in {self.log_dir}",
                )
            time.sleep(_POLL_S)

    def finished(self) -> bool:
        """Whether no process runs any more and none is to be started again."""
        with self._changed:
            return all(slot.child is None and slot.restart_at is None for slot in self._slots)

    def restarting(self, label: str) -> bool:
        """Whether a process is about to be started again."""
        with self._changed:
            return any(slot.restart_at is not None for slot in self._slots if slot.spec.label == label)

    def wait_change(self, known: int, timeout_s: float) -> None:
        """Wait until more than ``known`` ends have happened, or for ``timeout_s`` [s]."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._history) > known, timeout_s)

    def stop(self, *, now: bool = False) -> list[End]:
        """End every process: SIGINT, then SIGTERM, then SIGKILL, at the times that the launch file gives.

        Then remove from shared memory what they left. May be called again, also with ``now`` while another call
        waits.

        Args:
            now: Start with SIGTERM and kill after half a second.

        Returns:
            How each process ended.
        """
        with self._changed:
            self._stopping = True
            self._ending.set()
            self._hurried = self._hurried or now
            self._stop_began = begin = self._stop_began or time.monotonic()
            stages: list[Stages] = []
            for slot in self._slots:
                slot.restart_at = None
                if slot.child is not None:
                    slot.stages = slot.stages or Stages(slot.spec, slot.child)
                    stages.append(slot.stages)
            while any(slot.child is not None for slot in self._slots):
                elapsed_s = time.monotonic() - begin
                for stage in stages:
                    stage.advance(elapsed_s, self._hurried)
                if elapsed_s > max(stage.last_s for stage in stages) + _REAP_S:
                    break
                self._changed.wait(_POLL_S)
        self._log_sizes.trim()
        shm.sweep()
        self._warden.close()
        return self.ends()

    def hurry(self) -> None:
        """Let a `stop` that is under way end the processes at once. Only sets a flag: for signal handlers."""
        self._hurried = True

    def __enter__(self) -> GraphProcesses:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every process."""
        self.stop()

    def _spawn(self, slot: _Slot) -> None:
        spec, echo = slot.spec, self._echo
        child = Child(
            self._command(spec),
            environ={
                **_environment(self._environ, spec),
                "ROS_LOG_DIR": str(self.log_dir / "ros"),
                STATE_FILE_VARIABLE: str(self.state_file),
            },
            cwd=spec.cwd,
            log=self.log_dir / f"{spec.label.replace('/', '.')}.log",
            echo=None if echo is None else lambda line, stream: echo(spec.label, line, stream),
            on_end=lambda child: self._ended(slot, child),
        )
        slot.child = child
        self._warden.watch(child.pid)
        child.watch()

    def _command(self, spec: ResolvedProcess) -> list[str]:
        """Return the command with parameter files written."""
        written = iter([source for source in spec.parameters if source.file is None])
        command: list[str] = []
        for index, word in enumerate(spec.command):
            if word == PARAMETERS:
                path = self.log_dir / f"{spec.label.replace('/', '.')}.{index}.params.yaml"
                content = {spec.parameter_key: {"ros__parameters": next(written).values}}
                path.write_text(yaml.safe_dump(content, default_flow_style=False), encoding="utf-8")
                word = str(path)
            command.append(word)
        return command

    def _ended(self, slot: _Slot, child: Child) -> None:
        """Note the end of a process; runs in the thread that waited for it."""
        spec, code = slot.spec, child.returncode or 0
        name = f"{spec.label} ({Path(spec.executable).name}, pid {child.pid})"
        said = last_line(child.log) if code > 0 else ""
        message = f"{name} {describe_end(code)}" + (f": {said}" if said else "")
        with self._changed:
            self._history.append(
                End(spec.label, code, self._stopping, message, slot.stages.escalated if slot.stages else "")
            )
            slot.child = None
            self._warden.forget(child.pid)
            if not self._stopping:
                self._dead = self._dead or message
                if spec.respawn and (spec.respawn_max_retries < 0 or slot.retries < spec.respawn_max_retries):
                    slot.retries += 1
                    slot.restart_at = time.monotonic() + spec.respawn_delay_s
            self._changed.notify_all()

    def _trim(self) -> None:
        """Keep the logs from filling the disk while the graph runs."""
        while not self._ending.wait(_LOGS_S):
            self._log_sizes.trim()

    def _restart(self) -> None:
        """Start processes again that are due; one thread does it all, since a child dies with the thread it has."""
        with self._changed:
            while not self._stopping or any(slot.child is not None for slot in self._slots):
                due = [slot.restart_at for slot in self._slots if slot.restart_at is not None]
                self._changed.wait(None if not due else max(0.0, min(due) - time.monotonic()))
                for slot in self._slots:
                    if slot.restart_at is None or slot.restart_at > time.monotonic() or self._stopping:
                        continue
                    slot.restart_at = None
                    shm.sweep()
                    self._spawn(slot)
                    if all(other.child is not None for other in self._slots):
                        self._dead = None


def _environment(environ: Mapping[str, str], spec: ResolvedProcess) -> dict[str, str]:
    """Return the whole environment of a process."""
    result = dict(environ)
    for name, value in spec.environment.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result
