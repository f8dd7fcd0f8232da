"""Shared by the tests of setup, test and lint: the tools on the path, and small checkouts to work on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from checkouts import write

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture
def root() -> Path:
    """The checkout that is tested."""
    return ROOT


@pytest.fixture
def ready(root: Path) -> Path:
    """The checkout, where ./assay setup has made its environment."""
    if not (root / ".assay" / "environment.json").exists():
        pytest.skip("run by ./assay test: this checkout has no environment of its own")
    return root


@pytest.fixture
def layout(tmp_path: Path):
    """A small checkout: one package of Python, one of interfaces, lock files."""
    from assay_tools.layout import Layout

    top = tmp_path / "checkout"
    write(top / "src/assay_a/package.xml", "<package><name>assay_a</name><depend>rclpy</depend></package>")
    write(top / "src/assay_a/setup.py", "setup()")
    write(top / "src/assay_a/assay_a/__init__.py", "")
    write(top / "src/assay_msgs/package.xml", "<package><name>assay_msgs</name></package>")
    write(top / "src/assay_msgs/CMakeLists.txt", "project(assay_msgs)")
    write(top / "src/assay_msgs/msg/A.msg", "int32 a")
    write(top / "launch/eval.launch.yaml", "launch: []")
    write(
        top / "tools/requirements-wheels.lock",
        "setuptools==1 \\\n    --hash=sha256:00\nuv==2 \\\n    --hash=sha256:11\n",
    )
    write(top / "tools/requirements-ros.lock", "uv==2 \\\n    --hash=sha256:11\n")
    return Layout(top)
