"""Exit codes of everything that runs a session; scripts and CI depend on them."""

from __future__ import annotations

__all__ = ["DONE", "HALTED", "INCOMPLETE", "INTERRUPTED", "USAGE"]

DONE = 0
INCOMPLETE = 1
"""Some trial could not be run, or a defect."""
USAGE = 2
"""Usage or configuration."""
HALTED = 3
"""Stopped for safety."""
INTERRUPTED = 130
"""A signal ended it."""
