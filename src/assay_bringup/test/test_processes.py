"""Processes are supervised as a rig needs it: deaths are named, nothing outlives the launcher, stops are bounded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import STUBBORN, WAITER, Prefix, alive, until

from assay_bringup.launch import GraphProcesses, processes, resolve
from assay_bringup.ready import Bringup, NodeState, write_state
from assay_core.errors import ConfigError, DeadlineError, RigFault

Write = Callable[..., Path]


@contextmanager
def running(path: Path, tmp_path: Path) -> Iterator[GraphProcesses]:
    graph = GraphProcesses.start(resolve(path), log_dir=tmp_path / "log")
    try:
        yield graph
    finally:
        graph.stop(now=True)


def said(graph: GraphProcesses, label: str, text: str) -> Callable[[], bool]:
    return lambda: text in (graph.log_dir / f"{label}.log").read_text(encoding="utf-8")


@pytest.fixture
def two(prefix: Prefix, write: Write) -> Path:
    """Return a launch file with two well-behaved processes."""
    prefix.add("fake", "waiter", WAITER)
    return write("""
        launch:
          - executable: {cmd: $(exec-in-pkg waiter fake), name: world}
          - executable: {cmd: $(exec-in-pkg waiter fake), name: policy}
        """)


def test_a_killed_process_is_named_and_the_others_go_on(two: Path, tmp_path: Path) -> None:
    with running(two, tmp_path) as graph:
        assert graph.dead() is None
        pids = graph.running()
        os.kill(pids["world"], signal.SIGKILL)
        until(lambda: graph.dead() is not None, "the death to be noticed")
        assert graph.dead() == f"world (waiter, pid {pids['world']}) died: SIGKILL"
        assert graph.running() == {"policy": pids["policy"]}


def test_a_process_that_gives_up_is_named_with_its_last_words(prefix: Prefix, write: Write, tmp_path: Path) -> None:
    prefix.add("fake", "quitter", "import sys\nsys.stderr.write('error: no such camera\\n\\n')\nsys.exit(3)\n")
    with running(write("launch:\n  - executable: {cmd: $(exec-in-pkg quitter fake)}\n"), tmp_path) as graph:
        until(lambda: graph.dead() is not None, "the end to be noticed")
        assert "quitter" in (graph.dead() or "")
        assert (graph.dead() or "").endswith("ended with exit code 3: error: no such camera")


def test_stop_ends_everything_and_says_how(two: Path, tmp_path: Path) -> None:
    with running(two, tmp_path) as graph:
        for label in ("world", "policy"):
            until(said(graph, label, "ready"), f"{label} to start")
        pids = list(graph.running().values())
        ends = graph.stop()
    assert sorted((end.label, end.returncode, end.stopped, end.escalated) for end in ends) == [
        ("policy", 0, True, ""),
        ("world", 0, True, ""),
    ]
    assert not any(alive(pid) for pid in pids)
    assert graph.dead() is None, "an ordered stop is nobody's death"


def test_stop_is_escalated_at_the_times_of_the_launch_file(prefix: Prefix, write: Write, tmp_path: Path) -> None:
    prefix.add("fake", "stubborn", STUBBORN)
    path = write("""
        launch:
          - executable: {cmd: $(exec-in-pkg stubborn fake), name: s, sigterm_timeout: 0.2, sigkill_timeout: 0.2}
        """)
    with running(path, tmp_path) as graph:
        until(said(graph, "s", "ready"), "the process to start")
        (end,) = graph.stop()
    assert (end.returncode, end.escalated) == (-signal.SIGKILL, "SIGKILL")


def test_a_stop_can_be_hurried(prefix: Prefix, write: Write, tmp_path: Path) -> None:
    prefix.add("fake", "stubborn", STUBBORN)
    path = write("launch:\n  - executable: {cmd: $(exec-in-pkg stubborn fake), name: s, sigterm_timeout: 600.0}\n")
    with running(path, tmp_path) as graph:
        until(said(graph, "s", "ready"), "the process to start")
        graph.hurry()
        (end,) = graph.stop()
    assert end.escalated == "SIGKILL", "a second Ctrl-C must not wait ten minutes"


def test_descendants_end_with_their_process(prefix: Prefix, write: Write, tmp_path: Path) -> None:
    code = "import subprocess\nchild = subprocess.Popen(['sleep', '600'])\nprint(child.pid, flush=True)\nchild.wait()\n"
    prefix.add("fake", "parent", code)
    path = write("launch:\n  - executable: {cmd: $(exec-in-pkg parent fake), name: p}\n")
    with running(path, tmp_path) as graph:
        log = graph.log_dir / "p.log"
        until(lambda: log.read_text(encoding="utf-8").strip().isdigit(), "the descendant to start")
        descendant = int(log.read_text(encoding="utf-8"))
        os.kill(graph.running()["p"], signal.SIGKILL)
        until(lambda: not alive(descendant), "the descendant to end")


def test_children_end_when_the_launcher_is_killed(two: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom assay_bringup.launch import GraphProcesses, resolve\n"
        f"graph = GraphProcesses.start(resolve({str(two)!r}), log_dir={str(tmp_path / 'log')!r})\n"
        "print(*graph.running().values(), flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        pids = [int(word) for word in launcher.stdout.readline().split()]
        assert len(pids) == 2
        assert all(alive(pid) for pid in pids)
        launcher.send_signal(signal.SIGKILL)
    until(lambda: not any(alive(pid) for pid in pids), "the children to follow their launcher")


def test_ctrl_c_in_the_terminal_does_not_reach_the_children(two: Path, tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\nfrom assay_bringup.launch import GraphProcesses, resolve\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        f"graph = GraphProcesses.start(resolve({str(two)!r}), log_dir={str(tmp_path / 'log')!r})\n"
        "print('up', flush=True)\nsys.stdin.readline()\nprint(graph.dead(), len(graph.running()), flush=True)\n"
        "graph.stop(now=True)\n"
    )
    launcher = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with launcher:
        assert launcher.stdout is not None
        assert launcher.stdin is not None
        launcher.stdout.readline()
        os.killpg(launcher.pid, signal.SIGINT)  # what the terminal does
        launcher.stdin.write("\n")
        launcher.stdin.flush()
        assert launcher.stdout.readline() == "None 2\n", "the trial must be cancelled before the graph goes down"


def test_a_process_is_started_again_as_often_as_the_launch_file_says(
    prefix: Prefix, write: Write, tmp_path: Path
) -> None:
    prefix.add("fake", "waiter", WAITER)
    path = write("""
        launch:
          - executable:
              cmd: $(exec-in-pkg waiter fake)
              name: w
              respawn: "true"
              respawn_delay: 0.1
              respawn_max_retries: 1
        """)
    with running(path, tmp_path) as graph:
        first = graph.running()["w"]
        os.kill(first, signal.SIGKILL)
        until(lambda: graph.running().get("w", first) != first, "the process to come back")
        until(lambda: graph.dead() is None, "it to count as alive again")
        until(lambda: alive(graph.running().get("w", 0)), "it to stay, though the thread that noticed is gone")
        os.kill(graph.running()["w"], signal.SIGKILL)
        until(lambda: len(graph.ends()) == 2 and graph.finished(), "the second death to be final")
        assert "died: SIGKILL" in (graph.dead() or "")


def test_output_is_kept_and_can_be_followed(prefix: Prefix, write: Write, tmp_path: Path) -> None:
    prefix.add("fake", "talker", "import sys\nprint('out')\nsys.stderr.write('err\\nno newline')\n")
    lines: list[tuple[str, str, str]] = []
    path = write("launch:\n  - executable: {cmd: $(exec-in-pkg talker fake), name: t}\n")
    with GraphProcesses.start(resolve(path), log_dir=tmp_path / "log", echo=lambda *line: lines.append(line)) as graph:
        until(graph.finished, "the process to end")
    assert sorted(lines) == [("t", "err", "stderr"), ("t", "no newline", "stderr"), ("t", "out", "stdout")]
    assert sorted((graph.log_dir / "t.log").read_text(encoding="utf-8")) == sorted("out\nerr\nno newline")


def test_a_node_gets_parameters_environment_and_names(prefix: Prefix, write: Write, tmp_path: Path) -> None:
    prefix.add(
        "fake", "node", "import os, sys, json\nargs = sys.argv[1:]\nfile = args[args.index('--params-file') + 1]\n"
        "print(json.dumps([args[:3], open(file).read(), os.environ['FROM_FILE'], os.environ['FROM_CALL']]))\n",
    )  # fmt: skip
    path = write("""
        launch:
          - node:
              pkg: fake
              exec: node
              name: n
              namespace: left
              env: [{name: FROM_FILE, value: a}]
              param: [{name: x, value: 1.5}, {name: s, value: "10"}]
        """)
    with GraphProcesses.start(resolve(path), env={"FROM_CALL": "b"}, log_dir=tmp_path / "log") as graph:
        until(graph.finished, "the process to end")
        text = (graph.log_dir / "left.n.log").read_text(encoding="utf-8")
    assert "__node:=n" in text
    assert "/left/n:" in text
    assert "x: 1.5" in text
    assert "s: '10'" in text, "text must stay text"
    assert text.strip().endswith('"a", "b"]')


def test_a_log_directory_that_cannot_be_made_is_refused_before_anything_starts(two: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="log directory"):
        GraphProcesses.start(resolve(two), log_dir=tmp_path / "file" / "log")


MANAGED = """
launch:
  - executable: {cmd: $(exec-in-pkg lifecycle_manager fake), name: lifecycle_manager}
