"""A session without a graph: the real runner over a real journal.

The benchmark node is replaced by one that journals by the same tables, the rig by the framework's cube mock.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from inspect_robots.mock import CubePickEmbodiment, ScriptedPolicy
from inspect_robots.registry import resolve
from inspect_robots.types import Action, Observation, StepResult
from plans import entries_of, plan_of

from assay_bridge.client_types import VerdictData
from assay_bridge.derived import Derived, rederive
from assay_bridge.link import Link
from assay_bridge.progress import Progress
from assay_bridge.session import SessionRunner
from assay_bridge.session_end import SessionEnd
from assay_bridge.stop import Stop, Watch
from assay_core import journal_events as events
from assay_core.journal import JournalReader, JournalWriter
from assay_core.plan import Plan, PlanEntry, trial_id
from assay_core.realization import TrialRealization
from assay_core.seal import write_seal
from assay_core.trial import Event, State, Trial
from assay_msgs.msg import TrialState
from assay_msgs.msg import Verdict as VerdictMsg
from assay_ros.names import OUTCOME_NUMBERS

TASK = "cubepick-reach"


def make_plan() -> Plan:
    """Return a plan of the framework's own mock task: four scenes, one trial each."""
    return plan_of(entries_of(resolve("task", TASK), version="1"))


@dataclass
class Bench:
    """Journals what the benchmark node would."""

    directory: Path
    writer: JournalWriter
    trial: Trial = field(default_factory=Trial)
    trial_id: str = ""
    message: str = ""
    outcome: Callable[[str], str] = lambda _trial: "success"
    before_verdict: Callable[[str], None] = lambda _trial: None
    closed: list[int] = field(default_factory=list)
    given: str = ""
    """Outcome of the verdict in force."""

    @property
    def trial_state(self) -> TrialState:
        given = VerdictMsg(outcome=OUTCOME_NUMBERS.get(self.given, 0))
        state = int(self.trial.state)
        return TrialState(
            trial_id=self.trial_id, state=state, message=self.message, has_verdict=bool(self.given), verdict=given
        )

    def trial_ended(self) -> bool:
        return not self.trial.in_progress

    def _write(self, entry: Any) -> None:
        self.writer.append_all([entry]).result(5)

    def start(self, entry: PlanEntry, attempt: int) -> TrialRealization:
        self.trial.apply(Event.START_WITHOUT_WORLD)
        self.trial_id, self.message, self.given = trial_id(entry.index, attempt), "", ""
        realization = TrialRealization(
            task=entry.task,
            task_version=entry.task_version,
            instance_id="",
            scene_id=entry.scene_id,
            epoch=entry.epoch,
            seed=entry.seed,
            instruction="reach the cube",
            target_kind="",
            checklist=(),
            values={"colour": "red"},
            layout=None,
            rubric=(),
            max_steps=entry.max_steps,
            horizon_s=8.0,
        )
        self._write(events.trial_started(entry, attempt, realization))
        self.trial.apply(Event.OPERATOR_READY)
        self._write(events.operator_ready(self.trial_id, State.READY, uuid=str(uuid.uuid4()), operator_id="auto"))
        return realization

    def advance(self, state: int, record_json: str = "") -> int:
        self.trial.apply(Event[f"ADVANCE_{State(state).name}"])
        record = json.loads(record_json) if record_json else None
        self._write(events.trial_advanced(self.trial_id, self.trial.state, record))
        return int(self.trial.state)

    def wait_for_verdict(self, deadline_s: float | None = None) -> VerdictData:
        self.before_verdict(self.trial_id)
        outcome = self.outcome(self.trial_id)
        given = VerdictData(
            str(uuid.uuid4()), self.trial_id, "checker", "checker", outcome, "", None, "looked at it", 1
        )
        self.trial.apply(Event.VERDICT_INVALID if outcome == "invalid" else Event.VERDICT)
        content = events.VerdictContent(given.uuid, "checker", outcome, note=given.note, source="checker")
        self._write(events.verdict(self.trial_id, self.trial.state, content))
        self.given = outcome
        return given

    def finish_trial(self, status: int, error: str = "", record_json: str = "") -> int:
        name = {1: "COMPLETED", 2: "POLICY_ERROR", 3: "RIG_FAULT", 4: "SAFETY", 5: "CANCELLED"}[status]
        record = json.loads(record_json)
        if self.trial.in_progress:
            self.end(Event[f"FINISH_{name}"], name.lower(), error, record)
        else:
            state = self.trial.state
            self._write(events.trial_recorded(self.trial_id, state, status=name.lower(), error=error, record=record))
        return int(self.trial.state)

    def end(self, event: Event, status: str, error: str, record: Any = None) -> None:
        self.trial.apply(event)
        self.message = error
        self._write(
            events.trial_ended(
                self.trial_id, self.trial.state, status=status, error=error, message=error, record=record
            )
        )

    def close_session(self, status: int, reason: str = "") -> str:
        self.closed.append(status)
        name = {1: "done", 2: "incomplete", 3: "halted"}[status]
        self._write(events.session_closed(name, reason))
        self.writer.close(remove_lock=name == "done")
        return write_seal(self.directory) if name == "done" else ""


