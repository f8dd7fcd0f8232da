"""A task instance is a scenario written as distributions; a realization is one sample of it.

The rule of who may call an instance validated is here too, because a number measured on an unvalidated instance has
to say so wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay_core.distributions import Distribution, Scalar
from assay_core.errors import ConfigError
from assay_core.scene_spec import SimSpec

__all__ = ["K_EXPERTS", "MIN_RATING", "MODEL_DRAFT", "Realization", "TaskInstance", "Validation"]

K_EXPERTS = 3
"""Experts who must have rated an instance on both axes before it counts as validated."""

MIN_RATING = 4
"""Lowest rating, of 1 to 5, that every expert must have given on both axes."""

MODEL_DRAFT = "opus-draft"
"""Source of an instance that is an unreviewed draft by a language model."""


@dataclass(frozen=True)
class Validation:
    """Expert ratings, 1 to 5 each, one per expert.

    Source: KitchenBench's methodology; see docs/sources.md.

    Raises:
        ConfigError: A rating is not an integer from 1 to 5.
    """

    representativeness: tuple[int, ...] = ()
    """Does the instance occur in real kitchens?"""
    quality: tuple[int, ...] = ()
    """Is it well defined and can it be judged?"""
    difficulty: tuple[int, ...] = ()
    """Recorded, but not part of the rule."""
    source: str = MODEL_DRAFT
    """Who wrote the instance; see `MODEL_DRAFT`."""

    def __post_init__(self) -> None:
        for axis in ("representativeness", "quality", "difficulty"):
            object.__setattr__(self, axis, tuple(getattr(self, axis)))
            for rating in getattr(self, axis):
                if isinstance(rating, bool) or not isinstance(rating, int) or not 1 <= rating <= 5:
                    raise ConfigError(
                        f"validation {axis}", expected="ratings from 1 to 5", got=repr(rating), fix="correct the rating"
                    )

    @property
    def validated(self) -> bool:
        """Whether at least `K_EXPERTS` experts rated both axes and nobody below `MIN_RATING`."""
        axes = (self.representativeness, self.quality)
        return all(len(axis) >= K_EXPERTS and min(axis) >= MIN_RATING for axis in axes)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-native ratings and source."""
        return {
            "representativeness": list(self.representativeness),
            "quality": list(self.quality),
            "difficulty": list(self.difficulty),
            "source": self.source,
        }


@dataclass(frozen=True)
class Realization:
    """One concrete setup and goal."""

    seed: int
    values: dict[str, Scalar]
    """Sampled variables by name, JSON-native, in sorted order."""
    instruction: str
    """Goal with the sampled words filled in; what the policy is told."""
    setup_lines: tuple[str, ...]
    """``name = value``, sorted by name: what an operator arranges."""


@dataclass(frozen=True)
class TaskInstance:
    """A scenario written as distributions, with a goal sentence and a success criterion."""

    instance_id: str
    """``task/name``; seeds derive from it, so renaming an instance changes its scenes."""
    goal: str
    """Sentence with ``{variable}`` or ``{variable:format}`` for each of ``language_vars``."""
    setup: dict[str, Distribution]
    target_kind: str
    """Success criterion, e.g. ``pour_into``; see `assay_benchmarks.success`."""
    language_vars: tuple[str, ...] = ()
    """The only variables that the goal may mention."""
    static: dict[str, Scalar] = field(default_factory=dict)
    """Facts that do not vary, e.g. the substance."""
    validation: Validation = Validation()
    sim: SimSpec | None = None

    def realize(self, seed: int) -> Realization:
        """Sample every variable and fill in the goal.

        One generator per realization, one draw per variable, in the order of the sorted names: what a variable gets
        does not depend on how the file lists them.

        Args:
            seed: 0 or more.

        Raises:
            ConfigError: The seed is negative, or the goal mentions a variable outside ``language_vars``.
        """
        if seed < 0:
            raise ConfigError("seed", expected="an integer of 0 or more", got=str(seed), fix="change --seed")
        rng = np.random.default_rng(seed)
        values = {name: self.setup[name].sample(rng) for name in sorted(self.setup)}
        lines = tuple(f"{name} = {value}" for name, value in values.items())
        return Realization(seed=seed, values=values, instruction=self._instruction(values), setup_lines=lines)

    def setup_spec(self) -> dict[str, str]:
        """Return each variable's distribution in words, sorted by name."""
        return {name: self.setup[name].describe() for name in sorted(self.setup)}

    def _instruction(self, values: Mapping[str, Scalar]) -> str:
        try:
            return self.goal.format(**{name: values[name] for name in self.language_vars})
        except (KeyError, IndexError) as error:
            raise ConfigError(
                f"instance '{self.instance_id}' goal {self.goal!r}",
                expected=f"only language variables that setup declares ({', '.join(self.language_vars) or 'none'})",
                got=str(error),
                fix="add the variable to setup and to language_vars, or take it out of the goal",
            ) from error
