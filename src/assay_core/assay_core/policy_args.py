"""The text that carries a policy's arguments through command line, plan and launch file.

Planning and the policy node build the same policy in two processes, so both must read the text in one way.
"""

from __future__ import annotations

import shlex

import yaml

from assay_core.errors import ConfigError

__all__ = ["parse_policy_args"]


def parse_policy_args(text: str) -> dict[str, object]:
    """Return ``key=value`` pairs separated by spaces; values are numbers, true, false, null or text, as in YAML.

    Raises:
        ConfigError: A part is not ``key=value``.
    """
    pairs: dict[str, object] = {}
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise ConfigError("policy_args", expected="key=value pairs", got=repr(text), fix=f"{error}") from error
    for part in parts:
        key, sign, value = part.partition("=")
        if not sign or not key.isidentifier():
            raise ConfigError("policy_args", expected="key=value", got=repr(part), fix="e.g. policy_args:='horizon=5'")
        try:
            parsed = yaml.safe_load(value)
        except yaml.YAMLError:
            parsed = value
        pairs[key] = parsed if isinstance(parsed, (bool, int, float, str)) or parsed is None else value
    return pairs
