"""Whether a runner lives is said only where it can be known."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from assay_core.runner_id import runner_process_gone, runner_process_lives


@pytest.mark.parametrize("name", ["", "somebody", "another-host-that-is-not-this-1-abc", f"{socket.gethostname()}-x-1"])
def test_of_a_process_elsewhere_nothing_is_known(name: str) -> None:
    assert not runner_process_gone(name)
    assert not runner_process_lives(name)


def test_a_process_of_this_host_lives_until_it_ends_collected_or_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    name = f"{socket.gethostname()}-{child.pid}-abc123"
    assert (runner_process_lives(name), runner_process_gone(name)) == (True, False)
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert (runner_process_lives(name), runner_process_gone(name)) == (False, True), "it has ended, uncollected"
    child.wait()
    assert (runner_process_lives(name), runner_process_gone(name)) == (False, True)
