"""The framework's own `eval` over a graph: embodiment `assay` opens a session, fills its plan and closes it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from fakes import rig
from inspect_robots import eval as framework_eval
from inspect_robots.errors import ConfigError
from inspect_robots.policy import PolicyBase, PolicyInfo
from inspect_robots.spaces import ActionSemantics, Box
from inspect_robots.types import Action, ActionChunk

from assay_benchmarks.catalog import resolve_task
from assay_bridge.embodiment import AssayEmbodiment
from assay_bridge.policy import AssayPolicy
from assay_core.plan import entry_from_json, load_plan
from assay_msgs.msg import TrialState
from assay_msgs.srv import CloseSession, FinishTrial
from assay_ros.testing import domain


@pytest.fixture
def fakes(monkeypatch):
    with domain() as number, rig(number, success_at=3) as built:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
        yield built


@pytest.fixture
def task():
    """Two scenes of a real task, two epochs each."""
    whole = resolve_task("kitchenbench/pour_pasta")
    return replace(whole, scenes=list(whole.scenes)[:2], epochs=2)


class Still(PolicyBase):
    """A policy of this process."""

    def __init__(self, fail_at=None):
        self.info = PolicyInfo("still", Box((14,), semantics=ActionSemantics("joint_pos", gripper="continuous")))
        self.calls, self.fail_at = 0, fail_at

    def act(self, observation):
        self.calls += 1
        if self.calls == self.fail_at:
            raise ValueError("lost the plot")
        return ActionChunk([Action(np.zeros(14))])


def run(task, policy, tmp_path, **options):
    embodiment = AssayEmbodiment(cameras=0, session=str(tmp_path / "run"), service_s=5.0, **options)
    try:
        (log,) = framework_eval(task, policy, embodiment, log_dir=str(tmp_path / "logs"), seed=3)
    finally:
        embodiment.close()
    return log


def test_every_trial_is_an_entry_of_an_open_plan(fakes, task, tmp_path):
    log = run(task, AssayPolicy(), tmp_path)
    assert (log.status, log.results.total_trials) == ("success", 4)
    assert log.results.metrics["task_success"] == 1.0
    bench = fakes.benchmark
    opened = bench.of("open_session")[0]
    plan = load_plan(tmp_path / "run")
    assert (plan.open, plan.entries, plan.session_id) == (True, (), opened.session_id)
    assert opened.directory == str(tmp_path / "run")
    entries = [entry_from_json(request.entry_json) for request in bench.of("start_trial")]
    assert [(e.index, e.scene_id, e.epoch) for e in entries] == [(i, task.scenes[i // 2].id, i % 2) for i in range(4)]
    assert {e.task for e in entries} == {"kitchenbench/pour_pasta"}
    assert [r.seed for r in fakes.policy.resets] == [e.seed for e in entries]
    assert [r.status for r in bench.of("finish_trial")] == [FinishTrial.Request.STATUS_COMPLETED] * 4
    judged = [r for r in bench.of("advance_trial") if r.state == TrialState.JUDGE]
    records = [json.loads(r.record_json) for r in judged]
    assert [(r["steps"], r["termination_reason"]) for r in records] == [(3, "success")] * 4
    assert bench.of("close_session")[0].status == CloseSession.Request.STATUS_DONE


def test_the_grader_of_the_graph_judges_once(fakes, task, tmp_path):
    from assay_bridge.grader import AssayGrader

    embodiment = AssayEmbodiment(cameras=0, session=str(tmp_path / "run"))
    fakes.world.success_at = 10_000
    short = replace(task, max_steps=4, epochs=1)
    (log,) = framework_eval(short, Still(), embodiment, log_dir=str(tmp_path / "logs"), grader=AssayGrader())
    embodiment.close()
    assert log.samples[0].operator_judgements == ("success",)
    assert log.samples[0].judgement_sources == ("checker",)
    states = [request.state for request in fakes.benchmark.of("advance_trial")]
    assert states == [TrialState.RUNNING, TrialState.PARKING, TrialState.JUDGE] * 2
    assert [r.status for r in fakes.benchmark.of("finish_trial")] == [FinishTrial.Request.STATUS_COMPLETED] * 2


def test_a_policy_of_this_process_needs_no_policy_node(fakes, task, tmp_path):
    fakes.remove(fakes.policy.node)
    log = run(task, Still(), tmp_path)
    assert log.status == "success"


def test_a_policy_that_fails_is_counted_and_the_run_goes_on(fakes, task, tmp_path):
    fakes.policy.infer_once = (301, "lost the plot")
    log = run(task, AssayPolicy(), tmp_path)
    assert (log.results.errored_trials, log.results.total_trials) == (1, 4)
    finished = fakes.benchmark.of("finish_trial")
    assert [r.status for r in finished] == [FinishTrial.Request.STATUS_POLICY_ERROR] + [1] * 3
    assert "lost the plot" in finished[0].error
    assert fakes.benchmark.of("close_session")[0].status == CloseSession.Request.STATUS_DONE


def test_a_rig_fault_halts_the_run_and_leaves_the_session_open_for_resuming(fakes, task, tmp_path):
    fakes.world.withhold.add("left/joint_states")
    log = run(task, Still(), tmp_path, step_s=0.5)
    assert (log.status, "left/joint_states" in log.error) == ("error", True)
    finished = fakes.benchmark.of("finish_trial")
    assert [r.status for r in finished] == [FinishTrial.Request.STATUS_RIG_FAULT]
    closed = fakes.benchmark.of("close_session")[0]
    assert (closed.status, "left/joint_states" in closed.reason) == (CloseSession.Request.STATUS_INCOMPLETE, True)


def test_a_trial_that_an_operator_ends_keeps_its_motion(fakes, task, tmp_path):
    class Stopped(Still):
        def act(self, observation):
            if self.calls == 1:
                fakes.benchmark.state.message = "stopped by ann"
                fakes.benchmark.set(TrialState.INVALID)
            return super().act(observation)

    fakes.world.success_at = 10_000
    log = run(task, Stopped(), tmp_path)
    assert "stopped by ann" in log.error
    (finished,) = fakes.benchmark.of("finish_trial")
    assert json.loads(finished.record_json)["steps"] >= 1


def test_an_interrupt_cancels_the_trial(fakes, task, tmp_path):
    class Interrupted(Still):
        def act(self, observation):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(task, Interrupted(), tmp_path)
    assert [r.status for r in fakes.benchmark.of("finish_trial")] == [FinishTrial.Request.STATUS_CANCELLED]


def test_an_existing_directory_is_not_touched(fakes, task, tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(ConfigError, match="expected a directory that does not exist yet"):
        run(task, Still(), tmp_path)
    assert fakes.benchmark.calls == []


def test_a_rig_in_use_is_refused_and_leaves_no_directory(fakes, task, tmp_path):
    fakes.benchmark.codes["open_session"] = (100, "session 'other' is open")
    with pytest.raises(ConfigError, match="session 'other' is open"):
        run(task, Still(), tmp_path)
    assert not (tmp_path / "run").exists()
