from __future__ import annotations

import os
import sys

import pytest
from assay_tools import machine
from assay_tools.errors import SetupError
from assay_tools.machine import Need
from checkouts import write

DEBIAN = 'ID=debian\nVERSION_ID="12"\n'
COMPILER = Need("a working C++ compiler", "to compile the message types", ("g++",))
HEADER = Need("Python.h of /usr/bin/python3", "to compile the Python side", ("python3.11-dev",))


@pytest.mark.parametrize(
    ("text", "debian"),
    [
        (DEBIAN, True),
        ("ID=ubuntu\nID_LIKE=debian\n", True),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', True),
        ("ID=fedora\n", False),
        ("", False),
    ],
)
def test_debian_and_its_kin_are_recognised(tmp_path, text, debian):
    assert machine.is_debian(write(tmp_path / "os-release", text)) is debian
    assert not machine.is_debian(tmp_path / "absent")


def test_a_machine_without_compilers_is_told_so_by_package(tmp_path):
    needs = machine.missing("wheels", sys.executable, {"PATH": str(tmp_path)}, tmp_path)
    found = {package for need in needs for package in need.packages}
    assert {"g++", "gcc"} <= found


def test_a_compiler_that_cannot_link_counts_as_missing(tmp_path):
    for name in ("c++", "cc"):
        write(tmp_path / name, "#!/bin/sh\nexit 1\n", executable=True)
    needs = machine.missing("wheels", sys.executable, {"PATH": str(tmp_path)}, tmp_path)
    assert [need.what for need in needs if "compiler" in need.what] == ["a working C++ compiler"]


@pytest.mark.parametrize(
    ("variable", "value", "got"),
    [
        ("CC", "/nonexistent", "no such program"),
        ("CXX", "/nonexistent", "no such program"),
        ("CXX", "no-such-compiler -O2", "no such program on PATH"),
        ("CC", "gcc '-O2", "No closing quotation"),
        ("CC", " ", "only spaces"),
    ],
)
def test_a_compiler_that_is_named_and_not_there_is_refused_by_name(tmp_path, variable, value, got):
    with pytest.raises(SetupError) as caught:
        machine.missing("wheels", sys.executable, {**os.environ, variable: value}, tmp_path)
    text = str(caught.value)
    assert text.startswith(f"{variable}={value}: expected a compiler")
    assert f"got {got}" in text
    assert f"fix: correct {variable}, or unset it" in text
    assert caught.value.code == 2, "it is the user's to correct; nothing was downloaded"


def test_a_named_compiler_that_makes_no_program_is_refused_by_name(tmp_path):
    broken = write(tmp_path / "broken", "#!/bin/sh\nexit 1\n", executable=True)
    with pytest.raises(SetupError, match=r"CXX=.*broken: expected a C\+\+ compiler that makes a program"):
        machine.missing("wheels", sys.executable, {**os.environ, "CXX": str(broken)}, tmp_path)


def test_a_named_compiler_may_have_arguments(tmp_path):
    environ = {**os.environ, "CC": "cc -O2", "CXX": "c++ '-O2' -g"}
    needs = machine.missing("wheels", sys.executable, environ, tmp_path)
    assert not [need for need in needs if "compiler" in need.what]


def test_a_python_without_headers_and_venv_is_told_so_by_package(monkeypatch, tmp_path):
    answers = {"sysconfig": "False", "ensurepip": None, "version_info": "3.12"}
    monkeypatch.setattr(
        machine, "probe", lambda python, code, environ=None: next(v for k, v in answers.items() if k in code)
    )
    monkeypatch.setattr(machine, "_compiles", lambda compiler, environ: True)
    needs = machine.missing("wheels", "/usr/bin/python3", dict(os.environ), tmp_path)
    assert [need.packages for need in needs] == [("python3.12-dev",), ("python3.12-venv",)]
    # An interpreter from elsewhere is not served by Debian's packages.
    needs = machine.missing("wheels", "/home/me/.pyenv/python3", dict(os.environ), tmp_path)
    assert [need.packages for need in needs] == [(), ()]


