"""What lies in a session directory in place of a file is refused, never waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay_core.files import read_regular
from assay_core.testing import example_session

HANGS_S = 30.0

LOOKS = {
    "journal.lock": "from assay_core.session_lock import writer_of; writer_of(path)",
    "plan.yaml": "from assay_core.plan import load_plan; load_plan(path)",
    "journal.sqlite": "from assay_core.journal import JournalReader; JournalReader(path)",
    "journal.sqlite-wal": "from assay_core.journal import JournalReader; JournalReader(path)",
    "seal.json": "from assay_core.seal import verify_seal; verify_seal(path)",
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_named_pipe_is_refused_by_name(name: str, tmp_path: Path) -> None:
    session = tmp_path / "session"
    example_session(session, [["success"]])
    (session / name).unlink(missing_ok=True)
    os.mkfifo(session / name)
    script = f"""
import sys
from pathlib import Path
from assay_core.errors import DataError
path = Path(sys.argv[1])
try:
    {LOOKS[name]}
except DataError as error:
    print(error)
"""
    command = [sys.executable, "-c", script, str(session)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=True).stdout
    assert f"{name}: expected" in said, f"a session with a pipe for {name} must not hang, nor be taken for whole"
    assert "no regular file" in said


def test_a_writer_refuses_a_pipe_for_its_lock(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "journal.lock")
    script = "import sys, pathlib; from assay_core.session_lock import SessionLock as L; L(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert "got no regular file" in done.stderr


def test_a_device_is_no_file_either() -> None:
    with pytest.raises(OSError, match="no regular file"):
        read_regular(Path("/dev/null"))
