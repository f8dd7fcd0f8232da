from __future__ import annotations

from pathlib import Path

import pytest
from inspect_robots import Scene, Target, Task
from inspect_robots.registry import register
from inspect_robots.rollout import derive_seed

from assay_benchmarks import SPECS, catalog
from assay_benchmarks.specs import load_task
from assay_core.errors import ConfigError, DataError
from assay_core.realization import TrialRealization

OURS = tuple(f"kitchenbench/{spec.key}" for spec in SPECS)


def _foreign(**more: object) -> Task:
    scene = Scene(
        id="one",
        instruction="wave",
        target=Target(kind="reach"),
        init_seed=5,
        setup="clear the table\nstand back",
        metadata={"rubric_lines": ["nothing", "arm moves", "hand up", "waves", "waves well"]},
    )
    fields: dict[str, object] = {"max_steps": 30, "metadata": {"version": 7}, **more}
    return Task(name="foreign/wave", scenes=[scene], scorer="success_at_end", **fields)  # type: ignore[arg-type]


def test_suites_and_tasks_expand_once_each() -> None:
    assert catalog.suites()["kitchenbench"] == OURS
    assert len(catalog.suites()["kitchenbench-lite"]) == 5
    assert catalog.expand(["kitchenbench"]) == OURS
    assert catalog.expand(["kitchenbench/stack", "kitchenbench-lite", "kitchenbench/stack"]) == (
        "kitchenbench/stack",
        "kitchenbench/place_cutlery",
        "kitchenbench/place_in_rack",
        "kitchenbench/open_container",
        "kitchenbench/scoop_pasta",
    )
    assert catalog.task_names()[:10] == OURS
    assert "cubepick-reach" in catalog.task_names(), "tasks of other packages are served too"
    assert catalog.expand(["cubepick-reach"]) == ("cubepick-reach",)


