from __future__ import annotations

import re

import pytest
from assay_tools import modes
from assay_tools.errors import SetupError
from checkouts import write


@pytest.mark.parametrize(
    ("environ", "mode"),
    [
        ({}, "wheels"),
        ({"ROS_DISTRO": "jazzy", "AMENT_PREFIX_PATH": "/opt/ros/jazzy"}, "ros-jazzy"),
        ({"ROS_DISTRO": "kilted", "AMENT_PREFIX_PATH": "/opt/ros/kilted"}, "ros-kilted"),
        ({"ROS_DISTRO": "noetic", "ROS_VERSION": "1"}, "wheels"),
        ({"ASSAY_ENVIRONMENT": "wheels", "AMENT_PREFIX_PATH": "/w/install"}, "wheels"),
        ({"ASSAY_ENVIRONMENT": "ros-jazzy", "ROS_DISTRO": "jazzy"}, "ros-jazzy"),
    ],
)
def test_a_sourced_ros_is_used_and_nothing_else(environ, mode):
    assert modes.chosen_mode(environ) == mode


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"ROS_DISTRO": "humble", "AMENT_PREFIX_PATH": "/opt/ros/humble"}, "jazzy or newer.*env -u ROS_DISTRO"),
        ({"ROS_DISTRO": "jazzy"}, "without AMENT_PREFIX_PATH.*source /opt/ros/jazzy/setup.bash"),
    ],
)
def test_an_unusable_ros_is_refused_with_a_way_out(environ, text):
    with pytest.raises(SetupError, match=text):
        modes.chosen_mode(environ)


def interpreter(folder, name, version, implementation="cpython", rclpy=False):
    """Write a program that answers like a Python of some version."""
    script = f"""#!/bin/sh
for last; do :; done
case "$last" in
  *implementation*) echo "{folder / name} {version} {implementation}" ;;
  *rclpy*) exit {0 if rclpy else 1} ;;
esac
"""
    return str(write(folder / name, script, executable=True))


@pytest.fixture
def only(tmp_path, monkeypatch):
    """A folder that holds the only interpreters there are."""
    monkeypatch.setattr(modes.sys, "_base_executable", str(tmp_path / "none"), raising=False)
    monkeypatch.setattr(modes, "_candidates", lambda environ: iter(sorted(map(str, tmp_path.glob("python*")))))
    return tmp_path


def test_wheels_take_the_first_python_that_they_were_built_for(only):
    interpreter(only, "python1", "3.14")
    interpreter(only, "python2", "3.12", "pypy")
    good = interpreter(only, "python3", "3.12")
    assert modes.pick_python("wheels", {}) == good


def test_without_one_that_fits_all_that_were_tried_are_named(only):
    interpreter(only, "python1", "3.14")
    interpreter(only, "python2", "3.9")
    with pytest.raises(SetupError) as caught:
        modes.pick_python("wheels", {})
    text = str(caught.value)
    assert re.search(r"expected CPython 3.10 to 3.13.*cpython 3.14; .*cpython 3.9.*fix: ", text), text
    assert caught.value.code == 2


def test_a_sourced_ros_takes_the_python_that_imports_it(only):
    interpreter(only, "python1", "3.11")
    good = interpreter(only, "python2", "3.12", rclpy=True)
    assert modes.pick_python("ros-jazzy", {}) == good


def test_a_python_that_ros_was_not_built_for_is_named(only):
    interpreter(only, "python1", "3.11")
    with pytest.raises(SetupError, match=r"imports rclpy.*Python 3.11, cannot import rclpy.*ros-jazzy-ros-base"):
        modes.pick_python("ros-jazzy", {})


def test_the_named_interpreter_is_the_only_candidate(tmp_path):
    named = interpreter(tmp_path, "python", "3.14")
    with pytest.raises(SetupError, match=re.escape(named)):
        modes.pick_python("wheels", {"ASSAY_PYTHON": named, "PATH": "/usr/bin"})


@pytest.mark.parametrize(
    ("machine", "libc", "good"),
    [
        ("x86_64", ("glibc", "2.36"), True),
        ("x86_64", ("glibc", "2.27"), False),
        ("x86_64", ("", ""), False),
        ("aarch64", ("glibc", "2.36"), False),
    ],
)
def test_a_machine_without_wheels_is_told_what_to_do(monkeypatch, machine, libc, good):
    monkeypatch.setattr(modes.platform, "machine", lambda: machine)
    monkeypatch.setattr(modes.platform, "libc_ver", lambda: libc)
    if good:
        modes.check_platform()
    else:
        with pytest.raises(SetupError, match=f"{machine}.*fix: install ROS 2 Jazzy from its distribution"):
            modes.check_platform()
