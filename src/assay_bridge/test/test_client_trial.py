"""The graph client and the state of a trial: who ended it, who is waited for, which verdict counts."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import started, until

from assay_bridge.client_types import TrialEnded
from assay_core.errors import DataError, DeadlineError, RigFault, SafetyStop
from assay_core.rig import cameras
from assay_msgs.msg import ResultCode, TrialState, Verdict
from assay_msgs.srv import FinishTrial
from assay_ros import qos


@pytest.mark.parametrize(
    ("state", "kind"),
    [(TrialState.SKIPPED, TrialEnded), (TrialState.INVALID, TrialEnded), (TrialState.HALTED, SafetyStop)],
)
def test_a_trial_that_ends_before_motion_says_why(make_rig, state, kind):
    fakes, client = make_rig()
    fakes.benchmark.end_in_arrange = state
    client.start_trial(0, 0)
    with pytest.raises(kind, match="told to"):
        client.wait_for_state(TrialState.READY, deadline_s=5)


def test_a_halt_stops_the_next_step(make_rig):
    fakes, client = make_rig(world={"success_at": 10_000})
    started(client)
    fakes.benchmark.state.message = "operator pressed stop"
    fakes.benchmark.set(TrialState.HALTED)

    def keep_stepping():
        for _ in range(1000):
            client.step(np.zeros(14))

    with pytest.raises(SafetyStop, match="operator pressed stop"):
        keep_stepping()


def test_a_halt_ends_a_step_that_waits(make_rig):
    fakes, client = make_rig(step_s=600.0)
    started(client)
    fakes.world.ignore = 10**9
    fakes.benchmark.state.message = "operator pressed stop"
    fakes.benchmark.set(TrialState.HALTED)
    with pytest.raises(SafetyStop, match="operator pressed stop"):
        client.step(np.zeros(14))
    assert client.finish_trial(FinishTrial.Request.STATUS_SAFETY) == TrialState.INVALID, "it must still be finished"


def test_a_skip_ends_an_inference_that_waits(make_rig):
    fakes, client = make_rig(infer_s=600.0)
    frames = started(client)
    fakes.policy.silent = True
    fakes.benchmark.state.message = "object fell"
    fakes.benchmark.set(TrialState.INVALID)
    with pytest.raises(TrialEnded, match="object fell"):
        client.infer(frames, 0, "reach")


def test_a_refused_advance_says_how_the_trial_ended(make_rig):
    fakes, client = make_rig()
    client.start_trial(0, 0)
    client.wait_for_state(TrialState.READY, deadline_s=5)
    fakes.benchmark.codes["advance_trial"] = (ResultCode.TRIAL_STATE, "it is over")
    with pytest.raises(RigFault, match="it is over"):
        client.advance(TrialState.RUNNING)
    fakes.benchmark.state.message = "cannot be arranged"
    fakes.benchmark.set(TrialState.SKIPPED)
    until(lambda: client.trial_state.state == TrialState.SKIPPED or client._spinner.once(), "the skip")
    with pytest.raises(TrialEnded, match="ended in SKIPPED: cannot be arranged"):
        client.advance(TrialState.RUNNING)


def advanced(fakes):
    return [request.state for request in fakes.benchmark.of("advance_trial")]


def test_a_report_ahead_is_answered_with_the_next_one(make_rig):
    fakes, client = make_rig()
    started(client)
    client.advance_ahead(TrialState.PARKING)
    assert client.advance(TrialState.JUDGE) == TrialState.JUDGE
    assert advanced(fakes) == [TrialState.RUNNING, TrialState.PARKING, TrialState.JUDGE]


def test_a_report_ahead_that_is_refused_fails_the_next_one(make_rig):
    fakes, client = make_rig()
    started(client)
    fakes.benchmark.codes["advance_trial"] = (ResultCode.TRIAL_STATE, "not now")
    fakes.benchmark.once.add("advance_trial")
    client.advance_ahead(TrialState.PARKING)
    with pytest.raises(RigFault, match="not now"):
        client.advance(TrialState.JUDGE)


def test_a_report_that_overtook_a_lost_one_is_made_again(make_rig):
    fakes, client = make_rig(service_s=2.0)
    started(client)
    fakes.benchmark.deaf_once.add("advance_trial")
    client.advance_ahead(TrialState.PARKING)
    assert client.advance(TrialState.JUDGE) == TrialState.JUDGE
    parking, judge = TrialState.PARKING, TrialState.JUDGE
    assert advanced(fakes)[1:] == [parking, judge, parking, judge]
    assert fakes.benchmark.state.state == TrialState.JUDGE


def test_a_report_ahead_is_forgotten_with_its_trial(make_rig):
    fakes, client = make_rig()
    started(client)
    fakes.benchmark.codes["advance_trial"] = (ResultCode.TRIAL_STATE, "not now")
    fakes.benchmark.once.add("advance_trial")
    client.advance_ahead(TrialState.PARKING)
    client.finish_trial(FinishTrial.Request.STATUS_RIG_FAULT, "gone")
    started(client, 4)
    assert client.advance(TrialState.PARKING) == TrialState.PARKING


def test_a_report_meanwhile_is_answered_at_the_end_of_its_block(make_rig):
    fakes, client = make_rig(cameras(1, 64, 48))
    client.start_trial(0, 0)
    client.wait_for_state(TrialState.READY, deadline_s=5)
    with client.advance_meanwhile(TrialState.RUNNING):
        assert client.first_frames().images["top_cam"].shape == (48, 64, 3)
    assert client.trial_state.state == TrialState.RUNNING
    fakes.benchmark.codes["advance_trial"] = (ResultCode.TRIAL_STATE, "it is over")
    done = []
    with pytest.raises(RigFault, match="it is over"), client.advance_meanwhile(TrialState.PARKING):
        done.append("the block")
    assert done == ["the block"]


def test_a_person_who_is_waited_for_is_told_of_once(make_rig):
    fakes, client = make_rig()
    fakes.benchmark.verdict = None
    told = []
    client.tell_waiting(lambda *who: told.append(who))
    started(client)
    for waiting in (["world"], ["runner", "grader"], ["runner", "grader"]):
        fakes.benchmark.state.waiting_for = waiting
        client.advance(TrialState.JUDGE)
        with pytest.raises(DeadlineError):
            client.wait_for_verdict(0.3)
    assert told == [("000003-0", "JUDGE", ("grader",))]


def test_a_second_voice_that_gives_verdicts_is_told_once(make_rig):
    fakes, client = make_rig()
    told = []
    client.tell_strangers(told.append)

    def judge() -> None:
        started(client)
        client.advance(TrialState.JUDGE)
        client.wait_for_verdict(5)

    fakes.benchmark.node.create_publisher(Verdict, "benchmark/verdict", qos.EVENT)
    judge()
    assert told == [], "the one that belongs here was taken for a stranger"
    fakes.policy.node.create_publisher(Verdict, "benchmark/verdict", qos.EVENT)
    client._spinner.wait(lambda: client.node.count_publishers("benchmark/verdict") == 2, 10, lambda: "discovery")
    judge()
    judge()
    assert len(told) == 1
    assert "benchmark/verdict has 2 publishers" in told[0]


def test_only_the_verdict_that_the_benchmark_node_accepted_is_heard(make_rig):
    _, client = make_rig()
    started(client)
    client.advance(TrialState.JUDGE)
    assert client.wait_for_verdict(5).uuid == "u-1"
    heard = {subscription.topic_name for subscription in client.node.subscriptions}
    assert "/benchmark/trial" in heard
    assert "/benchmark/verdict" not in heard, "anybody may publish there"


def test_a_journal_that_is_lost_ends_the_wait_for_a_person(make_rig):
    fakes, client = make_rig()
    fakes.benchmark.verdict = None
    started(client)
    client.advance(TrialState.JUDGE)
    fakes.benchmark.state.code, fakes.benchmark.state.message = ResultCode.JOURNAL_FAILED, "journal.sqlite: gone"
    fakes.benchmark.set(TrialState.JUDGE)
    with pytest.raises(DataError, match=r"trial 000003-0: journal.sqlite: gone"):
        client.wait_for_verdict(60)


def test_waiting_for_a_verdict_says_who_is_waited_for(make_rig):
    fakes, client = make_rig()
    fakes.benchmark.verdict = None
    started(client)
    fakes.benchmark.state.waiting_for = ["grader"]
    client.advance(TrialState.JUDGE)
    told = r"no verdict within 0.3 s \(it is JUDGE, waiting for grader; nodes on the graph: b"
    with pytest.raises(DeadlineError, match=told):
        client.wait_for_verdict(0.3)
    fakes.benchmark.state.message = "journal.sqlite: disk full"
    fakes.benchmark.set(TrialState.JUDGE)
    with pytest.raises(DeadlineError, match=r"waiting for grader; journal.sqlite: disk full; nodes on"):
        client.wait_for_verdict(0.3)
    fakes.benchmark.give_verdict(Verdict.OUTCOME_FAILURE)
    assert client.wait_for_verdict(5).outcome == "failure"


def test_a_benchmark_node_that_left_is_named_where_a_verdict_is_waited_for(make_rig):
    fakes, client = make_rig()
    fakes.benchmark.verdict = None
    started(client)
    client.advance(TrialState.JUDGE)
    fakes.remove(fakes.benchmark.node)
    with pytest.raises(DeadlineError, match=r"\(benchmark node: not on the graph; it is JUDGE, waiting for"):
        client.wait_for_verdict(1.0)
