"""Everything wrong in a task file is told with file, line, what was expected, what came and how to fix it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay_benchmarks import check_file, load_task_file, specs
from assay_core.distributions import Categorical, Constant, Normal, Uniform
from assay_core.errors import ConfigError
from assay_core.scene_spec import Var

GOOD = """\
schema: 1
task: pour
title: Pour
category: granular
bimanual: true
max_steps: 100
version: "1"
instances:
  - id: pour/one
    goal: pour {fill_g:.0f} g into the {vessel}
    language_vars: [vessel, fill_g]
    target_kind: pour_into
    static: {substance: dry_pasta}
    setup:
      vessel: {categorical: [bowl, measuring cup], weights: [1, 3]}
      fill_g: {uniform: [80, 200]}
      vessel_x_cm: {normal: {mean: 0.0, std: 3.0}}
      height_cm: {constant: 8}
      spoons: {categorical: [1, 2]}
    scene:
      - {name: vessel, asset: $vessel, role: vessel, x_cm: $vessel_x_cm}
      - {name: source, asset: pasta_box, role: source, x_cm: -12}
      - {name: pasta, asset: $substance, role: substance, parent: source, amount_g: $fill_g}
      - {name: spoon, asset: spoon, count: $spoons, spread_cm: 6}
    success: {substance: pasta, total_g: $fill_g}
    conditions: [height_cm]
