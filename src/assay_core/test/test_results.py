"""What the events add up to: which attempts count, which are repeated, and which verdict is in force."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay_core import journal_events as events
from assay_core.errors import DataError
from assay_core.journal import JournalReader, JournalWriter
from assay_core.testing import example_entry, example_realization, example_session, trial_entries
from assay_core.trial import State


@pytest.mark.parametrize(
    ("ending", "outcome", "counted", "reason"),
    [
        ("success", "success", True, ""),
        ("failure", "failure", True, ""),
        ("policy_error", "failure", True, "policy_error"),
        ("unfinished", "success", True, ""),
        ("skipped", "skipped", False, "infeasible"),
        ("halted", "halted", False, "halted"),
    ],
)
def test_endings_that_are_final(tmp_path: Path, ending: str, outcome: str, counted: bool, reason: str) -> None:
    example_session(tmp_path, [[ending]])
    reader = JournalReader(tmp_path)
    (result,) = reader.results()
    assert (result.outcome, result.counted, result.reason, result.attempt) == (outcome, counted, reason, 0)
    assert reader.pending() == ()
    assert reader.next_plan_index() == 1


@pytest.mark.parametrize("ending", ["rig_fault", "invalid", "cut"])
def test_endings_that_are_repeated(tmp_path: Path, ending: str) -> None:
    example_session(tmp_path, [[ending], ["success"]])
    reader = JournalReader(tmp_path)
    assert [result.trial_id for result in reader.results()] == ["000001-0"]
    assert [(entry.index, attempt) for entry, attempt in reader.pending()] == [(0, 1)]
    assert reader.next_plan_index() == 0
    assert len(reader.attempts()) == 2, "the invalid attempt is kept"


def test_repeats_are_bounded_by_the_plan(tmp_path: Path) -> None:
    example_session(tmp_path / "a", [["rig_fault", "invalid"]], max_repeats=2)
    assert [(e.index, n) for e, n in JournalReader(tmp_path / "a").pending()] == [(0, 2)]
    example_session(tmp_path / "b", [["rig_fault", "invalid", "cut"]], max_repeats=2)
    (result,) = JournalReader(tmp_path / "b").results()
    assert (result.outcome, result.counted, result.attempt) == ("invalid", False, 2)
    assert "interrupted in RUNNING" in result.reason
    example_session(tmp_path / "c", [["rig_fault", "invalid", "failure"]], max_repeats=2)
    (result,) = JournalReader(tmp_path / "c").results()
    assert (result.outcome, result.attempt) == ("failure", 2)
    example_session(tmp_path / "d", [["rig_fault"]], max_repeats=0)
    assert JournalReader(tmp_path / "d").results()[0].outcome == "invalid"


def test_the_record_of_the_end_replaces_the_one_of_judge(tmp_path: Path) -> None:
    example_session(tmp_path, [["success"], ["unfinished"]])
    whole, partial = (result.record for result in JournalReader(tmp_path).results())
    assert whole["whole"] is True
    assert partial["steps"] == 20
    assert "whole" not in partial


def append(directory: Path, *entries: object) -> None:
    writer = JournalWriter.resume(directory)
    writer.append_all(list(entries)).result(timeout=20)  # type: ignore[arg-type]
    writer.close()


def test_a_correction_supersedes_and_the_first_verdict_stays(tmp_path: Path) -> None:
    example_session(tmp_path, [["success"]], close=False)
    first = JournalReader(tmp_path).verdicts()["000000-0"]
    content = events.VerdictContent("v2", "checker", "failure", stage=2, note="spilled", supersedes=first.uuid)
    append(tmp_path, events.verdict("000000-0", State.DONE, content))
    reader = JournalReader(tmp_path)
    verdict = reader.verdicts()["000000-0"]
    assert (verdict.uuid, verdict.outcome, verdict.stage, verdict.supersedes) == ("v2", "failure", 2, first.uuid)
    assert [v.uuid for v in reader.attempts()[0].verdicts] == [first.uuid, "v2"]
    assert reader.results()[0].outcome == "failure"


def test_a_correction_to_invalid_asks_for_a_repeat_and_back_again(tmp_path: Path) -> None:
    example_session(tmp_path, [["success"]], close=False)
    first = JournalReader(tmp_path).verdicts()["000000-0"]
    invalid = events.VerdictContent("v2", "checker", "invalid", "scene_wrong", supersedes=first.uuid)
    append(tmp_path, events.verdict("000000-0", State.DONE, invalid))
    assert [(e.index, n) for e, n in JournalReader(tmp_path).pending()] == [(0, 1)]
    append(tmp_path, *trial_entries(example_entry(0), 1, "failure"))
    assert JournalReader(tmp_path).results()[0].trial_id == "000000-1"
    back = events.VerdictContent("v3", "checker", "success", supersedes="v2")
    append(tmp_path, events.verdict("000000-0", State.DONE, back))
    result = JournalReader(tmp_path).results()[0]
    assert (result.trial_id, result.outcome) == ("000000-0", "success"), "the first attempt that counts decides"


def test_a_verdict_before_judge_would_not_count(tmp_path: Path) -> None:
    example_session(tmp_path, [["cut"]], close=False)
    append(tmp_path, events.verdict("000000-0", State.RUNNING, events.VerdictContent("v", "checker", "success")))
    assert JournalReader(tmp_path).results() == ()


def test_entries_of_an_open_plan_come_from_their_trials(tmp_path: Path) -> None:
    example_session(tmp_path, [], close=False, open=True)
    entry = example_entry(0)
    started = events.trial_started(entry, 0, example_realization(entry), added=True)
    append(tmp_path, started, *list(trial_entries(entry, 0, "success"))[1:])
    reader = JournalReader(tmp_path)
    assert reader.entries() == (entry,)
    assert reader.results()[0].entry == entry
    assert reader.next_plan_index() == 1


def test_plan_and_realization_come_back(tmp_path: Path) -> None:
    plan = example_session(tmp_path, [["success"]])
    reader = JournalReader(tmp_path)
    assert reader.plan() == plan
    assert reader.results()[0].realization == example_realization(plan.entries[0]).to_dict()
    assert reader.fold().closed_status == "done"


def test_contradictory_events_are_refused_by_name(tmp_path: Path) -> None:
    example_session(tmp_path / "a", [["success"]], close=False)
    append(tmp_path / "a", *trial_entries(example_entry(0), 0, "success"))
    with pytest.raises(DataError, match="started before"):
        JournalReader(tmp_path / "a").results()
    example_session(tmp_path / "b", [["success"]], close=False)
    append(tmp_path / "b", events.trial_advanced("000007-0", State.RUNNING))
    with pytest.raises(DataError, match="000007-0"):
        JournalReader(tmp_path / "b").results()
    JournalWriter.create(tmp_path).close()
    with pytest.raises(DataError, match="an empty journal"):
        JournalReader(tmp_path).plan()
