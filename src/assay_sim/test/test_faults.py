"""Faults are read exactly or refused by name, and fire repeatably."""

from __future__ import annotations

import pytest

from assay_core.errors import ConfigError
from assay_sim.faults import KINDS, FaultSchedule, parse_faults


def steps(text, kind, target="", trial="000000-0", seed=0, count=30, **more):
    schedule = FaultSchedule(parse_faults(text), seed)
    return [step for step in range(count) if schedule.firing(kind, target, trial, step, **more)]


def test_no_text_means_no_faults():
    assert parse_faults("") == parse_faults(" ; ") == ()
    assert not FaultSchedule(())


def test_when_a_fault_fires():
    assert steps("drop:camera=top,at=7", "drop", "top") == [7]
    assert steps("drop:camera=top,from=20,every=3", "drop", "top") == [20, 23, 26, 29]
    assert steps("drop:camera=top,from=2,until=4", "drop", "top") == [2, 3, 4]
    assert steps("silent:from=28", "silent") == [28, 29]
    assert steps("drop:camera=top", "drop", "left") == []
    assert steps("drop", "drop", "right") == list(range(30))


def test_a_fault_can_be_kept_to_one_trial():
    text = "die:at=3,trial=000002-0"
    assert steps(text, "die", trial="000002-0") == [3]
    assert steps(text, "die", trial="000002-1") == []


def test_once_spares_the_repeat():
    assert steps("drop:camera=top,at=1,once=true", "drop", "top") == [1]
    assert steps("drop:camera=top,at=1,once=true", "drop", "top", repeat=True) == []
    assert steps("drop:camera=top,at=1", "drop", "top", repeat=True) == [1]


def test_random_faults_are_repeatable_and_differ_by_seed_camera_and_trial():
    text = "drop:probability=0.3"
    first = steps(text, "drop", "top", count=400)
    assert first == steps(text, "drop", "top", count=400)
    assert 80 < len(first) < 160
    others = [steps(text, "drop", "top", seed=1, count=400), steps(text, "drop", "left", count=400)]
    others.append(steps(text, "drop", "top", trial="000001-0", count=400))
    assert all(first != other for other in others)


def test_several_faults_are_separate():
    text = "drop:camera=top,at=1; late:arm=left,steps=2,at=5; torn:camera=left,at=1"
    assert [fault.kind for fault in parse_faults(text)] == ["drop", "late", "torn"]
    assert steps(text, "late", "left") == [5]
    assert steps(text, "late", "right") == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "late"])
def test_every_kind_needs_no_more_than_its_name(kind):
    assert parse_faults(kind)[0].kind == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dorp:camera=top", "unknown fault 'dorp'.*did you mean drop"),
        ("drop:camara=top", "unknown key of fault 'drop' 'camara'.*did you mean camera"),
        ("drop:camera=front", "expected one of top, left, right, all, got 'front'"),
        ("drop:at=x", "expected a whole number from 0, got 'x'"),
        ("drop:every=0", "expected a whole number from 1, got '0'"),
        ("drop:probability=1.5", "expected a number from 0 to 1, got '1.5'"),
        ("drop:probability=nan", "expected a number from 0 to 1, got 'nan'"),
        ("drop:at=1,from=2", "expected either at=N or from/until/every, got both"),
        ("drop:from=5,until=2", "expected until at or after from"),
        ("drop:camera", "expected camera=VALUE, once"),
        ("drop:at=1,at=2", "expected at=VALUE, once"),
        ("late:arm=left", "expected either steps=N or seconds=S, got neither"),
        ("late:steps=1,seconds=1", "expected either steps=N or seconds=S, got both"),
        ("late:arm=top,steps=1", "expected one of left, right, both, got 'top'"),
        ("freeze:stamp=never", "expected one of new, old, got 'never'"),
        ("die:camera=top", "unknown key of fault 'die' 'camera'"),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_faults(text)


@pytest.mark.parametrize("kind", ["silent", "die"])
def test_once_is_refused_where_nothing_is_repeated(kind):
    with pytest.raises(ConfigError, match=f"expected no once with {kind}: a world that says nothing repeats nothing"):
        parse_faults(f"{kind}:at=1,once=true")
    assert parse_faults(f"{kind}:at=1,once=false")[0].kind == kind
