from __future__ import annotations

import pytest
from assay_tools import stamps
from checkouts import write


def complete(layout, mode="wheels", **changes):
    """Write what a finished setup leaves."""
    write(layout.python, "#!/bin/sh\n", executable=True)
    stamps.write_stamp(layout.venv_ready, {"any": 1})
    stamps.write_stamp(layout.build_ready, {"any": 1})
    stamp = {
        "root": str(layout.root),
        "mode": mode,
        "format": stamps.FORMAT,
        "requirements": stamps.digest(layout.requirements(mode.partition("-")[0])),
        "build": stamps.build_fingerprint(layout),
        "environment": {"set": {}, "prepend": {}},
        **changes,
    }
    stamps.write_stamp(layout.ready, stamp)


def test_a_finished_setup_is_current(layout):
    complete(layout)
    stamp, why = stamps.checked(layout, "wheels")
    assert (bool(stamp), why) == (True, "")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda layout: layout.ready.unlink(), "no environment yet"),
        (lambda layout: layout.ready.write_text('{"root": "/'), "no environment yet"),
        (lambda layout: write(layout.src / "assay_msgs/msg/A.msg", "int64 a"), "interfaces or package descriptions"),
        (lambda layout: write(layout.src / "assay_msgs/msg/B.msg", "int32 b"), "interfaces or package descriptions"),
        (lambda layout: (layout.src / "assay_msgs/msg/A.msg").unlink(), "interfaces or package descriptions"),
        (lambda layout: write(layout.src / "assay_a/setup.py", "setup(1)"), "interfaces or package descriptions"),
        (lambda layout: write(layout.src / "assay_b/package.xml", "<package/>"), "interfaces or package descriptions"),
        (lambda layout: write(layout.src / "assay_msgs/new.py"), "interfaces or package descriptions"),
        (lambda layout: write(layout.src / "assay_a/second/__init__.py"), "interfaces or package descriptions"),
        (lambda layout: write(layout.root / "launch/new.launch.yaml"), "interfaces or package descriptions"),
        (lambda layout: write(layout.root / "colcon.meta", "{}"), "interfaces or package descriptions"),
        (lambda layout: write(layout.requirements("wheels"), "uv==3"), "locked packages have changed"),
        (lambda layout: layout.python.unlink(), "virtual environment is incomplete"),
        (lambda layout: layout.venv_ready.unlink(), "virtual environment is incomplete"),
        (lambda layout: layout.build_ready.unlink(), "build is incomplete"),
    ],
)
def test_what_asks_for_setup_again(layout, change, why):
    complete(layout)
    change(layout)
    stamp, reason = stamps.checked(layout, "wheels")
    assert stamp == {}
    assert why in reason


@pytest.mark.parametrize(
    "change",
    [
        lambda layout: write(layout.src / "assay_a/assay_a/__init__.py", "x = 1"),
        lambda layout: write(layout.src / "assay_a/assay_a/new.py", "x = 1"),
        lambda layout: write(layout.src / "assay_a/assay_a/__pycache__/new.pyc", "x"),
        lambda layout: write(layout.src / "assay_msgs/__pycache__/x.pyc", "x"),
        lambda layout: write(layout.src / "assay_a/test/test_a.py", "x = 1"),
        lambda layout: write(layout.src / "assay_a/assay_a.egg-info/PKG-INFO", "x"),
        lambda layout: write(layout.root / "launch/eval.launch.yaml", "launch: [1]"),
        lambda layout: write(layout.root / "README.md", "x"),
        lambda layout: write(layout.requirements("ros"), "uv==3"),
    ],
)
def test_what_is_linked_or_foreign_asks_for_nothing(layout, change):
    complete(layout)
    change(layout)
    assert stamps.checked(layout, "wheels")[1] == ""


def test_a_moved_checkout_is_noticed(layout):
    from assay_tools.layout import Layout

    complete(layout)
    moved = layout.root.with_name("elsewhere")
    layout.root.rename(moved)
    assert "moved" in stamps.checked(Layout(moved), "wheels")[1]


def test_another_way_to_get_ros_is_noticed(layout):
    complete(layout)
    assert "made for wheels" in stamps.checked(layout, "ros-jazzy")[1]


def test_a_stamp_is_replaced_in_one_step(layout):
    stamps.write_stamp(layout.ready, {"a": 1})
    stamps.write_stamp(layout.ready, {"a": 2})
    assert stamps.read_stamp(layout.ready) == {"a": 2}
    assert [path.name for path in layout.state.iterdir()] == [layout.ready.name]
