"""Two graphs on one machine must not end up in one ROS domain."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from assay_core import domains
from assay_core.domains import SESSION_DOMAINS, TEST_DOMAINS, claim, from_environment, hold_rig, mark_ending
from assay_core.errors import ConfigError, RigFault

HIGH = range(180, 200)
"""Domains that nothing else uses, so that sessions beside the tests do not disturb them."""


def test_sessions_and_tests_share_no_domain_and_never_take_the_default_one() -> None:
    assert not set(SESSION_DOMAINS) & set(TEST_DOMAINS)
    assert 0 not in SESSION_DOMAINS
    assert 0 not in TEST_DOMAINS


def test_two_holders_get_different_domains_and_a_closed_one_is_free_again() -> None:
    with claim(pool=HIGH) as first, claim(pool=HIGH) as second:
        assert first.number != second.number
        with pytest.raises(RigFault):
            claim(first.number)
    with claim(first.number) as again:
        assert again.number == first.number


def test_all_taken_is_an_error_that_names_the_range() -> None:
    with claim(pool=HIGH) as held, pytest.raises(RigFault, match=rf"from {held.number} to {held.number} within 0 s"):
        claim(pool=[held.number])


def test_a_named_domain_in_use_is_refused_by_number() -> None:
    with claim(pool=HIGH) as held, pytest.raises(RigFault, match=f"ROS domain {held.number}: expected a free domain"):
        claim(held.number)


def test_a_domain_used_by_a_graph_that_did_not_claim_it_is_left_alone() -> None:
    with claim(pool=HIGH) as held:
        number = held.number
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as foreign:
        foreign.bind(("127.0.0.1", 7400 + 250 * number + 10))
        with pytest.raises(RigFault):
            claim(number)


def test_a_killed_holder_gives_its_domain_back() -> None:
    code = (
        "from assay_core.domains import claim; import time; d = claim(pool=range(180, 200)); "
        "print(d.number, flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert child.stdout is not None
    with child.stdout:
        number = int(child.stdout.readline())
        with pytest.raises(RigFault):
            claim(number)
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=10)
    with claim(number, deadline_s=5.0):
        pass


def test_a_domain_named_by_the_user_is_taken_as_it_is() -> None:
    assert from_environment({}) is None
    assert from_environment({"ROS_DOMAIN_ID": ""}) is None
    named = from_environment({"ROS_DOMAIN_ID": "42"})
    assert named is not None
    assert named.number == 42
    with claim(pool=HIGH) as held:
        joined = from_environment({"ROS_DOMAIN_ID": str(held.number)})
        assert joined is not None, "one that somebody holds may be joined"
        assert joined.number == held.number


@pytest.mark.parametrize("raw", ["x", "-1", "233", "1.5"])
def test_a_domain_that_ros_cannot_use_is_refused(raw: str) -> None:
    with pytest.raises(ConfigError, match="from 0 to 232"):
        from_environment({"ROS_DOMAIN_ID": raw})


def test_one_graph_a_domain_whoever_claimed_it() -> None:
    with (
        claim(pool=HIGH) as held,
        hold_rig(held.number),
        pytest.raises(ConfigError, match=rf"rig in ROS domain {held.number}: .*--attach"),
    ):
        hold_rig(held.number)
    with hold_rig(held.number):
        pass


def test_the_remains_of_a_killed_graph_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with claim(pool=HIGH) as held:
        mark = mark_ending({"ROS_DOMAIN_ID": str(held.number)})
        assert mark is not None
        assert mark_ending({"ROS_DOMAIN_ID": str(held.number)}) is None, "one mark a domain"
        with mark:
            timer = threading.Timer(0.2, mark.close)
            timer.start()
            with hold_rig(held.number):
                assert mark.fileno() == -1, "a new graph must not meet the remains of the old one"
            timer.join()
        monkeypatch.setattr(domains, "ENDING_S", 0.1)
        with (
            mark_ending({"ROS_DOMAIN_ID": str(held.number)}) or socket.socket(),
            pytest.raises(ConfigError, match=r"processes of an earlier graph to end within 0.1 s"),
        ):
            hold_rig(held.number)
        with hold_rig(held.number):
            pass
    assert mark_ending({"ROS_DOMAIN_ID": "x"}) is None