def test_beside_a_sourced_ros_the_packages_of_package_xml_are_looked_for(layout, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "probe", lambda python, code, environ=None: "True")
    monkeypatch.setattr(machine, "_compiles", lambda compiler, environ: True)
    write(
        layout.src / "assay_a/package.xml",
        "<depend>cv_bridge</depend><depend>rclpy</depend><depend>assay_msgs</depend>",
    )
    write(tmp_path / "ros/share/ament_index/resource_index/packages/rclpy")
    environ = {**os.environ, "AMENT_PREFIX_PATH": str(tmp_path / "ros")}
    needs = machine.missing("ros-jazzy", "/usr/bin/python3", environ, layout.src)
    assert [need.packages for need in needs if need.what.startswith("ROS")] == [("ros-jazzy-cv-bridge",)]


def test_without_root_the_error_names_packages_and_reasons(tmp_path):
    release = write(tmp_path / "os-release", DEBIAN)
    with pytest.raises(SetupError) as caught:
        machine.ensure(lambda: [COMPILER, HEADER], {}, root_user=False, os_release=release)
    text = str(caught.value)
    for part in ("a working C++ compiler (to compile the message types)", "sudo apt-get install g++ python3.11-dev"):
        assert part in text
    assert caught.value.code == 2


def test_root_elsewhere_than_on_debian_is_told_too(tmp_path):
    with pytest.raises(SetupError, match=r"fix: install the Debian packages g\+\+"):
        machine.ensure(lambda: [COMPILER], {}, root_user=True, os_release=tmp_path / "absent")


def test_what_no_debian_package_brings_is_explained(tmp_path):
    need = Need("Python.h of /home/me/python3", "to compile", ())
    with pytest.raises(SetupError, match="did not come from Debian"):
        machine.ensure(lambda: [need], {}, root_user=True, os_release=write(tmp_path / "os-release", DEBIAN))


def apt(folder, body):
    """Write an apt-get that records its arguments; return an environment that finds only it."""
    write(folder / "bin/apt-get", f'#!/bin/sh\necho "$@" >> {folder}/calls\n{body}\n', executable=True)
    return {"PATH": f"{folder}/bin:{os.environ['PATH']}"}


def test_root_on_debian_installs_what_is_missing(tmp_path, monkeypatch, capsys):
    environ = apt(tmp_path, f"touch {tmp_path}/installed")
    monkeypatch.setenv("PATH", environ["PATH"])
    release = write(tmp_path / "os-release", DEBIAN)
    machine.ensure(
        lambda: [] if (tmp_path / "installed").exists() else [COMPILER, HEADER],
        environ,
        root_user=True,
        os_release=release,
    )
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0].startswith("update")
    assert calls[1].startswith("install")
    assert calls[1].endswith("g++ python3.11-dev")
    assert "missing: a working C++ compiler (to compile the message types)" in capsys.readouterr().err


def test_an_apt_that_waits_for_ever_is_ended_and_named(tmp_path, monkeypatch):
    environ = apt(tmp_path, "exec sleep 100")
    monkeypatch.setattr(machine, "APT_S", 0.1)
    said = machine._apt_install(["g++"], {**environ, "PATH": f"{environ['PATH']}:{os.environ['PATH']}"})
    assert said.startswith("apt-get update did not end within")
    assert "does another apt hold its lock?" in said


def test_a_failed_installation_says_what_apt_said(tmp_path, monkeypatch):
    environ = apt(tmp_path, "echo 'E: Unable to locate package g++'; exit 100")
    monkeypatch.setenv("PATH", environ["PATH"])
    release = write(tmp_path / "os-release", DEBIAN)
    with pytest.raises(SetupError, match=r"apt-get failed: E: Unable to locate package g\+\+"):
        machine.ensure(lambda: [COMPILER], environ, root_user=True, os_release=release)


def test_a_disk_that_is_too_small_is_named(tmp_path):
    machine.check_disk(tmp_path, needed=1)
    with pytest.raises(SetupError, match=r"free disk space at .* expected at least 1000000000.0 GB"):
        machine.check_disk(tmp_path, needed=10**18)
