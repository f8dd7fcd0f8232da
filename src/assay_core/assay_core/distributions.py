"""Distributions of the random variables in a task instance.

A scenario is written as distributions, so that a policy is measured on what varies and not on one picture of it.
Samples are builtin ``float``, ``int`` or ``str``: they go into messages, journals and hashes as JSON, where a
numpy scalar would be refused or written differently.

How a sample is drawn is part of the benchmark: two laboratories that share a seed must arrange the same scene. The
draws below are therefore fixed, one generator call per sample, and a golden file pins what they return.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from assay_core.errors import ConfigError

__all__ = ["Categorical", "Constant", "Distribution", "Normal", "Scalar", "Uniform"]

Scalar: TypeAlias = float | int | str
"""A sampled value."""


@runtime_checkable
class Distribution(Protocol):
    """Anything that a random variable of a task instance can be drawn from."""

    def sample(self, rng: np.random.Generator) -> Scalar:
        """Draw one builtin scalar, advancing ``rng``."""

    def describe(self) -> str:
        """Return the one-line form shown to people and kept in logs, e.g. ``Uniform[80, 200]``."""


def _number(value: float) -> str:
    """Return a number as people write it: whole floats without the ``.0``."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _plain(value: Scalar) -> str:
    return value if isinstance(value, str) else _number(value)


def _require_finite(owner: str, **numbers: float) -> None:
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise ConfigError(f"{owner} {name}", expected="a finite number", got=repr(number), fix="give a number")


@dataclass(frozen=True)
class Uniform:
    """Continuous uniform on ``[low, high)``; with ``low == high`` the one value.

    Raises:
        ConfigError: A bound is not finite, or ``low > high``.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _require_finite("Uniform", low=self.low, high=self.high)
        if self.low > self.high:
            raise ConfigError(
                "Uniform", expected="low <= high", got=f"low {self.low} > high {self.high}", fix="swap the two bounds"
            )

    def sample(self, rng: np.random.Generator) -> float:
        """Draw one float, in the variable's unit."""
        return float(rng.uniform(self.low, self.high))

    def describe(self) -> str:
        """Return e.g. ``Uniform[80, 200]``."""
        return f"Uniform[{_number(self.low)}, {_number(self.high)}]"


@dataclass(frozen=True)
class Normal:
    """Gaussian with mean and standard deviation, both in the variable's unit.

    Raises:
        ConfigError: A parameter is not finite, or ``std < 0``.
    """

    mean: float
    std: float

    def __post_init__(self) -> None:
        _require_finite("Normal", mean=self.mean, std=self.std)
        if self.std < 0:
            raise ConfigError("Normal std", expected="0 or more", got=str(self.std), fix="give its absolute value")

    def sample(self, rng: np.random.Generator) -> float:
        """Draw one float, in the variable's unit."""
        return float(rng.normal(self.mean, self.std))

    def describe(self) -> str:
        """Return e.g. ``N(0, 3²)``: the squared number is the standard deviation."""
        return f"N({_number(self.mean)}, {_number(self.std)}²)"


@dataclass(frozen=True)
class Categorical:
    """One of a finite set of values, whose types are preserved (an int samples back as an int).

    Raises:
        ConfigError: No value; weights of another length, negative, not finite, or all zero.
    """

    values: Sequence[Scalar]
    weights: Sequence[float] | None = None
    """Relative weights, one per value; None means equal."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise ConfigError("Categorical", expected="at least one value", got="none", fix="list the values")
        if self.weights is None:
            return
        object.__setattr__(self, "weights", tuple(self.weights))
        if len(self.weights) != len(self.values):
            raise ConfigError(
                "Categorical weights",
                expected=f"{len(self.values)} numbers, one per value",
                got=str(len(self.weights)),
                fix="give one weight per value or leave weights out",
            )
        for weight in self.weights:
            _require_finite("Categorical", weight=weight)
            if weight < 0:
                raise ConfigError("Categorical weight", expected="0 or more", got=str(weight), fix="make it positive")
        if sum(self.weights) <= 0:
            raise ConfigError("Categorical weights", expected="a positive sum", got="0", fix="raise one of them")

    def sample(self, rng: np.random.Generator) -> Scalar:
        """Draw one of the values."""
        chances = None if self.weights is None else np.asarray(self.weights, dtype=np.float64) / sum(self.weights)
        return self.values[int(rng.choice(len(self.values), p=chances))]

    def describe(self) -> str:
        """Return e.g. ``Categorical({bowl, cup})`` or ``Categorical({a, b}; weights=[1, 3])``."""
        names = ", ".join(_plain(value) for value in self.values)
        if self.weights is None:
            return f"Categorical({{{names}}})"
        return f"Categorical({{{names}}}; weights=[{', '.join(_number(w) for w in self.weights)}])"


@dataclass(frozen=True)
class Constant:
    """A fixed value; draws nothing from the generator."""

    value: Scalar

    def sample(self, rng: np.random.Generator) -> Scalar:
        """Return the value."""
        del rng
        return self.value

    def describe(self) -> str:
        """Return the value as Python writes it, e.g. ``4`` or ``'bowl'``."""
        return repr(self.value)
