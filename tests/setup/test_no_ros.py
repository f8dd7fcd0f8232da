from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import importlib, pkgutil, re, sys

ROS = r"(rclpy|cv_bridge|launch|launch_ros|ament_index_python|assay_ros|\\w+_msgs|\\w+_interfaces)(\\.|$)"

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if re.match(ROS, name):
            raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, Refuse())
package = importlib.import_module(sys.argv[1])
names = [info.name for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


@pytest.mark.parametrize("package", ["assay_core", "assay_benchmarks"])
def test_every_module_of_the_core_imports_without_ros(root, package):
    paths = os.pathsep.join(str(root / "src" / name) for name in ("assay_core", "assay_benchmarks"))
    done = subprocess.run(
        [sys.executable, "-c", CODE, package],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3
