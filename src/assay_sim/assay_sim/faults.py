"""Faults that the mock world can be told to have, so that everything above it is tested against them.

A fault is a line of text, ``kind:key=value,...``; several are separated by ``;``. Whether one fires at a step depends
on the seed, the trial, the step and the fault's place in the list alone: a run with faults is as repeatable as one
without.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay_core.errors import ConfigError, unknown_name
from assay_core.rig import ARMS, CAMERAS

__all__ = ["KINDS", "Fault", "FaultSchedule", "parse_faults"]

KINDS: Mapping[str, str] = {
    "drop": "a camera's frame is not published",
    "freeze": "a camera repeats the last good picture; with stamp=old, its stamp too",
    "torn": "a camera's frame carries fewer bytes than its size says",
    "wrong_size": "a camera's frame has half the width and height",
    "late": "joint states of an arm arrive some steps or seconds late",
    "silent": "the world neither steps nor answers world/reset",
    "die": "the process kills itself (SIGKILL) instead of publishing the step",
}
"""Kinds of faults and what they do."""

_CAMERA_KINDS = ("drop", "freeze", "torn", "wrong_size")
_WITHOUT_REPEATS = ("silent", "die")
_ALWAYS = ("at", "from", "until", "every", "probability", "trial", "once")


@dataclass(frozen=True)
class Fault:
    """One fault and when it fires."""

    kind: str
    """A key of `KINDS`."""
    index: int
    """Place in the list, from 0; part of the seed."""
    targets: tuple[str, ...] = ()
    """Cameras or arms concerned."""
    first: int = 0
    """First control step of a trial at which it may fire; 0 is the first frame set."""
    last: float = math.inf
    """Last such step."""
    every: int = 1
    """Fires at every n-th step from ``first`` on."""
    probability: float = 1.0
    """Of firing at a step at which it may."""
    trial: str = ""
    """Only in the trial of this id; empty for all."""
    once: bool = False
    """Only at the first publication of a step: a repeat is answered well."""
    steps: int = 0
    """Lateness [control steps]."""
    seconds: float = 0.0
    """Lateness [s], wall clock."""
    old_stamp: bool = False
    """Freeze: repeat the stamp too."""


class FaultSchedule:
    """Decides which faults fire.

    Args:
        faults: From `parse_faults`.
        seed: Of everything random.
    """

    def __init__(self, faults: Sequence[Fault], seed: int = 0) -> None:
        self.faults = tuple(faults)
        self._seed = seed

    def __bool__(self) -> bool:
        return bool(self.faults)

    def firing(self, kind: str, target: str, trial_id: str, step: int, *, repeat: bool = False) -> Fault | None:
        """Return the first fault of a kind that fires, or None.

        Args:
            kind: A key of `KINDS`.
            target: Camera or arm; empty for kinds that have none.
            trial_id: Current trial; empty outside one.
            step: Control step of the trial.
            repeat: Whether this step was published before.
        """
        return next(self._firing(kind, target, trial_id, step, repeat), None)

    def _firing(self, kind: str, target: str, trial_id: str, step: int, repeat: bool) -> Iterator[Fault]:
        for fault in self.faults:
            if fault.kind != kind or (target and target not in fault.targets) or (fault.once and repeat):
                continue
            if fault.trial and fault.trial != trial_id:
                continue
            if not fault.first <= step <= fault.last or (step - fault.first) % fault.every:
                continue
            if fault.probability >= 1.0 or self._drawn(fault, target, trial_id, step) < fault.probability:
                yield fault

    def _drawn(self, fault: Fault, target: str, trial_id: str, step: int) -> float:
        key = zlib.crc32(f"{fault.index}:{target}:{trial_id}".encode())
        return float(np.random.default_rng([self._seed, key, step]).random())


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Return the faults of a text such as ``drop:camera=top,every=3; die:at=12,trial=000002-0``.

    Raises:
        ConfigError: Unknown kind or key, a value out of range, or keys that contradict each other.
    """
    lines = [line.strip() for line in text.split(";") if line.strip()]
    return tuple(_parse_one(line, index) for index, line in enumerate(lines))


