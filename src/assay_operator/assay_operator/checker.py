"""The automatic grader: judges a trial by the last state that the simulated world published for it.

The last state may reach this process after the news that a verdict is due, since the two travel by different ways. A
state is known to be the last when it ends the trial or lies at the horizon; otherwise the checker waits a little for a
newer one before it takes the newest it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Checker", "Judgement", "WorldState"]

MAX_GRACES = 4
"""A world that runs on in JUDGE, as a paced one does, is not waited for longer than this many grace periods."""


@dataclass(frozen=True)
class WorldState:
    """What the world says about a trial (``assay_msgs/TaskState``)."""

    trial: tuple[str, str]
    """Session and trial id: trials of all sessions have the same ids."""
    step: int
    progress: float
    success: bool
    terminated: bool
    reason: str


@dataclass(frozen=True)
class Judgement:
    """What the checker says about a trial."""

    outcome: str
    """success, failure or invalid."""
    stage: int | None
    """Stage of the task's rubric where it is known: success is the last stage, anything else could be any."""
    note: str


class Checker:
    """Judges one trial after the other.

    Args:
        newest: Returns the newest state that arrived, or None.
        ask_again: Has the world publish its state again.
        grace_s: How long to wait for a newer state, when the newest may not be the last [s].
        give_up_s: How long to wait for any state of the trial before it is judged invalid [s].
    """

    def __init__(
        self,
        newest: Callable[[], WorldState | None],
        ask_again: Callable[[], None],
        *,
        grace_s: float,
        give_up_s: float,
    ) -> None:
        self._newest, self._ask_again = newest, ask_again
        self._grace_s, self._give_up_s = grace_s, give_up_s
        self._trial = ("", "")
        self._since_s = self._newer_s = self._asked_s = 0.0
        self._seen: WorldState | None = None

    def judge(self, trial: tuple[str, str], horizon: int, rubric: bool, now_s: float) -> Judgement | None:
        """Return the judgement of a trial, or None while a state is waited for. Call it again then.

        Args:
            trial: Session and id of the trial in JUDGE.
            horizon: Its control steps; 0 when unknown.
            rubric: Whether the task has a rubric of stages 0 to 4.
            now_s: Monotonic time [s].
        """
        if trial != self._trial:
            self._trial, self._since_s, self._newer_s = trial, now_s, now_s
            self._asked_s, self._seen = now_s, None
        state = self._newest()
        if state is not None and state.trial == trial and state != self._seen:
            self._seen, self._newer_s = state, now_s
        seen = self._seen
        if seen is None:
            if now_s - self._asked_s > self._grace_s:
                # Asked until there is an answer: the question, or the state that it brings, may meet nobody yet.
                self._asked_s = now_s
                self._ask_again()
            if now_s - self._since_s > self._give_up_s:
                return Judgement("invalid", None, f"no world/task_state of this trial within {self._give_up_s:g} s")
            return None
        last = seen.terminated or (horizon > 0 and seen.step >= horizon)
        newer_due = now_s - self._newer_s <= self._grace_s and now_s - self._since_s <= MAX_GRACES * self._grace_s
        if not last and newer_due:
            return None
        ending = seen.reason or "not ended by the world"
        note = f"progress {seen.progress:.3f} after {seen.step} steps ({ending})"
        if seen.reason == "success" if seen.terminated else seen.success:
            return Judgement("success", 4 if rubric else None, note)
        return Judgement("failure", None, note)
