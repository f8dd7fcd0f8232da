"""Build description of assay_benchmarks for colcon."""

from setuptools import find_packages, setup

PACKAGE = "assay_benchmarks"

TASKS = (
    "place_cutlery",
    "stack",
    "place_in_rack",
    "pour_pasta",
    "open_container",
    "fold_cloth",
    "seal_container",
    "handoff",
    "sort_cutlery",
    "scoop_pasta",
)

setup(
    name=PACKAGE,
    version="0.1.0",
    description="KitchenBench: task instances as data, simulation contract and in-process mock. No ROS.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["py.typed", "data/*/*.yaml", "data/*/*.json"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    extras_require={"test": ["pytest"]},
    entry_points={
        "inspect_robots.tasks": [f"kitchenbench/{key} = {PACKAGE}.tasks:{key}" for key in TASKS],
        "inspect_robots.embodiments": [f"kitchen = {PACKAGE}.mock_kitchen:KitchenEmbodiment"],
        "inspect_robots.policies": [
            f"kitchen_scripted = {PACKAGE}.mock_kitchen:ScriptedKitchenPolicy",
            f"kitchen_random = {PACKAGE}.mock_kitchen:RandomKitchenPolicy",
            f"kitchen_noop = {PACKAGE}.mock_kitchen:NoopKitchenPolicy",
        ],
    },
)
