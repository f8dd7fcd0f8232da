"""What the lifecycle manager asks of nodes, and when it gives up, with time and answers as arguments."""

from __future__ import annotations

import pytest

from assay_bringup.bringup_plan import ACTIVATE, ASK, CONFIGURE, Limits, ManagedNode, Plan, stages_of
from assay_core.errors import ConfigError

LIMITS = Limits(appear_s=10.0, transition_s=5.0)


def fresh(*, manual: bool = False) -> ManagedNode:
    return ManagedNode("world", LIMITS, manual=manual)


def active(*, manual: bool = False) -> ManagedNode:
    node = fresh(manual=manual)
    assert node.step(0.0, True) == ASK
    node.answered_state(node.question, "active")
    assert node.step(0.1, True) is None
    assert node.done
    return node


def test_an_unconfigured_node_is_configured_and_activated_with_one_request_each() -> None:
    node = fresh()
    assert node.step(0.0, False) is None
    assert node.step(0.1, True) == ASK
    assert node.step(0.2, True) is None, "a question is not repeated at once"
    node.answered_state(node.question, "unconfigured")
    assert node.step(0.3, True) == CONFIGURE
    for now in (0.4, 2.0, 4.0):
        assert node.step(now, True) is None, "rclpy kills a node that gets a transition twice"
    node.answered_transition(CONFIGURE, True)
    assert node.step(4.1, True) == ACTIVATE
    node.answered_transition(ACTIVATE, True)
    assert node.step(4.2, True) is None
    assert (node.state, node.done) == ("active", True)


def test_an_answer_to_an_earlier_question_does_not_lead_to_a_second_transition() -> None:
    node = fresh()
    node.step(0.0, True)
    first = node.question
    assert node.step(1.5, True) == ASK, "a lost question is repeated"
    node.answered_state(node.question, "unconfigured")
    assert node.step(1.6, True) == CONFIGURE
    node.answered_state(first, "unconfigured")
    node.answered_transition(CONFIGURE, True)
    assert node.step(1.7, True) == ACTIVATE
    node.answered_state(first, "inactive")
    assert node.step(1.8, True) is None


def test_the_announcement_of_a_node_counts_where_the_answer_got_lost() -> None:
    node = fresh()
    node.step(0.0, True)
    node.answered_state(node.question, "unconfigured")
    assert node.step(0.1, True) == CONFIGURE
    node.announced("configuring")
    assert node.step(0.2, True) is None
    node.announced("inactive")
    assert node.step(0.3, True) == ACTIVATE
    node.announced("active")
    node.answered_transition(ACTIVATE, True)
    assert node.step(0.4, True) is None
    assert node.done


def test_an_active_node_is_left_as_it_is() -> None:
    assert active().state == "active"


def test_a_refusal_is_named_with_what_the_node_said() -> None:
    node = fresh()
    node.step(0.0, True)
    node.answered_state(node.question, "unconfigured")
    node.step(0.1, True)
    node.answered_transition(CONFIGURE, False)
    assert node.failed
    node.blame("no such camera")
    node.blame("no such camera")
    assert node.message == "configure was refused: no such camera"
    assert node.step(0.2, True) is None


@pytest.mark.parametrize(
    ("present", "answer", "message"),
    [
        (False, None, "did not appear within 10 s; is its process running?"),
        (True, None, "get_state: no answer within 10 s"),
        (True, "unconfigured", "configure: no answer within 5 s"),
        (True, "finalized", "it has shut down"),
    ],
)
def test_every_wait_ends_and_says_what_was_missing(present: bool, answer: str | None, message: str) -> None:
    node = fresh()
    for tenth in range(250):
        if node.step(tenth / 10, present) == ASK and answer is not None:
            node.answered_state(node.question, answer)
    assert node.failed
    assert node.message == message


def test_a_node_that_is_back_is_brought_up_again() -> None:
    node = active()
    node.lost()
    assert (node.state, node.step(100.0, False)) == ("lost", None)
    node.returned()
    assert node.step(101.0, True) == ASK
    node.answered_state(node.question, "unconfigured")
    assert node.step(101.1, True) == CONFIGURE


def test_an_arm_driver_that_is_back_waits_for_a_person() -> None:
    node = active(manual=True)
    node.lost()
    node.returned()
    assert node.step(101.0, True) is None
    assert node.snapshot().message == "came back; an operator has to bring it up"
    node.announced("active")
    assert node.state == "active"


def test_what_somebody_deactivated_is_not_activated_again() -> None:
    node = active()
    node.announced("inactive")
    assert node.step(1.0, True) is None
    assert not Plan([[node]]).snapshot().ready
    assert "by someone else" in node.message
    node.announced("active")
    assert Plan([[node]]).snapshot().ready


def test_stages_come_up_one_after_the_other() -> None:
    plan = stages_of(["left right", "policy"], LIMITS, ["policy 60"], ["left"])
    left, right, policy = plan.nodes
    assert plan.current() == [left, right]
    for node in (left, right):
        node.announced("active")
    assert plan.current() == [policy]
    assert not plan.snapshot().ready
    policy.announced("active")
    assert plan.current() == []
    assert not plan.busy()
    assert plan.snapshot().ready
    assert (policy.limits.transition_s, left.limits.transition_s, left.manual, right.manual) == (60.0, 5.0, True, False)


def test_the_state_says_who_is_waited_for_and_who_failed() -> None:
    plan = stages_of(["world policy"], LIMITS, [], [])
    assert plan.snapshot().message == "waiting for world (absent), policy (absent)"
    plan.nodes[1].step(0.0, False)
    plan.nodes[1].step(11.0, False)
    assert plan.snapshot().failed
    assert plan.snapshot().message == "policy: did not appear within 10 s; is its process running?"
    assert plan.snapshot().missing().startswith("world: absent; policy: failed (did not appear")
    assert plan.busy(), "the other node is still brought up"


@pytest.mark.parametrize(
    ("stages", "deadlines", "manual", "message"),
    [
        ([""], [], [], "no node"),
        (["a b", "a"], [], [], "a twice"),
        (["a"], ["b 3"], [], "names out of a, got b"),
        (["a"], ["a"], [], "NAME SECONDS"),
        (["a"], [], ["c"], "got c"),
    ],
)
def test_contradictory_parameters_are_refused(
    stages: list[str], deadlines: list[str], manual: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        stages_of(stages, LIMITS, deadlines, manual)
