"""The mock world between its node and its parts: trials, commands, steps, publications.

Owns no entity that receives: the node hands it messages and calls it back from timers. So a test drives a whole trial
by plain calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from rclpy.node import Node

from assay_benchmarks import catalog
from assay_core.errors import AssayError
from assay_core.realization import TrialRealization
from assay_core.rig import ARM_DIM, ARMS, cameras
from assay_msgs.msg import ResultCode
from assay_ros.convert import realization_from_msg
from assay_ros.diagnostics import Readings
from assay_sim.arm_reports import ArmReport, ArmTracer, limits_of
from assay_sim.commands import Command, read_command
from assay_sim.fault_injector import FaultInjector
from assay_sim.faults import FaultSchedule
from assay_sim.lockstep import Answer, Lockstep
from assay_sim.mock_dynamics import MockDynamics
from assay_sim.mock_params import MockWorldParams
from assay_sim.mock_render import MockRenderer
from assay_sim.mock_streams import WorldStreams

__all__ = ["MockCore"]

NS = 1_000_000_000


class MockCore:
    """One mock world.

    Args:
        node: Owner of the publishers.
        params: Of the node.
        schedule: Faults to have from the start.
        before_publish: Called with the stamps' message right before each publication, e.g. to publish the clock.
    """

    def __init__(
        self,
        node: Node,
        params: MockWorldParams,
        schedule: FaultSchedule,
        before_publish: Callable[[Any], None] | None = None,
    ) -> None:
        rig = cameras(params.cameras, params.camera_width, params.camera_height)
        if rig:
            # Reads the task files now, because the first reset should not take longer than the others.
            catalog.instance_ids()
        self._node = node
        self._paced = params.mode == "paced"
        self._before_publish = before_publish
        self._last_ns = 0
        self.renderer = MockRenderer(rig, params.noise, params.seed)
        self.streams = WorldStreams(node, rig, self.renderer, params.control_hz)
        self.lockstep = Lockstep(round(NS / params.control_hz))
        self.reports = [ArmReport(node, arm) for arm in ARMS]
        self.tracers = [ArmTracer(node, k) for k in range(len(ARMS))] if params.publish_trace else []
        self.dynamics = MockDynamics()
        self.active = False
        self.steps = 0
        """Control steps since the start, over all trials."""
        self._trial = ("", "", "")
        self._first_stamp_ns = 0
        self._owed = self._is_new = False
        """Whether a reset still has to publish, and whether for the first time."""
        self._commands: list[Command | None] = [None] * len(ARMS)
        self._schedule = schedule
        self._faults = FaultInjector(node, self.streams, schedule)

    # -- life --------------------------------------------------------------------------------------------------------

    def activate(self) -> None:
        """Arm, and accept commands and resets; nothing is published before the first reset or tick."""
        self.active = True
        self._trial = ("", "", "")
        for report in self.reports:
            report.set_mode(True, self.now_ns())
        self._begin("", "", MockDynamics())

    def halt(self) -> None:
        """Refuse commands and resets from now on, publish nothing, and disarm."""
        if not self.active:
            return
        self.active = self._owed = self._is_new = False
        self.lockstep.stop()
        self._faults.close()
        for tracer in self.tracers:
            tracer.flush()
        for report in self.reports:
            report.set_mode(False, self.now_ns())

    def destroy(self) -> None:
        """Take all publishers off the graph."""
        self.streams.destroy(self._node)
        parts: list[ArmReport | ArmTracer] = [*self.reports, *self.tracers]
        for part in parts:
            part.destroy(self._node)

    def set_faults(self, schedule: FaultSchedule) -> None:
        """Replace the faults, from the next publication on."""
        self._faults.close()
        self._schedule, injected = schedule, self._faults.injected
        self._faults = FaultInjector(self._node, self.streams, schedule)
        self._faults.injected = injected

    def readings(self) -> Readings:
        """Return how the world is doing, for ``diagnostics``."""
        return {
            "steps": self.steps,
            "stamps_refused": self.lockstep.refused,
            "faults_injected": self._faults.injected,
        }

    def now_ns(self) -> int:
        """Return world time, or in paced mode wall time, which never goes back [ns]."""
        if not self._paced:
            return self.lockstep.now_ns
        self._last_ns = max(time.time_ns(), self._last_ns + 1)
        return self._last_ns

    # -- trials ------------------------------------------------------------------------------------------------------

    def silent(self, trial_id: str | None = None) -> bool:
        """Return whether a fault keeps the world from answering now."""
        if not self._schedule:
            return False
        if trial_id is not None and trial_id != self._trial[1]:
            return self._faults.silent(trial_id, 0)
        return self._faults.silent(self._trial[1], self.dynamics.steps)

    def reset(self, msg: Any) -> tuple[int, str, int]:
        """Arrange the realization of an `assay_msgs/Realization`; `publish_arranged` then shows it.

        Returns:
            A ResultCode, why it is not OK, and the stamp of the first frame set [ns].
        """
        try:
            code, why = self._reset(msg)
        except AssayError as error:
            code, why = ResultCode.INVALID_ARGUMENT, str(error)
        return code, why, self._first_stamp_ns if code == ResultCode.OK else 0

    def _reset(self, msg: Any) -> tuple[int, str]:
        if not self.active:
            return ResultCode.NOT_READY, "world/reset: expected an active node, got an inactive one. fix: activate it"
        if not msg.trial_id:
            return ResultCode.INVALID_ARGUMENT, "world/reset: expected a trial id, got none. fix: fill in trial_id"
        try:
            realization = realization_from_msg(msg)
        except ValueError as error:
            return ResultCode.INVALID_ARGUMENT, f"world/reset: expected values and layout as JSON, got {error}"
        found = realization.content_hash()
        if found != msg.content_hash:
            return ResultCode.REALIZATION_MISMATCH, (
                f"realization of trial {msg.trial_id}: expected content hash {found}, got "
                f"{msg.content_hash or 'none'}. fix: run world and benchmark node from the same release"
            )
        trial = (msg.session_id, msg.trial_id, found)
        if trial == self._trial:
            # In the middle of a trial too: whoever missed the newest state, like a restarted grader, hears it so.
            self._owed = True
            return ResultCode.OK, ""
        if trial[:2] == self._trial[:2]:
            return ResultCode.INVALID_ARGUMENT, (
                f"world/reset: trial {msg.trial_id} stands for another realization. fix: give this one another id"
            )
        self._arrange(realization)
        self._trial = trial
        self._begin(msg.session_id, msg.trial_id, MockDynamics(realization))
        self._first_stamp_ns = self.now_ns() if self._paced else self.lockstep.start(msg.trial_id)
        self.streams.fill(self._first_stamp_ns, self.dynamics, self.dynamics.judge())
        self._owed = self._is_new = True
        return ResultCode.OK, ""

    def publish_arranged(self) -> None:
        """Publish what the last reset arranged, once; to be called when it is answered, since drawing takes time."""
        if self._owed and self.active:
            repeat, self._owed, self._is_new = not self._is_new, False, False
            self._publish(repeat=repeat)

    def _arrange(self, realization: TrialRealization) -> None:
        if self.renderer.views:
            self.renderer.set_scene(catalog.blueprint_of(realization))

    def _begin(self, session_id: str, trial_id: str, dynamics: MockDynamics) -> None:
        self.dynamics = dynamics
        self._commands = [None] * len(ARMS)
        self.streams.begin(session_id, trial_id, dynamics)
        self._faults.begin()
        for report in self.reports:
            report.begin(self.now_ns())
        for tracer in self.tracers:
            tracer.flush(session_id, trial_id)

    # -- commands ----------------------------------------------------------------------------------------------------

    def _read(self, arm: int, msg: Any) -> Command | None:
        """Return a command that may be followed; otherwise report why it is refused."""
        if not self.active or self.silent():
            return None
        command, report = read_command(ARMS[arm], msg), self.reports[arm]
        if isinstance(command, str):
            report.refuse(command, self.now_ns())
        elif msg.trial_id and (msg.session_id, msg.trial_id) != self._trial[:2]:
            session, trial = self._trial[:2]
            wanted, got = f"'{trial}' of session '{session}'", f"'{msg.trial_id}' of session '{msg.session_id}'"
            report.refuse(f"expected trial {wanted}, got {got}", self.now_ns())
        elif report.holder() not in ("", command.lease):
            report.refuse(f"'{report.holder()}' holds the lease, not '{command.lease}'", self.now_ns())
        else:
            return command
        return None

    def on_lockstep_command(self, arm: int, msg: Any) -> Answer | None:
        """Take one arm's command; with the second of a pair, step and publish.

        Args:
            arm: Index in `assay_core.rig.ARMS`.
            msg: `assay_msgs/ArmCommand`.

        Returns:
            What was made of it; None when it was refused before its stamp was looked at.
        """
        command = self._read(arm, msg)
        if command is None:
            return None
        if len(command.points) != 1:
            self.reports[arm].refuse(f"expected one point in lockstep, got {len(command.points)}", self.now_ns())
            return None
        lockstep = self.lockstep
        answer = lockstep.offer(arm, command.stamp_ns, command.points[0])
        if answer is Answer.STEP:
            self._commands[arm] = command
            self.dynamics.step(lockstep.command)
            self._publish_at(lockstep.advance())
            self._account(lockstep.command, lockstep.now_ns)
        elif answer is Answer.WAIT:
            self._commands[arm] = command
        elif answer is Answer.REPEAT:
            self._publish(repeat=True)
        elif answer is not Answer.COVERED:
            stamp, now = command.stamp_ns / NS, lockstep.now_ns / NS
            self.reports[arm].refuse(f"stamp {stamp:.3f} s: {answer.value}; world time is {now:.3f} s", self.now_ns())
        return answer

    def on_paced_command(self, arm: int, msg: Any) -> None:
        """Take one arm's command; it counts from the next tick on."""
        command = self._read(arm, msg)
        if command is not None:
            self._commands[arm] = command

    def tick(self) -> None:
        """Make one step of paced time and publish it: the newest commands, or hold where there is none."""
        if not self.active or self.silent():
            return
        now_ns = self.now_ns()
        targets = self.dynamics.position.copy()
        for k, command in enumerate(self._commands):
            if command is not None:
                targets[k * ARM_DIM : (k + 1) * ARM_DIM] = command.at((now_ns - command.stamp_ns) / NS)
        self.dynamics.step(targets)
        self._publish_at(now_ns)
        self._account(targets, now_ns)

    def _account(self, targets: npt.NDArray[np.float64], stamp_ns: int) -> None:
        """Report what the commands of a step came to; after its publication, which somebody waits for."""
        self.steps += 1
        for k, command in enumerate(self._commands):
            if command is not None:
                self.reports[k].accept(command.lease, limits_of(self.dynamics, k), stamp_ns)
        for k, tracer in enumerate(self.tracers):
            command = self._commands[k]
            tracer.add(stamp_ns, 0 if command is None else command.sequence, targets, self.dynamics)
            if self.streams.task.terminated:
                tracer.flush()

    # -- publishing --------------------------------------------------------------------------------------------------

    def _publish_at(self, stamp_ns: int) -> None:
        self.streams.fill(stamp_ns, self.dynamics, self.dynamics.judge())
        self._publish(repeat=False)

    def _publish(self, *, repeat: bool) -> None:
        if self._before_publish is not None:
            self._before_publish(self.streams.stamp)
        if self._schedule:
            self._faults.publish(repeat=repeat)
        else:
            self.streams.publish()
