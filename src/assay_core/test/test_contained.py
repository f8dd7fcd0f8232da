"""Whatever a stranger's code does, the command that runs it gets an answer or a reason, and goes on."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay_core.contained import Broken, contained, in_words
from assay_core.policy_names import policy_names


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


def test_an_answer_comes_back_and_nothing_else_does() -> None:
    state: list[int] = []
    assert contained(lambda: [state.append(1), {"a": "ä" * 100_000}], 20.0) == [None, {"a": "ä" * 100_000}]
    assert state == []


def test_what_is_no_json_is_a_reason() -> None:
    with pytest.raises(Broken, match=r"TypeError: .*set.* is not JSON serializable"):
        contained(lambda: {1}, 20.0)


def test_errors_have_words_whatever_they_are() -> None:
    assert in_words(ValueError("x")) == "ValueError: x"
    assert in_words(MemoryError()) == "MemoryError"
    assert in_words(Hostile()) == "Hostile: (its text raised RuntimeError)"
    assert len(in_words(ValueError("x" * 10**6))) < 2100


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (lambda: sys.exit(3), "SystemExit: 3"),
        (lambda: os._exit(3), "the end of its process with exit code 3"),
        (lambda: os.abort(), "a crash: signal 6"),
        (lambda: ctypes.PyDLL(None).sleep(600), "no answer within 0.3 s: it hangs"),
    ],
)
def test_no_answer_has_a_reason(job, reason) -> None:
    with pytest.raises(Broken, match=reason):
        contained(job, 0.3 if "hangs" in reason else 20.0)


def test_a_traceback_is_written_where_it_is_asked_for(capfd) -> None:
    def explode() -> None:
        raise RuntimeError("my model exploded")

    for trace in (False, True):
        with pytest.raises(Broken, match=r"^RuntimeError: my model exploded$"):
            contained(explode, 20.0, trace=trace)
        assert ("in explode" in capfd.readouterr().err) is trace


def test_descendants_neither_delay_the_answer_nor_stay() -> None:
    def job() -> int:
        return subprocess.Popen(["sleep", "600"], close_fds=False).pid

    pid = contained(job, 600.0)
    end = time.monotonic() + 20.0
    while _runs(pid):
        assert time.monotonic() < end, "a descendant of a policy that was only looked at goes on"


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_plug_in_that_ends_the_process_when_it_is_loaded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rude_plug_in.py").write_text("import sys\nsys.exit(0)\n")
    info = tmp_path / "rude-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rude\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[inspect_robots.policies]\nrude = rude_plug_in:Policy\n")
    code = (
        "from assay_core.policy_names import policy_names\nfrom assay_core.errors import ConfigError\n"
        "try:\n    policy_names()\nexcept ConfigError as error:\n    print(error)\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "got SystemExit: 0 from 'rude' (rude_plug_in:Policy)" in done.stdout, done.stderr
    assert policy_names()[:3] == ("scripted", "random", "noop")
