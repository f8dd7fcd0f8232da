"""Starts the tools that need no environment: puts their folder on the path and calls them."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from assay_tools.main import run  # noqa: E402  (the path comes first)

if __name__ == "__main__":
    sys.exit(run(ROOT, sys.argv[1:]))
