"""The session runner: a plan from its first pending trial to its close, whatever happens on the way.

The framework's `eval` keeps everything in memory and halts at the first fault. This runner sends each record to the
journal before a verdict is asked for, repeats what does not count by the plan's rule, and ends with a status that says
whether to resume. It decides nothing about results: those follow from the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from assay_bridge.clip import steps_per_frame
from assay_bridge.evaluation import describe_evaluation, describe_scene
from assay_bridge.grader import AssayGrader, take_verdict
from assay_bridge.pictures import PictureWriter
from assay_bridge.policy_calls import NodeHangs
from assay_bridge.record import dumps, from_record, json_native, judged_part
from assay_bridge.scoring import score_record, storable_score
from assay_bridge.session_end import AttemptEnd, SessionEnd, Stopped, Verdict
from assay_bridge.session_size import sealing_words
from assay_bridge.sink import AssaySink
from assay_bridge.stop import Interrupted, Watch
from assay_bridge.trial_runner import SAFETY_CHAIN, Ending, Motion, run_motion
from assay_core.errors import AssayError, ConfigError, DataError, SafetyStop, bounded
from assay_core.plan import Plan, PlanEntry
from assay_core.seal_file import SEAL_FILE
from assay_msgs.msg import TrialState
from assay_msgs.msg import Verdict as VerdictMsg
from assay_msgs.srv import CloseSession, FinishTrial

if TYPE_CHECKING:
    from inspect_robots.policy import Policy
    from inspect_robots.scene import Scene
    from inspect_robots.task import Task

    from assay_bridge.client_types import VerdictData
    from assay_bridge.derived import Derived
    from assay_bridge.link import Link
    from assay_bridge.progress import Progress

__all__ = ["FAREWELL_S", "Graph", "SessionRunner", "entry_name"]

FAREWELL_S = 1.0
"""Longest time to cancel a trial and close the session after an interrupt [s]."""

FINISH_S = 2.0
"""How long a session whose trials are all done may go on closing after a first interrupt [s]."""

PICTURES_S = 10.0
"""Longest wait for pictures that are still being written [s]."""

MAX_FAULTS_IN_A_ROW = 6
"""Attempts that the rig may spoil one after the other before the session gives up."""

TRIALS_DIR = "trials"

_FINISH = {
    Ending.COMPLETED: FinishTrial.Request.STATUS_COMPLETED,
    Ending.POLICY_ERROR: FinishTrial.Request.STATUS_POLICY_ERROR,
    Ending.RIG_FAULT: FinishTrial.Request.STATUS_RIG_FAULT,
    Ending.CONFIG: FinishTrial.Request.STATUS_RIG_FAULT,
    Ending.SAFETY: FinishTrial.Request.STATUS_SAFETY,
    Ending.CANCELLED: FinishTrial.Request.STATUS_CANCELLED,
}


class Graph(Protocol):
    """What the runner needs of `assay_bridge.client.GraphClient`."""

    @property
    def trial_state(self) -> Any:
        """Newest `TrialState`."""

    def advance(self, state: int, record_json: str = "") -> int:
        """Report that the trial reached a state."""

    def wait_for_verdict(self, deadline_s: float | None = None) -> VerdictData:
        """Wait for a verdict."""

    def finish_trial(self, status: int, error: str = "", record_json: str = "") -> int:
        """Finish the trial; return its terminal state."""

    def close_session(self, status: int, reason: str = "") -> str:
        """Close the session; return the seal's root hash."""

    def trial_ended(self) -> bool:
        """Whether the current trial has reached a terminal state."""


def entry_name(entry: PlanEntry) -> str:
    """Return how people see a plan entry, e.g. ``pour_pasta/full-box #3``."""
    return f"{entry.instance_id or entry.scene_id} #{entry.epoch}"


