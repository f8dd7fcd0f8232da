"""A realization as every part of the system exchanges it, with the hash that ties them together.

The benchmark node publishes it, a world builds its scene from it, consoles show it, the journal and the bags
keep it. `TrialRealization.content_hash` covers everything that says what the trial is about, and nothing that
differs between two runs of the same plan (ids, times), so that anyone can recompute it from task and seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["TrialRealization"]


@dataclass(frozen=True)
class TrialRealization:
    """The concrete scene of one trial.

    Raises:
        TypeError: ``values`` or ``layout`` is not JSON-native (from `content_hash` and `to_dict`).
    """

    task: str
    """E.g. ``kitchenbench/pour_pasta``."""
    task_version: str
    instance_id: str
    """Empty when the task has no instances."""
    scene_id: str
    epoch: int
    """Index of the realization within its instance, from 0."""
    seed: int
    """Trial seed, 0..2^32-1."""
    instruction: str
    target_kind: str
    """E.g. ``pour_into``; empty when the task states none."""
    checklist: tuple[str, ...]
    """What the operator arranges, one line each."""
    values: Mapping[str, Any]
    """Sampled variables; JSON-native."""
    layout: Mapping[str, Any] | None
    """Scene layout (see `assay_benchmarks.layout`); None when the task has none."""
    rubric: tuple[str, ...]
    """Texts of stages 0..4; empty when the task has no rubric."""
    max_steps: int
    """Horizon [control steps]."""
    horizon_s: float
    """Horizon [s] at the rig's control rate."""
    _hash: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-native content, in field order; ``layout`` is not copied."""
        data = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        data["checklist"], data["rubric"] = list(self.checklist), list(self.rubric)
        data["values"] = dict(self.values)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrialRealization:
        """Inverse of `to_dict`."""
        return cls(**{**data, "checklist": tuple(data["checklist"]), "rubric": tuple(data["rubric"])})

    def content_hash(self) -> str:
        """Return the SHA-256, hex, of `to_dict` as compact JSON with sorted keys in UTF-8."""
        if not self._hash:
            text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            self._hash.append(hashlib.sha256(text.encode()).hexdigest())
        return self._hash[0]
