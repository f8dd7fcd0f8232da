"""Embodiment and policy `assay` as the framework sees them, over a rig of fakes."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from inspect_robots.conformance import assert_embodiment_conformant, check_embodiment
from inspect_robots.errors import CompatibilityError, ConfigError, EmbodimentFault, PolicyError, SafetyAbort
from inspect_robots.mock import CubePickEmbodiment
from inspect_robots.scene import Scene, Target
from inspect_robots.types import OPERATOR_END, Action

from assay_bridge.embodiment import AssayEmbodiment
from assay_bridge.policy import AssayPolicy
from assay_core.errors import RigFault
from assay_core.plan import PlanEntry
from assay_core.rig import ACTION_LABELS, cameras
from assay_msgs.msg import TrialState

SCENE = Scene(id="toy/reach/0", instruction="as the task says", target=Target("at", {"xy": (1, 2)}), init_seed=3)


def entry(**change):
    data = {
        "index": 3,
        "task": "toy/reach",
        "task_version": "1",
        "instance_id": "",
        "scene_id": SCENE.id,
        "scene_seed": 3,
        "epoch": 2,
        "seed": 7,
        "max_steps": 20,
    }
    return PlanEntry(**{**data, **change})


def attached(make_rig, *args, policy=True, **config):
    fakes, client = make_rig(*args, **config)
    embodiment = AssayEmbodiment.attached(client)
    driver = AssayPolicy()
    if policy:
        driver.bind(embodiment.info)
    embodiment.assign(entry(), 0)
    return fakes, client, embodiment, driver


def test_the_embodiment_is_conformant_without_a_graph():
    info = AssayEmbodiment().info
    assert_embodiment_conformant(info)
    assert check_embodiment(info).issues == ()
    assert [c.name for c in info.observation_space.cameras] == ["top_cam", "left_cam", "right_cam"]
    assert {(c.height, c.width, c.channels) for c in info.observation_space.cameras} == {(360, 640, 3)}
    assert info.action_space.semantics.dim_labels == ACTION_LABELS
    assert (info.action_space.semantics.control_mode, info.action_space.dim) == ("joint_pos", 14)


def test_nothing_of_ros_is_imported_before_the_first_reset():
    code = (
        "import sys; from assay_bridge.embodiment import AssayEmbodiment; from assay_bridge.policy import AssayPolicy;"
        "AssayEmbodiment(); AssayPolicy();"
        "print([m for m in sys.modules if m.split('.')[0] in ('rclpy', 'assay_msgs', 'assay_ros')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "[]"


def test_a_rollout_of_the_framework_over_the_graph(make_rig):
    from inspect_robots.approver import AutoApprover
    from inspect_robots.controller import DefaultController
    from inspect_robots.logging.sink import LogSink
    from inspect_robots.rollout import rollout

    class Keep(LogSink):
        def __init__(self):
            self.observations = []

        def on_eval_start(self, spec): ...
        def on_trial_start(self, scene_id, epoch): ...
        def on_trial_end(self, record): ...
        def on_eval_end(self, log): ...
        def log_step(self, t, obs, action, result):
            self.observations.append(obs)

    fakes, client, embodiment, policy = attached(make_rig, cameras(1, 64, 48))
    sink = Keep()
    record = rollout(
        policy,
        embodiment,
        SCENE,
        max_steps=20,
        seed=7,
        epoch=2,
        controller=DefaultController(),
        approver=AutoApprover(),
        sink=sink,
    )
    assert (record.terminated, record.termination_reason, len(record.steps)) == (True, "success", 5)
    assert record.inference_latencies == [0.003, 0.003], "each chunk reports the latency that the node measured"
    reset = fakes.policy.resets[0]
    assert (reset.seed, reset.epoch, reset.instruction, reset.task) == (7, 2, "reach the mark", "toy/reach")
    assert json.loads(reset.scene_json)["target"] == {"kind": "at", "spec": {"xy": [1, 2]}}
    assert list(reset.action_labels) == list(ACTION_LABELS)
    first = sink.observations[0]
    assert first.instruction == "reach the mark", "the policy must get the realization's instruction, verbatim"
    assert first.state["joint_pos"].shape == (14,)
    assert first.images["top_cam"].shape == (48, 64, 3)
    assert first.image_times == {"top_cam": 2.0}
    assert sink.observations[1].state_time == pytest.approx(2.1)
    assert [item.step for item in fakes.policy.inferences] == [0, 3]
    assert record.steps[-1].result.info == {"progress": 1.0, "success": True}
    assert embodiment.observe_parked().images["top_cam"].shape == (48, 64, 3)
    client.advance(TrialState.JUDGE)
    assert [request.state for request in fakes.benchmark.of("advance_trial")] == [4, 5, 6]


def test_a_policy_of_this_process_leaves_the_policy_node_alone(make_rig):
    fakes, _, embodiment, _ = attached(make_rig, policy=False)
    embodiment.reset(SCENE, seed=7)
    embodiment.step(Action(data=np.zeros(14)))
    assert fakes.policy.resets == []


def test_the_plan_decides_what_is_reset(make_rig):
    _, _, embodiment, _ = attached(make_rig)
    with pytest.raises(ConfigError, match=r"plan entry 3: expected scene 'toy/reach/0' with seed 7, got .* seed 8"):
        embodiment.reset(SCENE, seed=8)
    with pytest.raises(ConfigError, match="expected an assigned plan entry"):
        embodiment.reset(SCENE, seed=7)


def test_stepping_before_a_reset_is_refused():
    with pytest.raises(ConfigError, match="expected a reset first"):
        AssayEmbodiment().step(Action(data=np.zeros(14)))


def test_a_missing_stream_is_a_fault_of_the_embodiment(make_rig):
    fakes, _, embodiment, _ = attached(make_rig, step_s=0.5)
    embodiment.reset(SCENE, seed=7)
    fakes.world.withhold.add("left/joint_states")
    with pytest.raises(EmbodimentFault, match="left/joint_states") as error:
        embodiment.step(Action(data=np.zeros(14)))
    assert embodiment.link.failure is error.value.__cause__


def test_a_halt_is_a_safety_abort(make_rig):
    from assay_msgs.msg import TrialState

    fakes, _, embodiment, _ = attached(make_rig)
    fakes.benchmark.end_in_arrange = TrialState.HALTED
    with pytest.raises(SafetyAbort, match="HALTED: told to"):
        embodiment.reset(SCENE, seed=7)


def test_an_operator_who_ends_the_motion_ends_the_trial_without_a_verdict(make_rig):
    from assay_msgs.msg import TrialState

    fakes, _, embodiment, _ = attached(make_rig, world={"success_at": 10_000})
    embodiment.reset(SCENE, seed=7)
    fakes.benchmark.set(TrialState.JUDGE)
    for _ in range(1000):
        result = embodiment.step(Action(data=np.zeros(14)))
        if result.terminated:
            break
    assert (result.terminated, result.termination_reason) == (True, "operator_end")


@pytest.mark.parametrize(("code", "kind"), [(301, PolicyError), (302, EmbodimentFault), (2, ConfigError)])
def test_a_policy_that_cannot_be_reset_ends_the_trial_the_right_way(make_rig, code, kind):
    fakes, _, embodiment, _ = attached(make_rig)
    fakes.policy.reset_code = (code, "because")
    with pytest.raises(kind, match="policy/reset: because"):
        embodiment.reset(SCENE, seed=7)
    assert fakes.benchmark.of("advance_trial") == [], "nothing may move before the policy is ready"


@pytest.mark.parametrize(("code", "kind"), [(301, PolicyError), (302, EmbodimentFault), (4, PolicyError)])
def test_a_policy_that_fails_ends_the_trial_the_right_way(make_rig, code, kind):
    fakes, _, embodiment, policy = attached(make_rig)
    observation = embodiment.reset(SCENE, seed=7)
    fakes.policy.infer_code = (code, "because")
    with pytest.raises(kind, match="policy/infer: because"):
        policy.act(observation)


def test_a_defect_of_the_bridge_is_no_failure_of_the_policy(make_rig, monkeypatch):
    from assay_bridge.sink import AssaySink
    from assay_bridge.trial_runner import Ending, run_motion

    _, client, embodiment, policy = attached(make_rig)

    def broken(*_args):
        raise AttributeError("no such field")

    monkeypatch.setattr(client.policy, "infer", broken)
    motion = run_motion(policy, embodiment, SCENE, epoch=2, seed=7, max_steps=20, sink=AssaySink())
    assert motion.ending is Ending.RIG_FAULT, "the policy would be blamed for it"
    assert "AttributeError at test_embodiment.py:" in str(motion.error)
    assert isinstance(embodiment.link.failure, RigFault)


def test_a_defect_in_a_step_is_a_rig_fault_in_words(make_rig, monkeypatch):
    _, client, embodiment, _ = attached(make_rig)
    embodiment.reset(SCENE, seed=7)
    monkeypatch.setattr(client.motion, "step", lambda _action: 1 / 0)
    with pytest.raises(EmbodimentFault, match="bridge: expected no defect, got ZeroDivisionError at"):
        embodiment.step(Action(data=np.zeros(14)))


@pytest.mark.parametrize(
    ("served", "got"),
    [
        ("inspect:scripted", "got 'inspect:scripted'. fix: .*policy:=scripted, or plan with --policy inspect:scripted"),
        ("", "got a policy node that does not say what it serves"),
    ],
)
def test_successes_are_not_credited_to_a_policy_that_did_not_act(make_rig, served, got):
    fakes, _, embodiment, policy = attached(make_rig)
    policy.expect("scripted")
    assert policy.info.name == "scripted", "logs must say which policy acted"
    fakes.policy.name = served
    with pytest.raises(ConfigError, match=f"expected 'scripted' as planned, {got}"):
        embodiment.reset(SCENE, seed=7)
    assert fakes.benchmark.of("advance_trial") == [], "nothing may move"


def test_the_planned_policy_may_go_by_another_label(make_rig):
    _, client, embodiment, policy = attached(make_rig)
    policy.expect("scripted")
    assert policy.act(embodiment.reset(SCENE, seed=7)).actions
    assert client.policy.label == "fake"


def test_the_policy_needs_this_embodiment():
    with pytest.raises(CompatibilityError, match="expected embodiment 'assay', got 'cubepick'"):
        AssayPolicy().bind(CubePickEmbodiment().info)
    with pytest.raises(ConfigError, match=r"expected bind\(\)"):
        AssayPolicy().reset(SCENE)
    with pytest.raises(ConfigError, match="replan_interval: expected an integer >= 0, got -1"):
        AssayPolicy(replan_interval=-1)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"cameras": 4}, "cameras: expected 0 to 3, got 4"),
        ({"camera_width": 2}, "camera size"),
        ({"mode": "warp"}, "mode: expected lockstep or paced"),
        ({"control_hz": -1.0}, "control_hz"),
    ],
)
def test_bad_arguments_are_named(change, text):
    with pytest.raises(ConfigError, match=text):
        AssayEmbodiment(**change)


def test_after_an_early_stop_nothing_is_commanded_any_more(make_rig):
    fakes, client, embodiment, _ = attached(make_rig, policy=False, has_world=True)
    embodiment.reset(SCENE, seed=7)
    embodiment.step(Action(data=np.full(14, 0.1)))
    fakes.benchmark.set(TrialState.PARKING)
    client.wait_for_state(TrialState.PARKING, deadline_s=5)
    moved = len(fakes.world.commands)
    result = embodiment.step(Action(data=np.full(14, 0.9)))
    assert (result.terminated, result.termination_reason) == (True, OPERATOR_END)
    assert result.info["held"] is True
    assert len(fakes.world.commands) == moved, "the arm moved after the operator had stopped the trial"
    assert result.observation.state["joint_pos"] == pytest.approx(np.full(14, 0.1))
