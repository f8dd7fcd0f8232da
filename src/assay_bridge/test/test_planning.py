"""Everything that can be wrong with a request is named before anything starts."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from inspect_robots import registry
from inspect_robots.rollout import derive_seed
from inspect_robots.scene import Scene
from inspect_robots.task import Task

from assay_benchmarks import catalog
from assay_bridge import planning
from assay_bridge.planning import EvalOptions, make_plan, policy_misfit
from assay_bridge.running import client_config, unvalidated_instances, waiting_words
from assay_bridge.software import software_versions
from assay_core.errors import ConfigError
from assay_core.instances import TaskInstance, Validation
from assay_core.plan import load_plan
from assay_core.policy_names import policy_names

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=timezone.utc)


def plan_of(*tasks: str, **options: Any) -> Any:
    return make_plan(EvalOptions(tasks=tasks, **options), backends=("mock", "other"), session_id="s", created=NOW)


def test_the_suite_is_ten_tasks_five_instances_five_realizations() -> None:
    plan = plan_of("kitchenbench")
    assert len(plan.entries) == 250
    assert len({entry.task for entry in plan.entries}) == 10
    assert len({entry.instance_id for entry in plan.entries}) == 50
    assert [entry.index for entry in plan.entries] == list(range(250))
    assert all(e.seed == derive_seed(0, e.scene_seed, e.epoch) for e in plan.entries), "seeds differ from the framework"


def test_an_instance_selects_its_scene_and_names_may_mix() -> None:
    plan = plan_of("pour_pasta/full-box", "kitchenbench/stack", "pour_pasta/full-box", epochs=2)
    assert [e.task for e in plan.entries[:2]] == ["kitchenbench/pour_pasta"] * 2
    assert {e.instance_id for e in plan.entries[:2]} == {"pour_pasta/full-box"}
    assert len(plan.entries) == 2 + 10


def test_a_suite_and_its_task_run_once() -> None:
    assert len(plan_of("kitchenbench/stack", "kitchenbench-lite", "stack/plates").entries) == 125


def test_epochs_and_seed_shape_the_plan() -> None:
    plan = plan_of("kitchenbench/stack", epochs=7, seed=3)
    assert [e.epoch for e in plan.entries[:7]] == list(range(7))
    assert plan.entries[0].seed == derive_seed(3, plan.entries[0].scene_seed, 0)


def test_any_registered_task_can_be_planned() -> None:
    plan = plan_of("cubepick-reach")
    assert [e.scene_id for e in plan.entries] == ["scene-0", "scene-1", "scene-2", "scene-3"]
    assert plan.entries[0].instance_id == ""


def test_a_plan_survives_its_file(tmp_path: Any) -> None:
    plan = plan_of("kitchenbench/stack", cameras=2, launch={"noise": "2.0"})
    (tmp_path / "plan.yaml").write_text(plan.to_yaml())
    assert load_plan(tmp_path) == plan
    assert plan.created == "2026-03-01T12:00:00Z"
    assert plan.software["inspect-robots"]


def test_a_back_end_is_taken_on_trust_where_its_graph_runs_already() -> None:
    assert make_plan(EvalOptions(tasks=("kitchenbench/stack",), backend="elsewhere")).backend == "elsewhere"


def test_the_back_end_says_whether_there_is_a_world() -> None:
    plan = plan_of("kitchenbench/stack", backend="other", mode="paced")
    assert [client_config(plan, has_world=each).has_world for each in (True, False)] == [True, False]


def test_session_ids_do_not_meet() -> None:
    options = EvalOptions(tasks=("kitchenbench/pour_pasta",), policy="inspect:assay")
    first, second = (make_plan(EvalOptions(tasks=("kitchenbench/stack",))).session_id for _ in range(2))
    assert first != second
    assert "kitchenbench-stack-scripted" in first
    assert options.tasks  # an unknown policy is another test's matter


BAD = {
    "unknown task": (
        ("kitchenbench/por_pasta",),
        {},
        r"unknown task 'kitchenbench/por_pasta'.*did you mean kitchenbench/pour_pasta",
    ),
    "unknown suite": (("kichenbench",), {}, r"unknown task 'kichenbench'.*did you mean kitchenbench"),
    "unknown instance": (("pour_pasta/full-bax",), {}, r"unknown task 'pour_pasta/full-bax'.*pour_pasta/full-box"),
    "no task": ((), {}, r"task: expected at least one task, suite or instance, got none"),
    "unknown policy": (("kitchenbench",), {"policy": "scriptd"}, r"unknown policy 'scriptd'.*did you mean scripted"),
    "unknown registered policy": (
        ("kitchenbench",),
        {"policy": "inspect:kitchen_scriptd"},
        r"unknown policy 'inspect:kitchen_scriptd'.*inspect:kitchen_scripted",
    ),
    "unknown back end": (("kitchenbench",), {"backend": "mok"}, r"unknown back end 'mok'.*did you mean mock"),
    "unknown operator": (("kitchenbench",), {"operator": "aut"}, r"unknown operator 'aut'.*did you mean auto"),
    "no epochs": (("kitchenbench",), {"epochs": 0}, r"--epochs: expected a whole number from 1 to 20000, got 0"),
    "negative epochs": (("kitchenbench",), {"epochs": -3}, r"--epochs: expected .* got -3"),
    "negative seed": (("kitchenbench",), {"seed": -1}, r"--seed: expected a whole number from 0 to \d+, got -1"),
    "cameras": (("kitchenbench",), {"cameras": 4}, r"cameras: expected 0 to 3, got 4"),
    "camera size": (("kitchenbench",), {"camera_width": 4}, r"camera size: expected 16x16"),
    "mode": (("kitchenbench",), {"mode": "fast"}, r"unknown mode 'fast'"),
    "nobody answers": (
        ("kitchenbench",),
        {"operator": "none"},
        r"--operator none: expected at least one --operator-id ID: who answers ready, got none. fix: add --operator-id",
    ),
    "nobody judges": (
        ("kitchenbench",),
        {"operator": "none", "operators": ("anna",)},
        r"--operator none: expected at least one --grader ID: whose verdicts count, got none. fix: add --grader ID",
    ),
    "arguments of a policy without": (
        ("kitchenbench",),
        {"launch": {"policy_args": "rows=5"}},
        r"policy 'scripted': expected no arguments, got 'rows=5'",
    ),
    "malformed arguments": (("kitchenbench",), {"launch": {"policy_args": "rows"}}, r"policy_args: expected key=value"),
    "too many": (("kitchenbench",), {"epochs": 20_000}, r"plan: expected up to 20000 trials, got 1000000"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_requests_are_named(name: str) -> None:
    tasks, options, message = BAD[name]
    with pytest.raises(ConfigError, match=message):
        plan_of(*tasks, **options)


def test_a_policy_for_another_robot_is_refused_before_anything_moves() -> None:
    with pytest.raises(ConfigError, match=r"policy 'inspect:kitchen_scripted'.*8-D actions.*14-D.*\[action_dim\]"):
        plan_of("kitchenbench/stack", policy="inspect:kitchen_scripted")


def test_a_task_that_cannot_be_built_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Task:
        raise ValueError("no assets")

    monkeypatch.setitem(registry._FACTORIES["task"], "broken-task", broken)
    with pytest.raises(ConfigError, match=r"task 'broken-task'.*ValueError: no assets"):
        plan_of("broken-task")


def test_a_policy_that_cannot_be_built_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise FileNotFoundError("checkpoint")

    monkeypatch.setitem(registry._FACTORIES["policy"], "broken", broken)
    assert "inspect:broken" in policy_names()
    with pytest.raises(ConfigError, match=r"policy 'inspect:broken'.*FileNotFoundError: checkpoint"):
        plan_of("kitchenbench/stack", policy="inspect:broken")


def test_a_task_without_scenes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        registry._FACTORIES["task"],
        "empty",
        lambda: Task(name="empty", scenes=[], scorer="success_at_end", max_steps=3),
    )
    with pytest.raises(ConfigError, match=r"task 'empty': expected at least one scene, got none"):
        plan_of("empty")


def test_a_horizon_in_seconds_becomes_steps_at_the_rig_s_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        registry._FACTORIES["task"],
        "by-seconds",
        lambda: Task(name="by-seconds", scenes=[Scene(id="a", instruction="x")], scorer="operator", max_seconds=2.05),
    )
    assert plan_of("by-seconds", control_hz=10.0).entries[0].max_steps == 21
    assert plan_of("by-seconds", control_hz=10.0).entries[0].scene_seed is None


def test_a_policy_is_checked_with_its_arguments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = tmp_path / "made"

    def choosy(*, dim: int, name: str) -> Any:
        with made.open("a") as file:
            file.write(f"{dim} {name}\n")
        policy = registry.resolve("policy", "assay")
        if dim != 14:
            raise ValueError(f"dim {dim} is not 14")
        return policy

    monkeypatch.setitem(registry._FACTORIES["policy"], "choosy", choosy)
    plan = plan_of("kitchenbench", policy="inspect:choosy", launch={"policy_args": "dim=14 name='a b'"})
    assert plan.launch == {"policy_args": "dim=14 name='a b'"}
    assert made.read_text() == "14 a b\n", "a policy may be large: it is built once, whatever the number of tasks"
    with pytest.raises(ConfigError, match=r"policy 'inspect:choosy': expected a policy .*dim=3.* ValueError: dim 3"):
        plan_of("kitchenbench/stack", policy="inspect:choosy", launch={"policy_args": "dim=3 name=x"})
    with pytest.raises(ConfigError, match=r"TypeError.*dim.* fix: correct policy_args"):
        plan_of("kitchenbench/stack", policy="inspect:choosy")


def test_people_that_a_user_names_are_in_the_plan() -> None:
    plan = plan_of("kitchenbench/stack", operator="none", operators=("anna",), graders=("ben", "anna"))
    assert (plan.operators, plan.graders) == (("anna",), ("ben", "anna")), "who was not named must not judge"
    words = waiting_words(plan, "000000-0", "ARRANGE", ("operator",))
    assert words == "trial 000000-0 is in ARRANGE, waiting for operator anna"
    words = waiting_words(plan, "000000-0", "JUDGE", ("grader",))
    assert words == "trial 000000-0 is in JUDGE, waiting for grader ben or anna"


def test_the_recorded_commit_is_not_that_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    here = software_versions()
    git("init")
    git("commit", "--allow-empty", "-m", "a stranger's")
    monkeypatch.chdir(tmp_path)
    assert software_versions().get("git_commit") == here.get("git_commit")
    monkeypatch.setenv("ASSAY_ROOT", str(tmp_path))
    assert "git_commit" not in software_versions(), "a directory without the sources is no checkout of ours"
    (tmp_path / "src" / "assay_bridge").mkdir(parents=True)
    head = software_versions()["git_commit"]
    assert len(head) == 40
    (tmp_path / "reports").mkdir()
    for name in ("reports/index.html", "notes.txt"):
        (tmp_path / name).write_text("the user's own")
    assert software_versions()["git_commit"] == head, "what produces no session does not make the commit dirty"
    module = tmp_path / "src" / "assay_bridge" / "new.py"
    module.write_text("")
    assert software_versions()["git_commit"] == f"{head}-dirty"
    git("add", "notes.txt")
    module.unlink()
    assert software_versions()["git_commit"] == f"{head}-dirty", "a change of a tracked file does"


def _bound(action: Any) -> Any:
    """Return the factory of a policy that does something when it is bound."""

    def make() -> Any:
        policy = registry.resolve("policy", "assay")
        policy.bind = lambda _info: action()
        return policy

    return make


@pytest.mark.parametrize(
    ("action", "got"),
    [
        (lambda: sys.exit(0), "SystemExit: 0"),
        (lambda: os._exit(0), "the end of its process with exit code 0"),
        (lambda: os._exit(130), "the end of its process with exit code 130"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "a crash: signal 11"),
        (lambda: exec("raise BaseException('no')"), "BaseException: no"),
        (lambda: exec("raise MemoryError"), "MemoryError"),
    ],
)
@pytest.mark.parametrize("when", ["built", "bound"])
def test_a_policy_that_ends_the_process_is_refused_and_the_command_lives(
    monkeypatch: pytest.MonkeyPatch, action: Any, got: str, when: str
) -> None:
    monkeypatch.setitem(registry._FACTORIES["policy"], "rude", action if when == "built" else _bound(action))
    with pytest.raises(ConfigError, match=rf"policy 'inspect:rude': expected a policy .*bound to this rig, got {got}"):
        plan_of("kitchenbench/stack", policy="inspect:rude")


def test_a_policy_that_hangs_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._FACTORIES["policy"], "stuck", lambda: ctypes.PyDLL(None).sleep(600))
    monkeypatch.setattr(planning, "LIST_S", 0.3)
    assert policy_misfit("inspect:stuck") == "no answer within 0.3 s: it hangs"


def test_a_policy_changes_nothing_of_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def meddle() -> Any:
        os.chdir("/")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("banner")
        return registry.resolve("policy", "assay")

    monkeypatch.chdir(tmp_path)
    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setitem(registry._FACTORIES["policy"], "meddler", meddle)
    assert plan_of("kitchenbench/stack", policy="inspect:meddler").policies == ("inspect:meddler",)
    assert (Path.cwd(), signal.getsignal(signal.SIGINT)) == (tmp_path, handler)
    assert capfd.readouterr().out == "", "whoever reads JSON from standard output must not get a policy's words"


def test_who_wrote_an_instance_that_nobody_validated_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of("pour_pasta/full-box", "stack/cups", "stack/plates", "cubepick-reach")
    assert unvalidated_instances(plan) == (3, 3)
    sources = {"stack/cups": Validation(source="our-lab"), "stack/plates": Validation((5,) * 3, (5,) * 3)}
    find = catalog.find_instance

    def edited(name: str) -> TaskInstance:
        return replace(find(name), validation=sources.get(name, find(name).validation))

    monkeypatch.setattr(catalog, "find_instance", edited)
    assert unvalidated_instances(plan) == (2, 1)