class Rig(CubePickEmbodiment):
    """The cube mock as the embodiment of a graph."""

    def __init__(self, link: Link, bench: Bench, trouble: Callable[[str, int], None]) -> None:
        super().__init__()
        self.link, self.bench, self.trouble = link, bench, trouble
        self.started: list[str] = []

    def assign(self, entry: PlanEntry, attempt: int) -> None:
        self.assigned = (entry, attempt)

    def reset(self, scene: Any, *, seed: int | None = None) -> Observation:
        entry, attempt = self.assigned
        assert (scene.id, seed) == (entry.scene_id, entry.seed)
        realization = self.bench.start(entry, attempt)
        self.started.append(self.bench.trial_id)
        self.link.begin(realization, self.bench.trial_id)
        self.bench.advance(TrialState.RUNNING)
        return super().reset(scene, seed=seed)

    def step(self, action: Action) -> StepResult:
        self.link.steps += 1
        self.trouble(self.bench.trial_id, self.link.steps)
        return super().step(action)

    def observe_parked(self) -> None:
        self.bench.advance(TrialState.PARKING)


@dataclass
class World:
    """One test's session."""

    directory: Path
    plan: Plan
    outcome: Callable[[str], str] = lambda _trial: "success"
    before_verdict: Callable[[str], None] = lambda _trial: None
    trouble: Callable[[str, int], None] = lambda _trial, _step: None
    act: Callable[[str], None] = lambda _trial: None
    dead: Callable[[], str | None] = lambda: None
    out: StringIO = field(default_factory=StringIO)

    def run(self, *, resume: bool = False) -> SessionEnd:
        if resume:
            pending = JournalReader(self.directory).pending()
            writer = JournalWriter.resume(self.directory)
        else:
            self.directory.mkdir()
            text = self.plan.to_yaml()
            (self.directory / "plan.yaml").write_text(text)
            pending = [(entry, 0) for entry in self.plan.entries]
            writer = JournalWriter.create(self.directory)
            writer.append_all([events.plan(self.plan, "hash")]).result(5)
        self.bench = Bench(self.directory, writer, outcome=self.outcome, before_verdict=self.before_verdict)
        link = Link()
        self.rig = Rig(link, self.bench, self.trouble)
        policy = ScriptedPolicy()
        inner = policy.act

        def act(observation: Observation) -> Any:
            self.act(self.bench.trial_id)
            return inner(observation)

        policy.act = act  # type: ignore[method-assign]
        progress = Progress(len(self.plan.entries), stream=self.out)
        with Stop() as stop:
            self.stop = stop
            runner = SessionRunner(
                plan=self.plan,
                directory=self.directory,
                pending=pending,
                graph=self.bench,
                link=link,
                policy=policy,
                embodiment=self.rig,
                progress=progress,
                watch=Watch(stop, self.dead),
                resolve_task=lambda name: resolve("task", name),
                derive=lambda: rederive(self.directory),
            )
            end = runner.run()
        self.bench.writer.close()
        return end

    def derive(self) -> Derived:
        return rederive(self.directory)

    def reader(self) -> JournalReader:
        return JournalReader(self.directory)


def only(trial: str, step: int, error: Exception) -> Callable[[str, int], None]:
    def trouble(current: str, at: int) -> None:
        if current == trial and at == step:
            raise error

    return trouble
