from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from assay_tools.errors import SetupError
from assay_tools.process import output_of, run_logged, run_shown

ROOT = Path(__file__).resolve().parents[2]


def test_output_is_kept_watched_and_returned(tmp_path):
    seen = []
    log = tmp_path / "logs/x.log"
    code, output = run_logged(
        ["sh", "-c", "echo one; echo two >&2; printf three; exit 3"],
        environ=os.environ,
        log=log,
        doing="counting",
        watch=lambda line: seen.append(line),
    )
    assert (code, output) == (3, "one\ntwo\nthree")
    assert seen == ["one", "two"]
    assert log.read_text() == "one\ntwo\nthree"
    assert run_shown(["sh", "-c", "exit 4"], environ=os.environ) == 4
    assert output_of(["sh", "-c", "echo x"], os.environ) == "x\n"
    assert output_of(["no-such-program"], os.environ) == ""


def test_a_command_that_never_ends_is_ended_and_named(tmp_path):
    log = tmp_path / "x.log"
    words = {"environ": os.environ, "deadline_s": 0.0}
    with pytest.raises(SetupError, match=r"building: expected an end within 0 min.*x.log"):
        run_logged(["sh", "-c", "echo working; sleep 100"], log=log, doing="building", **words)
    with pytest.raises(SetupError, match="sleep 100: expected an end within 0 min"):
        run_shown(["sleep", "100"], **words)


CHILD = """
import sys
sys.path.insert(0, {tools!r})
from pathlib import Path
from assay_tools import process
process.stop_on_signals()
command = ["sh", "-c", "sleep 100 & echo $! > {folder}/pid; wait"]
try:
    {call}
except KeyboardInterrupt:
    sys.exit(130)
"""


def runs(pid):
    """Say whether a process is there and more than a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "call",
    [
        "process.run_shown(command, environ={{}})",
        "process.run_logged(command, environ={{}}, log=Path('{folder}/log'), doing='x')",
    ],
)
def test_an_interruption_ends_the_command_and_its_children(tmp_path, signum, call):
    code = CHILD.format(tools=str(ROOT / "tools"), folder=tmp_path, call=call.format(folder=tmp_path))
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < deadline, "the command never started"
    pid = int((tmp_path / "pid").read_text())
    process.send_signal(signum)
    assert process.wait(30) == 130
    while runs(pid):
        assert time.monotonic() < deadline, "a child of the command is still there"
