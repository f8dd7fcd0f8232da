"""Fixtures of the bridge's tests. Imports of ROS wait for the first test that needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def world(tmp_path: Path) -> Any:
    """Return a session of four trials that a test may disturb."""
    from journalled import World, make_plan

    return World(tmp_path / "session", make_plan())


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Any]]:
    """Return a function that starts a rig of fakes and a client with an open session on it."""
    from fakes import rig

    from assay_bridge.client import GraphClient
    from assay_bridge.client_types import ClientConfig
    from assay_ros.testing import graph

    with ExitStack() as stack:

        def make(cameras: Any = (), *, liveness: Any = None, world: Any = None, **config: Any) -> Any:
            context, _, domain = stack.enter_context(graph())
            fakes = stack.enter_context(rig(domain, cameras, **(world or {})))
            settings = {"session_id": "s", "cameras": cameras, "service_s": 5.0, "step_s": 5.0, **config}
            client = GraphClient(ClientConfig(**settings), context=context, liveness=liveness)
            stack.callback(client.close)
            client.connect(policy=True)
            client.open_session("/tmp/nowhere", "0" * 64, resume=False)
            return fakes, client

        yield make
