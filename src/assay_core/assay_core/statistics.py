"""Intervals for success rates, and bounds when some trials do not count.

Five trials an instance are few, so a rate without its interval misleads. The beta quantiles are computed here, not
taken from scipy: the runner prints an interval for every instance, and must not pay scipy's import time and memory
on a robot PC for that.

Sources: Clopper & Pearson 1934; Wilson 1927; Brown, Cai & DasGupta 2001 (Jeffreys with its end points); Manski 1990;
the continued fraction is DLMF 8.17.22, evaluated by Lentz's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from assay_core.errors import ConfigError

__all__ = [
    "INTERVALS",
    "Bounds",
    "Interval",
    "beta_cdf",
    "beta_quantile",
    "clopper_pearson",
    "interval",
    "jeffreys",
    "manski",
    "wilson",
]

_TINY = 1e-300
_EPSILON = 1e-16
_MAX_TERMS = 100_000


@dataclass(frozen=True)
class Interval:
    """A confidence interval for a success probability."""

    method: str
    """Key of `INTERVALS`."""
    level: float
    """Nominal coverage, 0..1 exclusive."""
    low: float
    """0..1."""
    high: float
    """0..1."""

    def to_dict(self) -> dict[str, str | float]:
        """Return ``method, level, low, high``, JSON-native."""
        return {"method": self.method, "level": self.level, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Bounds:
    """What a success rate can be at worst and at best when some trials have no outcome."""

    low: float
    """Rate if every invalid trial had failed, 0..1."""
    high: float
    """Rate if every invalid trial had succeeded, 0..1."""
    ci_low: float
    """Lower Clopper-Pearson limit at ``low``."""
    ci_high: float
    """Upper Clopper-Pearson limit at ``high``."""


def interval(method: str, successes: int, n: int, level: float = 0.95) -> Interval:
    """Return the interval of one method; ``n = 0`` gives [0, 1].

    Args:
        method: One of `INTERVALS`.
        successes: Number of successes, 0..n.
        n: Number of trials that count.
        level: Nominal coverage, 0..1 exclusive.

    Raises:
        ConfigError: The method is unknown, or a number is out of range.
    """
    if method not in INTERVALS:
        raise ConfigError(
            f"interval method '{method}'",
            expected="one of " + ", ".join(sorted(INTERVALS)),
            got=repr(method),
            fix="choose one of them",
        )
    return INTERVALS[method](successes, n, level)


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Return the exact interval of Clopper and Pearson: it covers at least ``level`` whatever the true rate.

    Args and raises as in `interval`.
    """
    _check(successes, n, level)
    tail = (1.0 - level) / 2.0
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, n - successes + 1)
    high = 1.0 if successes == n else beta_quantile(1.0 - tail, successes + 1, n - successes)
    return Interval("clopper_pearson", level, low, high)


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Return Wilson's score interval without continuity correction.

    Args and raises as in `interval`.
    """
    _check(successes, n, level)
    if n == 0:
        return Interval("wilson", level, 0.0, 1.0)
    z = NormalDist().inv_cdf(1.0 - (1.0 - level) / 2.0)
    p, zz = successes / n, z * z
    centre = p + zz / (2.0 * n)
    half = z * math.sqrt(p * (1.0 - p) / n + zz / (4.0 * n * n))
    scale = 1.0 + zz / n
    low = 0.0 if successes == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if successes == n else min(1.0, (centre + half) / scale)
    return Interval("wilson", level, low, high)


def jeffreys(successes: int, n: int, level: float = 0.95) -> Interval:
    """Return the equal-tailed interval of the Beta(x + 1/2, n - x + 1/2) posterior, closed at 0 and 1.

    Args and raises as in `interval`.
    """
    _check(successes, n, level)
    tail = (1.0 - level) / 2.0
    low = 0.0 if successes == 0 else beta_quantile(tail, successes + 0.5, n - successes + 0.5)
    high = 1.0 if successes == n else beta_quantile(1.0 - tail, successes + 0.5, n - successes + 0.5)
    return Interval("jeffreys", level, low, high)


INTERVALS: dict[str, Callable[[int, int, float], Interval]] = {
    "clopper_pearson": clopper_pearson,
    "jeffreys": jeffreys,
    "wilson": wilson,
}
"""Interval methods by name."""


def manski(successes: int, failures: int, invalid: int, level: float = 0.95) -> Bounds:
    """Return the sharp bounds on a success rate when ``invalid`` trials have no outcome.

    Args:
        successes: Trials that succeeded.
        failures: Trials that failed.
        invalid: Trials without an outcome.
        level: Nominal coverage of the outer limits.

    Raises:
        ConfigError: A count is negative or ``level`` is out of range.
    """
    n = successes + failures + invalid
    _check(successes, n, level)
    if min(failures, invalid) < 0:
        raise ConfigError(
            "counts of trials",
            expected="numbers from 0",
            got=f"{failures} failures, {invalid} invalid",
            fix="count again",
        )
    best = successes + invalid
    return Bounds(
        low=successes / n if n else 0.0,
        high=best / n if n else 1.0,
        ci_low=clopper_pearson(successes, n, level).low,
        ci_high=clopper_pearson(best, n, level).high,
    )


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the distribution function of Beta(a, b) at ``x``, 0..1.

    Args:
        x: 0..1.
        a: Greater than 0.
        b: Greater than 0.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    # The fraction converges fast below the mean; above it, take the other tail.
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _beta_fraction(x, a, b) / a
    return 1.0 - math.exp(log_front) * _beta_fraction(1.0 - x, b, a) / b


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return ``x`` with ``beta_cdf(x, a, b) == p``, by bisection to the last bit.

    Args:
        p: 0..1.
        a: Greater than 0.
        b: Greater than 0.
    """
    low, high = 0.0, 1.0
    while True:
        x = 0.5 * (low + high)
        if x in (low, high):
            return x
        if beta_cdf(x, a, b) < p:
            low = x
        else:
            high = x


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function at ``x``."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 + term * d
            c = 1.0 + term / c
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1.0) < _EPSILON:
            break
    return value


def _check(successes: int, n: int, level: float) -> None:
    if not 0 <= successes <= n:
        raise ConfigError("successes", expected=f"0 to {n}", got=str(successes), fix="count successes among the trials")
    if not 0.0 < level < 1.0:
        raise ConfigError("level", expected="a number between 0 and 1", got=repr(level), fix="0.95 is usual")
