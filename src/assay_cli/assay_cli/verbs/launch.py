"""`./assay launch NAME_OR_FILE key:=value...`: start a launch file as `ros2 launch` would."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Hand over to the launch runner."""
    from assay_bringup.cli import main as launch
    from assay_cli.launch_check import check_launch

    code: int = launch(list(argv), check_launch)
    return code
