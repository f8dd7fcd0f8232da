"""Where things are in a checkout, in one place, so that nothing else joins paths by hand."""

from __future__ import annotations

from pathlib import Path

__all__ = ["Layout"]


class Layout:
    """Paths of one checkout.

    Args:
        root: The top folder of the checkout, absolute and with symbolic links resolved.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tools = root / "tools"
        self.src = root / "src"
        self.venv = root / ".venv"
        self.python = self.venv / "bin" / "python"
        self.build = root / "build"
        self.install = root / "install"
        self.log = root / "log"
        self.state = root / ".assay"
        """What setup remembers: stamps, the computed environment, the package cache, logs of the tools."""
        self.ready = self.state / "environment.json"
        """Written last: its presence and content say that the environment is complete, and for which inputs."""
        self.base_python = self.state / "python"
        self.lock = self.state / "setup.lock"
        self.cache = self.state / "cache"
        self.trash = self.state / "trash"
        self.logs = self.state / "logs"
        self.venv_created = self.venv / ".assay-created"
        self.venv_ready = self.venv / ".assay-ready.json"
        self.build_dirty = self.state / "build-unfinished"
        self.build_ready = self.install / ".assay-ready.json"

    def requirements(self, kind: str) -> Path:
        """Return the lock file of the packages for ``wheels`` or ``ros``."""
        return self.tools / f"requirements-{kind}.lock"

    def packages(self) -> list[Path]:
        """Return the folders of all packages below ``src``, sorted."""
        return sorted(path.parent for path in self.src.glob("*/package.xml"))
