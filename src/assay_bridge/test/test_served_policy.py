"""Successes must not be credited to a policy that did not act."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from inspect_robots.errors import ConfigError

from assay_bridge.policy import AssayPolicy
from assay_bridge.served_policy import ServedPolicy


def served(label: str, planned: str) -> ServedPolicy:
    inner: Any = SimpleNamespace(info=AssayPolicy().info, config="config", act=lambda observation: observation)
    return ServedPolicy(inner, lambda: label, planned, ("scripted", "random", "inspect:molmoact2"))


@pytest.mark.parametrize(
    ("label", "planned"),
    [("scripted", "scripted"), ("molmoact2", "inspect:molmoact2"), ("policy-A", "random")],
    ids=["same", "registered", "hidden on purpose"],
)
def test_the_planned_policy_acts(label: str, planned: str) -> None:
    policy = served(label, planned)
    assert policy.act("observation") == "observation"  # type: ignore[arg-type,comparison-overlap]
    assert policy.transcript() is None
    assert policy.info.name == planned, "logs must say which policy acted"


def test_another_policy_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"expected 'scripted' as planned, got 'random'. fix: .*--policy random"):
        served("random", "scripted").act(None)  # type: ignore[arg-type]
