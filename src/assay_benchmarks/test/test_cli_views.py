from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from assay_benchmarks import cli_views
from assay_benchmarks.catalog import instance_ids
from assay_core.errors import ConfigError


def _text(view: Any) -> str:
    console = Console(file=io.StringIO(), width=160, color_system=None)
    console.print(view)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_realize_says_what_to_arrange() -> None:
    data = cli_views.realize_data("pour_pasta/measuring-cup-to-bowl", 0)
    assert list(data) == ["instance_id", "seed", "instruction", "values", "setup_lines"]
    assert json.loads(json.dumps(data)) == data
    assert data["instruction"] == "pour the dry pasta into the bowl"
    assert data["values"]["fill_g"] == 156.43540247857453
    text = _text(cli_views.realize_view(data))
    assert "pour the dry pasta into the bowl" in text
    assert "[ ] fill: 156 g" in text
    assert "156.43" not in text, "nobody can set that many digits"


@pytest.mark.parametrize(
    ("instance_id", "seed", "message"),
    [
        ("pour_pasta/ful-box", 0, "did you mean pour_pasta/full-box"),
        ("stack/cups", -1, "seed: expected an integer of 0"),
    ],
)
def test_bad_requests_are_named(instance_id: str, seed: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        cli_views.realize_data(instance_id, seed)


@pytest.mark.parametrize("instance_id", instance_ids())
def test_show_tells_everything_about_an_instance(instance_id: str) -> None:
    data = cli_views.show_data(instance_id)
    assert json.loads(json.dumps(data)) == data
    text = _text(cli_views.show_view(data))
    for distribution in data["setup"].values():
        assert distribution in text
    for item in data["objects"]:
        assert item["name"] in text
    assert data["goal"] in text
    assert "Not validated by experts: a draft written by a model (source: opus-draft), 0 ratings" in text, (
        "the numbers would look better than they are"
    )


def test_only_a_draft_of_a_model_is_called_one() -> None:
    data = cli_views.show_data("stack/cups")
    data["validation"]["source"] = "our-lab"
    text = _text(cli_views.show_view(data))
    assert "Not validated by experts: (source: our-lab), 0 ratings" in text
    assert "draft" not in text


def test_show_says_what_is_the_same_in_every_realization() -> None:
    text = _text(cli_views.show_view(cli_views.show_data("pour_pasta/long-spaghetti")))
    assert "$substance" not in text, "a reader would look for a variable that does not exist"
    assert "Fixed: substance = " in text
    assert "x -12 cm" in text
    assert "y $pot_y_cm" in text


def test_show_warns_of_known_issues() -> None:
    text = _text(cli_views.show_view(cli_views.show_data("seal_container/tight-fit")))
    assert "5 of 5 trials: the criterion is met before anything moves" in text
    assert "Known issue" not in _text(cli_views.show_view(cli_views.show_data("handoff/utensil")))


def test_list_shows_tasks_suites_and_strangers() -> None:
    data = cli_views.tasks_data()
    assert json.loads(json.dumps(data)) == data
    assert data["tasks"][3] == {
        "name": "kitchenbench/pour_pasta",
        "title": "Pour dry pasta into a vessel",
        "version": "2",
        "instances": 5,
        "trials": 25,
        "max_steps": 100,
        "validated": 0,
    }
    text = _text(cli_views.tasks_view({**data, "warnings": ["two of a name"]}))
    assert "kitchenbench/scoop_pasta" in text
    assert "cubepick-reach" in text
    assert "suite kitchenbench-lite: 5 tasks" in text
    assert "warning: two of a name" in text