"""


def _check(tmp_path: Path, text: str, name: str = "pour.yaml") -> list[str]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [line.removeprefix(f"{path}:") for line in check_file(path)]


def test_a_right_file_becomes_a_spec(tmp_path: Path) -> None:
    path = tmp_path / "pour.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert check_file(path) == []
    spec = load_task_file(path)
    instance = spec.instances[0]
    assert instance.validation.source == "not stated", "nobody said that a model wrote it"
    assert instance.setup == {
        "vessel": Categorical(("bowl", "measuring cup"), (1, 3)),
        "fill_g": Uniform(80, 200),
        "vessel_x_cm": Normal(0.0, 3.0),
        "height_cm": Constant(8),
        "spoons": Categorical((1, 2)),
    }
    assert instance.sim is not None
    assert [item.name for item in instance.sim.objects] == ["vessel", "source", "pasta", "spoon"]
    assert instance.sim.objects[0].asset == Var("vessel")
    assert instance.sim.success == (("substance", "pasta"), ("total_g", Var("fill_g")))
    assert instance.realize(1).instruction.startswith("pour ")


CASES = {
    "unknown key": (
        "    language_vars:",
        "    language_var:",
        "11: unknown key 'language_var': expected one of id, goal, target_kind, setup, scene, language_vars, static, "
        "success, conditions, validation, got language_var. fix: did you mean 'language_vars'?",
    ),
    "missing key": ("max_steps: 100\n", "", "1: missing key 'max_steps': expected 'max_steps' here, got nothing"),
    "wrong type": ("max_steps: 100", "max_steps: soon", "6: 'max_steps': expected a whole number, got 'soon'"),
    "no horizon": ("max_steps: 100", "max_steps: 0", "6: 'max_steps': expected a number of 1 or more, got 0"),
    "version not text": ('version: "1"', "version: 1", "7: 'version': expected text in quotes, e.g. \"2\", got 1"),
    "truth value": (
        "categorical: [bowl, measuring cup]",
        "categorical: [true, measuring cup]",
        "15: item 1 of 'categorical': expected a number or text, got a truth value True",
    ),
    "bad id": (
        "id: pour/one",
        "id: pour one",
        "9: 'id': expected task/name-with-hyphens in lower case, got 'pour one'",
    ),
    "foreign id": ("id: pour/one", "id: stack/one", "9: id 'stack/one': expected an id that starts with pour/"),
    "two distributions": (
        "fill_g: {uniform: [80, 200]}",
        "fill_g: {uniform: [80, 200], constant: 3}",
        "16: variable 'fill_g': expected exactly one of uniform, normal, categorical, constant, "
        "got uniform and constant. fix: keep one of them",
    ),
    "low > high": (
        "uniform: [80, 200]",
        "uniform: [200, 80]",
        "16: variable 'fill_g': expected low <= high, got low 200 > high 80. fix: swap the two bounds",
    ),
    "one bound": ("uniform: [80, 200]", "uniform: [80]", "16: variable 'fill_g': expected uniform: [low, high], got 1"),
    "negative std": ("std: 3.0", "std: -3.0", "17: variable 'vessel_x_cm': expected std of 0 or more, got -3.0"),
    "weights length": (
        "weights: [1, 3]",
        "weights: [1, 3, 2]",
        "15: variable 'vessel': expected one weight per value, got 3 weights for 2 values",
    ),
    "weights elsewhere": (
        "{uniform: [80, 200]}",
        "{uniform: [80, 200], weights: [1]}",
        "16: variable 'fill_g': expected weights only beside categorical",
    ),
    "negative weight": ("weights: [1, 3]", "weights: [-1, 3]", "15: variable 'vessel': expected weights of 0 or more"),
    "repeated value": ("[1, 2]", "[1, 1]", "19: variable 'spoons': expected each value once"),
    "no values": (
        "categorical: [bowl, measuring cup], weights: [1, 3]",
        "categorical: []",
        "15: variable 'vessel': expected at least one value",
    ),
    "duplicate variable": (
        "      spoons: {categorical: [1, 2]}\n",
        "      spoons: {categorical: [1, 2]}\n      fill_g: {constant: 1}\n",
        "20: key 'fill_g': expected each key once, got the same key as on line 16",
    ),
    "unused variable": (
        "conditions: [height_cm]",
        "conditions: []",
        "18: variable 'height_cm': expected a use in scene, success or conditions, got none. "
        "fix: bind it as $height_cm in scene or success, list it in conditions, or remove it",
    ),
    "undeclared variable": (
        "x_cm: $vessel_x_cm",
        "x_cm: $vessel_xcm",
        "21: unknown variable 'vessel_xcm': expected a variable of setup or static (fill_g, height_cm, spoons, "
        "substance, vessel, vessel_x_cm). fix: did you mean vessel_x_cm or vessel?",
    ),
    "variable in two objects": (
        "x_cm: -12",
        "x_cm: $vessel_x_cm",
        "22: variable 'vessel_x_cm': expected one object that it sets, got it in object 'vessel' too",
    ),
    "static and variable": (
        "static: {",
        "static: {fill_g: 3, ",
        "16: 'fill_g': expected a name of its own, got a name",
    ),
    "parent declared later": (
        "role: vessel, x_cm",
        "role: vessel, parent: source, x_cm",
        "21: parent 'source': expected an object declared earlier, got one declared later. fix: move it up",
    ),
    "parent unknown": (
        "parent: source",
        "parent: sauce",
        "23: unknown parent 'sauce': expected an object declared earl",
    ),
    "parent is itself": ("parent: source", "parent: pasta", "23: parent 'pasta': expected another object"),
    "parent has copies": (
        "    success:",
        "      - {name: bit, asset: fork, parent: spoon}\n    success:",
        "25: parent 'spoon': expected an object declared earlier, got an object with numbered copies. "
        "fix: name one copy, e.g. spoon_1",
    ),
    "unknown asset": ("asset: pasta_box", "asset: pasta_bix", "22: unknown asset 'pasta_bix': expected an asset ("),
    "unknown asset by value": (
        "[bowl, measuring cup]",
        "[bowl, measuring mug]",
        "21: unknown asset (a value of 'vessel') 'measuring mug'",
    ),
    "asset from a continuum": (
        "asset: pasta_box",
        "asset: $height_cm",
        "22: unknown asset (a value of 'height_cm') '8'",
    ),
    "language variable missing": (
        "language_vars: [vessel, fill_g]",
        "language_vars: [vessel, fill_g, size]",
        "11: unknown language variable 'size': expected a variable of setup (",
    ),
    "placeholder missing": (
        "language_vars: [vessel, fill_g]",
        "language_vars: [vessel]",
        "10: unknown goal placeholder 'fill_g': expected a language variable (vessel)",
    ),
    "language variable unspoken": (
        "pour {fill_g:.0f} g into",
        "pour into",
        "11: language variable 'fill_g': expected {fill_g} in the goal, got no mention of it",
    ),
    "bad format": ("{vessel}", "{vessel:.0f}", "10: {vessel:.0f}: expected a format for 'bowl'"),
    "open brace": ("{vessel}", "{vessel", "10: goal: expected matching braces"),
    "positional placeholder": ("into the {vessel}", "into {} {vessel}", "10: unknown goal placeholder ''"),
    "reserved name": (
        "name: source,",
        "name: gripper_left,",
        "22: object 'gripper_left': expected none of bench, gripper_left, gripper_right",
    ),
    "name twice": (
        "{name: spoon, asset: spoon, count: $spoons,",
        "{name: pasta, asset: spoon, y_cm: $spoons,",
        "24: object 'pasta': expected each name once",
    ),
    "name of a copy": (
        "    success:",
        "      - {name: spoon_2, asset: fork}\n    success:",
        "25: object 'spoon_2': expected each name once, got the name of an object declared before ('spoon')",
    ),
    "text for a number": ("x_cm: $vessel_x_cm", "x_cm: $vessel", "21: 'x_cm': expected a number, got 'bowl'"),
    "count of a continuum": (
        "count: $spoons",
        "count: $fill_g",
        "24: 'count': expected a whole number, got a continuum",
    ),
    "count of none": (
        "categorical: [1, 2]",
        "categorical: [0, 2]",
        "24: 'count': expected a whole number of 1 or more",
    ),
    "negative spread": ("spread_cm: 6", "spread_cm: -6", "24: 'spread_cm': expected 0 or more, got -6"),
    "no size": ("spread_cm: 6", "size_cm: 0", "24: 'size_cm': expected more than 0, got 0"),
    "size order": ("spread_cm: 6", "size_order: $vessel", "24: 'size_order': expected largest_first or shuffled"),
    "target kind": ("pour_into", "pour_in", "12: unknown target kind 'pour_in'"),
    "role missing": (
        "role: vessel,",
        "role: bowl,",
        "20: target kind 'pour_into': expected an object with role 'vessel', got none",
    ),
    "role twice": (
        "role: source, x_cm",
        "role: vessel, x_cm",
        "20: target kind 'pour_into': expected one object with role 'vessel', got 2 (vessel, source). fix: keep one",
    ),
    "success parameter missing": (
        "success: {substance: pasta, total_g: $fill_g}",
        "success: {substance: pasta}",
        "25: target kind 'pour_into': expected success parameter 'total_g', got none",
    ),
    "success parameter unknown": (
        "total_g: $fill_g}",
        "total_g: $fill_g, tol: 3}",
        "25: unknown success parameter 'tol': expected a parameter of pour_into (substance, total_g)",
    ),
    "substance unknown": (
        "substance: pasta,",
        "substance: rice,",
        "25: unknown substance 'rice': expected an object of",
    ),
    "condition unknown": ("[height_cm]", "[height_cm, hight_cm]", "26: unknown condition 'hight_cm'"),
    "condition twice": ("[height_cm]", "[height_cm, height_cm]", "26: condition 'height_cm': expected each once"),
    "file name": ("task: pour\n", "task: pur\n", "2: task 'pur': expected the file's name 'pour'. fix: rename"),
    "rating": (
        "conditions: [height_cm]\n",
        "conditions: [height_cm]\n    validation: {source: us, quality: [5, 7]}\n",
        "27: item 2 of 'quality': expected a number up to 5, got 7",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_contradiction_is_named_with_its_line(tmp_path: Path, case: str) -> None:
    before, after, message = CASES[case]
    assert before in GOOD, "the case would test nothing"
    problems = _check(tmp_path, GOOD.replace(before, after, 1))
    assert any(problem.startswith(message) for problem in problems), problems
    for problem in problems:
        assert ". fix: " in problem, f"no way out is offered: {problem}"


def test_all_problems_are_told_in_the_order_of_lines(tmp_path: Path) -> None:
    text = (
        GOOD.replace("[80, 200]", "[200, 80]").replace("std: 3.0", "std: -1").replace("weights: [1, 3]", "weights: [1]")
    )
    problems = _check(tmp_path, text)
    assert [int(problem.partition(":")[0]) for problem in problems] == [15, 16, 17]


def test_mistakes_come_in_three_rounds_as_the_guide_says(tmp_path: Path) -> None:
    references = GOOD.replace("parent: source", "parent: sauce").replace("[height_cm]", "[hight_cm]")
    distributions = references.replace("[80, 200]", "[200, 80]").replace("std: 3.0", "std: -1")
    form = distributions.replace("title: Pour", "titel: Pour").replace("max_steps: 100", "max_steps: ten")
    rounds = [[line.partition(":")[0] for line in _check(tmp_path, text)] for text in (form, distributions, references)]
    assert rounds == [["1", "3", "6"], ["16", "17"], ["18", "23", "26"]], rounds


def test_a_mistake_in_a_linked_file_names_the_file_that_is_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited, linked = tmp_path / "src" / "stack.yaml", tmp_path / "build" / "stack.yaml"
    for path in (edited, linked):
        path.parent.mkdir()
    edited.write_text("schema: 2\n", encoding="utf-8")
    linked.symlink_to(edited)
    monkeypatch.setattr(specs, "data_dir", lambda: linked.parent)
    with pytest.raises(ConfigError) as caught:
        specs.load_task.__wrapped__("stack")
    assert f"{edited}:1: " in str(caught.value)
    assert str(linked) not in str(caught.value)


def test_two_instances_of_one_id(tmp_path: Path) -> None:
    instance = GOOD.partition("instances:\n")[2]
    problems = _check(tmp_path, GOOD + instance)
    assert problems == [
        "27: id 'pour/one': expected each id once, got the id of instance 1 again. fix: rename one of the two"
    ]


def test_sorting_needs_a_compartment_for_every_kind(tmp_path: Path) -> None:
    text = """\
