"""The session runner over a journal without ROS: what counts, what is repeated, and how a session ends.

The benchmark node is replaced by one that journals by the same tables, the rig by the framework's cube mock.
"""

from __future__ import annotations

import json
import os
import signal
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import inspect_robots
import pytest
from inspect_robots.errors import EmbodimentFault, SafetyAbort
from inspect_robots.log import read_eval_log
from inspect_robots.mock import CubePickEmbodiment, ScriptedPolicy
from inspect_robots.registry import resolve
from inspect_robots.rollout import derive_seed
from inspect_robots.types import Action, Observation, StepResult

from assay_bridge import session as sessions
from assay_bridge.client_types import VerdictData
from assay_bridge.derived import Derived, rederive
from assay_bridge.link import Link
from assay_bridge.progress import Progress
from assay_bridge.session import SessionRunner
from assay_bridge.session_end import SessionEnd, Verdict
from assay_bridge.stop import Stop, Watch
from assay_core import journal_events as events
from assay_core.errors import DeadlineError, PolicyError, RigFault
from assay_core.journal import JournalReader, JournalWriter
from assay_core.plan import Plan, PlanEntry, trial_id
from assay_core.realization import TrialRealization
from assay_core.seal import write_seal
from assay_core.trial import Event, State, Trial
from assay_msgs.msg import TrialState
from assay_msgs.msg import Verdict as VerdictMsg
from assay_ros.names import OUTCOME_NUMBERS

TASK = "cubepick-reach"


def make_plan(max_repeats: int = 2) -> Plan:
    scenes = resolve("task", TASK).scenes
    entries = tuple(
        PlanEntry(
            index=i,
            task=TASK,
            task_version="1",
            instance_id="",
            scene_id=scene.id,
            scene_seed=scene.init_seed,
            epoch=0,
            seed=derive_seed(0, scene.init_seed, 0),
            max_steps=80,
        )
        for i, scene in enumerate(scenes)
    )
    return Plan(
        schema_version=1,
        session_id="s",
        created="2026-03-01T12:00:00Z",
        seed=0,
        backend="mock",
        policies=("scripted",),
        operator="auto",
        graders=("checker",),
        operators=("auto",),
        cameras=(),
        control_hz=10.0,
        mode="lockstep",
        max_repeats=max_repeats,
        open=False,
        entries=entries,
        software={"inspect-robots": inspect_robots.__version__},
    )


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


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "session", make_plan())


def only(trial: str, step: int, error: Exception) -> Callable[[str, int], None]:
    def trouble(current: str, at: int) -> None:
        if current == trial and at == step:
            raise error

    return trouble


def test_a_plan_runs_through_and_is_sealed_with_its_views(world: World) -> None:
    end = world.run()
    assert (end.verdict, end.reason) == (Verdict.DONE, "")
    assert len(end.root_hash) == 64
    got = world.derive()
    assert (got.summary["status"], got.summary["trials"], got.summary["invalid"]) == ("done", 4, 0)
    assert got.complete
    instances = got.summary["tasks"][TASK]["instances"]
    assert {one["p_hat"] for one in instances.values()} == {1.0}
    sealed = {item["path"] for item in json.loads((world.directory / "seal.json").read_text())["files"]}
    assert "summary.json" in sealed
    assert any(path.startswith("logs/cubepick-reach_") for path in sealed)
    log = read_eval_log(str(got.logs[0]))
    assert (log.status, log.eval.environment_id) == ("success", "mock")
    assert log.eval.policy_config["guardrails"] == ["clamp", "delta_limit"]
    assert log.samples[0].judgement_sources == ("checker",)
    assert log.samples[0].trial_metadata[0]["assay"]["realization"]["values"] == {"colour": "red"}


def test_deriving_again_leaves_a_sealed_session_alone(world: World) -> None:
    world.run()
    before = {path: path.read_bytes() for path in world.directory.rglob("*") if path.is_file()}
    (world.directory / "summary.json").unlink()
    world.derive()
    after = {path: path.read_bytes() for path in world.directory.rglob("*") if path.is_file()}
    assert before == after


