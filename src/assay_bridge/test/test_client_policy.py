"""The graph client and the policy node: whose fault it is when there is no chunk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakes import started

from assay_bridge.client_types import ClientConfig
from assay_bridge.policy_calls import NodeHangs
from assay_core.errors import ConfigError, PolicyError, RigFault
from assay_msgs.msg import ResultCode


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ResultCode.POLICY_FAILED, PolicyError),
        (ResultCode.POLICY_UNREACHABLE, RigFault),
        (ResultCode.DEADLINE_EXCEEDED, PolicyError),
        (ResultCode.BUSY, RigFault),
        (ResultCode.STREAM_MISSING, RigFault),
    ],
)
def test_a_failed_inference_ends_the_trial_the_right_way(make_rig, code, kind):
    fakes, client = make_rig()
    frames = started(client)
    fakes.policy.infer_code = (code, "server 10.0.0.5:8202: connection refused")
    with pytest.raises(kind, match="connection refused"):
        client.infer(frames, 0, "reach")


def test_a_stream_that_the_policy_missed_is_published_again_once(make_rig):
    fakes, client = make_rig()
    frames = started(client)
    fakes.policy.infer_once = (ResultCode.STREAM_MISSING, "left/joint_states")
    assert client.infer(frames, 0, "reach").actions.shape == (3, 14)
    assert len(fakes.policy.inferences) == 2
    client.step(np.zeros(14))
    fakes.policy.infer_once = (ResultCode.STREAM_MISSING, "left/joint_states")
    client.infer(client.observe(), 1, "reach")
    assert len(fakes.world.commands) == 1, "asking for the streams again must not move the arms"


@pytest.mark.parametrize(
    ("rows", "actions", "got"),
    [(0, [], "0 rows"), (1, [0.0] * 7, "7 values"), (1, [float("nan")] * 14, "14 not finite")],
)
def test_a_malformed_chunk_is_the_policys_fault(make_rig, rows, actions, got):
    fakes, client = make_rig()
    frames = started(client)
    fakes.policy.rows, fakes.policy.actions = rows, actions
    with pytest.raises(PolicyError, match=got):
        client.infer(frames, 0, "reach")


def test_a_policy_that_hangs_has_failed_and_is_named(make_rig, monkeypatch):
    monkeypatch.setattr("assay_bridge.services.LEASE_S", 0.3)
    fakes, client = make_rig(infer_s=0.5)
    frames = started(client)
    fakes.policy.silent = True
    with pytest.raises(PolicyError, match=r"policy/infer: no answer within 0.5 s \(policy node: on the graph"):
        client.infer(frames, 0, "reach")


def test_a_later_trial_does_not_fail_for_an_earlier_ones_hang(make_rig, monkeypatch):
    monkeypatch.setattr("assay_bridge.services.LEASE_S", 0.3)
    fakes, client = make_rig(infer_s=0.5, reset_s=0.5)
    frames = started(client)
    fakes.policy.silent = True
    for _ in range(2):
        with pytest.raises(PolicyError, match="policy/infer: no answer"):
            client.infer(frames, 0, "reach")
    client.start_trial(4, 0)
    for _ in range(2):
        with pytest.raises(NodeHangs, match=r"policy/reset: no answer within .*; it hangs since trial 000003-0. fix: "):
            client.reset_policy({"id": "x"}, 0, 7, "reach")
    fakes.policy.silent = False
    started(client, 5)
    fakes.policy.silent = True
    client.start_trial(6, 0)
    with pytest.raises(PolicyError, match="policy/reset: no answer"):
        client.reset_policy({"id": "x"}, 0, 7, "reach")


def test_a_policy_whose_process_died_is_the_rigs_fault(make_rig):
    fakes, client = make_rig(infer_s=0.5)
    frames = started(client)
    fakes.remove(fakes.policy.node)
    with pytest.raises(RigFault, match="policy node: not on the graph"):
        client.infer(frames, 0, "reach")
    assert not client._services.alive("policy")


def test_a_policy_known_to_be_dead_is_not_waited_for(make_rig):
    dead = []
    fakes, client = make_rig(infer_s=600.0, liveness=lambda: dead[0] if dead else None)
    frames = started(client)
    fakes.policy.silent = True
    dead.append("policy (pid 7) was killed by SIGKILL")
    with pytest.raises(RigFault, match="killed by SIGKILL"):
        client.infer(frames, 0, "reach")


def test_a_policy_busy_with_an_earlier_trial_is_waited_for(make_rig):
    fakes, client = make_rig(reset_s=20.0)
    client.start_trial(0, 0)
    fakes.policy.reset_once = (ResultCode.BUSY, "hangs: inference of trial 000000-0")
    client.reset_policy({"id": "x"}, 0, 7, "reach")
    assert len(fakes.policy.resets) == 2


def test_a_policy_that_never_comes_back_from_an_earlier_trial_needs_a_fresh_node(make_rig):
    fakes, client = make_rig(reset_s=0.7)
    client.start_trial(1, 0)
    fakes.policy.reset_code = (
        ResultCode.BUSY,
        "policy 'my' hangs: inference of trial 000000-0 at step 0 has been running for 70.0 s. fix: restart it",
    )
    with pytest.raises(NodeHangs) as caught:
        client.reset_policy({"id": "x"}, 0, 7, "reach")
    assert str(caught.value) == (
        "policy/reset: not ready after 0.7 s: policy 'my' hangs: inference of trial 000000-0 at step 0 has been "
        "running for 70.0 s. fix: resume, which starts a fresh policy node; with --attach, restart the policy node "
        "first"
    )
    assert len(fakes.policy.resets) > 1, "it might have come back"


def test_a_policy_that_reads_what_the_rig_lacks_is_refused(make_rig):
    fakes, client = make_rig()
    client.start_trial(0, 0)
    fakes.policy.streams = ["left/joint_states", "cameras/right/image_raw"]
    with pytest.raises(ConfigError, match="got cameras/right/image_raw"):
        client.reset_policy({"id": "x"}, 0, 7, "reach")


def test_the_page_for_authors_of_policies_names_the_deadlines():
    page = Path(__file__).resolve().parents[3] / "docs" / "own-policy.md"
    if not page.is_file():
        pytest.skip("installed without the documentation")
    text, config = page.read_text(), ClientConfig()
    assert f"more than {config.infer_s * 0.9:g} s for one `act`" in text, "the node answers at nine tenths of it"
    assert f"more than {config.reset_s:g} s for `reset`" in text
    assert f"has not come back {config.reset_s:g} s into" in text
