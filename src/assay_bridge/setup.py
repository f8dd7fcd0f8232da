"""Build description of assay_bridge for colcon."""

from setuptools import find_packages, setup

PACKAGE = "assay_bridge"

setup(
    name=PACKAGE,
    version="0.1.0",
    description="The graph as an Inspect Robots embodiment and policy, and the session runner.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    package_data={"": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": ["session_runner = assay_bridge.session_runner:main"],
        "inspect_robots.embodiments": ["assay = assay_bridge.embodiment:AssayEmbodiment"],
        "inspect_robots.policies": ["assay = assay_bridge.policy:AssayPolicy"],
        "inspect_robots.graders": ["assay = assay_bridge.grader:AssayGrader"],
        "inspect_robots.sinks": ["assay = assay_bridge.sink:AssaySink"],
    },
)
