"""Build description of assay_operator for colcon."""

from setuptools import find_packages, setup

PACKAGE = "assay_operator"

setup(
    name=PACKAGE,
    version="0.1.0",
    description="Operator consoles over one view model.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    package_data={"": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    extras_require={"test": ["pytest"]},
    entry_points={"console_scripts": ["auto_operator = assay_operator.auto_operator:main"]},
)
