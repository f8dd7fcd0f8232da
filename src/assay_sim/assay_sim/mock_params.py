"""Parameters of the mock world's node."""

from __future__ import annotations

from dataclasses import dataclass

from assay_ros.params import param

__all__ = ["MockWorldParams"]


@dataclass(frozen=True)
class MockWorldParams:
    """Parameters of `mock_world`; all but ``faults`` are fixed once the node runs."""

    mode: str = param("lockstep", "who drives time: commands, or the wall clock", choices=("lockstep", "paced"))
    control_hz: float = param(10.0, "control rate; one step is 1/control_hz", unit="Hz", low=1.0, high=200.0)
    cameras: int = param(3, "number of cameras, the first of top, left, right", low=0, high=3)
    camera_width: int = param(640, "width of every picture", unit="px", low=16, high=4096)
    camera_height: int = param(360, "height of every picture", unit="px", low=16, high=4096)
    noise: float = param(0.0, "sensor noise, standard deviation per channel", unit="grey levels", low=0.0, high=100.0)
    seed: int = param(0, "of sensor noise and random faults, not of the trials", low=0, high=2**32 - 1)
    publish_trace: bool = param(False, "publish <arm>/trace, 20 steps per message")
    publish_clock: bool = param(False, "publish clock at every step, for tools that follow simulated time")
    faults: str = param("", "faults to have, 'kind:key=value,...; ...'; see docs/mock-world.md", read_only=False)
