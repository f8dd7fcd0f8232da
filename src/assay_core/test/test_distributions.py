from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_core.distributions import Categorical, Constant, Distribution, Normal, Uniform
from assay_core.errors import ConfigError

seeds = st.integers(0, 2**32 - 1)
finite = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("distribution", "text"),
    [
        (Uniform(80, 200), "Uniform[80, 200]"),
        (Uniform(0.5, 2.0), "Uniform[0.5, 2]"),
        (Normal(0.0, 3.0), "N(0, 3²)"),
        (Normal(-8.0, 2.5), "N(-8, 2.5²)"),
        (Categorical(("bowl", "cup", "pot")), "Categorical({bowl, cup, pot})"),
        (Categorical((1, 2.0, 2.5)), "Categorical({1, 2, 2.5})"),
        (Categorical(("a", 2), (0.25, 3.0)), "Categorical({a, 2}; weights=[0.25, 3])"),
        (Constant(4), "4"),
        (Constant("bowl"), "'bowl'"),
    ],
)
def test_describe_is_what_people_read(distribution: Distribution, text: str) -> None:
    assert distribution.describe() == text
    assert isinstance(distribution, Distribution)


@given(seed=seeds, low=finite, width=st.floats(0, 1e6))
def test_uniform_stays_within_its_bounds_and_is_a_builtin_float(seed: int, low: float, width: float) -> None:
    value = Uniform(low, low + width).sample(np.random.default_rng(seed))
    assert type(value) is float
    assert low <= value <= low + width


@given(seed=seeds, mean=finite, std=st.floats(0, 1e3))
def test_normal_is_mean_plus_scaled_standard_normal(seed: int, mean: float, std: float) -> None:
    value = Normal(mean, std).sample(np.random.default_rng(seed))
    assert type(value) is float
    assert value == pytest.approx(mean + std * np.random.default_rng(seed).standard_normal(), rel=1e-12, abs=1e-9)


@given(seed=seeds, values=st.lists(st.one_of(st.integers(), st.floats(allow_nan=False), st.text()), min_size=1))
def test_categorical_preserves_the_types_of_its_values(seed: int, values: list[float | int | str]) -> None:
    value = Categorical(tuple(values)).sample(np.random.default_rng(seed))
    assert any(value is each or (value == each and type(value) is type(each)) for each in values)


def test_weights_are_relative_and_zero_weight_never_drawn() -> None:
    rng = np.random.default_rng(0)
    drawn = [Categorical(("never", "rare", "often"), (0, 1, 9)).sample(rng) for _ in range(2000)]
    assert "never" not in drawn
    assert 0.06 < drawn.count("rare") / len(drawn) < 0.14


def test_constant_leaves_the_generator_alone() -> None:
    rng = np.random.default_rng(7)
    assert Constant(4).sample(rng) == 4
    assert rng.bit_generator.state == np.random.default_rng(7).bit_generator.state


def test_a_single_value_leaves_the_stream_where_it_was() -> None:
    rng = np.random.default_rng(7)
    assert Categorical(("only",)).sample(rng) == "only"
    assert rng.random() == np.random.default_rng(7).random()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(2, 1), "Uniform: expected low <= high, got low 2 > high 1. fix: swap the two bounds"),
        (lambda: Uniform(math.nan, 1), "Uniform low: expected a finite number, got nan. fix: give a number"),
        (lambda: Uniform(0, True), "Uniform high: expected a finite number, got True. fix: give a number"),
        (lambda: Normal(0, -1), "Normal std: expected 0 or more, got -1. fix: give its absolute value"),
        (lambda: Normal("0", 1), "Normal mean: expected a finite number, got '0'. fix: give a number"),
        (lambda: Categorical(()), "Categorical: expected at least one value, got none. fix: list the values"),
        (
            lambda: Categorical((1, 2), (0.5,)),
            "Categorical weights: expected 2 numbers, one per value, got 1. "
            "fix: give one weight per value or leave weights out",
        ),
        (lambda: Categorical((1, 2), (1, -1)), "Categorical weight: expected 0 or more, got -1. fix: make it positive"),
        (lambda: Categorical((1, 2), (0, 0)), "Categorical weights: expected a positive sum, got 0. fix: raise one of"),
    ],
)
def test_impossible_parameters_are_refused_with_a_fix(make: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).startswith(message)
