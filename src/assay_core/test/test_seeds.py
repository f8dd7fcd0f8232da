from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_core.errors import ConfigError
from assay_core.seeds import scene_seed, trial_seed


def test_known_seeds() -> None:
    assert scene_seed("place_cutlery/spoon-on-plate") == 3280166507
    assert [trial_seed(0, 3280166507, epoch) for epoch in range(3)] == [3936770017, 2644600695, 78132941]


@settings(deadline=None)
@given(eval_seed=st.none() | st.integers(0), scene=st.none() | st.integers(0, 2**32 - 1), epoch=st.integers(0, 10**6))
def test_trial_seeds_are_those_of_inspect_robots(eval_seed: int | None, scene: int | None, epoch: int) -> None:
    rollout = pytest.importorskip("inspect_robots.rollout")
    seed = trial_seed(eval_seed, scene, epoch)
    assert seed == rollout.derive_seed(eval_seed, scene, epoch)
    assert 0 <= seed < 2**32


def test_no_evaluation_seed_differs_from_seed_0() -> None:
    assert trial_seed(None, 1, 0) != trial_seed(0, 1, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 1, 0), "seed: expected an integer of 0 or more, got -1. fix: change --seed"),
        ((0, 1, -1), "epoch: expected an index of 0 or more, got -1. fix: count epochs from 0"),
    ],
)
def test_negative_seeds_and_epochs_are_refused(arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        trial_seed(*arguments)
    assert str(caught.value) == message
