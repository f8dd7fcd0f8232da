"""Settings of the tests of this package."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is no failure: no test here has a limit in wall time.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
