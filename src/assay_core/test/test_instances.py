from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_core.distributions import Categorical, Constant, Distribution, Normal, Uniform
from assay_core.errors import ConfigError
from assay_core.instances import TaskInstance, Validation

POUR = TaskInstance(
    instance_id="pour/measuring-cup-to-bowl",
    goal="pour {fill_g:.0f} g into the {vessel}",
    setup={"vessel": Categorical(("bowl", "cup")), "fill_g": Uniform(80, 200), "height_cm": Normal(0.0, 3.0)},
    target_kind="pour_into",
    language_vars=("vessel", "fill_g"),
)

distributions = st.one_of(
    st.builds(lambda low, width: Uniform(low, low + width), st.floats(-100, 100), st.floats(0, 100)),
    st.builds(Normal, st.floats(-100, 100), st.floats(0, 10)),
    st.builds(Categorical, st.lists(st.one_of(st.integers(-9, 9), st.sampled_from(["cup", "pot"])), min_size=1)),
    st.builds(Constant, st.integers(-9, 9)),
)
setups = st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True), distributions, max_size=8)


def _instance(setup: dict[str, Distribution]) -> TaskInstance:
    return TaskInstance(instance_id="t/i", goal="do it", setup=setup, target_kind="open")


@given(setup=setups, seed=st.integers(0, 2**63))
def test_a_realization_is_a_function_of_the_seed_and_not_of_the_order_of_setup(
    setup: dict[str, Distribution], seed: int
) -> None:
    first = _instance(setup).realize(seed)
    again = _instance(dict(reversed(setup.items()))).realize(seed)
    assert first == again
    assert list(first.values) == sorted(setup)
    assert first.setup_lines == tuple(f"{name} = {first.values[name]}" for name in sorted(setup))
    assert json.loads(json.dumps(first.values)) == first.values


def test_variables_are_drawn_from_one_generator_in_sorted_order() -> None:
    realization = POUR.realize(5)
    rng = np.random.default_rng(5)
    assert realization.values == {
        "fill_g": rng.uniform(80, 200),
        "height_cm": rng.normal(0.0, 3.0),
        "vessel": ("bowl", "cup")[rng.choice(2)],
    }


def test_only_language_variables_reach_the_instruction() -> None:
    realization = POUR.realize(0)
    assert (
        realization.instruction == f"pour {realization.values['fill_g']:.0f} g into the {realization.values['vessel']}"
    )
    silent = TaskInstance("pour/x", "pour {vessel}", {"vessel": Constant("cup")}, "pour_into")
    with pytest.raises(
        ConfigError, match=r"expected only language variables that setup declares \(none\), got 'vessel'"
    ):
        silent.realize(0)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ConfigError, match="seed: expected an integer of 0 or more, got -3"):
        POUR.realize(-3)


def test_setup_spec_describes_every_variable_in_sorted_order() -> None:
    assert list(POUR.setup_spec().items()) == [
        ("fill_g", "Uniform[80, 200]"),
        ("height_cm", "N(0, 3²)"),
        ("vessel", "Categorical({bowl, cup})"),
    ]


@pytest.mark.parametrize(
    ("representativeness", "quality", "validated"),
    [
        ((), (), False),
        ((4, 4, 4), (4, 4, 4), True),
        ((5, 5, 5), (4, 4), False),
        ((4, 4), (5, 5, 5), False),
        ((4, 4, 3, 5), (5, 5, 5), False),
        ((5, 5, 5), (5, 5, 5, 3), False),
        ((4, 5, 4, 5), (4, 4, 5), True),
    ],
)
def test_an_instance_is_validated_by_three_experts_with_four_or_better(
    representativeness: tuple[int, ...], quality: tuple[int, ...], validated: bool
) -> None:
    rated = Validation(representativeness=representativeness, quality=quality, difficulty=(1,))
    assert rated.validated is validated, "a number measured on this instance would be labelled wrongly"


@pytest.mark.parametrize("rating", [0, 6, True, 4.0])
def test_ratings_outside_one_to_five_are_refused(rating: int) -> None:
    with pytest.raises(ConfigError, match="validation quality: expected ratings from 1 to 5"):
        Validation(quality=(4, rating, 4))
