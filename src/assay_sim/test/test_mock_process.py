"""The mock world as a process: signals, bad parameters, a fault that kills it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from lifecycle_msgs.srv import ChangeState, GetState
from world_client import Client, call, realization

from assay_msgs.srv import ResetWorld
from assay_ros.convert import realization_to_msg, to_ns
from assay_ros.testing import graph, spin_until
from assay_sim.mock_dynamics import START_POSITION

DEADLINE_S = 20.0


def start(domain, *params):
    command = [sys.executable, "-m", "assay_sim.mock_world", "--ros-args", "--log-level", "warn"]
    for value in params:
        command += ["-p", value]
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def run():
    """Yield a function that starts an active world in a process of its own, and its client."""
    processes = []
    with graph() as (context, executor, domain):

        def begin(*params, cameras=0):
            process = start(domain, f"cameras:={cameras}", *params)
            processes.append(process)
            client = Client(context, cameras)
            executor.add_node(client)
            change = client.create_client(ChangeState, "world/change_state")
            state = client.create_client(GetState, "world/get_state")
            spin_until(executor, lambda: change.service_is_ready() and state.service_is_ready(), what="lifecycle")
            for transition, goal in ((1, "inactive"), (3, "active")):
                request = ChangeState.Request()
                request.transition.id = transition
                # A repeat of a transition that was made already is refused; what counts is the state.
                call(executor, change, request)
                assert call(executor, state, GetState.Request()).current_state.label == goal
            spin_until(
                executor,
                lambda: (
                    client.resets.service_is_ready()
                    and all(p.get_subscription_count() for p in client.pubs.values())
                    and all(client.count_publishers(n) for n in client.needed)
                ),
                what="discovery",
            )
            msg = realization_to_msg(realization(), session_id="s", trial_id="000000-0")
            answer = call(executor, client.resets, ResetWorld.Request(realization=msg))
            return process, client, executor, to_ns(answer.stamp)

        yield begin
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait(DEADLINE_S)
            process.stderr.close()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_the_world_cleanly(run, signum):
    process, client, executor, stamp = run()
    client.send(stamp, START_POSITION)
    spin_until(executor, lambda: bool(client.got("right/joint_states", stamp + 10**8)), what="a step")
    process.send_signal(signum)
    assert process.wait(DEADLINE_S) == 0
    errors = process.stderr.read()
    assert "Traceback" not in errors
    assert "error" not in errors.lower()


def test_a_world_told_to_die_kills_itself_at_that_step(run):
    process, client, executor, stamp = run("faults:=die:at=2")
    client.send(stamp, START_POSITION)
    spin_until(executor, lambda: bool(client.got("right/joint_states", stamp + 10**8)), what="step 1")
    client.send(stamp + 10**8, START_POSITION)
    assert process.wait(DEADLINE_S) == -signal.SIGKILL
    assert not client.got("right/joint_states", stamp + 2 * 10**8)


@pytest.mark.parametrize(
    ("param", "text"),
    [
        ("cameras:=4", "parameter 'cameras': expected a number from 0 to 3, got 4"),
        ("mode:=fast", "parameter 'mode': expected one of lockstep, paced, got 'fast'"),
        ("control_hz:=0.0", "parameter 'control_hz': expected a number from 1.0 to 200.0, got 0.0"),
        ("camera_width:=2", "parameter 'camera_width': expected a number from 16 to 4096, got 2"),
        ("noise:=.nan", "parameter 'noise'"),
        ("faults:=dorp", "unknown fault 'dorp'"),
    ],
)
def test_bad_parameters_are_named_without_a_traceback(param, text):
    with graph() as (_, _, domain):
        process = start(domain, param)
        _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
    assert text in errors
    assert "Traceback" not in errors
