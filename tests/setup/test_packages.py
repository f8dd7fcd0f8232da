from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from assay_tools import packages, venv
from assay_tools.errors import SetupError

LOCK = """\
# comment
rich==15.0.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
uv==0.1 ; sys_platform == 'linux' \\
    --hash=sha256:cc
uvloop==3 \\
    --hash=sha256:dd
"""


def test_one_package_is_read_from_a_lock():
    assert packages.lock_block(LOCK, "uv") == "uv==0.1 ; sys_platform == 'linux' \\\n    --hash=sha256:cc\n"
    assert packages.lock_block(LOCK, "rich").count("--hash") == 2
    assert packages.lock_block(LOCK, "absent") == ""
    assert packages.count(LOCK) == 3


def test_the_installer_follows_the_index_that_pip_was_told(tmp_path):
    cert = tmp_path / "ca.pem"
    cert.touch()
    config = f"global.cert='{cert}'\nglobal.index-url='https://mirror.lab/simple'\n"
    settings = packages.index_settings({}, config)
    assert settings == {"UV_DEFAULT_INDEX": "https://mirror.lab/simple", "SSL_CERT_FILE": str(cert)}
    assert packages.index_settings({"PIP_INDEX_URL": "https://x/simple"}, "")["UV_DEFAULT_INDEX"] == "https://x/simple"
    assert packages.index_settings({"UV_DEFAULT_INDEX": "https://y"}, config).keys() == {"SSL_CERT_FILE"}
    assert packages.index_settings({}, "") == {}
    assert packages.index_settings({}, "not a configuration [") == {}


@pytest.mark.parametrize(
    ("output", "expected", "fix"),
    [
        (
            "error: Failed to fetch: `https://some.host/simple/rich/`\n  Caused by: error sending request for url "
            "(https://some.host/simple/rich/)\n  Caused by: client error (Connect)",
            "downloading 5 packages: expected a package index that answers, got .*rich",
            "connect this machine",
        ),
        (
            "error: Failed to fetch: `https://some.host/simple/rich/`\n cause: invalid peer certificate: UnknownIssuer",
            "whose certificate this machine trusts, got .*UnknownIssuer",
            "SSL_CERT_FILE",
        ),
        ("ERROR: No matching distribution found for uv==1", "a package index that answers, got .*uv==1", "connect"),
        ("error: Hash mismatch for `rich==15.0.0`", "the files whose hashes are locked.*rich", "mirror"),
        ("OSError: [Errno 28] No space left on device", "room on the disk", "free 2 GB"),
        ("error: something else", "all locked packages to install, got error: something else", "packages.log"),
    ],
)
def test_a_failed_installation_is_explained_without_naming_hosts(output, expected, fix):
    error = packages.explain_failure(output, "5 packages")
    text = str(error)
    assert error.code == 2
    for part in expected.split(".*"):
        assert part in text
    assert fix in text.partition("fix: ")[2]
    assert "some.host" not in text


def test_no_network_ends_in_a_named_error(layout, monkeypatch):
    """The real installer against a port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/simple"
        environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(layout.root),
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_INDEX_URL": address,
            "UV_DEFAULT_INDEX": address,
        }
        layout.state.mkdir()
        venv.create(layout, "wheels", sys.executable, environ)
        with (layout.state / "lock").open("w") as lock, pytest.raises(SetupError) as caught:
            packages.install(layout, "wheels", environ, lock.fileno())
    text = str(caught.value)
    assert "downloading the installer (uv): expected a package index that answers" in text
    assert "connect this machine to the network" in text
    assert "127.0.0.1" not in text.partition("fix:")[0]


def test_without_the_installer_for_a_platform_pip_does_it(layout, monkeypatch, capsys):
    commands = []

    def run(command, **_):
        commands.append(command)
        return (1, "ERROR: No matching distribution found for uv==2") if len(commands) == 1 else (0, "")

    monkeypatch.setattr(packages, "run_logged", run)
    layout.state.mkdir()
    packages.install(layout, "wheels", {"PATH": "/usr/bin"}, -1)
    assert commands[1][1:3] == ["-m", "pip"]
    assert {"--require-hashes", "--no-deps", str(layout.requirements("wheels"))} <= set(commands[1])
    assert "using pip, which takes longer" in capsys.readouterr().err


def test_a_virtual_environment_is_reused_only_when_complete_and_at_home(layout):
    def why(mode="wheels", python=sys.executable, requirements="r"):
        return venv.reusable(layout, mode, python, requirements)

    assert why() == "there is none"
    venv.create(layout, "wheels", sys.executable, {"PATH": "/usr/bin:/bin"})
    assert why() == "it was not completed"
    assert (layout.venv / "COLCON_IGNORE").exists(), "colcon would build the environment"
    venv.complete(layout, "wheels", sys.executable, "r")
    assert why() == ""
    assert "made for wheels" in why(mode="ros-jazzy")
    assert "made from" in why(python="/usr/bin/other")
    assert why(requirements="other") == "the locked packages have changed"
    moved = layout.root.with_name("elsewhere")
    layout.root.rename(moved)
    layout.__init__(moved)
    assert "made at" in why()


def test_a_folder_that_setup_did_not_make_is_moved_aside(layout, capsys):
    (layout.venv / "mine").mkdir(parents=True)
    venv.create(layout, "wheels", sys.executable, {"PATH": "/usr/bin:/bin"})
    assert (layout.root / ".venv-before-assay-1" / "mine").is_dir()
    assert "moved to .venv-before-assay-1" in capsys.readouterr().err
    done = subprocess.run(
        [layout.python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(layout.venv)


def test_beside_a_sourced_ros_the_environment_sees_the_distribution(layout):
    venv.create(layout, "ros-jazzy", sys.executable, {"PATH": "/usr/bin:/bin"})
    assert "include-system-site-packages = true" in (layout.venv / "pyvenv.cfg").read_text()
