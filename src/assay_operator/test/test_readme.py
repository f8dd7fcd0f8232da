"""README and parameter file say what the node really takes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml

from assay_operator.auto_operator import OperatorParams
from assay_ros.params import markdown_table

PACKAGE = Path(__file__).resolve().parents[1]
CONFIG = PACKAGE.parents[1] / "config" / "operator.yaml"


def test_the_readme_lists_every_parameter() -> None:
    assert markdown_table(OperatorParams) in (PACKAGE / "README.md").read_text()


@pytest.mark.skipif(not CONFIG.exists(), reason="the package was copied out of its workspace")
def test_the_parameter_file_holds_the_defaults() -> None:
    (section,) = yaml.safe_load(CONFIG.read_text()).values()
    defaults = {field.name: field.default for field in dataclasses.fields(OperatorParams)}
    assert section["ros__parameters"] == defaults
