"""The session that embodiment `assay` opens when the framework's own command line drives it.

The framework tells an embodiment neither the epoch nor when a trial is over. Here epochs are counted per scene, a trial
is finished when the next one starts or the embodiment is closed, and the plan is an open one that grows by one entry
with each reset. `./assay eval` does all of this itself and knows more.
"""

from __future__ import annotations

import importlib.metadata
import time
import uuid
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inspect_robots.rollout import StepRecord, TrialRecord
from inspect_robots.types import Action, Observation, StepResult

from assay_bridge.attached import heard_serving
from assay_bridge.client import GraphClient
from assay_bridge.client_types import ClientConfig
from assay_bridge.derived import rederive
from assay_bridge.link import Link
from assay_bridge.preflight import check_directory, create_session, discard_session
from assay_bridge.record import dumps, from_record
from assay_bridge.summary import DONE
from assay_core.errors import AssayError, ConfigError, PolicyError, SafetyStop
from assay_core.journal import JOURNAL_FILE
from assay_core.plan import PLAN_SCHEMA_VERSION, Plan, PlanEntry
from assay_core.program import command
from assay_msgs.msg import TrialState
from assay_msgs.srv import CloseSession, FinishTrial

if TYPE_CHECKING:
    from inspect_robots.scene import Scene
    from inspect_robots.task import TaskEnvelope

__all__ = ["OwnSession"]

_BLANK = Observation()