def test_two_runs_leave_the_same_journal_content(tmp_path: Path) -> None:
    from assay_core.journal import comparable

    first, second = World(tmp_path / "a", make_plan()), World(tmp_path / "b", make_plan())
    first.run()
    second.run()
    assert comparable(first.reader().events()) == comparable(second.reader().events())


def test_a_rig_fault_is_kept_as_invalid_and_repeated(world: World) -> None:
    world.trouble = only("000001-0", 2, EmbodimentFault("camera top: torn picture"))
    assert world.run().verdict is Verdict.DONE
    assert world.rig.started == ["000000-0", "000001-0", "000001-1", "000002-0", "000003-0"]
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (4, 1)
    assert got.complete
    assert "attempt 1 does not count: camera top: torn picture" in world.out.getvalue()
    log = read_eval_log(str(got.logs[0]))
    assert (log.status, log.results.total_trials) == ("success", 4)
    assert log.samples[1].trial_metadata[0]["assay"]["attempt"] == 1


def test_repeats_end_by_the_plan_and_the_session_goes_on(world: World) -> None:
    world.outcome = lambda trial: "invalid" if trial.startswith("000002") else "success"
    end = world.run()
    assert end.verdict is Verdict.DONE
    assert world.rig.started[2:] == ["000002-0", "000002-1", "000002-2", "000003-0"]
    got = world.derive()
    assert (got.summary["status"], got.summary["trials"], got.summary["invalid"]) == ("done", 3, 3)
    assert not got.complete
    assert got.summary["tasks"][TASK]["instances"]["scene-2"]["p_hat"] is None


def test_a_failing_policy_counts_as_a_failure_and_is_not_repeated(world: World) -> None:
    def act(trial: str) -> None:
        if trial.startswith("000001"):
            raise RuntimeError("CUDA out of memory")

    world.act = act
    assert world.run().verdict is Verdict.DONE
    assert world.rig.started == ["000000-0", "000001-0", "000002-0", "000003-0"]
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (4, 0)
    assert got.summary["tasks"][TASK]["instances"]["scene-1"]["p_hat"] == 0.0
    log = read_eval_log(str(got.logs[0]))
    assert log.samples[1].epochs == ({},)
    assert "CUDA out of memory" in (log.samples[1].error or "")


def test_a_failure_is_a_result(world: World) -> None:
    world.outcome = lambda trial: "failure" if trial.startswith("000000") else "success"
    world.run()
    got = world.derive()
    assert [one["successes"] for one in got.summary["tasks"][TASK]["instances"].values()] == [0, 1, 1, 1]


def test_a_safety_stop_halts_and_stays_unsealed(world: World) -> None:
    world.trouble = only("000001-0", 3, SafetyAbort("e-stop pressed"))
    end = world.run()
    assert (end.verdict, end.root_hash) == (Verdict.HALTED, "")
    assert "e-stop pressed" in end.reason
    assert world.bench.closed == [3]
    assert world.derive().summary["status"] == "halted"


def test_a_dead_process_is_named_and_stops_the_session(world: World) -> None:
    died: list[str] = []

    def trouble(trial: str, step: int) -> None:
        if trial == "000002-0" and step == 1:
            died.append("world (mock_world, pid 7) died: SIGKILL")
            raise EmbodimentFault("left/joint_states: nothing within 5 s")

    world.trouble, world.dead = trouble, lambda: died[0] if died else None
    end = world.run()
    assert end.verdict is Verdict.STOPPED
    assert end.reason == "world (mock_world, pid 7) died: SIGKILL"
    got = world.derive()
    assert (got.summary["status"], got.summary["trials"], got.summary["invalid"]) == ("incomplete", 2, 1)


def test_a_resumed_session_has_every_trial_once(world: World) -> None:
    world.trouble = only("000002-0", 1, EmbodimentFault("gone"))
    world.dead = lambda: "world died" if world.bench.trial_id.startswith("000002") else None
    assert world.run().verdict is Verdict.STOPPED
    world.trouble, world.dead = (lambda _trial, _step: None), (lambda: None)
    assert world.run(resume=True).verdict is Verdict.DONE
    assert world.rig.started == ["000002-1", "000003-0"]
    got = world.derive()
    assert (got.summary["status"], got.summary["trials"], got.summary["invalid"]) == ("done", 4, 1)
    assert [one["n"] for one in got.summary["tasks"][TASK]["instances"].values()] == [1, 1, 1, 1]


