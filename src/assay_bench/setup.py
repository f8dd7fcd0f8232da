"""Build description of assay_bench for colcon."""

from setuptools import find_packages, setup

PACKAGE = "assay_bench"

setup(
    name=PACKAGE,
    version="0.1.0",
    description="The benchmark node: publishes realizations, runs trials, collects verdicts, keeps the journal.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    package_data={"": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    extras_require={"test": ["pytest"]},
    entry_points={"console_scripts": ["benchmark_node = assay_bench.benchmark_node:main"]},
)