@dataclass
class SessionRunner:
    """Runs what is pending of a plan.

    The session is open already. `run` closes it; leaving the graph is the caller's.
    """

    plan: Plan
    directory: Path
    """Session directory."""
    pending: Sequence[tuple[PlanEntry, int]]
    """Entries without a result, each with the number of its next attempt."""
    graph: Graph
    link: Link
    """Shared state of the bridge, from the embodiment."""
    policy: Policy
    """Bound to the embodiment."""
    embodiment: Any
    """An embodiment of the framework with ``assign(entry, attempt)``."""
    progress: Progress
    watch: Watch
    """The user and the processes of the graph."""
    resolve_task: Callable[[str], Task]
    """Returns a registered task."""
    derive: Callable[[], Derived]
    """Derives logs and summary; called before the session is sealed."""
    _tasks: dict[str, tuple[Task, dict[str, Scene], dict[str, Any]]] = field(default_factory=dict, init=False)

    def run(self) -> SessionEnd:
        """Run every pending trial and close the session; never raises for what a session can meet."""
        every = steps_per_frame(self.plan.control_hz, self.plan.mode)
        clip_hz = self.plan.control_hz / every if self.plan.clips else 0.0
        self._pictures = PictureWriter(self.directory / TRIALS_DIR, clip_hz)
        self._sink = AssaySink(
            on_step=lambda _steps: self.watch.stop.check(),
            on_images=lambda _scene, _epoch, images: self._pictures.put(self.link.trial_id, images),
            on_frame=(lambda images: self._pictures.put_frame(self.link.trial_id, images)) if clip_hz else None,
            frame_every=every,
        )
        self._grader = AssayGrader(self.link)
        self._faults = 0
        verdict, reason = Verdict.DONE, ""
        try:
            for entry, attempt in self.pending:
                self._run_entry(entry, attempt)
        except Stopped as stopped:
            verdict, reason = stopped.verdict, str(stopped)
        except Interrupted as interrupt:
            verdict, reason = Verdict.INTERRUPTED, str(interrupt)
        except AssayError as error:
            verdict, reason = self._verdict_of(error), str(error)
        return self._close(verdict, reason)

    # -- one plan entry ----------------------------------------------------------------------------------------------

    def _run_entry(self, entry: PlanEntry, attempt: int) -> None:
        """Run attempts at one entry until it has its final result."""
        name = entry_name(entry)
        while True:
            self.watch.stop.check()
            self.progress.trial_started(name, attempt)
            end = self._run_attempt(entry, attempt)
            if end.state == TrialState.HALTED:
                raise Stopped(Verdict.HALTED, end.reason)
            if end.ending is Ending.CANCELLED:
                raise Stopped(Verdict.INTERRUPTED, end.reason)
            if end.ending is Ending.CONFIG:
                raise Stopped(Verdict.REFUSED, end.reason)
            if end.final:
                self._faults = 0
                if end.reason:
                    self.progress.message(f"{name}: {end.reason}")
                self.progress.trial_finished(name, end.success if end.state == TrialState.DONE else None)
                return
            self.progress.trial_invalid()
            self.progress.message(f"{name}: attempt {attempt + 1} does not count: {end.reason}")
            self._check_rig(end)
            if attempt >= self.plan.max_repeats:
                self.progress.trial_finished(name, None)
                return
            attempt += 1

    def _check_rig(self, end: AttemptEnd) -> None:
        """Stop the session when the rig cannot be expected to serve the next attempt."""
        dead = self.watch.dead()
        if dead:
            raise Stopped(Verdict.STOPPED, dead)
        if isinstance(end.error, NodeHangs):
            raise Stopped(Verdict.STOPPED, end.reason)
        self._faults = self._faults + 1 if end.ending is Ending.RIG_FAULT else 0
        if self._faults >= MAX_FAULTS_IN_A_ROW:
            raise Stopped(Verdict.STOPPED, f"{self._faults} rig faults in a row, the last one: {end.reason}")

    def _run_attempt(self, entry: PlanEntry, attempt: int) -> AttemptEnd:
        task, scenes, _ = self._task(entry.task)
        if entry.scene_id not in scenes:
            raise ConfigError(
                f"task '{entry.task}'",
                expected=f"scene '{entry.scene_id}' of the plan",
                got="a task without it",
                fix="run the session with the release of the task that planned it",
            )
        scene = scenes[entry.scene_id]
        self._sink.on_trial_start(scene.id, entry.epoch)
        self.embodiment.assign(entry, attempt)
        self.link.trial_id = ""
        motion = run_motion(
            self.policy,
            self.embodiment,
            scene,
            epoch=entry.epoch,
            seed=entry.seed,
            max_steps=entry.max_steps,
            sink=self._sink,
        )
        if not self.link.trial_id:
            return self._never_started(motion)
        motion.record.metadata["assay"] = self._metadata(entry, attempt)
        if motion.ending is not Ending.COMPLETED:
            return self._end_early(entry, motion)
        try:
            return self._judge(entry, task, scene, motion)
        except (AssayError, KeyboardInterrupt) as error:
            ending = Ending.CANCELLED if isinstance(error, KeyboardInterrupt) else Ending.RIG_FAULT
            if isinstance(error, SafetyStop):
                ending = Ending.SAFETY
            return self._give_up(entry, motion, ending, error)

    def _never_started(self, motion: Motion) -> AttemptEnd:
        """The benchmark node did not start the trial: there is nothing to finish, and no use in repeating."""
        error = self.link.failure or motion.error
        if motion.ending is Ending.CANCELLED:
            raise Stopped(Verdict.INTERRUPTED, str(motion.error))
        raise Stopped(self._verdict_of(error), self.watch.dead() or str(error))

    # -- judging -----------------------------------------------------------------------------------------------------

    def _judge(self, entry: PlanEntry, task: Task, scene: Scene, motion: Motion) -> AttemptEnd:
        """Have a trial judged whose motion is complete, score it, and finish it."""
        record = motion.record
        record.parked_observation = self._parked()
        self._sink.on_trial_end(record)
        self.graph.advance(TrialState.JUDGE, dumps(self._full_record(entry, motion)))
        verdict = self.graph.wait_for_verdict()
        self.link.verdict = verdict
        take_verdict(record, verdict)
        scores, failures = score_record(record, scene.target, task.scorers)
        update = {
            "scores": {name: storable_score(value) for name, value in scores.items()},
            "score_failures": list(failures),
            **judged_part(record),
        }
        state = self.graph.finish_trial(_FINISH[Ending.COMPLETED], "", dumps(update))
        invalid = verdict.outcome == "invalid"
        reason = f"judged invalid ({verdict.invalid_reason}) {verdict.note}".rstrip() if invalid else ""
        if failures:
            reason = "; ".join(failures)
        return AttemptEnd(state, motion.ending, verdict.outcome == "success", reason)

    def _parked(self) -> Any:
        """Have the arms parked; framework errors come back as ours."""
        from inspect_robots.errors import InspectRobotsError

        try:
            return self.embodiment.observe_parked()
        except InspectRobotsError as error:
            cause = self.link.failure
            raise cause if isinstance(cause, AssayError) else DataError(str(error)) from error

    def _end_early(self, entry: PlanEntry, motion: Motion) -> AttemptEnd:
        """Finish a trial whose motion did not complete."""
        error = self.link.failure if isinstance(self.link.failure, AssayError) else motion.error
        self._sink.on_trial_end(motion.record)
        return self._give_up(entry, motion, motion.ending, error)

    def _give_up(self, entry: PlanEntry, motion: Motion, ending: Ending, error: BaseException | None) -> AttemptEnd:
        """Finish a trial that has no verdict, unless it has ended by itself (skipped, aborted, halted)."""
        reason = bounded(self.watch.dead() or str(error or ending.value))
        if ending is Ending.CANCELLED and self.watch.stop.requested:
            reason = f"interrupted by {self.watch.stop.name}"
        text = dumps(self._full_record(entry, motion))
        if self.graph.trial_ended():
            return self._ended_by_itself(ending, reason, text, error)
        if ending is Ending.CANCELLED:
            with self.watch.closing(), self._farewell(ending):
                return AttemptEnd(self.graph.finish_trial(_FINISH[ending], reason, text), ending, False, reason, error)
        try:
            with self.watch.closing():
                state = self.graph.finish_trial(_FINISH[ending], reason, text)
        except AssayError as failure:
            # Without the benchmark node nothing can be recorded: the journal keeps the attempt as interrupted.
            also = "" if isinstance(error, DataError) else f"; then: {failure}"
            raise Stopped(Verdict.STOPPED, self.watch.dead() or reason + also) from failure
        return AttemptEnd(state, ending, self._judged_success(state), reason, error)

    def _judged_success(self, state: int) -> bool:
        """Return whether a verdict stands, and says success: it counts, whatever the runner met since."""
        standing = self.graph.trial_state
        of_this = state == TrialState.DONE and standing.trial_id == self.link.trial_id and standing.has_verdict
        return bool(of_this and standing.verdict.outcome == VerdictMsg.OUTCOME_SUCCESS)

    def _ended_by_itself(self, ending: Ending, reason: str, text: str, error: BaseException | None) -> AttemptEnd:
        """Hand in the record of a trial that an operator, a deadline or a fault has ended: its motion is evidence."""
        state = self.graph.trial_state
        end = AttemptEnd(int(state.state), ending, False, state.message or reason, error)
        try:
            with self.watch.closing(), self._farewell(ending):
                self.graph.finish_trial(_FINISH[ending], reason, text)
        except AssayError as failure:
            self.progress.message(f"warning: trial {self.link.trial_id} has ended, its record is lost: {failure}")
        return end

    @contextmanager
    def _farewell(self, ending: Ending) -> Iterator[None]:
        """Take little time where a user waits for the end."""
        with self.watch.stop.limit(FAREWELL_S) if ending is Ending.CANCELLED else nullcontext():
            yield

    # -- records -----------------------------------------------------------------------------------------------------

    def _full_record(self, entry: PlanEntry, motion: Motion) -> dict[str, Any]:
        _, scenes, evaluation = self._task(entry.task)
        return {
            **from_record(motion.record, started_ns=motion.started_ns, ended_ns=motion.ended_ns),
            "evaluation": evaluation,
            "scene": describe_scene(scenes[entry.scene_id]),
        }

    def _metadata(self, entry: PlanEntry, attempt: int) -> dict[str, Any]:
        """Return what a log says about a trial beside the framework's own fields."""
        found: dict[str, Any] = {
            "trial_id": self.link.trial_id,
            "plan_index": entry.index,
            "attempt": attempt,
            "instance_id": entry.instance_id,
            "seed": entry.seed,
        }
        realization = self.link.realization
        if realization is not None:
            found["realization"] = {
                "instruction": realization.instruction,
                "values": json_native(dict(realization.values)),
                "content_hash": realization.content_hash(),
            }
        return found

    def _task(self, name: str) -> tuple[Task, dict[str, Scene], dict[str, Any]]:
        if name not in self._tasks:
            task = self.resolve_task(name)
            scenes = {scene.id: scene for scene in task.scenes}
            self._tasks[name] = (task, scenes, self._evaluation(task))
        return self._tasks[name]

    def _evaluation(self, task: Task) -> dict[str, Any]:
        """Return what logs say about a task's evaluation, with what the framework's own logs leave out."""
        found = describe_evaluation(task, self.policy, self.embodiment, self._grader)
        found["environment_id"] = found["environment_id"] or self.plan.backend
        found["policy_config"] |= {"controller": "default", "guardrails": list(SAFETY_CHAIN)}
        return found

    # -- closing -----------------------------------------------------------------------------------------------------

    def _verdict_of(self, error: BaseException | None) -> Verdict:
        if isinstance(error, SafetyStop):
            return Verdict.HALTED
        return Verdict.REFUSED if isinstance(error, ConfigError) else Verdict.STOPPED

    def _close(self, verdict: Verdict, reason: str) -> SessionEnd:
        """Close the session; a session that is done gets its views first, since the seal covers them."""
        warnings: list[str] = []
        status = {
            Verdict.DONE: CloseSession.Request.STATUS_DONE,
            Verdict.HALTED: CloseSession.Request.STATUS_HALTED,
        }.get(verdict, CloseSession.Request.STATUS_INCOMPLETE)
        root_hash, derived = "", None
        try:
            if verdict is Verdict.DONE:
                with self.watch.stop.finishing(FINISH_S):
                    warnings += self._pictures.close(PICTURES_S)
                    derived = self.derive()
                    if words := sealing_words(self.directory):
                        self.progress.message(words)
                    root_hash = self.graph.close_session(status, reason)
            else:
                warnings += self._pictures.close(FAREWELL_S if verdict is Verdict.INTERRUPTED else PICTURES_S)
                with self.watch.closing(), self.watch.stop.limit(FAREWELL_S):
                    self.graph.close_session(status, reason)
        except Interrupted as interrupt:
            # The limit on the farewell interrupts too; only a user's wish changes what the session came to.
            if verdict is Verdict.DONE and (self.directory / SEAL_FILE).exists():
                warnings.append(f"sealed, but {interrupt}")
            elif verdict is Verdict.DONE or self.watch.stop.requested:
                verdict, reason = Verdict.INTERRUPTED, reason or str(interrupt)
            else:
                warnings.append(f"closing the session: {interrupt}")
        except (AssayError, OSError) as error:
            if verdict is Verdict.DONE:
                verdict, reason = Verdict.STOPPED, f"closing the session: {self.watch.dead() or error}"
            else:
                warnings.append(f"closing the session: {error}")
        sealed = verdict is Verdict.DONE
        return SessionEnd(verdict, reason, root_hash, derived if sealed else None, tuple(warnings))
