"""Parameters of the benchmark node."""

from __future__ import annotations

from dataclasses import dataclass

from assay_ros.params import param

__all__ = ["BenchmarkParams"]


@dataclass(frozen=True)
class BenchmarkParams:
    """Read once, when the node is configured."""

    world: bool = param(False, "whether a simulated world serves world/reset; READY then waits for it")
    world_deadline_s: float = param(20.0, "longest wait for world/reset, repeats included", unit="s", low=0.5, high=600)
    world_retry_s: float = param(3.0, "an unanswered world/reset is repeated after", unit="s", low=0.5, high=60)
    heartbeat_timeout_s: float = param(
        5.0, "a runner that is silent for longer pauses the trial and may be replaced", unit="s", low=0.5, high=3600
    )
    runner_lost_s: float = param(
        60.0, "a trial whose runner is silent for longer becomes invalid; 0 waits for ever", unit="s", low=0, high=86400
    )
    arrange_deadline_s: float = param(0.0, "longest stay in ARRANGE; 0 for none", unit="s", low=0, high=86400)
    ready_deadline_s: float = param(300.0, "longest stay in READY; 0 for none", unit="s", low=0, high=86400)
    running_deadline_s: float = param(0.0, "longest stay in RUNNING; 0 for none", unit="s", low=0, high=86400)
    parking_deadline_s: float = param(120.0, "longest stay in PARKING; 0 for none", unit="s", low=0, high=86400)
    judge_deadline_s: float = param(0.0, "longest wait for a verdict in JUDGE; 0 for none", unit="s", low=0, high=86400)
    policy_label: str = param("", "what operators are told about the policy; empty keeps them blind")

    def deadline_s(self, state: str) -> float:
        """Return the longest stay in a state [s], 0 for none; ``state`` is a name like ARRANGE."""
        return float(getattr(self, f"{state.lower()}_deadline_s", 0.0))
