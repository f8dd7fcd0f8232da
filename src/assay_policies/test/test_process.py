"""The policy node as a process: how it starts, stops and fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from lifecycle_msgs.srv import GetState
from rclpy.node import Node

from assay_ros.testing import graph, spin_until


def start(domain: int, **parameters: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "assay_policies.policy_node", "--ros-args"]
    for name, value in parameters.items():
        command += ["-p", f"{name}:={value}"]
    env = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(signum):
    with graph() as (context, executor, domain):
        process = start(domain, policy="random")
        try:
            watcher = Node("watcher", context=context)
            executor.add_node(watcher)
            client = watcher.create_client(GetState, "policy/get_state")
            spin_until(executor, client.service_is_ready, deadline_s=60, what="the policy node")
            answer = client.call_async(GetState.Request())
            spin_until(executor, answer.done, deadline_s=60, what="an answer of the policy node")
            process.send_signal(signum)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
        assert process.returncode == 0, err
        assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"policy": "scriptd"}, "unknown policy 'scriptd'"),
        ({"policy": "inspect:nothing"}, "unknown policy 'inspect:nothing'"),
        ({"action_horizon": 0}, "parameter 'action_horizon': expected a number from 1 to 1000, got 0"),
        ({"mode": "warp"}, "parameter 'mode': expected one of lockstep, paced, got 'warp'"),
    ],
)
def test_bad_parameters_are_named_before_anything_starts(parameters, told):
    with graph() as (_, _, domain):
        process = start(domain, **parameters)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 2
        assert told in err
        assert "Traceback" not in out + err
