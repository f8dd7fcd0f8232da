"""Built-in policies and those of Inspect Robots, with arrays alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_robots.policy import PolicyBase, PolicyInfo
from inspect_robots.registry import policy as register
from inspect_robots.spaces import ActionSemantics, Box, CameraSpec, ObservationSpace
from inspect_robots.types import Action, ActionChunk

from assay_core.errors import ConfigError, PolicyError, RigFault
from assay_core.policy_args import parse_policy_args
from assay_core.policy_names import BUILTIN_POLICIES, check_policy_name, policy_names
from assay_core.rig import action_high, action_low, cameras
from assay_policies import registry
from assay_policies.api import ChunkOut, Inputs, Oracle, Trial, checked
from assay_policies.builtin import NoopPolicy, RandomPolicy, ScriptedPolicy, straight_line
from assay_policies.inspect_policy import InspectPolicy
from assay_policies.registry import PolicySettings, make_policy


def trial(seed=7, **change):
    data = {"trial_id": "000000-0", "task": "toy/reach", "scene_id": "s", "epoch": 0, "seed": seed, "instruction": "go"}
    return Trial(**{**data, **change})


def inputs(**change):
    return Inputs(**{"step": 0, "instruction": "go", "stamps": {}, **change})


SPACE = Box((14,), action_low(), action_high(), ActionSemantics("joint_pos", gripper="continuous"))


class Recorder(PolicyBase):
    """A policy of the framework that reads one camera and remembers what it was given."""

    def __init__(self, rows=2, fail=None):
        self.info = PolicyInfo("recorder", SPACE, ObservationSpace((CameraSpec("left_cam", 48, 64),), {"joint_pos"}))
        self.rows, self.fail = rows, fail
        self.seen, self.scenes, self.seeds = [], [], []
        self.server_url = "10.0.0.5:8202"

    def reset(self, scene):
        self.scenes.append(scene)

    def seed(self, seed):
        self.seeds.append(seed)

    def act(self, observation):
        self.seen.append(observation)
        if self.fail is not None:
            raise self.fail
        return ActionChunk([Action(np.random.uniform(size=14)) for _ in range(self.rows)], control_hz=30.0)


@pytest.fixture
def recorder():
    made = Recorder()
    register("test_recorder")(lambda: made)
    return made


def adapter(name="test_recorder", count=3):
    return InspectPolicy(name, {}, cameras=cameras(count, 64, 48), control_hz=10.0)


@given(
    st.lists(st.floats(-3, 3), min_size=14, max_size=14),
    st.lists(st.floats(-3, 3), min_size=14, max_size=14),
    st.floats(0.01, 0.2),
    st.integers(1, 40),
)
def test_the_straight_line_keeps_the_limit_and_ends_at_the_goal(start, goal, limit, steps):
    start, goal, limits = np.array(start), np.array(goal), np.full(14, limit)
    path = straight_line(start, goal, limits, steps)
    moves = np.abs(np.diff(np.vstack([start, path]), axis=0))
    assert (moves <= limits * (1 + 1e-6)).all(), "a step larger than the world allows is lost"
    reached = np.abs(goal - start) <= steps * limits
    assert (path[-1][reached] == goal[reached]).all(), "a goal within reach must be commanded exactly"


def test_the_oracle_needs_as_many_steps_as_the_distance_asks_for():
    limit = np.full(14, 0.05)
    q, goal, used = np.zeros(14), np.linspace(-1.0, 1.0, 14), 0
    policy = ScriptedPolicy(10)
    while not (q == goal).all():
        for target in policy.infer(inputs(oracle=Oracle(q.copy(), goal, limit))).actions:
            q = q + np.clip(target - q, -limit, limit)
            used += 1
            if np.abs(q - goal).max() < 1e-12:
                q = goal.copy()
                break
    assert used == 20


def test_random_depends_on_the_trials_seed_alone():
    first, second, resumed = RandomPolicy(10), RandomPolicy(10), RandomPolicy(10)
    first.reset(trial(1))
    a = [first.infer(inputs()).actions for _ in range(3)]
    first.reset(trial(2))
    b = first.infer(inputs()).actions
    second.reset(trial(2))
    resumed.reset(trial(1))
    assert (second.infer(inputs()).actions == b).all(), "a trial must not depend on the trials before it"
    assert all((resumed.infer(inputs()).actions == chunk).all() for chunk in a)
    assert (a[0] != b).any()
    assert ((a[0] >= action_low()) & (a[0] <= action_high())).all()


def test_random_does_not_repeat_the_plain_generator_of_its_seed():
    policy = RandomPolicy(1)
    policy.reset(trial(7))
    plain = np.random.default_rng(7).uniform(action_low(), action_high(), 14)
    assert not np.isclose(policy.infer(inputs()).actions[0], plain).any(), "it could meet a goal drawn from the seed"


def test_noop_holds_what_it_measured():
    pose = np.linspace(0, 1, 14)
    chunk = NoopPolicy(4).infer(inputs(joint_pos=pose)).actions
    assert chunk.shape == (4, 14)
    assert (chunk == pose).all()


def test_only_the_oracle_reads_the_goal_and_nobody_reads_pictures():
    streams = {cls.label: cls.streams for cls in (ScriptedPolicy, RandomPolicy, NoopPolicy)}
    assert [name for name, read in streams.items() if "world/privileged" in read] == ["scripted"]
    assert not any(stream.startswith("cameras") for read in streams.values() for stream in read)


@pytest.mark.parametrize(
    ("actions", "got"),
    [
        (np.zeros((0, 14)), r"got shape \(0, 14\)"),
        (np.zeros((3, 8)), r"got shape \(3, 8\)"),
        (np.zeros(14), r"got shape \(14,\)"),
        (np.full((1, 14), np.nan), r"14 values that are not finite, first nan at \[0, 0\]"),
        ("words", "not numbers"),
    ],
)
def test_a_malformed_chunk_is_described(actions, got):
    with pytest.raises(PolicyError, match=r"expected finite values of shape \(n, 14\)") as error:
        checked(ChunkOut(actions), "p")
    assert error.match(got)


def test_unknown_names_get_near_matches():
    with pytest.raises(ConfigError, match=r"unknown policy 'scriptd'.*did you mean scripted"):
        check_policy_name("scriptd")
    with pytest.raises(ConfigError, match=r"unknown policy 'inspect:rndom'.*inspect:random"):
        check_policy_name("inspect:rndom")
    with pytest.raises(ConfigError, match="the one that asks this node"):
        check_policy_name("inspect:assay")
    assert policy_names()[:3] == ("scripted", "random", "noop")


def test_every_name_that_is_offered_can_be_built_and_no_other() -> None:
    assert list(registry._BUILTIN) == list(BUILTIN_POLICIES)
    assert all(BUILTIN_POLICIES.values()), "`list policies` shows what each is"


def test_arguments_are_read_as_yaml_values():
    text = "rows=5 rate=0.5 url=http://10.0.0.5:8202/act flag=true name='two words' nothing=null"
    assert parse_policy_args(text) == {
        "rows": 5,
        "rate": 0.5,
        "url": "http://10.0.0.5:8202/act",
        "flag": True,
        "name": "two words",
        "nothing": None,
    }
    with pytest.raises(ConfigError, match="expected key=value, got 'rows'"):
        parse_policy_args("rows")
    with pytest.raises(ConfigError, match="policy 'noop': expected no arguments"):
        make_policy(PolicySettings("noop", args="rows=5"))


def test_a_policy_of_the_framework_gets_the_frameworks_observation(recorder):
    policy = adapter()
    assert policy.streams == ("left/joint_states", "right/joint_states", "cameras/left/image_raw")
    policy.reset(trial(9, scene={"id": "s", "instruction": "other words", "target": {"kind": "at", "spec": {"x": 1}}}))
    scene = recorder.scenes[0]
    assert (scene.id, scene.instruction, scene.target.spec) == ("s", "go", {"x": 1})
    assert recorder.seeds == [9]
    picture = np.zeros((48, 64, 3), np.uint8)
    out = policy.infer(
        inputs(
            step=4,
            stamps={"left/joint_states": 1_500_000_000},
            joint_pos=np.ones(14),
            images={"left_cam": picture},
            image_stamps={"left_cam": 1_400_000_000},
        )
    )
    assert (out.actions.shape, out.control_hz) == ((2, 14), 30.0)
    seen = recorder.seen[0]
    assert seen.images["left_cam"] is picture, "pictures must not be copied"
    assert (seen.instruction, seen.extra["env_step"], seen.state_time) == ("go", 4, 1.5)
    assert seen.image_times == {"left_cam": 1.4}
    assert (seen.state["joint_pos"] == 1).all()


def test_what_a_policy_draws_from_the_common_generators_follows_the_trials_seed(recorder):
    policy = adapter()
    drawn = []
    for seed in (1, 2, 1):
        policy.reset(trial(seed))
        drawn.append(policy.infer(inputs()).actions)
    assert (drawn[0] == drawn[2]).all()
    assert (drawn[0] != drawn[1]).any()


def test_a_policy_that_does_not_fit_is_refused_with_every_mismatch(recorder):
    with pytest.raises(ConfigError, match=r"policy requires camera 'left_cam'.*\[missing_camera\]"):
        adapter(count=1).reset(trial())
    misfit = adapter("random")
    with pytest.raises(ConfigError, match=r"policy emits 2-D actions but embodiment expects 14-D \[action_dim\]"):
        misfit.reset(trial())


def test_what_a_policy_raises_is_sorted_by_consequence(recorder):
    policy = adapter()
    policy.reset(trial())
    recorder.fail = ValueError("no such token")
    with pytest.raises(PolicyError, match="policy 'inspect:test_recorder': ValueError: no such token"):
        policy.infer(inputs())
    recorder.fail = RuntimeError("request failed")
    recorder.fail.__cause__ = ConnectionRefusedError("refused")
    with pytest.raises(RigFault, match=r"request failed \(server 10.0.0.5:8202\)"):
        policy.infer(inputs())


def test_a_policy_that_cannot_be_built_says_why():
    with pytest.raises(ConfigError, match=r"policy 'inspect:random'.*unexpected keyword argument 'speed'"):
        make_policy(PolicySettings("inspect:random", args="speed=3"))
