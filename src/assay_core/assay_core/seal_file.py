"""Name of the seal, in a module of its own because journal and seal both look for it."""

from __future__ import annotations

__all__ = ["SEAL_FILE"]

SEAL_FILE = "seal.json"
