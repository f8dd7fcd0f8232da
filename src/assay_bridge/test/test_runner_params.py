"""The README lists the runner's parameters as they are."""

from __future__ import annotations

from pathlib import Path

from assay_bridge.session_runner import RunnerParams
from assay_ros.params import markdown_table


def test_the_readme_lists_every_parameter() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    assert markdown_table(RunnerParams) in readme, "run assay_ros.params.markdown_table and paste its output"
