from __future__ import annotations

import shutil

import pytest
from assay_tools import build, discard, stamps, venv
from checkouts import write


@pytest.fixture
def killed(monkeypatch):
    """Let the process die inside every recursive removal."""

    def die(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", die)


def test_a_build_whose_removal_was_interrupted_is_never_taken_for_complete(layout, killed):
    write(layout.build / "a")
    stamps.write_stamp(layout.build_ready, {"fingerprint": "f"})
    with pytest.raises(KeyboardInterrupt):
        build.wipe(layout)
    assert not layout.build_ready.exists()


def test_an_environment_whose_removal_was_interrupted_is_made_again(layout, killed):
    write(layout.venv_created)
    stamps.write_stamp(layout.venv_ready, {"root": str(layout.root)})
    with pytest.raises(KeyboardInterrupt):
        venv.create(layout, "wheels", "/usr/bin/python3", {})
    assert venv.reusable(layout, "wheels", "/usr/bin/python3", "r") == "there is none"


def test_what_an_interruption_left_is_removed_by_the_next_setup(layout):
    write(layout.trash / "build-1-1/a")
    discard.empty_trash(layout)
    assert not layout.trash.exists()


def test_links_and_files_are_removed_without_what_they_point_to(layout, tmp_path):
    target = write(tmp_path / "target/a").parent
    layout.build.parent.mkdir(exist_ok=True)
    layout.build.symlink_to(target)
    discard.discard(layout, layout.build)
    assert not layout.build.is_symlink()
    assert (target / "a").exists()
    discard.discard(layout, layout.build)


def test_a_folder_on_another_disk_loses_its_stamp_first(layout, monkeypatch):
    stamps.write_stamp(layout.build_ready, {"fingerprint": "f"})
    seen = []

    def refuse(self, target):
        raise OSError("another disk")

    monkeypatch.setattr(type(layout.install), "rename", refuse)
    monkeypatch.setattr(shutil, "rmtree", lambda path: seen.append(layout.build_ready.exists()))
    discard.discard(layout, layout.install)
    assert seen == [False]
