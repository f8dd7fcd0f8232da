"""Code written against the published package's documented interface runs here with only the import's name changed.

The calls are those of its documentation, without its words; what they give is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_robots.registry import resolve

from assay_benchmarks.catalog import register_ours
from assay_benchmarks.diagnostics import SpawnedWorld

NAME, OURS = "kitchenbench", "assay_benchmarks"


def run(code: str, **given: Any) -> dict[str, Any]:
    """Run a snippet with the import's name changed, and return its names."""
    namespace: dict[str, Any] = dict(given)
    exec(compile(code.replace(f"from {NAME} import", f"from {OURS} import"), "example", "exec"), namespace)
    return namespace


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework writes its logs into the working directory."""
    monkeypatch.chdir(tmp_path)
    register_ours()


def test_the_whole_suite_under_the_framework(capsys: pytest.CaptureFixture[str]) -> None:
    run("""
from inspect_robots import eval_set

from kitchenbench import TASK_FACTORIES

ok, logs = eval_set(
    [f"kitchenbench/{key}" for key in sorted(TASK_FACTORIES)],
    "kitchen_scripted",
    "kitchen",
)
for log in logs:
    print(log.eval.task, log.results.metrics["task_success"])
""")
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("kitchenbench/")]
    assert len(lines) == 10
    assert {float(value) for _, value in lines} == {1.0}


def test_an_instance_written_as_code() -> None:
    instance = run("""
from kitchenbench import Categorical, Normal, TaskInstance, Uniform

made = TaskInstance(
    instance_id="pour_pasta/measuring-cup-to-bowl",
    goal="pour the dry pasta into the {vessel}",
    setup={
        "vessel":         Categorical(("bowl", "cup", "pot")),
        "fill_g":         Uniform(80, 200),
        "pour_height_cm": Uniform(8, 15),
        "vessel_x_cm":    Normal(0.0, 3.0),
        "vessel_y_cm":    Normal(0.0, 3.0),
    },
    language_vars=("vessel",),
    target_kind="pour_into",
    static={"substance": "dry_pasta"},
)
""")["made"]
    from assay_benchmarks import SPEC_BY_KEY

    shipped = SPEC_BY_KEY["pour_pasta"].instances[0]
    assert instance.setup_spec() == shipped.setup_spec()
    assert instance.realize(seed=3).values == shipped.realize(seed=3).values


def test_what_an_instance_and_a_realization_say() -> None:
    names = run("""
from kitchenbench import SPEC_BY_KEY

inst = SPEC_BY_KEY["pour_pasta"].instances[0]
spec = inst.setup_spec()
r = inst.realize(seed=0)
shown = r.instruction, r.values, r.setup_lines
""")
    assert list(names["spec"].items())[:4] == [
        ("fill_g", "Uniform[80, 200]"),
        ("pour_height_cm", "Uniform[8, 15]"),
        ("vessel", "Categorical({bowl, cup, pot})"),
        ("vessel_x_cm", "N(0, 3²)"),
    ]
    instruction, values, lines = names["shown"]
    assert instruction == "pour the dry pasta into the bowl"
    assert (values["vessel"], f"{values['fill_g']:.4f}"[:6], f"{values['pour_height_cm']:.2f}") == (
        "bowl",
        "156.43",
        "9.89",
    )
    assert lines[0].startswith("fill_g = 156.43")
    assert lines[2] == "vessel = bowl"


def test_one_task_and_its_rates(capsys: pytest.CaptureFixture[str]) -> None:
    run("""
from inspect_robots import eval
(log,) = eval("kitchenbench/pour_pasta", "kitchen_scripted", "kitchen")
for s in log.samples:
    print(s.scene_id, s.reduced["task_success"])
""")
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("pour-pasta-")]
    assert len({scene for scene, _ in lines}) == len(lines) == 5
    assert [float(rate) for _, rate in lines] == [1.0] * 5, "the scripted policy solves every scene of the mock kitchen"


def test_a_simulator_builds_a_scene_and_checks_it() -> None:
    scene = resolve("task", "kitchenbench/stack").scenes[0]
    code = "from kitchenbench import ASSETS, build_blueprint\nbp = build_blueprint(scene, seed)"
    names = run(code, scene=scene, seed=7)
    assert all(item.asset in names["ASSETS"] for item in names["bp"].objects)
    checked: Callable[..., Any] = run(
        """
from kitchenbench import make_success_checker
checker = make_success_checker(bp, world)
success = checker(world).success
""",
        bp=names["bp"],
        world=SpawnedWorld(names["bp"]),
    )["success"]
    assert checked is False, "nothing has been stacked yet"
