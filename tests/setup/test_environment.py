from __future__ import annotations

import os

import pytest
from assay_tools import environment, transport
from assay_tools.errors import SetupError
from checkouts import write

SCRIPT = """\
PATH="$COLCON_CURRENT_PREFIX/bin:$PATH"
PYTHONPATH="$COLCON_CURRENT_PREFIX/lib/python3/site-packages${PYTHONPATH:+:$PYTHONPATH}"
AMENT_PREFIX_PATH="$COLCON_CURRENT_PREFIX${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}"
LD_LIBRARY_PATH="$COLCON_CURRENT_PREFIX/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PATH PYTHONPATH AMENT_PREFIX_PATH LD_LIBRARY_PATH
"""


@pytest.fixture
def built(layout):
    write(layout.install / "local_setup.sh", SCRIPT)
    write(layout.root / "config/fastdds.xml", "<dds/>")
    (layout.venv / "lib/python3.12/site-packages/ros_rcl.libs").mkdir(parents=True)
    return layout


def test_a_process_finds_the_workspace_before_everything_else(built):
    kept = environment.compute(built, "wheels", {"PATH": "/usr/bin", "PYTHONPATH": "/mine"})
    env = environment.apply(kept, {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/mine", "HOME": "/home/me"})
    top, venv = str(built.install), str(built.venv)
    assert env["PATH"] == f"{top}/bin:{venv}/bin:/usr/bin:/bin"
    assert env["PYTHONPATH"] == f"{top}/lib/python3/site-packages:/mine"
    assert env["AMENT_PREFIX_PATH"] == f"{top}:{venv}"
    assert env["LD_LIBRARY_PATH"].split(":")[:2] == [f"{top}/lib", f"{venv}/lib"]
    assert env["LD_LIBRARY_PATH"].endswith("ros_rcl.libs"), "the wheels would start Python a second time to find these"
    assert env["HOME"] == "/home/me"


def test_applying_it_inside_itself_changes_nothing(built):
    kept = environment.compute(built, "wheels", {"PATH": "/usr/bin"})
    once = environment.apply(kept, {"PATH": "/usr/bin"})
    assert environment.apply(kept, once) == once
    # A setup that runs inside the environment keeps what a plain shell will need.
    assert environment.compute(built, "wheels", once) == kept


def test_a_sourced_ros_stays_behind_the_workspace(built):
    ros = {
        "PATH": "/opt/ros/jazzy/bin:/usr/bin",
        "ROS_DISTRO": "jazzy",
        "AMENT_PREFIX_PATH": "/opt/ros/jazzy",
        "PYTHONPATH": "/opt/ros/jazzy/lib/python3.12/site-packages",
        "LD_LIBRARY_PATH": "/opt/ros/jazzy/lib",
    }
    env = environment.apply(environment.compute(built, "ros-jazzy", ros), ros)
    assert env["AMENT_PREFIX_PATH"] == f"{built.install}:/opt/ros/jazzy"
    assert env["LD_LIBRARY_PATH"] == f"{built.install}/lib:/opt/ros/jazzy/lib"
    assert env["PYTHONPATH"].endswith(":/opt/ros/jazzy/lib/python3.12/site-packages")
    assert env["ROS_DISTRO"] == "jazzy"
    assert env["PYTHONNOUSERSITE"] == "1"
    assert "_ROS_WHEELS_BOOTSTRAP_COMPLETE" not in env


def test_the_graph_stays_on_this_machine_whatever_the_environment_has(built):
    kept = environment.compute(built, "wheels", {"PATH": "/usr/bin"})
    foreign = {
        "FASTRTPS_DEFAULT_PROFILES_FILE": "/theirs.xml",
        "FASTDDS_DEFAULT_PROFILES_FILE": "/theirs.xml",
        "ROS_LOCALHOST_ONLY": "1",
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_STATIC_PEERS": "10.0.0.1",
    }
    for environ in ({}, foreign):
        env = environment.apply(kept, environ)
        profile = str(built.root / "config/fastdds.xml")
        assert env["FASTRTPS_DEFAULT_PROFILES_FILE"] == env["FASTDDS_DEFAULT_PROFILES_FILE"] == profile
        assert env["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SYSTEM_DEFAULT"
        assert not {"ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS"} & set(env)
        assert env["RMW_IMPLEMENTATION"] == "rmw_fastrtps_cpp"


def test_what_is_overruled_is_said_in_one_line(tmp_path):
    environ = {"FASTRTPS_DEFAULT_PROFILES_FILE": "/theirs.xml", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    (line,) = transport.remarks(transport.settings(tmp_path, "wheels", environ), environ)
    assert "FASTRTPS_DEFAULT_PROFILES_FILE=/theirs.xml, ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET" in line
    assert "ASSAY_DDS_PROFILE=FILE" in line
    ours = {name: value for name, value in transport.settings(tmp_path, "wheels", {}).items() if value is not None}
    assert transport.remarks(transport.settings(tmp_path, "wheels", ours), ours) == []


def test_the_user_may_name_another_profile(built, tmp_path, monkeypatch):
    kept = environment.compute(built, "wheels", {"PATH": "/usr/bin"})
    (tmp_path / "mine.xml").write_text("<dds/>", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    env = environment.apply(kept, {"ASSAY_DDS_PROFILE": "mine.xml"})
    assert env["FASTRTPS_DEFAULT_PROFILES_FILE"] == env["ASSAY_DDS_PROFILE"] == str(tmp_path / "mine.xml")
    assert env["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SYSTEM_DEFAULT"
    assert environment.apply(kept, env) == env
    with pytest.raises(SetupError, match=r"ASSAY_DDS_PROFILE: expected a DDS profile, an XML file, got 'none.xml'"):
        environment.apply(kept, {"ASSAY_DDS_PROFILE": "none.xml"})


def test_another_middleware_is_refused_with_the_wheels_and_told_beside_a_sourced_ros(tmp_path):
    environ = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}
    with pytest.raises(SetupError, match=r"RMW_IMPLEMENTATION: expected rmw_fastrtps_cpp.* got 'rmw_cyclonedds_cpp'"):
        transport.settings(tmp_path, "wheels", environ)
    settled = transport.settings(tmp_path, "ros-jazzy", environ)
    assert settled["RMW_IMPLEMENTATION"] == "rmw_cyclonedds_cpp"
    (line,) = transport.remarks(settled, environ)
    assert line.startswith("warning: RMW_IMPLEMENTATION=rmw_cyclonedds_cpp")


def test_a_script_that_fails_is_named(layout):
    write(layout.install / "local_setup.sh", "echo broken >&2; exit 3\n")
    with pytest.raises(SetupError, match=r"local_setup.sh to run, got broken"):
        environment.compute(layout, "wheels", dict(os.environ))


def test_bytecode_is_kept_in_the_checkout_for_who_wants_none_beside_sources(built):
    kept = environment.compute(built, "wheels", {"PATH": "/usr/bin"})
    env = environment.apply(kept, {"PATH": "/usr/bin", "PYTHONDONTWRITEBYTECODE": "1"})
    assert "PYTHONDONTWRITEBYTECODE" not in env
    assert env["PYTHONPYCACHEPREFIX"] == str(built.root / ".assay/pycache")
    assert "PYTHONPYCACHEPREFIX" not in environment.apply(kept, {"PATH": "/usr/bin"})
