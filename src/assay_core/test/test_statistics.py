"""Intervals and bounds against published and independently computed figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_core.errors import ConfigError
from assay_core.statistics import INTERVALS, beta_cdf, beta_quantile, clopper_pearson, interval, manski

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "statistics_cases.json").read_text())[
    "cases"
]


@pytest.mark.parametrize("case", [c for c in CASES if c["method"] in INTERVALS], ids=lambda c: c["id"])
def test_interval_equals_the_known_answer(case: dict[str, Any]) -> None:
    got = interval(case["method"], case["inputs"]["successes"], case["inputs"]["n"], level=case["inputs"]["confidence"])
    for key, want in case["expected"].items():
        assert getattr(got, key) == pytest.approx(want, abs=case["tolerance"]["abs"], rel=0)


@pytest.mark.parametrize("case", [c for c in CASES if c["method"] == "manski_bounds"], ids=lambda c: c["id"])
@pytest.mark.parametrize("arm", ["A", "B"])
def test_bounds_equal_the_known_answer(case: dict[str, Any], arm: str) -> None:
    counts, want, tolerance = case["inputs"][arm], case["expected"], case["tolerance"]["abs"]
    got = manski(counts["success"], counts["failure"], counts["invalid"], case["inputs"]["confidence"])
    for key in ("low", "high", "ci_low", "ci_high"):
        assert getattr(got, key) == pytest.approx(want[f"{arm}_{key}"], abs=tolerance, rel=0)


@pytest.mark.parametrize("method", sorted(INTERVALS))
def test_no_trials_leave_everything_possible(method: str) -> None:
    got = interval(method, 0, 0)
    assert (got.low, got.high) == (0.0, 1.0)


@given(
    method=st.sampled_from(sorted(INTERVALS)),
    n=st.integers(1, 3000),
    share=st.floats(0, 1),
    level=st.floats(0.5, 0.999),
)
def test_interval_holds_the_estimate_and_mirrors(method: str, n: int, share: float, level: float) -> None:
    successes = round(share * n)
    got, mirrored = interval(method, successes, n, level), interval(method, n - successes, n, level)
    assert 0.0 <= got.low <= successes / n <= got.high <= 1.0
    assert got.low == pytest.approx(1.0 - mirrored.high, abs=1e-9), "success and failure are treated differently"


@given(n=st.integers(1, 60), p=st.floats(0.001, 0.999))
def test_exact_interval_covers_at_least_its_level(n: int, p: float) -> None:
    """Sum the binomial probability of every outcome whose interval holds the true rate."""
    from math import comb

    covered = 0.0
    for x in range(n + 1):
        got = clopper_pearson(x, n)
        if got.low <= p <= got.high:
            covered += comb(n, x) * p**x * (1 - p) ** (n - x)
    assert covered >= 0.95 - 1e-9


@given(p=st.floats(1e-6, 1 - 1e-6), a=st.floats(0.5, 500), b=st.floats(0.5, 500))
def test_quantile_inverts_the_distribution(p: float, a: float, b: float) -> None:
    assert beta_cdf(beta_quantile(p, a, b), a, b) == pytest.approx(p, abs=1e-9)


def test_bad_numbers_are_named() -> None:
    with pytest.raises(ConfigError, match=r"successes: expected 0 to 5, got 6"):
        clopper_pearson(6, 5)
    with pytest.raises(ConfigError, match=r"level: expected a number between 0 and 1, got 95"):
        clopper_pearson(1, 5, 95)
    with pytest.raises(ConfigError, match=r"expected one of clopper_pearson, jeffreys, wilson, got 'wald'"):
        interval("wald", 1, 5)
    with pytest.raises(ConfigError, match=r"counts of trials: expected numbers from 0"):
        manski(1, -1, 5)
