"""An independent witness: a node of its own that hears what the benchmark node tells everybody.

What an operator was told is what must be in the journal. Only somebody beside the journal can say what that was.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from assay_core.journal import JournalReader
from assay_core.trial import State
from assay_msgs.msg import Receipt, TrialState
from assay_ros import qos

KINDS = {Receipt.KIND_READY: "operator_ready", Receipt.KIND_VERDICT: "verdict"}


class Observer(Node):
    """Takes benchmark/receipt and benchmark/trial."""

    def __init__(self, context: rclpy.Context) -> None:
        super().__init__("observer", context=context, start_parameter_services=False)
        self.receipts: list[Receipt] = []
        """In the order of arrival; other threads read, none writes."""
        self.trial: TrialState | None = None
        self.published = 0
        """How often benchmark/trial was published."""
        self.create_subscription(Receipt, "benchmark/receipt", self.receipts.append, qos.EVENT)
        self.create_subscription(TrialState, "benchmark/trial", self._on_trial, qos.LATCHED)

    def _on_trial(self, message: TrialState) -> None:
        self.trial = message
        self.published += 1

    def state(self) -> tuple[str, State] | None:
        """Return trial and state as last published."""
        last = self.trial
        return None if last is None else (last.trial_id, State(last.state))

    def session_id(self) -> str:
        """Return the session that was published last; empty before the first."""
        return "" if self.trial is None else str(self.trial.session_id)

    def acknowledged(self, kind: int = Receipt.KIND_VERDICT) -> dict[str, Receipt]:
        """Return the accepted messages of a kind by UUID."""
        return {receipt.uuid: receipt for receipt in list(self.receipts) if receipt.kind == kind and receipt.accepted}

    def check_journal(self, session: Path) -> None:
        """Everything acknowledged is in the journal, where its receipt says."""
        events = list(JournalReader(session).events())
        for kind, name in KINDS.items():
            for uuid, receipt in self.acknowledged(kind).items():
                assert receipt.journal_index < len(events), f"{name} {uuid} of {receipt.trial_id} was lost"
                event = events[receipt.journal_index]
                found = (event.idx, event.kind, event.trial_id, event.body["uuid"])
                assert found == (receipt.journal_index, name, receipt.trial_id, uuid), "another event took its place"


@contextlib.contextmanager
def observing(domain: int) -> Iterator[Observer]:
    """Observe a domain on a thread of its own."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    observer, executor = Observer(context), SingleThreadedExecutor(context=context)
    executor.add_node(observer)

    def spin() -> None:
        with contextlib.suppress(ExternalShutdownException):
            executor.spin()

    thread = threading.Thread(target=spin, name="observer", daemon=True)
    thread.start()
    try:
        yield observer
    finally:
        executor.shutdown()
        thread.join(10)
        observer.destroy_node()
        rclpy.shutdown(context=context)
        assert not thread.is_alive(), "the observer does not end"