def _parse_one(line: str, index: int) -> Fault:
    kind, _, rest = (part.strip() for part in line.partition(":"))
    if kind not in KINDS:
        raise unknown_name("fault", kind, KINDS)
    own = _own_keys(kind)
    given: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, sign, value = (part.strip() for part in item.partition("="))
        if key not in own and key not in _ALWAYS:
            raise unknown_name(f"key of fault '{kind}'", key, [*own, *_ALWAYS])
        if not sign or not value or key in given:
            raise _error(line, f"{key}=VALUE, once", f"'{item}'")
        given[key] = value
    if "at" in given and {"from", "until", "every"} & given.keys():
        raise _error(line, "either at=N or from/until/every", "both")
    fields = {name: read(line, given[key]) for key, (name, read) in _READERS.items() if key in given}
    if "at" in given:
        fields["first"] = fields["last"] = _whole(line, given["at"])
    if fields.get("last", math.inf) < fields.get("first", 0):
        raise _error(line, "until at or after from", f"from={fields.get('first', 0)}, until={fields['last']}")
    if fields.get("once") and kind in _WITHOUT_REPEATS:
        raise _error(line, f"no once with {kind}: a world that says nothing repeats nothing", "once=true")
    targets = _targets(line, kind, given)
    if kind == "late" and ("steps" in given) == ("seconds" in given):
        raise _error(line, "either steps=N or seconds=S", "neither" if "steps" not in given else "both")
    return Fault(kind, index, targets, **fields)


def _own_keys(kind: str) -> tuple[str, ...]:
    if kind in _CAMERA_KINDS:
        return ("camera", "stamp") if kind == "freeze" else ("camera",)
    return ("arm", "steps", "seconds") if kind == "late" else ()


def _targets(line: str, kind: str, given: Mapping[str, str]) -> tuple[str, ...]:
    if kind in _CAMERA_KINDS:
        return _names(line, given.get("camera", "all"), CAMERAS, "all")
    return _names(line, given.get("arm", "both"), ARMS, "both") if kind == "late" else ()


def _names(line: str, value: str, known: tuple[str, ...], every: str) -> tuple[str, ...]:
    if value == every:
        return known
    if value not in known:
        raise _error(line, f"one of {', '.join((*known, every))}", repr(value))
    return (value,)


def _error(line: str, expected: str, got: str) -> ConfigError:
    return ConfigError(f"fault '{line}'", expected=expected, got=got, fix="see docs/mock-world.md")


def _whole(line: str, value: str, low: int = 0) -> int:
    if not value.isdecimal() or int(value) < low:
        raise _error(line, f"a whole number from {low}", repr(value))
    return int(value)


def _number(line: str, value: str, high: float) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= high:
        raise _error(line, f"a number from 0 to {high:g}", repr(value))
    return number


def _choice(line: str, value: str, choices: Mapping[str, Any]) -> Any:
    if value not in choices:
        raise _error(line, f"one of {', '.join(choices)}", repr(value))
    return choices[value]


_READERS: Mapping[str, tuple[str, Callable[[str, str], Any]]] = {
    "from": ("first", _whole),
    "until": ("last", _whole),
    "every": ("every", lambda line, value: _whole(line, value, 1)),
    "probability": ("probability", lambda line, value: _number(line, value, 1.0)),
    "trial": ("trial", lambda _line, value: value),
    "once": ("once", lambda line, value: _choice(line, value, {"true": True, "false": False})),
    "steps": ("steps", lambda line, value: _whole(line, value, 1)),
    "seconds": ("seconds", lambda line, value: _number(line, value, 60.0)),
    "stamp": ("old_stamp", lambda line, value: _choice(line, value, {"new": False, "old": True})),
}
