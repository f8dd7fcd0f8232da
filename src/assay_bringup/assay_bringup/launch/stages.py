"""The signals that a process gets until it ends: SIGINT, SIGTERM, SIGKILL, at the times that the launch file gives."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field

from assay_bringup.launch.child import Child
from assay_bringup.launch.model import ResolvedProcess

__all__ = ["Stages"]

HURRY_S = 0.5
"""Time that a process gets after SIGTERM when it is to be ended at once [s]."""


@dataclass
class Stages:
    """The way of one process to its end."""

    spec: ResolvedProcess
    child: Child
    sent: list[int] = field(default_factory=list)
    last_s: float = field(init=False)
    """When SIGKILL is due [s since the stop began]."""
    _hurried: bool = False

    def __post_init__(self) -> None:
        """Take the times of the launch file."""
        self.last_s = self.spec.sigterm_after_s + self.spec.sigkill_after_s

    @property
    def escalated(self) -> str:
        """SIGTERM or SIGKILL where the first signal was not enough, else empty."""
        return signal.Signals(self.sent[-1]).name if len(self.sent) > 1 else ""

    def advance(self, elapsed_s: float, hurried: bool) -> None:
        """Send what is due.

        Args:
            elapsed_s: Time since the stop began [s].
            hurried: Whether it is to end at once.
        """
        if self.child.ended.is_set():
            return
        if hurried and not self._hurried:
            self._hurried, self.last_s = True, min(self.last_s, elapsed_s + HURRY_S)
        if not self.sent and not hurried:
            self._send(signal.SIGINT)
        if signal.SIGTERM not in self.sent and (hurried or elapsed_s >= self.spec.sigterm_after_s):
            self._send(signal.SIGTERM)
        if signal.SIGKILL not in self.sent and elapsed_s >= self.last_s:
            self._send(signal.SIGKILL)

    def _send(self, signum: int) -> None:
        self.sent.append(signum)
        if signum == signal.SIGKILL:
            self.child.kill()
        else:
            self.child.send(signum)
