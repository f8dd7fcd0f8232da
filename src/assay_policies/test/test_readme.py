"""The README and the parameter file say what the node really takes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml

from assay_core.policy_names import policy_names
from assay_policies.parameters import PolicyParams
from assay_ros.params import markdown_table

PACKAGE = Path(__file__).resolve().parents[1]
CONFIG = PACKAGE.parents[1] / "config" / "policy.yaml"
README = (PACKAGE / "README.md").read_text()


def test_the_readme_lists_every_parameter():
    assert markdown_table(PolicyParams) in README


def test_the_readme_names_every_built_in_policy():
    assert all(f"| `{name}` |" in README for name in policy_names() if ":" not in name)


@pytest.mark.skipif(not CONFIG.exists(), reason="the package was copied out of its workspace")
def test_the_parameter_file_holds_defaults():
    (section,) = yaml.safe_load(CONFIG.read_text()).values()
    defaults = {field.name: field.default for field in dataclasses.fields(PolicyParams)}
    assert section["ros__parameters"].items() <= defaults.items()
