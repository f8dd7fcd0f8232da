"""Reads from package.xml what a package depends on; the build's checks and the house rules both ask."""

from __future__ import annotations

import re

__all__ = ["depends"]

_DEPEND = re.compile(r"<(?:\w+_)?depend[^>]*>\s*([\w-]+)\s*</")


def depends(description: str) -> set[str]:
    """Return the names in all kinds of ``<depend>`` of a package.xml's text."""
    return set(_DEPEND.findall(description))