schema: 1
task: sort
title: Sort
category: classification
bimanual: false
max_steps: 10
version: "1"
instances:
  - id: sort/one
    goal: sort the cutlery
    target_kind: sort
    setup: {total: {categorical: [2, 3]}}
    scene:
      - {name: compartment_spoon, asset: compartment, role: compartment}
      - {name: piece, asset: cutlery, role: sortable, count: $total, split: [spoon, fork]}
"""
    assert _check(tmp_path, text, "sort.yaml") == [
        "15: sortable 'piece': expected a compartment 'compartment_fork', got compartment_spoon. fix: declare it"
    ]


def test_loading_a_wrong_file_raises_every_problem(tmp_path: Path) -> None:
    path = tmp_path / "pour.yaml"
    path.write_text(GOOD.replace("[80, 200]", "[200, 80]").replace("std: 3.0", "std: -1"), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_task_file(path)
    assert str(caught.value).count("pour.yaml:") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a list\n", "expected a mapping, got list"),
        ("a: [\n", "expected YAML"),
        ("", "expected a YAML document, got an empty file"),
    ],
)
def test_files_that_are_no_task_at_all(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pour.yaml"
    path.write_text(text, encoding="utf-8")
    problems = check_file(path)
    assert len(problems) == 1
    assert message in problems[0]
    assert check_file(tmp_path / "none.yaml")[0].startswith(f"{tmp_path / 'none.yaml'}: expected a readable YAML file")
