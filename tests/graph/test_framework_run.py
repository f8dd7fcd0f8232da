"""A run of Inspect Robots' own command line over a running graph leaves a whole session, sealed, with its views."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from runs import assay, wait_for

from assay_core.seal import verify_seal
from assay_ros.testing import domain

pytestmark = pytest.mark.timeout(300)

MAIN = "import sys; from inspect_robots.cli import main; sys.exit(main(sys.argv[1:]))"


def inspect_robots(cwd: Path, env: dict[str, str], *words: str) -> str:
    command = [sys.executable, "-c", MAIN, *words]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_framework_s_own_run_leaves_a_whole_session(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    words = ("run", "--task", "kitchenbench/stack", "--policy", "assay", "--embodiment", "assay", "--epochs", "1")
    with domain() as number:
        env = {**os.environ, "ROS_DOMAIN_ID": str(number)}
        with assay("launch", "eval", "cameras:=0", cwd=tmp_path / "graph", env={"ROS_DOMAIN_ID": str(number)}) as graph:
            wait_for(lambda: "every node is active" in graph.stderr(), "the graph")
            inspect_robots(tmp_path, env, *words, "-E", "cameras=0", "-E", "session=s")
    session = tmp_path / "s"
    assert verify_seal(session) == []
    summary = json.loads((session / "summary.json").read_text())
    assert (summary["status"], summary["trials"], summary["policies"]) == ("done", 5, ["assay"])
    assert summary["tasks"]["kitchenbench/stack"]["mean_p_hat"] == 1.0
    (log,) = (session / "logs").glob("*.json")
    assert "5 succeeded" in inspect_robots(tmp_path, env, "inspect", str(log))
    with assay("list", "sessions", ".", cwd=tmp_path) as listed:
        assert listed.wait() == 0
        assert "done, sealed  5 " in listed.stdout()
    with assay("resume", "s", cwd=tmp_path) as again:
        assert again.wait() == 2

    # Reports belong elsewhere; one that was written inside is named, and nothing that was sealed has changed.
    inspect_robots(tmp_path, env, "view", str(session / "logs"), "-o", str(tmp_path / "reports"))
    assert verify_seal(session) == []
    inspect_robots(tmp_path, env, "view", str(session / "logs"))
    found = [str(finding) for finding in verify_seal(session)]
    assert found
    assert all(
        line.startswith("logs/html/") and line.endswith("not in the seal: added after sealing") for line in found
    )
