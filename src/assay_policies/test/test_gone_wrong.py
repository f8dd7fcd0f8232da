"""A policy may do anything: the node answers with the policy's name, stays as it was, and counts it the right way."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inspect_robots.policy import PolicyBase, PolicyInfo
from inspect_robots.registry import policy as register
from inspect_robots.spaces import ActionSemantics, Box, ObservationSpace
from inspect_robots.types import Action, ActionChunk

from assay_core.errors import ConfigError, PolicyError
from assay_core.rig import action_high, action_low
from assay_policies.api import MOST_STEPS, ChunkOut, Inputs, Trial, checked
from assay_policies.inspect_policy import InspectPolicy

SPACE = Box((14,), action_low(), action_high(), ActionSemantics("joint_pos", gripper="continuous"))
TRIAL = Trial("000000-0", "toy/reach", "s", 0, 7, "go", {})
INPUTS = Inputs(0, "go", {})


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class Rude(PolicyBase):
    """Does what a test says, where it says it."""

    def __init__(self, where: str, action: Any) -> None:
        self.info = PolicyInfo("rude", SPACE, ObservationSpace((), ()))
        self._where, self._action = where, action
        self._at("__init__")

    def _at(self, where: str) -> Any:
        return self._action() if where == self._where else None

    def bind(self, _info: Any) -> None:
        self._at("bind")

    def reset(self, _scene: Any) -> None:
        self._at("reset")

    def act(self, _observation: Any) -> Any:
        return self._at("act") or ActionChunk([Action(np.zeros(14))])


def made(where: str, action: Any) -> InspectPolicy:
    register("test_rude")(lambda: Rude(where, action))
    return InspectPolicy("test_rude", {}, cameras=(), control_hz=10.0)


def raising(error: BaseException) -> Any:
    def act() -> None:
        raise error

    return act


def recurse() -> None:
    recurse()


RUDE = [
    (lambda: sys.exit(0), "SystemExit: 0"),
    (lambda: sys.exit("words"), "SystemExit: words"),
    (raising(BaseException("base")), "BaseException: base"),
    (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
    (raising(GeneratorExit()), "GeneratorExit"),
    (raising(MemoryError()), "MemoryError"),
    (recurse, "RecursionError"),
    (raising(Hostile()), "Hostile: "),
    (raising(ValueError("\0\ud800" * 10**5)), "ValueError: "),
]


@pytest.mark.parametrize(("action", "told"), RUDE)
@pytest.mark.parametrize("where", ["__init__", "bind"])
def test_whatever_it_raises_while_it_is_built_is_a_matter_of_configuration(where, action, told):
    with pytest.raises(ConfigError, match=f"^policy 'inspect:test_rude': .* got {told}"):
        made(where, action)


@pytest.mark.parametrize(("action", "told"), RUDE)
@pytest.mark.parametrize("where", ["reset", "act"])
def test_whatever_it_raises_in_a_trial_is_its_failure(where, action, told):
    policy = made(where, action)
    call = (lambda: policy.reset(TRIAL)) if where == "reset" else (lambda: policy.infer(INPUTS))
    with pytest.raises(PolicyError, match=f"^policy 'inspect:test_rude': {told}"):
        call()


def test_an_error_of_another_kind_while_it_is_built_does_not_end_the_node():
    with pytest.raises(ConfigError, match="got PolicyError: mine"):
        made("bind", raising(PolicyError("mine")))


def meddle() -> None:
    os.chdir("/")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    np.random.seed(1)


@pytest.mark.parametrize("where", ["__init__", "bind", "reset", "act"])
def test_directory_and_signals_of_the_node_stay_as_they_are(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    handler = signal.getsignal(signal.SIGTERM)
    policy = made(where, meddle)
    policy.reset(TRIAL)
    assert policy.infer(INPUTS).actions.shape == (1, 14)
    assert Path.cwd() == tmp_path
    assert signal.getsignal(signal.SIGTERM) is handler, "a node that ignores SIGTERM outlives its graph"


class Endless:
    """A chunk without end."""

    control_hz = None

    @property
    def actions(self) -> Any:
        while True:
            yield Action(np.zeros(14))


def test_a_chunk_without_end_is_refused():
    chunk = made("act", Endless).infer(INPUTS)
    with pytest.raises(PolicyError, match=rf"n <= {MOST_STEPS}, got {MOST_STEPS + 1} actions"):
        checked(chunk, "p")


@pytest.mark.parametrize("rate", ["fast", float("nan"), 0.0, -1.0, float("inf")])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(PolicyError, match="chunk of policy 'p': expected a rate above 0 Hz, or none, got"):
        checked(ChunkOut(np.zeros((1, 14)), rate), "p")
