from __future__ import annotations

import os

import pytest
import yaml
from assay_tools import house_rules, lint, main
from assay_tools.errors import SetupError
from checkouts import write


def broken(layout, name, files, rule):
    """Return what one rule finds in a checkout of these files."""
    for path, text in files.items():
        write(layout.root / path, text)
    modules = house_rules.read(layout.root, [layout.root / path for path in files if path.endswith(".py")])
    return [finding for finding in house_rules.RULES[rule](modules) if name in finding]


@pytest.mark.parametrize(
    ("path", "text", "rule", "finding"),
    [
        (
            "src/assay_core/assay_core/a.py",
            "import assay_ros.qos",
            "imports point inward",
            "assay_core must not import",
        ),
        (
            "src/assay_sim/assay_sim/a.py",
            "from assay_bench import x",
            "imports point inward",
            "must not import assay_bench",
        ),
        ("src/assay_core/assay_core/a.py", "def f():\n    import rclpy", "no ROS in core and benchmarks", ":2: "),
        (
            "src/assay_core/test/test_a.py",
            "from sensor_msgs.msg import X",
            "no ROS in core and benchmarks",
            "sensor_msgs",
        ),
        (
            "src/assay_a/assay_a/a.py",
            "import sensor_msgs.msg",
            "package.xml declares what is imported",
            "sensor_msgs is",
        ),
        ("src/assay_a/assay_a/a.py", "x = 1\n" * 601, "module size", "601 lines, expected at most 600"),
        ("src/assay_a/assay_a/a.py", "class A(Node): ...\n" + "x = 1\n" * 250, "module size", "at most 250"),
        ("src/assay_a/assay_a/a.py", "n.create_publisher(T, 'a', 10)", "QoS by name", ":1: a bare depth"),
        ("src/assay_a/assay_a/a.py", "n.create_subscription(T, 'a', f, 5)", "QoS by name", "bare depth"),
        ("src/assay_a/assay_a/a.py", "n.create_publisher(T, 'a', qos_profile=1)", "QoS by name", "bare depth"),
        ("src/assay_a/assay_a/a.py", "subprocess.run(['x'], check=False)", "waits have a deadline", "subprocess.run()"),
        ("tools/a.py", "def f():\n    process.wait()", "waits have a deadline", ":2: process.wait() without"),
        ("src/assay_a/assay_a/a.py", "thread.join()", "waits have a deadline", "thread.join()"),
    ],
)
def test_each_house_rule_finds_its_slip(layout, path, text, rule, finding):
    assert len(broken(layout, finding, {path: text}, rule)) == 1


def test_a_module_that_its_package_readme_leaves_out_is_found(layout):
    files = dict.fromkeys(
        [f"src/assay_a/{path}.py" for path in ("assay_a/told", "assay_a/sub/deep", "assay_a/__init__", "test/test_a")],
        "x = 1\n",
    )
    files["src/assay_a/assay_a/left_out.py"] = "x = 1\n"
    files["src/assay_a/README.md"] = "`told`, `sub/deep.py`, left_out\n"
    found = broken(layout, "", files, "README names every module")
    assert found == ["src/assay_a/assay_a/left_out.py: not named in src/assay_a/README.md"], "as code, not as a word"


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("src/assay_benchmarks/assay_benchmarks/a.py", "import assay_core.errors", "imports point inward"),
        ("src/assay_cli/assay_cli/a.py", "import assay_sim, assay_bench", "imports point inward"),
        ("src/assay_core/assay_core/a.py", "import json, launcher", "no ROS in core and benchmarks"),
        ("src/assay_a/assay_a/a.py", "import rclpy.node", "package.xml declares what is imported"),
        ("src/assay_a/assay_a/a.py", "x = 1\n" * 600, "module size"),
        ("src/assay_a/test/a.py", "class A(Node): ...\n" + "x = 1\n" * 300, "module size"),
        ("src/assay_a/assay_a/a.py", "n.create_publisher(T, 'a', EVENT)", "QoS by name"),
        ("src/assay_a/assay_a/a.py", "subprocess.run(['x'], timeout=3)", "waits have a deadline"),
        ("src/assay_a/assay_a/a.py", "process.wait(3), ','.join(x), e.wait(timeout=1)", "waits have a deadline"),
        ("src/assay_a/test/a.py", "thread.join()", "waits have a deadline"),
    ],
)
def test_what_is_right_is_left_alone(layout, path, text, rule):
    assert broken(layout, "", {path: text}, rule) == []


def test_a_check_that_hangs_is_a_finding(layout, monkeypatch):
    monkeypatch.setattr(lint, "TOOL_S", 0.06)
    assert lint._findings(["sleep", "60"], layout.root, os.environ) == "sleep: no end within 0.001 min"


def test_damaged_data_files_are_named(layout):
    write(layout.root / "a.json", '{"a": }')
    write(layout.root / "b.xml", "<a>")
    write(layout.root / "c.xml", "<a/>")
    found = lint._well_formed(layout).splitlines()
    assert [line.split(":")[0] for line in found] == ["a.json", "b.xml"]


def test_a_broken_shell_script_is_named(layout):
    write(layout.root / "good", "#!/bin/sh\necho\n")
    write(layout.root / "bad", "#!/usr/bin/env bash\nif true\n")
    write(layout.root / "data", "if (\n")
    found = list(lint._shell(layout))
    assert len(found) == 1
    assert "bad" in found[0]


def test_an_address_in_a_lock_file_is_found(layout):
    write(layout.requirements("ros"), "--index-url https://mirror/simple\nuv==2\n")
    assert [line.split(": ")[0] for line in lint._hosts(layout)] == ["tools/requirements-ros.lock:1"]


def test_without_git_generated_folders_are_left_out(layout):
    write(layout.build / "x.py")
    write(layout.venv / "x.py")
    assert all("build" not in path.parts and ".venv" not in path.parts for path in lint.checked_in(layout, ".py"))
    assert layout.src / "assay_a/setup.py" in lint.checked_in(layout, ".py")


def test_an_unknown_argument_is_refused(layout):
    with pytest.raises(SetupError, match=r"expected --fix or nothing, got --fast"):
        lint.main(layout, ["--fast"], {})


def test_a_missing_tool_is_a_finding(layout):
    assert "no-such-tool" in lint._findings(["no-such-tool"], layout.root, {"PATH": "/usr/bin"})


def test_hooks_before_a_commit_run_our_own_verbs_and_fetch_nothing(root):
    hooks = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"], "a hook from elsewhere would be a dependency without a lock"
    known = main.verbs((root / "tools/assay_tools/help.txt").read_text())
    for hook in hooks[0]["hooks"]:
        program, verb = hook["entry"].split()
        assert (program, verb in known, hook["language"]) == ("./assay", True, "system")


def test_the_image_of_a_robot_pc_has_the_workspace_in_every_command(root):
    recipe = (root / "docker/robot-pc.Dockerfile").read_text()
    entry = root / "docker/robot-pc-entrypoint.sh"
    assert f'ENTRYPOINT ["/assay/docker/{entry.name}"]' in recipe
    assert os.access(entry, os.X_OK)
    sourced = [line.split()[1].strip('"') for line in entry.read_text().splitlines() if line.startswith("source ")]
    assert sourced == ["/opt/ros/$ROS_DISTRO/setup.bash", "/assay/install/setup.bash"]
    assert "WORKDIR /assay\n" in recipe