def test_the_last_part_of_a_name_is_enough_where_one_task_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert catalog.expand(["stack", "kitchenbench/stack"]) == ("kitchenbench/stack",)
    assert catalog.full_name("kitchenbench") == "kitchenbench"
    assert catalog.full_name("nothing") == "nothing"
    monkeypatch.setattr(catalog, "task_names", lambda: ("kitchenbench/stack", "other/stack"))
    with pytest.raises(ConfigError, match=r"expected the name of one task, got one of kitchenbench/stack, other/stack"):
        catalog.expand(["stack"])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["kitchenbench/pour"], "unknown task or suite 'kitchenbench/pour'"),
        (["pour_past"], "did you mean kitchenbench/pour_pasta"),
        (["kitchenbenc"], "did you mean kitchenbench"),
        ([], "tasks: expected a task or a suite, got none"),
    ],
)
def test_unknown_names_are_answered_with_near_matches(names: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        catalog.expand(names)
    for name in names:
        with pytest.raises(ConfigError, match="unknown task"):
            catalog.resolve_task(name)


def test_our_tasks_resolve_without_installed_entry_points_and_cannot_be_shadowed() -> None:
    for name in OURS:
        task = catalog.resolve_task(name)
        assert (task.name, len(task.scenes), task.epoch_spec.count, task.epoch_spec.reducer) == (name, 5, 5, "mean")
        assert [scorer.name for scorer in task.scorers] == ["task_success", "episode_length"]
        assert catalog.task_version(task) == ("3" if name.endswith("scoop_pasta") else "2")


def test_factories_that_fail_are_named() -> None:
    def broken() -> Task:
        raise RuntimeError("no weights")

    register("task", "test/broken")(broken)
    register("task", "test/number")(lambda: 3)
    with pytest.raises(
        ConfigError, match="task 'test/broken': expected a task without arguments, got RuntimeError: no"
    ):
        catalog.resolve_task("test/broken")
    with pytest.raises(ConfigError, match="task 'test/number': expected an Inspect Robots Task, got int"):
        catalog.resolve_task("test/number")


def test_instances_are_found_by_id() -> None:
    assert len(catalog.instance_ids()) == len(set(catalog.instance_ids())) == 50
    for instance_id in catalog.instance_ids():
        assert catalog.find_instance(instance_id).instance_id == instance_id
    with pytest.raises(ConfigError, match="did you mean handoff/utensil"):
        catalog.find_instance("handoff/utensils")


def test_every_trial_is_told_its_realization_and_nothing_else() -> None:
    for name in OURS:
        task = catalog.resolve_task(name)
        for scene in task.scenes:
            for epoch in range(5):
                seed = catalog.seed_of_trial(scene, 0, epoch)
                assert seed == derive_seed(0, scene.init_seed, epoch)
                trial = catalog.realize_trial(task, scene, epoch=epoch, seed=seed, control_hz=10.0, eval_seed=0)
                expected = catalog.find_instance(trial.instance_id).realize(seed)
                assert trial.instruction == expected.instruction, "the policy would be told another scene's goal"
                assert dict(trial.values) == expected.values
                assert trial.checklist == expected.setup_lines
                assert trial.layout is not None
                assert (trial.layout["instruction"], trial.layout["eval_seed"]) == (expected.instruction, 0)
                assert scene.target is not None
                assert trial.target_kind == scene.target.kind
                assert (trial.max_steps, trial.horizon_s) == (task.max_steps, (task.max_steps or 0) / 10)


def test_a_realization_survives_the_trip_and_builds_its_scene() -> None:
    task = catalog.resolve_task("kitchenbench/sort_cutlery")
    trial = catalog.realize_trial(task, task.scenes[0], epoch=2, seed=17, control_hz=10.0)
    again = TrialRealization.from_dict(trial.to_dict())
    assert again.content_hash() == trial.content_hash()
    blueprint = catalog.blueprint_of(again)
    assert blueprint is not None
    assert trial.layout is not None
    assert [item["name"] for item in trial.layout["objects"]] == list(blueprint.object_names())
    assert (blueprint.scene_id, blueprint.instruction) == (trial.scene_id, trial.instruction)


def test_a_realization_of_another_version_is_not_rendered() -> None:
    task = catalog.resolve_task("kitchenbench/stack")
    data = catalog.realize_trial(task, task.scenes[0], epoch=0, seed=1, control_hz=10.0).to_dict()
    with pytest.raises(DataError, match="expected version 2 with values"):
        catalog.blueprint_of(TrialRealization.from_dict({**data, "task_version": "1"}))
    with pytest.raises(DataError, match="seed 2"):
        catalog.blueprint_of(TrialRealization.from_dict({**data, "seed": 2}))


def test_a_stranger_s_scene_is_taken_as_it_is() -> None:
    task = _foreign()
    trial = catalog.realize_trial(task, task.scenes[0], epoch=1, seed=9, control_hz=20.0)
    assert (trial.instruction, trial.target_kind, trial.instance_id, trial.layout) == ("wave", "reach", "", None)
    assert trial.checklist == ("clear the table", "stand back")
    assert trial.rubric == ("nothing", "arm moves", "hand up", "waves", "waves well")
    assert (trial.task_version, trial.max_steps, trial.horizon_s) == ("7", 30, 1.5)
    assert catalog.blueprint_of(trial) is None


def test_a_horizon_in_seconds_becomes_steps_at_the_rig_s_rate() -> None:
    task = _foreign(max_steps=None, max_seconds=2.01, metadata={})
    trial = catalog.realize_trial(task, task.scenes[0], epoch=0, seed=0, control_hz=10.0)
    assert trial.max_steps == task.resolve_envelope(10.0).max_steps == 21
    assert trial.task_version == ""
    with pytest.raises(ConfigError, match="control rate: expected more than 0 Hz, got 0"):
        catalog.realize_trial(task, task.scenes[0], epoch=0, seed=0, control_hz=0.0)


def test_a_scene_of_a_vanished_instance_is_refused() -> None:
    scene = Scene(id="gone", instruction="pour", metadata={"instance_id": "pour_pasta/gone"})
    with pytest.raises(ConfigError, match="unknown instance 'pour_pasta/gone'"):
        catalog.realize_trial(_foreign(), scene, epoch=0, seed=0, control_hz=10.0)


def test_warming_up_reads_every_task() -> None:
    load_task.cache_clear()
    catalog.warm_up()
    assert load_task.cache_info().currsize == 10, "the first trial would wait for it"


def test_a_namesake_package_is_reported_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "otherbench-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: otherbench\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[inspect_robots.tasks]\nkitchenbench/stack = otherbench.tasks:stack\nother/task = otherbench.tasks:other\n"
        "[inspect_robots.embodiments]\nkitchen = otherbench.mock:Kitchen\n"
    )
    before = set(catalog.colliding_entry_points())
    monkeypatch.syspath_prepend(str(tmp_path))
    assert set(catalog.colliding_entry_points()) - before == {
        "inspect_robots.tasks 'kitchenbench/stack': 'otherbench' (otherbench.tasks:stack) and assay_benchmarks both "
        "register it",
        "inspect_robots.embodiments 'kitchen': 'otherbench' (otherbench.mock:Kitchen) and assay_benchmarks both "
        "register it",
    }
