"""A log and the journal must use the same word for the same number; a number without a word must stay readable."""

from __future__ import annotations

from assay_msgs.msg import Abort, ResultCode, Skip, TrialState, Verdict
from assay_ros import names


def test_every_number_of_a_message_has_its_word() -> None:
    assert dict(names.OUTCOMES) == {1: "success", 2: "failure", 3: "invalid"}
    assert names.OUTCOME_NUMBERS["invalid"] == Verdict.OUTCOME_INVALID
    assert list(names.INVALID_REASONS.values()) == [
        "rig_fault",
        "operator_error",
        "scene_wrong",
        "interference",
        "other",
    ]
    assert names.SKIP_REASONS[Skip.REASON_MISSING_OBJECT] == "missing_object"
    assert names.ABORT_REASONS[Abort.REASON_EARLY_STOP] == "early_stop"
    assert dict(names.ABORT_SCOPES) == {1: "trial", 2: "session"}


def test_zero_and_none_are_no_choice() -> None:
    for table in (names.OUTCOMES, names.INVALID_REASONS, names.SKIP_REASONS, names.ABORT_REASONS, names.ABORT_SCOPES):
        assert 0 not in table
    assert Verdict.INVALID_NONE not in names.INVALID_REASONS


def test_codes_and_states_are_named_even_when_unknown() -> None:
    assert names.code_name(ResultCode.SESSION_OTHER_OPEN) == "SESSION_OTHER_OPEN"
    assert names.state_name(TrialState.RUNNING) == "RUNNING"
    assert (names.code_name(9999), names.state_name(99)) == ("CODE_9999", "STATE_99")


def test_a_policy_node_says_what_it_serves() -> None:
    assert names.policy_served(names.serves_policy("inspect:random")) == "inspect:random"
    assert names.policy_served("") == ""
    assert names.policy_served("fine") == ""