def test_endless_rig_faults_end_the_session(world: World) -> None:
    def trouble(_trial: str, _step: int) -> None:
        raise EmbodimentFault("arm silent")

    world.trouble = trouble
    end = world.run()
    assert end.verdict is Verdict.STOPPED
    assert end.reason.startswith("6 rig faults in a row")
    assert len(world.rig.started) == 6


def test_an_interrupt_cancels_the_trial_and_closes_the_journal(world: World) -> None:
    def trouble(trial: str, step: int) -> None:
        if trial == "000001-0" and step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    world.trouble = trouble
    end = world.run()
    assert end.verdict is Verdict.INTERRUPTED
    assert world.bench.closed == [2]
    attempt = world.reader().attempts()[-1]
    assert (attempt.trial_id, attempt.state, attempt.status) == ("000001-0", State.INVALID, "cancelled")
    assert attempt.record is not None
    assert attempt.record["steps"] >= 1, "the steps that ran are evidence"
    world.trouble = lambda _trial, _step: None
    assert world.run(resume=True).verdict is Verdict.DONE
    assert (world.derive().summary["trials"], world.derive().summary["invalid"]) == (4, 1)


@pytest.mark.parametrize(("times", "verdict"), [(1, Verdict.DONE), (2, Verdict.INTERRUPTED)])
def test_a_complete_plan_is_sealed_in_spite_of_an_interrupt(world: World, times: int, verdict: Verdict) -> None:
    real = rederive

    def derive(directory: Path) -> Derived:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        world.stop.check()  # as every wait on the graph does
        return real(directory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "rederive", derive)
        end = world.run()
    assert end.verdict is verdict
    assert (world.directory / "seal.json").exists() is (verdict is Verdict.DONE)
    assert (end.derived is not None) is (verdict is Verdict.DONE)


def test_an_interrupt_after_the_seal_leaves_the_session_done(world: World) -> None:
    close_session = Bench.close_session

    def insisted(bench: Bench, status: int, reason: str = "") -> str:
        close_session(bench, status, reason)
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("a second interrupt is raised at once")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bench, "close_session", insisted)
        end = world.run()
    assert end.verdict is Verdict.DONE
    assert end.derived is not None
    assert end.warnings == ("sealed, but interrupted by SIGINT",)


def test_an_interrupt_while_a_person_judges_keeps_the_motion(world: World) -> None:
    def before_verdict(trial: str) -> None:
        if trial == "000001-0":
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()

    world.before_verdict = before_verdict
    assert world.run().verdict is Verdict.INTERRUPTED
    attempt = world.reader().attempts()[-1]
    assert (attempt.state, attempt.status, attempt.reached_judge) == (State.INVALID, "cancelled", True)


def test_a_runner_that_dies_after_the_verdict_keeps_it(world: World) -> None:
    def killed(*_args: Any) -> int:
        raise RigFault("the runner is gone")

    world.before_verdict = lambda trial: setattr(world.bench, "finish_trial", killed) if trial == "000001-0" else None
    world.dead = lambda: None
    assert world.run().verdict is Verdict.STOPPED
    assert world.run(resume=True).verdict is Verdict.DONE
    assert world.rig.started[0] == "000002-0", "a trial with a verdict was run again"
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (4, 0)
    log = read_eval_log(str(got.logs[0]))
    assert log.samples[1].epochs == ({"success_at_end": 1.0},), "the verdict was not scored afterwards"
    assert log.samples[1].operator_judgements == ("success",)


def test_a_skipped_entry_is_left_out_and_said(world: World) -> None:
    def trouble(trial: str, step: int) -> None:
        if trial == "000001-0" and step == 1:
            world.bench.trial.phase = type(world.bench.trial.phase).SKIPPED
            world.bench.message = "skipped: infeasible"
            world.bench._write(events.trial_ended(trial, State.SKIPPED, message="skipped: infeasible"))
            raise EmbodimentFault("trial 000001-0 ended in SKIPPED")

    world.trouble = trouble
    assert world.run().verdict is Verdict.DONE
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (3, 1)
    assert "scene-1 #0: skipped: infeasible" in world.out.getvalue()


