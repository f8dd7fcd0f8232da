"""The command line of `./assay eval`, as `EvalOptions` and what belongs to the run rather than to the plan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_cli.console import Parser, number, whole_number
from assay_core.errors import ConfigError
from assay_core.program import command

if TYPE_CHECKING:
    from assay_bridge.planning import EvalOptions

__all__ = ["RunOptions", "parse_eval"]

_MAX_SEED = 2**63 - 1
_MAX_EPOCHS = 20_000
"""As `assay_bridge.planning.MAX_EPOCHS` has it, which costs an import."""
_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})\Z")
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

MAX_NOISE = 100.0
"""Largest sensor noise [grey levels], as the world's own parameter has it."""

CONTROL_HZ = (1.0, 200.0)
"""Lowest and highest control rate [Hz], as the world's own parameter has it."""

_OWN_OPTIONS = {
    "backend": "--backend",
    "camera_height": "--camera-size",
    "camera_width": "--camera-size",
    "cameras": "--cameras",
    "epochs": "--epochs",
    "noise": "--noise",
    "operator": "--operator",
    "policy": "--policy",
    "seed": "--seed",
    "session": "--session",
    "task": "TASK",
}
"""Launch arguments that have an option of their own."""


@dataclass(frozen=True)
class RunOptions:
    """How to run a session, whatever its plan."""

    session: Path | None = None
    """Session directory; None takes one under ``sessions``."""
    attach: bool = False
    """Use a graph that runs already."""
    json: bool = False
    """Print the summary as one JSON object, and nothing else on standard output."""
    given: frozenset[str] = frozenset()
    """What the user gave of the values that a running graph decides, by their names in `EvalOptions`."""


def parse_eval(argv: Sequence[str]) -> tuple[EvalOptions, RunOptions]:
    """Return what the command line asks for; names are checked later, numbers here.

    Raises:
        ConfigError: An option is unknown or its value malformed.
    """
    asked = _parser().parse_args(list(argv))
    settings = _settings([*asked.set, *(text for text in asked.tasks if ":=" in text)])
    values: dict[str, Any] = {
        "tasks": tuple(text for text in asked.tasks if ":=" not in text),
        "policy": "scripted" if asked.policy is None else asked.policy,
        "backend": asked.backend,
        "operator": asked.operator,
        "seed": whole_number("--seed", asked.seed, 0, _MAX_SEED),
        "cameras": whole_number("--cameras", "3" if asked.cameras is None else asked.cameras, 0, 3),
        "operators": (*asked.operator_id, *_ids("operators", settings)),
        "graders": (*asked.grader, *_ids("graders", settings)),
    }
    repeats = settings.pop("max_repeats", None)
    if repeats is not None and asked.max_repeats is not None:
        raise ConfigError("max_repeats", expected="--max-repeats or max_repeats:=", got="both", fix="remove one")
    if repeats is not None or asked.max_repeats is not None:
        values["max_repeats"] = whole_number("--max-repeats", repeats or asked.max_repeats or "", 0, 100)
    if asked.epochs is not None:
        values["epochs"] = whole_number("--epochs", asked.epochs, 1, _MAX_EPOCHS)
    camera_size = "640x360" if asked.camera_size is None else asked.camera_size
    size = _SIZE.match(camera_size)
    if size is None:
        raise ConfigError(
            "--camera-size", expected="WIDTHxHEIGHT, e.g. 640x360", got=repr(camera_size), fix="change its size"
        )
    values["camera_width"], values["camera_height"] = int(size[1]), int(size[2])
    if asked.noise is not None:
        settings["noise"] = repr(number("--noise", asked.noise, 0.0, MAX_NOISE))
    if "control_hz" in settings:
        # A world that is attached to serves what it serves.
        low, high = (0.1, 1000.0) if asked.attach else CONTROL_HZ
        values["control_hz"] = number("control_hz", settings.pop("control_hz"), low, high)
    if "mode" in settings:
        values["mode"] = settings.pop("mode")

    given = {name for name in ("policy", "cameras") if getattr(asked, name) is not None}
    given |= {"camera_width", "camera_height"} if asked.camera_size is not None else set()
    given |= {"control_hz", "mode"} & set(values)

    from assay_bridge.planning import EvalOptions

    if asked.session is not None and not asked.session.strip():
        fix = "name one, or leave --session out: then it lies under sessions/"
        raise ConfigError("--session", expected="a directory", got=repr(asked.session), fix=fix)
    session = None if asked.session is None else Path(asked.session)
    run = RunOptions(session, asked.attach, asked.json, frozenset(given))
    return EvalOptions(**values, launch=settings, clips=asked.clip), run


