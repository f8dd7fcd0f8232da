from __future__ import annotations

import os

from assay_tools.repair import Paths, repair, repaired

PATHS = Paths(prefix="/w/.venv", include="/py/include/python3.12", site="/w/.venv/lib/python3.12/site-packages")


def test_all_three_kinds_of_path_point_into_this_environment():
    text = (
        "set(A /opt/python/cp312-cp312/include/python3.12)\n"
        "set(B /opt/python/cp312-cp312/lib/python3.12/site-packages/numpy/_core/include)\n"
        "set(C /opt/python/cp312-cp312/bin/python)\n"
    )
    assert repaired(text, PATHS) == (
        "set(A /py/include/python3.12)\n"
        "set(B /w/.venv/lib/python3.12/site-packages/numpy/_core/include)\n"
        "set(C /w/.venv/bin/python)\n"
    )


def test_other_text_is_left_alone():
    text = "set(A /opt/python3/include)\nset(B /usr/include/python3.12)\n"
    assert repaired(text, PATHS) == text


def test_repair_changes_cmake_files_only_and_a_second_time_none(tmp_path):
    damaged = "include(/opt/python/cp310-cp310/include/python3.10)"
    for name in ("a/export.cmake", "b/list.txt", "c/module.py"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(damaged)
    assert repair(tmp_path, PATHS) == 2
    assert repair(tmp_path, PATHS) == 0
    assert (tmp_path / "c/module.py").read_text() == damaged


def test_repair_leaves_the_cache_as_it_is_where_the_installer_linked_to_it(tmp_path):
    cached = tmp_path / "cache.cmake"
    cached.write_text("/opt/python/cp311-cp311")
    share = tmp_path / "share"
    share.mkdir()
    os.link(cached, share / "x.cmake")
    assert repair(share, PATHS) == 1
    assert cached.read_text() == "/opt/python/cp311-cp311"
    assert (share / "x.cmake").read_text() == "/w/.venv"


def test_bytes_that_are_not_text_survive(tmp_path):
    path = tmp_path / "x.cmake"
    path.write_bytes(b"\xff\xfe /opt/python/cp311-cp311 \xff")
    assert repair(tmp_path, PATHS) == 1
    assert path.read_bytes() == b"\xff\xfe /w/.venv \xff"