class OwnSession:
    """A session with an open plan.

    Args:
        config: Rig, rate and deadlines; session id and runner id are chosen here.
        link: Shared with policy and grader.
        directory: Session directory; empty makes one under ``sessions/``.
        graders: Ids whose verdicts count, separated by commas.
        operators: Ids that may answer for the scene, separated by commas.

    Raises:
        ConfigError: The directory exists already or cannot be made, the rig is in use, or the graph serves another one.
        DeadlineError: The graph is not complete in time.
    """

    def __init__(self, config: ClientConfig, link: Link, *, directory: str, graders: str, operators: str) -> None:
        self.session_id = time.strftime("run-%Y%m%d-%H%M%S-", time.gmtime()) + uuid.uuid4().hex[:6]
        self.directory = Path(directory or Path("sessions") / self.session_id).absolute()
        self._link = link
        self._envelope: TaskEnvelope | None = None
        self._epochs: Counter[str] = Counter()
        self._index = 0
        self._record: TrialRecord | None = None
        self._started_ns = 0
        config = replace(config, session_id=self.session_id)
        plan = self._plan(config, _ids(graders), _ids(operators))
        check_directory(self.directory)
        self.client = GraphClient(config)
        try:
            with heard_serving(self.client.node, config) as check:
                self.client.connect(policy=link.wants_policy, check=check)
            plan_hash = create_session(self.directory, plan)
            try:
                self.client.open_session(str(self.directory), plan_hash, resume=False)
            except AssayError:
                discard_session(self.directory)
                raise
        except BaseException:
            self.client.close()
            raise
        link.client = self.client

    def _plan(self, config: ClientConfig, graders: tuple[str, ...], operators: tuple[str, ...]) -> Plan:
        return Plan(
            schema_version=PLAN_SCHEMA_VERSION,
            session_id=self.session_id,
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            seed=0,
            backend="attached",
            policies=("assay",) if self._link.wants_policy else ("in-process",),
            operator="attached",
            graders=graders,
            operators=operators,
            cameras=config.cameras,
            control_hz=config.control_hz,
            mode=config.mode,
            max_repeats=0,
            open=True,
            entries=(),
            software={name: importlib.metadata.version(name) for name in ("inspect-robots", "numpy")},
        )

    def bind_task(self, envelope: TaskEnvelope | None) -> None:
        """Take the task of the trials that follow; epochs count from 0 again."""
        self._envelope = envelope
        self._epochs.clear()

    def next_trial(self, scene: Scene, seed: int | None) -> tuple[PlanEntry, int, str]:
        """Finish the trial before, and return entry, attempt and entry JSON of the next one.

        Raises:
            ConfigError: The framework named no task, or gave no seed.
        """
        self._finish(closing=False)
        if self._envelope is None or seed is None:
            raise ConfigError(
                "embodiment 'assay'",
                expected="a task and a trial seed",
                got="a rollout without " + ("a task" if self._envelope is None else "a seed"),
                fix=f"run it through eval(), inspect-robots run, or {command('eval')}",
            )
        entry = PlanEntry(
            index=self._index,
            task=self._envelope.name,
            task_version=_task_version(self._envelope.name),
            instance_id=str(scene.metadata.get("instance_id", "")),
            scene_id=scene.id,
            scene_seed=scene.init_seed,
            epoch=self._epochs[scene.id],
            seed=seed,
            max_steps=self._envelope.max_steps,
        )
        self._index += 1
        self._epochs[scene.id] += 1
        self._record = TrialRecord(scene_id=scene.id, epoch=entry.epoch, seed=seed)
        self._started_ns = time.time_ns()
        return entry, 0, entry.to_json()

    def log_step(self, action: Action, result: StepResult) -> None:
        """Keep one step for the trial's record."""
        record = self._record
        if record is not None:
            kept = replace(result, observation=_BLANK)
            record.steps.append(StepRecord(t=len(record.steps), observation=_BLANK, action=action, result=kept))
            record.terminated = result.terminated
            record.termination_reason = result.termination_reason

    def close(self) -> None:
        """Finish the last trial, close the session and leave the graph.

        Raises:
            AssayError: The last trial or the session could not be closed.
        """
        try:
            halted = isinstance(self._link.failure, SafetyStop)
            broken = self._link.failure is not None and not isinstance(self._link.failure, PolicyError)
            self._finish(closing=True)
            status = (
                CloseSession.Request.STATUS_HALTED
                if halted
                else CloseSession.Request.STATUS_INCOMPLETE
                if broken
                else CloseSession.Request.STATUS_DONE
            )
            if status == CloseSession.Request.STATUS_DONE:
                self._derive(DONE)  # before the seal, which covers it
            self.client.close_session(status, str(self._link.failure or ""))
            if status != CloseSession.Request.STATUS_DONE:
                self._derive("")
        finally:
            self.client.close()

    def _derive(self, status: str) -> None:
        """Derive logs and summary; what keeps them from being derived must not keep the session from being closed."""
        if not (self.directory / JOURNAL_FILE).exists():
            return  # on another machine
        try:
            rederive(self.directory, status=status)
        except (AssayError, OSError) as error:
            warnings.warn(f"session {self.directory}: no logs and summary: {error}", RuntimeWarning, stacklevel=3)

    def _finish(self, *, closing: bool) -> None:
        """Bring the current trial, if any, to its end."""
        record, self._record = self._record, None
        client, failure = self.client, self._link.failure
        if record is None or self._link.realization is None or self._link.trial_id != client.trial_id:
            return
        max_steps = self._link.realization.max_steps
        ended = record.terminated or len(record.steps) >= max_steps
        if not record.terminated and ended:
            record.truncated, record.termination_reason = True, "max_steps"
        if failure is not None:
            record.status, record.error = "error", f"{type(failure).__name__}: {failure}"
        elif closing and not ended and not self._judging():
            record.status, record.error = "cancelled", "the run ended during the trial"
        text = dumps(from_record(record, started_ns=self._started_ns, ended_ns=time.time_ns()))
        status = _status(failure, record.status)
        if client.trial_ended():
            # By an operator, a deadline or a fault: what was done until then is kept with it.
            client.finish_trial(status, record.error or "", text)
            return
        if status == FinishTrial.Request.STATUS_COMPLETED:
            if self._link.verdict is None:
                self._judge(text)
            # The record went out with JUDGE, from here or from the grader.
            text = ""
        client.finish_trial(status, record.error or "", text)

    def _judge(self, text: str) -> None:
        """Have the trial judged; a trial that nobody judges in time does not count."""
        client = self.client
        try:
            client.judge(text)
            self._link.verdict = client.wait_for_verdict()
        except AssayError as error:
            client.finish_trial(FinishTrial.Request.STATUS_CANCELLED, str(error), text)
            raise

    def _judging(self) -> bool:
        """Return whether the trial went past its motion, which the framework reports only before a grader."""
        return self.client.trial_state.state in (TrialState.PARKING, TrialState.JUDGE)


def _status(failure: BaseException | None, status: str) -> int:
    if isinstance(failure, PolicyError):
        return int(FinishTrial.Request.STATUS_POLICY_ERROR)
    if isinstance(failure, SafetyStop):
        return int(FinishTrial.Request.STATUS_SAFETY)
    if isinstance(failure, AssayError):
        return int(FinishTrial.Request.STATUS_RIG_FAULT)
    if failure is not None or status == "cancelled":
        return int(FinishTrial.Request.STATUS_CANCELLED)
    return int(FinishTrial.Request.STATUS_COMPLETED)


def _ids(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _task_version(name: str) -> str:
    """Return the version that a registered task states; empty when it states none.

    Raises:
        ConfigError: No task of this name is registered, so the benchmark node could not realize it.
    """
    from assay_benchmarks.catalog import resolve_task, task_version

    return str(task_version(resolve_task(name)))
