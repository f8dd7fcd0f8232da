"""Build description of assay_policies for colcon."""

from setuptools import find_packages, setup

PACKAGE = "assay_policies"

setup(
    name=PACKAGE,
    version="0.1.0",
    description="The policy node and its policies.",
    license="Apache-2.0",
    packages=find_packages(exclude=["test"]),
    package_data={"": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    zip_safe=False,
    extras_require={"test": ["pytest"]},
    entry_points={"console_scripts": ["policy_node = assay_policies.policy_node:main"]},
)
