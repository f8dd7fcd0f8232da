"""The benchmark node takes up a plan only where its own task files say what the plan was made from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay_bench.realizer import Realizer
from assay_benchmarks import catalog
from assay_benchmarks.pins import contents_of
from assay_core.errors import ConfigError
from assay_core.plan import Plan, scene_key
from assay_core.testing import example_entry, example_plan

TASK = "kitchenbench/pour_pasta"


def plan_of(**changes: object) -> Plan:
    task = catalog.resolve_task(TASK)
    scene = next(scene for scene in task.scenes if scene.metadata["instance_id"] == "pour_pasta/full-box")
    values = {"scene_id": scene.id, "max_steps": task.max_steps, **changes}
    return replace(example_plan(), entries=(example_entry(0, **values),), contents=contents_of([(task, [scene])], 10.0))


def test_a_plan_is_taken_up_where_its_instances_say_the_same() -> None:
    plan = plan_of()
    Realizer().prepare(plan)
    changed = dict.fromkeys(plan.contents, "0" * 64)
    assert list(changed) == [scene_key(TASK, plan.entries[0].scene_id)]
    with pytest.raises(ConfigError, match=r"instance 'pour_pasta/full-box': expected the content .*000000000000"):
        Realizer().prepare(replace(plan, contents=changed))


def test_a_scene_that_is_gone_is_named_when_the_session_opens() -> None:
    with pytest.raises(ConfigError, match=r"task 'kitchenbench/pour_pasta': unknown instance 'pour_pasta/old-box'"):
        Realizer().prepare(plan_of(scene_id="old-box", instance_id="pour_pasta/old-box"))
