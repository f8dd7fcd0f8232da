"""Where the current trial stands, as benchmark/trial tells it, and the verdict that is in force.

An operator may skip, stop or halt a trial at any instant. Whatever the runner waits for, it has to learn of that at
once and in words, so every wait on a trial goes through here. The verdict is read from the same latched topic, where
the benchmark node repeats what it accepted: a grader's own message may have been sent before this process could hear
it, and may be anybody's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay_bridge.client_types import TrialEnded, VerdictData
from assay_bridge.motion import nodes_on_graph
from assay_bridge.spinner import Gate, Spinner, quiet_subscription
from assay_core.errors import DataError, SafetyStop
from assay_msgs.msg import ResultCode, TrialState, Verdict
from assay_ros import qos
from assay_ros.convert import to_ns
from assay_ros.names import INVALID_REASONS, OUTCOMES, code_name, state_name

__all__ = ["TERMINAL", "TrialWatch"]

TERMINAL = frozenset({TrialState.DONE, TrialState.SKIPPED, TrialState.INVALID, TrialState.HALTED})
"""States in which a trial is over."""

BENCHMARK = "benchmark"
"""Name of the node that keeps the trial's state."""

PEOPLE = ("operator", "grader")
"""Who may be a person, of those that ``TrialState.waiting_for`` names."""


class TrialWatch:
    """Follows the current trial of one session.

    Args:
        spinner: Spins the node while a wait lasts.
        gate: Group of what is needed only while waiting for people.
        session_id: States of other sessions are ignored.
    """

    def __init__(self, spinner: Spinner, gate: Gate, session_id: str) -> None:
        self._spinner = spinner
        self._gate = gate
        self._session_id = session_id
        self.state = TrialState()
        """The newest message of benchmark/trial."""
        self.trial_id = ""
        self.tell: Callable[[str, str, tuple[str, ...]], None] | None = None
        """Told once each time that a person is waited for: trial id, state, and ``operator`` or ``grader``."""
        self._told: tuple[str, str, tuple[str, ...]] | None = None
        quiet: Any = quiet_subscription()
        spinner.node.create_subscription(
            TrialState, "benchmark/trial", self._on_trial, qos.LATCHED, event_callbacks=quiet
        )

    def follow(self, trial_id: str) -> None:
        """Follow another trial."""
        self.trial_id = trial_id

    @property
    def current(self) -> bool:
        """Whether benchmark/trial speaks of the trial that is followed."""
        return bool(self.state.trial_id == self.trial_id)

    @property
    def ended(self) -> bool:
        """Whether the trial has reached a terminal state."""
        return self.current and self.state.state in TERMINAL

    def check(self) -> None:
        """Raise when the trial has reached a terminal state other than DONE, or can reach none any more.

        Raises:
            DataError: The journal is lost, so that nothing of this trial would be recorded.
            SafetyStop: It was halted for safety.
            TrialEnded: It was skipped or is invalid.
        """
        state = self.state
        if self.current and not self.ended and state.code == ResultCode.JOURNAL_FAILED:
            raise DataError(f"trial {self.trial_id}: {state.message}")
        if not self.ended or state.state == TrialState.DONE:
            return
        name = state_name(state.state)
        text = f"trial {self.trial_id} ended in {name}: {state.message or 'no reason given'} [{code_name(state.code)}]"
        if state.state == TrialState.HALTED:
            raise SafetyStop(text)
        raise TrialEnded(text, state=name, code=int(state.code))

    def wait_for(self, states: tuple[int, ...], deadline_s: float) -> TrialState:
        """Return the message that says that the trial is in one of ``states``; see `GraphClient.wait_for_state`."""

        def reached() -> bool:
            if not self.current:
                return False
            if self.state.state not in states:
                self.check()
            return self.state.state in states

        wanted = " or ".join(state_name(state) for state in states)
        self._wait(
            reached,
            deadline_s,
            lambda: f"trial {self.trial_id}: not {wanted} within {deadline_s:g} s ({self._standing()})",
        )
        return self.state

    def wait_for_verdict(self, deadline_s: float) -> VerdictData:
        """Return the verdict in force; see `GraphClient.wait_for_verdict`."""

        def accepted() -> bool:
            if not self.current:
                return False
            if not self.state.has_verdict:
                self.check()
            return bool(self.state.has_verdict)

        self._wait(
            accepted,
            deadline_s,
            lambda: f"trial {self.trial_id}: no verdict within {deadline_s:g} s ({self._standing()})",
        )
        return _verdict_data(self.state.verdict)

    def _wait(self, done: Callable[[], bool], deadline_s: float, missing: Callable[[], str]) -> None:
        was_open, self._gate.open = self._gate.open, True
        try:
            self._spinner.wait(done, deadline_s, missing)
        finally:
            self._gate.open = was_open

    def _standing(self) -> str:
        nodes = nodes_on_graph(self._spinner.node)
        if not self.current:
            return f"benchmark/trial does not speak of it; {nodes}"
        waiting = ", ".join(self.state.waiting_for) or "nobody"
        why = f"; {self.state.message}" if self.state.message else ""
        there = "" if BENCHMARK in self._spinner.node.get_node_names() else f"{BENCHMARK} node: not on the graph; "
        return f"{there}it is {state_name(self.state.state)}, waiting for {waiting}{why}; {nodes}"

    def _on_trial(self, message: TrialState) -> None:
        if message.session_id == self._session_id:
            self.state = message
            self._tell_waiting()

    def _tell_waiting(self) -> None:
        people = tuple(name for name in self.state.waiting_for if name in PEOPLE)
        now = (str(self.state.trial_id), state_name(self.state.state), people)
        if self.tell is not None and people and now != self._told:
            self.tell(*now)
        self._told = now


def _verdict_data(message: Verdict) -> VerdictData:
    return VerdictData(
        uuid=message.uuid,
        trial_id=message.trial_id,
        grader_id=message.grader_id,
        source=message.source,
        outcome=OUTCOMES.get(message.outcome, "unknown"),
        invalid_reason=INVALID_REASONS.get(message.invalid_reason, ""),
        stage=int(message.stage) if message.has_stage else None,
        note=message.note,
        decided_ns=to_ns(message.header.stamp),
    )
