"""How the policies of the policy node are built, by name; any policy of Inspect Robots is `inspect:NAME`.

Which names there are stands in `assay_core.policy_names`, since the command that plans a session must not import
policies. A new policy of the workspace is one line there and one here; a test holds both equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay_core.errors import ConfigError
from assay_core.policy_args import parse_policy_args
from assay_core.policy_names import INSPECT_PREFIX, check_policy_name
from assay_core.rig import Camera
from assay_policies.api import Policy
from assay_policies.builtin import NoopPolicy, RandomPolicy, ScriptedPolicy

__all__ = ["PolicySettings", "check_settings", "make_policy"]

_BUILTIN: dict[str, Callable[[int], Policy]] = {
    "scripted": ScriptedPolicy,
    "random": RandomPolicy,
    "noop": NoopPolicy,
}


@dataclass(frozen=True)
class PolicySettings:
    """Which policy to build, for what rig."""

    name: str
    """``scripted``, ``random``, ``noop`` or ``inspect:NAME``."""
    cameras: tuple[Camera, ...] = ()
    """Cameras of the rig."""
    control_hz: float = 10.0
    """Control rate of the rig [Hz]."""
    mode: str = "lockstep"
    """``lockstep`` or ``paced``."""
    action_horizon: int = 10
    """Actions per chunk of the built-in policies."""
    args: str = ""
    """Arguments of an Inspect Robots policy, ``key=value`` separated by spaces."""
    label: str = ""
    """Name of the policy in its answers and chunks; empty takes the policy's own."""


def check_settings(settings: PolicySettings) -> None:
    """Check name and arguments of a policy without building it.

    Raises:
        ConfigError: There is no such policy, or its arguments cannot be read.
    """
    check_policy_name(settings.name)
    arguments = parse_policy_args(settings.args)
    if arguments and settings.name in _BUILTIN:
        raise ConfigError(
            f"policy '{settings.name}'",
            expected="no arguments",
            got=repr(settings.args),
            fix="leave policy_args empty",
        )


def make_policy(settings: PolicySettings) -> Policy:
    """Build a policy.

    Raises:
        ConfigError: There is no such policy, or its arguments are wrong.
    """
    check_settings(settings)
    if settings.name in _BUILTIN:
        return _BUILTIN[settings.name](settings.action_horizon)
    from assay_policies.inspect_policy import InspectPolicy

    return InspectPolicy(
        settings.name.removeprefix(INSPECT_PREFIX),
        parse_policy_args(settings.args),
        cameras=settings.cameras,
        control_hz=settings.control_hz,
        mode=settings.mode,
    )
