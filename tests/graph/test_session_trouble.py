"""Sessions over a real graph that meet trouble from outside: an operator who stops them, a disk that fails them."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import psutil
import pytest
from inspect_robots.types import OPERATOR_END

sys.path.insert(0, str(Path(__file__).parent))
from observer import observing
from runs import check_complete, resume, start, trials_ended, wait_for, wait_for_trials

from assay_core.trial import State
from assay_msgs.msg import Abort, Receipt
from assay_ros import qos
from assay_ros.testing import domain

pytestmark = pytest.mark.timeout(300)


def test_a_session_that_is_moved_away_stops_at_once_and_goes_on_where_it_was(tmp_path: Path) -> None:
    with start(tmp_path, epochs=64) as run:
        wait_for_trials(run, tmp_path / "s", 1)
        (tmp_path / "s").rename(tmp_path / "elsewhere")
        assert run.wait() == 1, run.stderr()
        assert "journal.sqlite: expected the journal of the session that is running, got no such file" in run.stderr()
        assert "Traceback" not in run.stderr()
    assert not (tmp_path / "s").exists(), "a second session directory took the place of the first"
    (tmp_path / "elsewhere").rename(tmp_path / "s")
    assert trials_ended(tmp_path / "s") < 64
    resume(tmp_path, 64)


def test_an_operator_may_stop_a_trial_early_and_it_is_judged(tmp_path: Path) -> None:
    """The early stop ends motion, not the trial; an abort of the next one ends that, and keeps its motion."""
    reasons = {"000000-0": Abort.REASON_EARLY_STOP, "000001-0": Abort.REASON_OTHER}
    with domain() as number, observing(number) as observer:
        out = observer.create_publisher(Abort, "benchmark/abort", qos.EVENT)
        rig = {"ROS_DOMAIN_ID": str(number)}
        with start(tmp_path, "mode:=paced", epochs=2, policy="noop", env=rig) as run:
            for trial, reason in reasons.items():
                wait_for(lambda trial=trial: observer.state() == (trial, State.RUNNING), f"{trial} in RUNNING")
                wait_for(lambda: out.get_subscription_count() > 0, "the benchmark node")
                message = Abort(uuid=str(uuid.uuid4()), trial_id=trial, operator_id="auto", reason=reason)
                message.session_id = observer.session_id()
                message.scope, message.note = Abort.SCOPE_TRIAL, "enough seen"
                out.publish(message)
                wait_for(lambda u=message.uuid: u in observer.acknowledged(Receipt.KIND_ABORT), "the abort's receipt")
            assert run.wait() == 0, run.stderr()
    reader = check_complete(tmp_path / "s", 2)
    stopped, aborted = reader.attempts()[:2]
    assert stopped.outcome()[:2] == ("failure", True), "an early stop is no invalid trial"
    assert (aborted.state, aborted.outcome()[0]) == (State.INVALID, "invalid")
    assert "other, by auto: enough seen" in aborted.message
    for attempt in (stopped, aborted):
        assert attempt.record is not None, "the motion until the stop is lost"
        assert attempt.record["steps"] < 100
    assert stopped.record is not None
    assert stopped.record["termination_reason"] == OPERATOR_END


def test_a_disk_that_fills_up_stops_the_session_by_name_and_it_goes_on_later(tmp_path: Path) -> None:
    """A full disk costs one attempt. Shared memory cannot run out in mid-session: it is taken at the start."""
    session = tmp_path / "s"
    with domain() as number, observing(number) as observer:
        rig = {"ROS_DOMAIN_ID": str(number)}
        with start(tmp_path, epochs=64, env=rig) as run:
            wait_for_trials(run, session, 1)
            promised = run.shared_memory_promised()
            assert len(promised) > 4
            assert set(promised.values()) == {0}, "shared memory that fills up after the start would kill a process"
            # The kernel refuses the journal's process every byte from here on, as a full disk does.
            node, size = run.node("benchmark"), (session / "journal.sqlite-wal").stat().st_size
            node.rlimit(psutil.RLIMIT_FSIZE, (size, node.rlimit(psutil.RLIMIT_FSIZE)[1]))
            assert run.wait() == 1, run.stderr()
            assert "journal.sqlite: expected to commit an event, got" in run.stderr()
            assert "fix: free space or repair the disk; nothing that was acknowledged is lost" in run.stderr()
            assert "Traceback" not in run.stderr()
        assert observer.acknowledged(), "nothing was acknowledged, so nothing is shown"
        observer.check_journal(session)
        assert trials_ended(session) < 64
        resume(tmp_path, 64, rig)
        observer.check_journal(session)
