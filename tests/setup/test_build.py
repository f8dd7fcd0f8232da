from __future__ import annotations

import pytest
from assay_tools import build, stamps
from assay_tools.errors import SetupError
from checkouts import write


@pytest.fixture
def colcon(layout, monkeypatch):
    """Replace colcon; the test sets what each call answers and reads how often it ran."""

    class Fake:
        answers: list[tuple[int, str]] = []  # noqa: RUF012
        calls = 0
        seen_old: list[bool] = []  # noqa: RUF012

        def __call__(self, layout, environ, lock_fd):
            self.calls += 1
            self.seen_old.append((layout.build / "old").exists())
            layout.install.mkdir(exist_ok=True)
            layout.build.mkdir(exist_ok=True)
            return self.answers.pop(0) if self.answers else (0, "")

    fake = Fake()
    fake.answers, fake.seen_old = [], []
    monkeypatch.setattr(build, "_colcon", fake)
    return fake


def run(layout, mode="wheels"):
    build.build(layout, mode, {}, -1, "fingerprint")


def test_a_build_leaves_its_stamp_and_keeps_what_it_has(layout, colcon):
    run(layout)
    write(layout.build / "old")
    run(layout)
    assert colcon.seen_old == [False, True]
    assert stamps.read_stamp(layout.build_ready)["fingerprint"] == "fingerprint"
    assert not layout.build_dirty.exists()


@pytest.mark.parametrize("change", ["moved", "mode", "removed package", "generators"])
def test_what_a_build_folder_cannot_follow_starts_from_nothing(layout, colcon, change):
    run(layout)
    write(layout.build / "old")
    mode = "wheels"
    if change == "moved":
        moved = layout.root.with_name("elsewhere")
        layout.root.rename(moved)
        layout.__init__(moved)
    elif change == "mode":
        mode = "ros-jazzy"
    elif change == "removed package":
        (layout.src / "assay_a/package.xml").unlink()
    else:
        write(layout.requirements("wheels"), "ros-rosidl==2 \\\n    --hash=sha256:00\n")
    run(layout, mode)
    assert colcon.seen_old == [False, False]


def test_an_interrupted_build_goes_on(layout, colcon, monkeypatch):
    def killed(*_):
        write(layout.build / "old")
        raise KeyboardInterrupt

    real = build._colcon
    monkeypatch.setattr(build, "_colcon", killed)
    with pytest.raises(KeyboardInterrupt):
        run(layout)
    assert not layout.build_ready.exists()
    monkeypatch.setattr(build, "_colcon", real)
    run(layout)
    assert colcon.seen_old == [True]


def test_a_failure_after_an_interrupted_build_is_tried_from_nothing(layout, colcon, capsys):
    identity_source = build.build
    colcon.answers = [(1, "Failed   <<< assay_msgs")]
    with pytest.raises(SetupError):
        identity_source(layout, "wheels", {}, -1, "f")
    write(layout.build / "old")
    colcon.answers = [(1, "garbage"), (0, "")]
    run(layout)
    assert colcon.seen_old == [False, True, False]
    assert "building again from nothing" in capsys.readouterr().err


def test_a_broken_source_is_shown(layout, colcon):
    colcon.answers = [(1, "-- noise\nsrc/assay_msgs/msg/A.msg: error: bad type\nFailed   <<< assay_msgs [1s]")]
    with pytest.raises(SetupError) as caught:
        run(layout)
    assert "build of assay_msgs" in str(caught.value)
    assert "error: bad type" in str(caught.value)
    assert caught.value.code == 1


def test_a_full_disk_is_named(layout, colcon):
    colcon.answers = [(1, "c++: fatal error: No space left on device")]
    with pytest.raises(SetupError, match="room on the disk"):
        run(layout)


def test_progress_tells_packages_and_steps():
    watch = build._Watch(3)
    lines = [
        "Starting >>> assay_core",
        "Finished <<< assay_core [1s]",
        "Starting >>> assay_msgs",
        "[12/300] x",
        "noise",
    ]
    shown = [watch(line) for line in lines]
    assert shown[3] == "1 of 3 packages built, now assay_msgs 12/300"
    assert shown[4] is None


def test_the_users_own_colcon_settings_and_serial_build_are_out_of_the_way(layout):
    env = build.colcon_environ(layout, {"COLCON_DEFAULTS_FILE": "/home/me/defaults.yaml", "PATH": "/usr/bin"})
    assert "COLCON_DEFAULTS_FILE" not in env
    assert env["COLCON_HOME"].startswith(str(layout.state))
    assert env["MAKEFLAGS"] == f"-j{build.jobs()}"
    assert build.jobs() >= 1
