from __future__ import annotations

import assay_benchmarks


def test_every_public_name_resolves() -> None:
    for name in assay_benchmarks.__all__:
        assert getattr(assay_benchmarks, name) is not None
    assert len(set(assay_benchmarks.__all__)) == len(assay_benchmarks.__all__)
    assert set(assay_benchmarks._HOME) == set(assay_benchmarks.__all__)
    assert dir(assay_benchmarks) == sorted(assay_benchmarks.__all__)


def test_names_of_the_published_package_are_there() -> None:
    published = """ASSETS K_EXPERTS K_INSTANCES K_REALIZATIONS LAYOUT_VERSION SIM_CONTRACT_VERSION SPECS SPEC_BY_KEY
    TASK_FACTORIES AssetSpec Categorical Constant Distribution KitchenEmbodiment NoopKitchenPolicy Normal
    RandomKitchenPolicy Realization SceneBlueprint SceneObject ScriptedKitchenPolicy SimObject SimSpec TaskInstance
    TaskSpec Uniform Validation Var Verdict WorldState build_blueprint build_scenes export_scene_layout fold_cloth
    handoff load_rig load_scene_layout make_success_checker make_task open_container place_cutlery place_in_rack
    pour_pasta realize_scene scoop_pasta seal_container sort_cutlery stack task_success"""
    assert set(published.split()) <= set(assay_benchmarks.__all__), "scripts written for it would break"