"""


@pytest.fixture
def managed(prefix: Prefix, write: Write) -> Path:
    """Return a launch file with a stand-in for the manager, whose state the test writes."""
    prefix.add("fake", "lifecycle_manager", WAITER)
    path = write(MANAGED)
    return path


def test_readiness_is_waited_for_and_progress_is_told(managed: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    with running(managed, tmp_path) as graph:
        write_state(graph.state_file, Bringup(message="coming", nodes=(NodeState("world", "absent"),)))

        def progress(state: Bringup) -> None:
            seen.append(state.message)
            write_state(graph.state_file, Bringup(ready=True, message="up"))

        graph.wait_ready(20.0, progress)
    assert seen == ["coming", "up"]


def test_a_graph_that_does_not_come_up_in_time_says_what_is_missing(managed: Path, tmp_path: Path) -> None:
    with running(managed, tmp_path) as graph:
        with pytest.raises(DeadlineError, match="lifecycle_manager: not started"):
            graph.wait_ready(0.1)
        nodes = (NodeState("world", "active"), NodeState("policy", "configuring", "loading weights"))
        write_state(graph.state_file, Bringup(nodes=nodes))
        with pytest.raises(DeadlineError, match=r"got policy: configuring \(loading weights\)"):
            graph.wait_ready(0.1)


def test_a_manager_at_work_is_waited_for_as_long_as_it_takes(
    managed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(managed, tmp_path) as graph:
        write_state(graph.state_file, Bringup(nodes=(NodeState("policy", "configuring", "loading weights"),)))
        clock = [0.0]

        def sleep(_seconds: float) -> None:
            clock[0] += 0.9  # ten minutes in all, which a model may well take
            os.utime(graph.state_file, ns=(0, int(clock[0] * 1e9)))
            if clock[0] > 600.0:
                write_state(graph.state_file, Bringup(ready=True))

        with monkeypatch.context() as patch:
            patch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
            graph.wait_ready(1.0)


def test_a_node_that_cannot_be_brought_up_ends_the_wait_at_once(managed: Path, tmp_path: Path) -> None:
    with running(managed, tmp_path) as graph:
        nodes = (NodeState("world", "failed", "activate was refused: no camera"),)
        write_state(
            graph.state_file, Bringup(failed=True, message="world: activate was refused: no camera", nodes=nodes)
        )
        with pytest.raises(RigFault, match="world: activate was refused: no camera"):
            graph.wait_ready(600.0)


def test_a_node_that_refuses_its_configuration_is_a_matter_of_configuration(managed: Path, tmp_path: Path) -> None:
    with running(managed, tmp_path) as graph:
        reason = "configure was refused: no such policy"
        nodes = (NodeState("policy", "failed", reason),)
        write_state(graph.state_file, Bringup(failed=True, message=f"policy: {reason}", nodes=nodes))
        with pytest.raises(ConfigError, match="policy: configure was refused: no such policy"):
            graph.wait_ready(600.0)


def test_exit_code_2_is_a_matter_of_configuration(prefix: Prefix, write: Write, tmp_path: Path) -> None:
    prefix.add("fake", "lifecycle_manager", "import sys; print('error: stages: none', file=sys.stderr); sys.exit(2)")
    path = write("launch:\n  - node: {pkg: fake, exec: lifecycle_manager, name: lifecycle_manager}\n")
    with running(path, tmp_path) as graph, pytest.raises(ConfigError, match="exit code 2: error: stages: none"):
        graph.wait_ready(600.0)


def test_a_death_ends_the_wait_at_once(managed: Path, tmp_path: Path) -> None:
    with running(managed, tmp_path) as graph:
        os.kill(graph.running()["lifecycle_manager"], signal.SIGKILL)
        with pytest.raises(RigFault, match=r"lifecycle_manager \(lifecycle_manager, pid \d+\) died: SIGKILL"):
            graph.wait_ready(600.0)


def test_without_a_manager_there_is_nothing_to_wait_for(two: Path, tmp_path: Path) -> None:
    with running(two, tmp_path) as graph, pytest.raises(ConfigError, match="exec: lifecycle_manager"):
        graph.wait_ready(1.0)


def test_asking_who_died_costs_nothing(two: Path, tmp_path: Path) -> None:
    with running(two, tmp_path) as graph:
        begin = time.process_time()
        for _ in range(10_000):
            graph.dead()
        assert time.process_time() - begin < 1.0, "it is asked at every control step"
