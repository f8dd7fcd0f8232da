"""Build description of assay_sim for colcon."""

from setuptools import find_packages, setup

PACKAGE = "assay_sim"

setup(
    name=PACKAGE,
    version="0.1.0",
    description="Worlds that speak the topics of the hardware: the mock world.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    package_data={"": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    extras_require={"test": ["pytest"]},
    entry_points={"console_scripts": ["mock_world = assay_sim.mock_world:main"]},
)