def _parser() -> Parser:
    parser = Parser(
        "eval",
        "Run tasks and print the success rate of every task instance with its interval.",
        epilog="exit codes: 0 done, 1 some trial could not be run, 2 usage or configuration, 3 halted for safety, "
        f"130 interrupted. Go on with `{command('resume', 'SESSION')}`.",
    )
    parser.add_argument(
        "tasks",
        nargs="+",
        metavar="TASK",
        help="a task, a suite (kitchenbench), an instance (pour_pasta/full-box), or any task registered with Inspect "
        f"Robots; see {command('list', 'tasks')}",
    )
    parser.add_argument("--policy", metavar="P", help="scripted (default), random, noop or inspect:NAME")
    parser.add_argument("--backend", default="mock", metavar="B", help="what is underneath (default mock)")
    parser.add_argument("--operator", default="auto", metavar="O", help="who arranges and judges (default auto)")
    parser.add_argument("--epochs", metavar="N", help="realizations per instance (default: the task's)")
    parser.add_argument(
        "--operator-id",
        action="append",
        default=[],
        metavar="ID",
        help="who may answer ready, skip and abort; may be repeated; needed with --operator none",
    )
    parser.add_argument(
        "--grader",
        action="append",
        default=[],
        metavar="ID",
        help="whose verdicts count; may be repeated; needed with --operator none",
    )
    parser.add_argument("--seed", default="0", metavar="N", help="evaluation seed, 0 or more (default 0)")
    parser.add_argument("--cameras", metavar="N", help="number of cameras, 0 to 3 (default 3)")
    parser.add_argument("--camera-size", metavar="WxH", help="pixels (default 640x360)")
    parser.add_argument("--noise", metavar="X", help="sigma of the cameras' noise, 0 to 100 (default 0)")
    parser.add_argument("--max-repeats", metavar="N", help="repeats of a trial that does not count (default 2)")
    parser.add_argument("--session", metavar="DIR", help="session directory, must not exist (default sessions/...)")
    parser.add_argument(
        "--attach", action="store_true", help="use the graph that runs in this ROS domain, its policy and its cameras"
    )
    parser.add_argument(
        "--no-clip", dest="clip", action="store_false", help="keep the last pictures of each trial, but no clip"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY:=VALUE", help="a further launch argument; may be repeated"
    )
    return parser


def _ids(name: str, settings: dict[str, str]) -> tuple[str, ...]:
    """Take a list of ids such as ``[anna, ben]`` out of the further launch arguments; the runner keeps it in the plan.

    Raises:
        ConfigError: It is no list of ids.
    """
    text = settings.pop(name, "[]")

    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) and each.strip() for each in found):
        option = "--grader" if name == "graders" else "--operator-id"
        raise ConfigError(
            name, expected="a list of ids, e.g. [anna, ben]", got=repr(text), fix=f"correct it, or use {option} ID"
        )
    return tuple(found)


def _settings(texts: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        key, sign, value = text.partition(":=")
        if not sign or not _SETTING.match(key):
            raise ConfigError("--set", expected="KEY:=VALUE", got=repr(text), fix="e.g. --set control_hz:=20")
        if key in _OWN_OPTIONS:
            raise ConfigError(
                f"--set {key}", expected=f"the option {_OWN_OPTIONS[key]}", got=repr(text), fix="use the option"
            )
        if key in found:
            raise ConfigError(f"--set {key}", expected="each argument once", got=repr(text), fix="remove one")
        found[key] = value
    return found
