"""Whoever wrote a policy finds in the node's log where it failed, without having to search for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from inspect_robots.registry import policy as register
from inspect_robots.types import Action, ActionChunk
from test_gone_wrong import INPUTS, Rude, made
from test_policy_node import bench

from assay_core.errors import PolicyError
from assay_msgs.msg import ResultCode
from assay_policies.failures import MOST_TRACEBACKS, FailureLog


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:  # noqa: BLE001
        return caught


def test_a_traceback_is_written_once_and_its_repeats_are_counted() -> None:
    log: list[str] = []
    failures = FailureLog(log.append)
    for trial in range(3):
        failures.raised(f"trial {trial}", f"ValueError: {trial}", raised(ValueError(trial)))
    assert log[0].startswith("trial 0 failed: ValueError: 0\nTraceback (most recent call last):\n")
    assert log[1:] == [
        f"trial {n} failed: ValueError: {n} ({n + 1} times now at the same place: see the first one above)"
        for n in (1, 2)
    ]


def test_what_is_said_in_words_only_takes_one_line() -> None:
    log: list[str] = []
    FailureLog(log.append).raised("trial 0", "nan at [0, 3]", PolicyError("nan at [0, 3]"))
    assert log == ["trial 0 failed: nan at [0, 3]"]


def test_endless_new_tracebacks_fill_no_disk() -> None:
    log: list[str] = []
    failures = FailureLog(log.append)
    for n in range(MOST_TRACEBACKS + 5):
        failures.raised("a trial", "x" * 10**6, raised(type(f"E{n}", (Exception,), {})()))
    assert sum("Traceback" in text for text in log) == MOST_TRACEBACKS
    assert len(log) == MOST_TRACEBACKS + 5
    assert max(map(len, log)) < 20_000


def test_a_log_takes_any_text() -> None:
    log: list[str] = []
    FailureLog(log.append).raised("trial 0", "\0\ud800", PolicyError("x"))
    assert log == ["trial 0 failed: \\0\\ud800"]


def explode() -> None:
    raise RuntimeError("my model exploded")


BARE = {"policy": "inspect:test_rude", "cameras": 0}


@pytest.mark.parametrize(
    ("where", "action", "told"),
    [
        ("reset", explode, "in explode"),
        ("act", explode, "in explode"),
        ("act", lambda: np.zeros(3) + np.zeros(4), "could not be broadcast"),
        ("act", lambda: ActionChunk([]), "must contain at least one action"),
        ("act", lambda: ActionChunk([Action(np.full(14, np.nan))]), "14 values that are not finite"),
        ("act", lambda: [1.0] * 14, "expected an ActionChunk of Inspect Robots, got list"),
        ("act", lambda: ActionChunk([0.5]), "'float' object has no attribute 'data'"),
    ],
)
def test_what_a_policy_raises_is_in_the_nodes_log(where: str, action: Any, told: str, capfd: Any) -> None:
    register("test_rude")(lambda: Rude(where, action))
    with bench(**BARE) as b:
        b.up()
        for trial in ("000000-0", "000001-0"):
            answer = b.reset(trial=trial)
            if where == "act":
                b.publish_joints()
                answer = b.infer(b.policy._streams, trial=trial)
            assert answer.code == ResultCode.POLICY_FAILED
            assert "\n" not in answer.message
    said = capfd.readouterr().err
    assert told in said
    assert "trial 000001-0" in said
    assert said.count("Traceback (most recent call last)") <= 1


def test_what_a_constructor_raises_is_in_the_nodes_log_before_the_reason(capfd: Any) -> None:
    register("test_rude")(lambda: Rude("__init__", explode))
    with bench(**BARE) as b:
        b.policy.trigger_configure()
    said = capfd.readouterr().err
    assert "in explode" in said
    assert "RuntimeError: my model exploded" in said.splitlines()[-1], "the graph's reason is what was said last"


def test_an_answer_of_the_wrong_type_is_named() -> None:
    with pytest.raises(PolicyError, match="expected an ActionChunk of Inspect Robots, got str"):
        made("act", lambda: "words").infer(INPUTS)
