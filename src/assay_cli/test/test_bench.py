"""Benchmarks: what decides between ok and not, and a floor that is the same exchange as the real one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay_cli.bench import startup, step, suite
from assay_cli.bench.report import Report, percentiles


def test_a_report_is_ok_only_while_every_limit_is_kept() -> None:
    report = Report("x", figures={"ready_s": 7.9}, ratios={"step": 1.3}, limits={"ready_s": 8.0, "step": 1.3})
    assert report.ok
    assert json.loads(report.to_json())["ok"] is True
    report.figures["ready_s"] = 8.1
    assert not report.ok
    assert "OVER ITS LIMIT" in report.to_text()
    report.figures["ready_s"], report.ratios["step"] = 1.0, 1.301
    assert not report.ok


def test_percentiles_are_of_milliseconds() -> None:
    found = percentiles(np.arange(1, 101) / 1000.0, "step")
    assert found == {"step_p50_ms": 50.5, "step_p99_ms": 99.01}


def test_growth_leaves_the_start_out_and_sees_a_leak() -> None:
    steady = [50.0] * 10 + [200.0] * 90
    assert startup._growth(steady) == 0.0
    assert startup._growth([200.0 + k for k in range(100)]) == pytest.approx(80.0)


@pytest.mark.timeout(180)
def test_step_compares_equal_exchanges(capsys: pytest.CaptureFixture[str]) -> None:
    """Short, and without a look at the times: both sides must have the same processes, topics, subscribers and QoS."""
    report = step.run(["--steps", "20"])
    for suffix in ("0_cameras", "3_cameras"):
        assert report.figures[f"differences_{suffix}"] == 0, (report.figures, report.floor)
        assert report.limits[f"step_{suffix}"] == step.LIMIT == 1.3
        streams = report.figures[f"streams_{suffix}"]
        assert streams["left/command"].startswith("1 publishers, 1 subscribers, reliable volatile")
    assert report.figures["processes"] == report.floor["processes"] == 6
    assert set(report.ratios) == {"step_0_cameras", "step_3_cameras"}


@pytest.mark.timeout(300)
def test_suite_relates_a_trial_to_its_steps_and_says_where_the_time_goes() -> None:
    report = suite.run(["--task", "kitchenbench/stack"])
    assert (report.figures["trials_0_cameras"], report.figures["steps_0_cameras"]) == (25, 500)
    for suffix in ("0_cameras", "3_cameras"):
        trial_ms, floor_ms = report.figures[f"trial_{suffix}_p50_ms"], report.floor[f"step_{suffix}_p50_ms"]
        expected = (trial_ms - 1e3 * suite.TRIAL_S) / (20 * floor_ms)
        assert report.ratios[f"suite_{suffix}"] == pytest.approx(expected, abs=0.01)
        assert sum(report.figures[f"where_{suffix}_ms_per_trial"].values()) == pytest.approx(
            1e3 * report.figures[f"time_{suffix}_s"] / 25, rel=0.01
        )
    assert suite.LIMIT == 1.4
