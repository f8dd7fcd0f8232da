"""The benchmark node as blocking calls: open a session, start, advance and finish its trials, close it.

Each call is answered after the event is in the journal, so a caller that has its answer knows that nothing gets lost.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay_bridge.answers import error_for
from assay_bridge.client_types import ClientConfig, SessionOpened
from assay_bridge.services import ServiceCall, Services
from assay_bridge.session_size import reading_s
from assay_core.errors import DataError
from assay_core.realization import TrialRealization
from assay_msgs.srv import AdvanceTrial, CloseSession, FinishTrial, OpenSession, StartTrial
from assay_ros.convert import realization_from_msg

__all__ = ["OPEN_SESSION", "BenchmarkCalls"]

NODE = "benchmark"
"""Node name, for errors."""

REPEAT_FRACTION = 0.25
"""An unanswered call is repeated after this part of its deadline. Every service is idempotent: a repeat gets the first
answer, so a lost message costs this much and no more."""

OPEN_SESSION = "benchmark/open_session"
"""Service whose server shows that the node is there."""

ADVANCE_TRIAL = "benchmark/advance_trial"


class BenchmarkCalls:
    """Calls of the benchmark node's services. Every answer that is not OK raises (see `answers.error_for`).

    Args:
        services: Makes the calls.
        config: Session, runner and deadline.
    """

    def __init__(self, services: Services, config: ClientConfig) -> None:
        self._services = services
        self._config = config
        for kind, name in (
            (OpenSession, OPEN_SESSION),
            (StartTrial, "benchmark/start_trial"),
            (AdvanceTrial, ADVANCE_TRIAL),
            (FinishTrial, "benchmark/finish_trial"),
            (CloseSession, "benchmark/close_session"),
        ):
            services.add(kind, name)

    def open_session(self, directory: str, plan_hash: str, *, resume: bool) -> SessionOpened:
        """Open or reopen the session; see `GraphClient.open_session`."""
        request = OpenSession.Request(
            session_id=self._config.session_id,
            runner_id=self._config.runner_id,
            directory=directory,
            plan_hash=plan_hash,
            resume=resume,
        )
        answer = self._services.call_when_ready(
            OpenSession,
            OPEN_SESSION,
            request,
            deadline_s=self._config.service_s + reading_s(Path(directory)),
            ready_s=self._config.connect_s,
            node=NODE,
            repeat_s=self._repeat_s,
        )
        return SessionOpened(int(answer.next_plan_index), answer.head_hash)

    def close_session(self, status: int, reason: str, longest_s: float) -> str:
        """Close the session and return the seal's root hash; empty when it was not sealed.

        Args:
            status: ``CloseSession.Request.STATUS_*``.
            reason: Why, when it is not done.
            longest_s: What the benchmark node may take beyond an ordinary answer (see `session_size.sealing_s`) [s].
        """
        request = CloseSession.Request(session_id=self._config.session_id, status=status, reason=reason)
        return str(self._call(CloseSession, "benchmark/close_session", request, longest_s).root_hash)

    def start_trial(
        self, trial_id: str, plan_index: int, attempt: int, entry_json: str
    ) -> tuple[Any, TrialRealization]:
        """Start one attempt and return its realization, as a message and as data.

        Raises:
            DataError: The realization's hash does not agree with its content.
        """
        request = StartTrial.Request(
            session_id=self._config.session_id,
            trial_id=trial_id,
            plan_index=plan_index,
            attempt=attempt,
            entry_json=entry_json,
        )
        message = self._call(StartTrial, "benchmark/start_trial", request).realization
        realization = realization_from_msg(message)
        if realization.content_hash() != message.content_hash:
            raise DataError(
                f"realization of trial {trial_id}",
                expected=f"content hash {message.content_hash}",
                got=realization.content_hash(),
                fix="run the benchmark node and the runner from the same version of the workspace",
            )
        return message, realization

    def advance_trial(self, trial_id: str, state: int, record_json: str) -> ServiceCall:
        """Report that a trial reached a state; `advanced` waits for the answer."""
        request = AdvanceTrial.Request(
            session_id=self._config.session_id, trial_id=trial_id, state=state, record_json=record_json
        )
        return self._services.begin(
            AdvanceTrial,
            ADVANCE_TRIAL,
            request,
            deadline_s=self._config.service_s,
            node=NODE,
            repeat_s=self._repeat_s,
        )

    def advanced(self, call: ServiceCall) -> int:
        """Return the state in force, once the report is answered.

        Raises:
            AssayError: The benchmark node refused (see `answers.error_for`), or did not answer.
        """
        answer = call.answer()
        error = error_for(ADVANCE_TRIAL, answer.code, answer.message)
        if error is not None:
            raise error
        return int(answer.state)

    def finish_trial(self, trial_id: str, status: int, error: str, record_json: str) -> int:
        """Finish a trial and return its terminal state."""
        request = FinishTrial.Request(
            session_id=self._config.session_id, trial_id=trial_id, status=status, error=error, record_json=record_json
        )
        return int(self._call(FinishTrial, "benchmark/finish_trial", request).state)

    def _call(self, kind: Any, name: str, request: Any, more_s: float = 0.0) -> Any:
        return self._services.call(
            kind, name, request, deadline_s=self._config.service_s + more_s, node=NODE, repeat_s=self._repeat_s
        )

    @property
    def _repeat_s(self) -> float:
        return self._config.service_s * REPEAT_FRACTION
