"""Whatever a process is stuck in, it does not outlive a launcher that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import STUBBORN, WAITER, Prefix, alive, until

from assay_bringup.launch import GraphProcesses, resolve, warden
from assay_bringup.launch.warden import Warden

NATIVE = """
import ctypes, signal
signal.signal(signal.SIGTERM, lambda *_: None)
print("ready", flush=True)
ctypes.PyDLL(None).sleep(600)  # in native code, with Python's lock: no handler ever runs
"""

PARENT = """
import signal, subprocess
child = subprocess.Popen(["sleep", "600"])
print("ready", child.pid, flush=True)
signal.pause()
"""

LAUNCHER = """
import sys, time
from assay_bringup.launch import GraphProcesses, resolve
graph = GraphProcesses.start(resolve(sys.argv[1]), log_dir=sys.argv[2])
print(*graph.running().values(), graph._warden._process.pid, flush=True)
time.sleep(600)
"""


def killed_launcher(path: Path, logs: Path, labels: tuple[str, ...]) -> list[int]:
    """Start a graph, wait until its processes are ready, kill the launcher; return the ids of all that were left."""
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(path), str(logs)], stdout=subprocess.PIPE, text=True
    ) as launcher:
        assert launcher.stdout is not None
        pids = [int(word) for word in launcher.stdout.readline().split()]
        for label in labels:
            log = logs / f"{label}.log"
            until(lambda log=log: "ready" in log.read_text(encoding="utf-8"), f"{label} to start")
        assert all(alive(pid) for pid in pids)
        launcher.send_signal(signal.SIGKILL)
    return pids


def test_neither_native_code_nor_an_ignored_signal_outlives_the_launcher(
    prefix: Prefix, write: Callable[[str], Path], tmp_path: Path
) -> None:
    for name, code in (("native", NATIVE), ("stubborn", STUBBORN), ("waiter", WAITER), ("parent", PARENT)):
        prefix.add("fake", name, code)
    labels = ("native", "stubborn", "waiter", "parent")
    lines = "".join(f"  - executable: {{cmd: $(exec-in-pkg {name} fake), name: {name}}}\n" for name in labels)
    pids = killed_launcher(write("launch:\n" + lines), tmp_path / "log", labels)
    descendant = int((tmp_path / "log" / "parent.log").read_text(encoding="utf-8").split()[1])
    until(lambda: not any(alive(pid) for pid in [*pids, descendant]), "the graph and its warden to end")


def test_an_ordered_stop_leaves_no_warden(prefix: Prefix, write: Callable[[str], Path], tmp_path: Path) -> None:
    prefix.add("fake", "waiter", WAITER)
    path = write("launch:\n  - executable: {cmd: $(exec-in-pkg waiter fake), name: w}\n")
    with GraphProcesses.start(resolve(path), log_dir=tmp_path / "log") as graph:
        pid = graph._warden._process.pid
        assert alive(pid)
    assert not alive(pid)


def test_a_killed_warden_does_not_disturb_the_graph(
    prefix: Prefix, write: Callable[[str], Path], tmp_path: Path
) -> None:
    prefix.add("fake", "waiter", WAITER)
    path = write("launch:\n  - executable: {cmd: $(exec-in-pkg waiter fake), name: w}\n")
    with GraphProcesses.start(resolve(path), log_dir=tmp_path / "log") as graph:
        graph._warden._process.kill()
        graph._warden._process.wait()
        assert graph.dead() is None
        (end,) = graph.stop()
    assert end.stopped


def test_signals_for_the_launcher_do_not_end_the_warden() -> None:
    held = Warden(grace_s=0.1)
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as child:
        held.watch(child.pid)
        pid = held._process.pid
        until(lambda: _ignores(pid, signal.SIGTERM), "the warden to start")
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(pid, signum)
        held.close()  # what the launcher's death does
        until(lambda: child.poll() is not None, "the process to be ended")
    until(lambda: held._process.poll() is not None, "the warden to leave")


def _ignores(pid: int, signum: int) -> bool:
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    mask = next(line for line in text.splitlines() if line.startswith("SigIgn"))
    return bool(int(mask.split()[1], 16) >> (signum - 1) & 1)


def test_an_id_that_means_another_process_by_now_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as child:
        assert warden._left({child.pid: "1"}) == [], "a stranger with the id of a process that ended must live"
        assert warden._left({child.pid: warden._started(child.pid)}) == [child.pid]
        child.kill()


@pytest.mark.parametrize("pid", [2**22 + 1])
def test_a_process_that_is_gone_is_nothing_to_wait_for(pid: int) -> None:
    assert warden._left({pid: "1"}) == []
