"""Which policies can be named: those of the policy node itself, and any that is registered with Inspect Robots.

The command that plans a session and the node that serves the policy must take the same names, and refuse the same, so
both ask here.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay_core.errors import ConfigError, unknown_name
from assay_core.plug_ins import registered_names

__all__ = ["BUILTIN_POLICIES", "INSPECT_PREFIX", "check_policy_name", "policy_names"]

BUILTIN_POLICIES: Mapping[str, str] = {
    "scripted": "an oracle that knows the mock world's hidden goal",
    "random": "moves at random",
    "noop": "holds still",
}
"""Policies of the policy node itself, with what each is; `assay_policies.registry` says how they are built."""

INSPECT_PREFIX = "inspect:"
"""``inspect:NAME`` is policy NAME of Inspect Robots."""

_OURS = "assay"
"""Policy of Inspect Robots that asks the policy node."""


def policy_names() -> tuple[str, ...]:
    """Return every policy that can be named: the built-in ones, then those registered with Inspect Robots.

    Policy `assay` of Inspect Robots is left out: it is the one that asks the policy node.

    Raises:
        ConfigError: An installed plug-in ends the process when it is loaded.
    """
    return (*BUILTIN_POLICIES, *(INSPECT_PREFIX + name for name in registered_names("policy") if name != _OURS))


def check_policy_name(name: str) -> None:
    """Check a policy's name without building any policy.

    Raises:
        ConfigError: There is no such policy; names near matches.
    """
    if name in BUILTIN_POLICIES:
        return
    if name == INSPECT_PREFIX + _OURS:
        raise ConfigError(
            f"policy '{name}'",
            expected="a policy that decides by itself",
            got="the one that asks this node",
            fix="choose " + " or ".join(BUILTIN_POLICIES),
        )
    known = policy_names()
    if name not in known:
        raise unknown_name("policy", name, known)
