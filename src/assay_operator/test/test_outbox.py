"""Nothing that was sent gets lost: resends keep their UUID, and stop when answered."""

from __future__ import annotations

from typing import Any

from assay_msgs.msg import Ready, Receipt, ResultCode
from assay_operator.outbox import Outbox, stable_uuid


def outbox() -> tuple[Outbox, list[str], list[str]]:
    sent: list[str] = []
    warnings: list[str] = []
    return Outbox(0.5, 10.0, warnings.append), sent, warnings


def publish(sent: list[str]) -> Any:
    return lambda message: sent.append(message.uuid)


def test_resent_until_the_receipt() -> None:
    box, sent, warnings = outbox()
    message = Ready(uuid="u", trial_id="t")
    box.send(message, publish(sent), 0.0)
    box.send(message, publish(sent), 0.1)
    assert sent == ["u"], "a message under way is not sent twice at once"
    box.tick(0.4)
    box.tick(0.6)
    box.tick(0.7)
    box.tick(1.2)
    assert sent == ["u", "u", "u"]
    box.answered(Receipt(uuid="other", accepted=True))
    assert len(box) == 1
    box.answered(Receipt(uuid="u", accepted=True))
    box.tick(5.0)
    assert len(box) == 0
    assert len(sent) == 3
    assert warnings == []
    assert (box.sent, box.resent, box.answers, box.refused, box.given_up) == (1, 2, 1, 0, 0)


def test_a_refusal_ends_it_with_a_warning_unless_time_may_cure_it() -> None:
    box, sent, warnings = outbox()
    box.send(Ready(uuid="u", trial_id="t"), publish(sent), 0.0)
    box.answered(Receipt(uuid="u", code=ResultCode.SESSION_UNKNOWN, message="no session"))
    box.tick(0.6)
    assert sent == ["u", "u"]
    box.answered(Receipt(uuid="u", trial_id="t", code=ResultCode.GRADER_UNKNOWN, message="expected one of a"))
    assert len(box) == 0
    assert warnings == ["trial t: refused: expected one of a"]


def test_given_up_after_the_deadline_saying_what_was_missing() -> None:
    box, sent, warnings = outbox()
    box.send(Ready(uuid="u", trial_id="t"), publish(sent), 0.0)
    box.tick(10.5)
    assert len(box) == 0
    assert "expected a receipt of the ready within 10 s, got no receipt. fix:" in warnings[0]


def test_messages_of_earlier_trials_are_dropped() -> None:
    box, sent, _ = outbox()
    for session, trial in (("s", "t2"), ("s2", "t")):
        box.send(Ready(uuid="u", session_id="s", trial_id="t"), publish(sent), 0.0)
        box.keep_only("s", "t")
        assert "u" in box
        box.keep_only(session, trial)
        assert len(box) == 0


def test_uuids_follow_from_what_is_said() -> None:
    assert stable_uuid("s", "t", "ready") == stable_uuid("s", "t", "ready")
    assert stable_uuid("s", "t", "ready") != stable_uuid("s", "t", "verdict")
    assert stable_uuid("a", "bc") != stable_uuid("ab", "c")
