"""summary.json has exactly its documented keys, and the table tells the truth about trials that do not count."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from plans import plan_of
from rich.console import Console

from assay_bridge.summary import MOST_WORDS, AttemptOutcome, notes, policy_words, summarise, table, tally, write_summary
from assay_core.plan import Plan, PlanEntry


def entry(index: int, instance: str, task: str = "t/a") -> PlanEntry:
    return PlanEntry(
        index=index,
        task=task,
        task_version="2",
        instance_id=instance,
        scene_id=instance,
        scene_seed=1,
        epoch=index,
        seed=index,
        max_steps=10,
    )


def plan(entries: tuple[PlanEntry, ...]) -> Plan:
    return plan_of(entries, seed=3, software={})


ENTRIES = (entry(0, "a/x"), entry(1, "a/x"), entry(2, "a/y"), entry(3, "b/z", "t/b"))
ATTEMPTS = (
    AttemptOutcome(ENTRIES[0], True, True),
    AttemptOutcome(ENTRIES[1], False, False, ("the world died",)),
    AttemptOutcome(ENTRIES[1], True, False),
    AttemptOutcome(ENTRIES[2], False, False, ("scene wrong",)),
)


def printed(summary: dict[str, object]) -> str:
    out = StringIO()
    Console(file=out, width=100).print(table(summary))
    return out.getvalue()


def test_summary_has_the_documented_content() -> None:
    got = summarise(plan(ENTRIES), tally(plan(ENTRIES), ATTEMPTS), "incomplete")
    assert got == {
        "session_id": "s",
        "status": "incomplete",
        "seed": 3,
        "policies": ["scripted"],
        "backend": "mock",
        "trials": 2,
        "invalid": 2,
        "tasks": {
            "t/a": {
                "version": "2",
                "instances": {
                    "a/x": {
                        "n": 2,
                        "successes": 1,
                        "invalid": 1,
                        "p_hat": 0.5,
                        "interval": {
                            "method": "clopper_pearson",
                            "level": 0.95,
                            "low": pytest.approx(0.012579, abs=1e-6),
                            "high": pytest.approx(0.987421, abs=1e-6),
                        },
                    },
                    "a/y": {
                        "n": 0,
                        "successes": 0,
                        "invalid": 1,
                        "p_hat": None,
                        "interval": {"method": "clopper_pearson", "level": 0.95, "low": 0.0, "high": 1.0},
                    },
                },
                "mean_p_hat": 0.5,
            },
            "t/b": {
                "version": "2",
                "instances": {
                    "b/z": {
                        "n": 0,
                        "successes": 0,
                        "invalid": 0,
                        "p_hat": None,
                        "interval": {"method": "clopper_pearson", "level": 0.95, "low": 0.0, "high": 1.0},
                    }
                },
                "mean_p_hat": None,
            },
        },
    }


def test_summary_is_written_whole_and_once(tmp_path: Path) -> None:
    got = summarise(plan(ENTRIES), tally(plan(ENTRIES), ATTEMPTS), "incomplete")
    path = write_summary(tmp_path, got)
    assert json.loads(path.read_text()) == got
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]


def test_table_shows_what_invalid_trials_could_mean() -> None:
    text = printed(summarise(plan(ENTRIES), tally(plan(ENTRIES), ATTEMPTS), "incomplete"))
    row = next(line for line in text.splitlines() if "a/x" in line)
    assert "0.50" in row
    assert "[0.01, 0.99]" in row
    assert "0.33..0.67" in row


def test_table_without_invalid_trials_has_no_bounds() -> None:
    text = printed(summarise(plan(ENTRIES[:1]), tally(plan(ENTRIES[:1]), ATTEMPTS[:1]), "done"))
    assert "case" not in text
    assert "t/a" in text


def test_an_early_end_shows_what_was_tried_and_counts_the_rest() -> None:
    summary = summarise(plan(ENTRIES), tally(plan(ENTRIES), ATTEMPTS[:1]), "incomplete")
    shown = printed(summary)
    assert "a/x" in shown
    assert not [name for name in ("a/y", "t/b", "b/z") if name in shown], "rows of nothing hide the rows of something"
    assert "2 instance(s) have no trial yet and are not shown." in notes(summary)
    done = summarise(plan(ENTRIES), tally(plan(ENTRIES), ATTEMPTS[:1]), "done")
    assert "b/z" in printed(done), "in a finished session an instance without trials must be seen"


def test_notes_say_that_drafts_are_drafts() -> None:
    summary = summarise(plan(ENTRIES), tally(plan(ENTRIES), ATTEMPTS), "incomplete")
    text = "\n".join(notes(summary, unvalidated=(3, 3)))
    assert "3 instance(s) are not validated by experts (drafts written by a model): take" in text
    assert "2 attempt(s) do not count" in text
    assert "convenience" in text
    assert (
        "3 instance(s) are not validated by experts (1 of them written by a model): take" in notes(summary, (3, 1))[-1]
    )
    assert "3 instance(s) are not validated by experts: take" in notes(summary, (3, 0))[-1]
    assert "validated" not in "".join(notes(summary))


RAISED = "policy/infer: policy 'inspect:my': RuntimeError: my model exploded [POLICY_FAILED]"


def test_notes_say_that_a_policy_broke_and_did_not_do_badly(tmp_path: Path) -> None:
    summary = summarise(plan(ENTRIES), tally(plan(ENTRIES), ATTEMPTS), "done")
    said = "3 of the failures are errors of the policy (first: RuntimeError: my model exploded); its log"
    assert f"{said} says where" in notes(summary, policy_errors=(3, RAISED))
    (tmp_path / "policy.log").touch()
    assert f"{said}: {tmp_path / 'policy.log'}" in notes(summary, policy_errors=(3, RAISED), logs=tmp_path)
    assert f"{said} says where" in notes(summary, policy_errors=(3, RAISED), logs=tmp_path / "gone")
    assert "policy (first" not in "".join(notes(summary))


@pytest.mark.parametrize(
    ("reason", "first"),
    [
        (
            "policy/infer: policy 'my' did not answer within 9.0 s. fix: look at it [DEADLINE_EXCEEDED]",
            "policy 'my' did not answer within 9.0 s. fix: look at it",
        ),
        (
            "policy/infer: chunk of policy 'my': got nan at [0, 3] [POLICY_FAILED]",
            "chunk of policy 'my': got nan at [0, 3]",
        ),
        ("policy/infer: policy 'my': E: two\nlines\x1b[2J", "E: two lines [2J"),
        ("", "nothing was said"),
    ],
)
def test_a_policys_words_fit_one_line(reason: str, first: str) -> None:
    assert policy_words((1, reason)) == (
        f"1 of the failures is an error of the policy (first: {first}); its log says where",
    )


def test_long_words_of_a_policy_are_cut() -> None:
    assert len(policy_words((1, "x" * 4000))[0]) < MOST_WORDS + 100
