"""Reports that a trial has reached a state, some of which are answered only while something else goes on.

Between its states a lockstep trial has nothing to wait for, so a report may be sent before what follows it and its
answer looked at afterwards. What was sent ahead is kept here, so that no answer is ever left unread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from assay_bridge.benchmark_calls import BenchmarkCalls
from assay_bridge.services import ServiceCall
from assay_bridge.trial_watch import TrialWatch
from assay_core.errors import RigFault

__all__ = ["Advances"]


class Advances:
    """Reports of the states of the current trial; see the methods of `GraphClient`.

    Args:
        benchmark: Makes the calls.
        trial: The trial that is reported on, and how it ended where it did.
    """

    def __init__(self, benchmark: BenchmarkCalls, trial: TrialWatch) -> None:
        self._benchmark = benchmark
        self._trial = trial
        self._ahead: ServiceCall | None = None
        """A report of `ahead` whose answer is still to be looked at."""

    @property
    def pending(self) -> bool:
        """Whether a report was sent ahead and its answer not looked at yet."""
        return self._ahead is not None

    def report(self, state: int, record_json: str = "") -> int:
        """Report a state, wait for the answer and for that of a report ahead; see `GraphClient.advance`."""
        ahead, self._ahead = self._ahead, None
        with self._begin(state, record_json) as call:
            if ahead is not None:
                with ahead:
                    self._answered(ahead)
                if ahead.repeated:
                    # This report may have overtaken the one before it; a repeat of what was accepted is harmless.
                    call.forget()
                    call = self._begin(state, record_json)
            return self._answered(call)

    @contextlib.contextmanager
    def meanwhile(self, state: int) -> Iterator[None]:
        """Report a state, and wait for the answer only at the end of the block; see `GraphClient.advance_meanwhile`."""
        with self._begin(state) as call:
            yield
            self._answered(call)

    def ahead(self, state: int) -> None:
        """Report a state; the next `report` waits for this one's answer too."""
        self._ahead = self._begin(state)

    def forget(self) -> None:
        """Give up the answer of a report ahead: the trial goes on, or ends, without it."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.forget()

    def _begin(self, state: int, record_json: str = "") -> ServiceCall:
        return self._benchmark.advance_trial(self._trial.trial_id, state, record_json)

    def _answered(self, call: ServiceCall) -> int:
        try:
            return self._benchmark.advanced(call)
        except RigFault:
            # The trial may have been ended from elsewhere, which says more than the refusal.
            self._trial.check()
            raise