@pytest.mark.parametrize(
    ("event", "verdict"), [(Event.ABORT_OTHER, Verdict.DONE), (Event.ABORT_UNSAFE, Verdict.HALTED)]
)
def test_a_trial_that_an_operator_ends_keeps_what_was_done_until_then(
    world: World, event: Event, verdict: Verdict
) -> None:
    def trouble(trial: str, step: int) -> None:
        if trial == "000001-0" and step == 3:
            world.bench.end(event, "", "stopped by ann")
            raise EmbodimentFault(f"trial {trial} ended in {world.bench.trial.state.name}: stopped by ann")

    world.trouble = trouble
    end = world.run()
    assert end.verdict is verdict
    attempt = next(a for a in world.reader().attempts() if a.trial_id == "000001-0")
    assert attempt.record is not None, "the motion until the stop is lost"
    assert attempt.record["steps"] == 2
    assert attempt.message == "stopped by ann"
    kinds = [event.kind for event in world.reader().events() if event.trial_id == "000001-0"]
    assert kinds[-2:] == ["trial_ended", "trial_recorded"]


def test_a_record_that_cannot_be_handed_in_any_more_is_said(world: World) -> None:
    def trouble(trial: str, step: int) -> None:
        if trial == "000001-0" and step == 3:
            world.bench.end(Event.ABORT_OTHER, "", "stopped by ann")
            world.bench.finish_trial = lost  # type: ignore[method-assign]
            raise EmbodimentFault("stopped by ann")

    def lost(*_args: Any) -> int:
        del world.bench.finish_trial  # type: ignore[method-assign]
        raise RigFault("benchmark/finish_trial: no answer within 10 s")

    world.trouble = trouble
    assert world.run().verdict is Verdict.DONE
    said = "warning: trial 000001-0 has ended, its record is lost: benchmark/finish_trial: no answer within 10 s"
    assert said in world.out.getvalue()
    assert (world.derive().summary["trials"], world.derive().summary["invalid"]) == (4, 1)


def test_a_verdict_that_stands_counts_although_the_runner_gave_up_waiting(world: World) -> None:
    wait = Bench.wait_for_verdict

    def too_late(bench: Bench, deadline_s: float | None = None) -> VerdictData:
        given = wait(bench, deadline_s)
        if bench.trial_id == "000001-0":
            raise DeadlineError("trial 000001-0: no verdict within 60 s")
        return given

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bench, "wait_for_verdict", too_late)
        assert world.run().verdict is Verdict.DONE
    assert world.rig.started == ["000000-0", "000001-0", "000002-0", "000003-0"], "judged, and yet repeated"
    got = world.derive()
    assert (got.summary["trials"], got.summary["invalid"]) == (4, 0)
    assert {one["successes"] for one in got.summary["tasks"][TASK]["instances"].values()} == {1}
    log = read_eval_log(str(got.logs[0]))
    assert log.samples[1].epochs == ({"success_at_end": 1.0},)
    assert "no verdict within 60 s" in world.out.getvalue()


def test_a_task_that_changed_since_is_refused(world: World) -> None:
    world.plan = Plan.from_dict(
        {
            **world.plan.to_dict(),
            "entries": [{**world.plan.entries[0].to_dict(), "scene_id": "scene-gone"}],
        }
    )
    end = world.run()
    assert end.verdict is Verdict.REFUSED
    assert "expected scene 'scene-gone' of the plan" in end.reason


def test_policy_errors_of_ours_keep_their_words(world: World) -> None:
    world.act = lambda trial: (
        (_ for _ in ()).throw(PolicyError("policy/infer: no chunk")) if trial == "000000-0" else None
    )
    world.run()
    assert "policy/infer: no chunk" in world.reader().attempts()[0].error


def test_no_session_leaves_threads_or_handlers_behind(world: World) -> None:
    import threading

    world.run()
    assert [t.name for t in threading.enumerate() if t.name in ("pictures", "journal")] == []
    assert sessions.FAREWELL_S < 2.5, "an interrupt has to end a session within 5 s"
