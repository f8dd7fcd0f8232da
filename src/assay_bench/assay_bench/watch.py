"""What happens to a trial without anybody asking: the world answers, the runner falls silent, a deadline passes."""

from __future__ import annotations

from assay_bench.bench import Bench, Steps
from assay_bench.runner_desk import RunnerDesk
from assay_core import journal_events as events
from assay_core.trial import Event, State
from assay_msgs.msg import Heartbeat, ResultCode

__all__ = ["Watch"]


class Watch:
    """Operations that the node starts by itself.

    Args:
        bench: Shared state.
        runner: Ends a pause when the runner is heard.
    """

    def __init__(self, bench: Bench, runner: RunnerDesk) -> None:
        self.bench, self.runner = bench, runner

    def heard(self, message: Heartbeat) -> bool:
        """Note a heartbeat; return whether `back` must run to end a pause."""
        session = self.bench.session
        if session is None or (session.id, session.runner_id) != (message.session_id, message.runner_id):
            return False
        session.runner_seen = self.bench.monotonic()
        return session.current is not None and session.current.trial.paused

    def back(self) -> Steps[None]:
        """End the pause of a runner that is heard again."""
        yield from self.runner.runner_heard()

    def world_answered(self, trial_id: str, code: int, message: str, stamp_ns: int) -> Steps[None]:
        """Take the world's answer for a trial.

        Args:
            trial_id: The trial that the world was asked to build.
            code: ``ResultCode`` of the answer; DEADLINE_EXCEEDED when there was none.
            message: The world's sentence.
            stamp_ns: Stamp of the first frame set [ns].
        """
        bench, session = self.bench, self.bench.session
        current = session.current if session is not None else None
        if session is None or current is None or current.id != trial_id or "world" not in current.trial.waiting_for:
            return
        if code == ResultCode.OK:
            state = bench.check(current, Event.WORLD_READY)
            yield from bench.commit(session, events.world_ready(trial_id, state, stamp_ns))
            current.world_stamp_ns = stamp_ns
            bench.happen(current, Event.WORLD_READY)
            bench.publish(session)
            bench.release(current)
        else:
            why = f"world/reset: {message or 'refused without a reason'}"
            yield from bench.end(session, current, Event.WORLD_FAILED, code=ResultCode.WORLD_RESET_FAILED, message=why)

    def due(self) -> bool:
        """Return whether `tick` has something to do; cheap, called once a second."""
        return self._event() is not None

    def tick(self) -> Steps[None]:
        """Pause a trial whose runner is silent; end one that waited too long."""
        bench, session = self.bench, self.bench.session
        current = session.current if session is not None else None
        event = self._event()
        if session is None or current is None or event is None:
            return
        silent_s = bench.monotonic() - session.runner_seen
        state = current.trial.state
        if event is Event.RUNNER_SILENT:
            yield from bench.commit(session, events.runner_silent(current.id, state, silent_s))
            bench.happen(current, event)
            current.message = (
                f"paused: runner '{session.runner_id}' has been silent for {silent_s:.0f} s in {state.name}. "
                "fix: see whether that process lives; if it does not, resume the session"
            )
            bench.publish(session)
        elif event is Event.INTERRUPTED:
            yield from bench.end(
                session,
                current,
                event,
                code=ResultCode.RUNNER_SILENT,
                message=f"runner '{session.runner_id}' was silent for {silent_s:.0f} s in {state.name}",
            )
        else:
            waited = ", ".join(current.trial.waiting_for)
            message = f"{state.name} lasted longer than {bench.params.deadline_s(state.name):g} s, waiting for {waited}"
            yield from bench.end(session, current, event, code=ResultCode.DEADLINE_EXCEEDED, message=message)

    def _event(self) -> Event | None:
        bench, session = self.bench, self.bench.session
        current = session.current if session is not None else None
        if session is None or current is None or not current.trial.in_progress:
            return None
        now = bench.monotonic()
        silent_s, params = now - session.runner_seen, bench.params
        if current.trial.paused:
            lost = 0 < params.runner_lost_s < silent_s
            return Event.INTERRUPTED if lost else None
        if silent_s > params.heartbeat_timeout_s:
            return Event.RUNNER_SILENT
        judged = current.trial.state is State.JUDGE and current.verdict is not None
        return Event.DEADLINE if now > current.deadline_mono and not judged else None
