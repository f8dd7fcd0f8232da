"""Documented code runs, and says what the documents say it does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay_benchmarks import SPEC_BY_KEY, check_file
from assay_benchmarks.kinds import KINDS

DOCS = Path(__file__).parents[3] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the package")


def _blocks(document: str, language: str) -> list[str]:
    text = (DOCS / document).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.S)


@pytest.mark.parametrize("document", ["kitchenbench.md", "adding-a-task-instance.md"])
def test_python_examples_run(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = _blocks(document, "python")
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, document, "exec"), namespace)


def test_the_example_task_file_is_right(tmp_path: Path) -> None:
    (block,) = _blocks("adding-a-task-instance.md", "yaml")
    path = tmp_path / "set_table.yaml"
    path.write_text(block, encoding="utf-8")
    assert check_file(path) == []


def test_every_task_and_target_kind_is_documented() -> None:
    text = (DOCS / "kitchenbench.md").read_text(encoding="utf-8")
    for name in (*SPEC_BY_KEY, *KINDS):
        assert f"`{name}`" in text, f"{name} is not documented"


def test_the_worked_example_holds() -> None:
    instance = SPEC_BY_KEY["pour_pasta"].instances[0]
    shown = {
        0: ("bowl", 156, 9.9, 0.3, -1.6),
        2: ("cup", 111, 10.1, -7.3, 5.4),
    }
    for seed, (vessel, fill_g, height_cm, x_cm, y_cm) in shown.items():
        values = instance.realize(seed).values
        assert values["vessel"] == vessel
        rounded = [round(float(values[n]), 1) for n in ("pour_height_cm", "vessel_x_cm", "vessel_y_cm")]
        assert (round(float(values["fill_g"])), *rounded) == (fill_g, height_cm, x_cm, y_cm)
