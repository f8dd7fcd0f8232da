"""The result of one benchmark: figures, the floor they are compared with, and whether the ratios keep their limits."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Report", "percentiles"]


@dataclass
class Report:
    """One benchmark's result; printed as one JSON object or as a table."""

    name: str
    figures: dict[str, Any] = field(default_factory=dict)
    """What was measured; names carry units."""
    floor: dict[str, Any] = field(default_factory=dict)
    """The same for the floor of this run."""
    ratios: dict[str, float] = field(default_factory=dict)
    """Figure over floor, dimensionless."""
    limits: dict[str, float] = field(default_factory=dict)
    """Upper limit of the ratio or figure of the same name."""

    @property
    def ok(self) -> bool:
        """Whether everything that has a limit keeps it."""
        return all(self._value(name) <= limit for name, limit in self.limits.items())

    def _value(self, name: str) -> float:
        return float(self.ratios[name] if name in self.ratios else self.figures[name])

    def to_json(self) -> str:
        """Return the one JSON object that ``--json`` prints."""
        return json.dumps(
            {
                "name": self.name,
                "figures": self.figures,
                "floor": self.floor,
                "ratios": self.ratios,
                "limits": self.limits,
                "ok": self.ok,
            }
        )

    def to_text(self) -> str:
        """Return the result for people, one line a number."""
        lines = [f"bench {self.name}: {'ok' if self.ok else 'OVER ITS LIMIT'}"]
        for title, values in (("figures", self.figures), ("floor", self.floor)):
            lines.append(f"  {title}")
            lines += [f"    {name:36} {_shown(value)}" for name, value in values.items()]
        lines.append("  ratios and limits")
        for name in dict.fromkeys([*self.ratios, *self.limits]):
            limit = f" (limit {self.limits[name]:g})" if name in self.limits else ""
            lines.append(f"    {name:36} {self._value(name):.3g}{limit}")
        return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else json.dumps(value)


def percentiles(seconds: npt.NDArray[np.float64], prefix: str) -> dict[str, float]:
    """Return p50 and p99 of durations, shape (n,) [s], as ``{prefix}_p50_ms`` and ``{prefix}_p99_ms`` [ms]."""
    p50, p99 = np.percentile(seconds, [50, 99]) * 1e3
    return {f"{prefix}_p50_ms": round(float(p50), 3), f"{prefix}_p99_ms": round(float(p99), 3)}
