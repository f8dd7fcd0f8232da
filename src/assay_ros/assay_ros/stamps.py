"""Samples of one stream by stamp, bounded in number, from which nobody can push out the one that is waited for.

Every reader of the rig looks for samples by their stamps. Which samples to give up when there are too many is therefore
a matter of trust: kept by the newest stamp, a few messages with stamps in the future, from a broken clock or a forger,
would push out every sample of the present for good. Here the sample that arrived longest ago goes first, whatever its
stamp says, and never the one that is waited for.
"""

from __future__ import annotations

from typing import Any

from assay_ros.raw import stamp_of

__all__ = ["StampBuffer"]


class StampBuffer:
    """The last samples of one stream to arrive, by stamp [ns].

    Args:
        name: The stream.
        watch: Shared among the streams that are waited for together: holds ``name`` while its wanted sample is missing.
        keep: Samples kept, at least 2.
    """

    __slots__ = ("_keep", "_watch", "latest_ns", "name", "samples", "torn", "wanted_ns")

    def __init__(self, name: str, watch: set[str], keep: int) -> None:
        self.name = name
        self.samples: dict[int, Any] = {}
        """Messages by stamp, in the order of their arrival. The one with ``wanted_ns`` is never dropped."""
        self.wanted_ns: int | None = None
        """Stamp that is waited for; None before the first `want`."""
        self.latest_ns: int | None = None
        """Newest stamp among the samples; None when there are none."""
        self.torn = 0
        """Messages so far that were too short to have a stamp; they are not kept."""
        self._watch = watch
        self._keep = max(2, keep)

    def add(self, msg: Any) -> None:
        """Keep one message, serialized or not, whose first field is a header; a repeat replaces the earlier one."""
        if type(msg) is bytes:
            try:
                ns = stamp_of(msg)
            except ValueError:
                self.torn += 1
                return
        else:
            stamp = msg.header.stamp
            ns = stamp.sec * 1_000_000_000 + stamp.nanosec
        samples = self.samples
        samples[ns] = msg
        if ns == self.wanted_ns:
            self._watch.discard(self.name)
        latest = self.latest_ns
        if latest is None or ns > latest:
            self.latest_ns = ns
        if len(samples) > self._keep:
            self._drop()

    def want(self, stamp_ns: int) -> None:
        """Wait for the sample with this stamp, and for no earlier one any more; one that is already there counts."""
        self.wanted_ns = stamp_ns
        if stamp_ns in self.samples:
            self._watch.discard(self.name)
        else:
            self._watch.add(self.name)

    def _drop(self) -> None:
        """Give up the sample that arrived first, unless it is the one that is waited for: then the next one."""
        order = iter(self.samples)
        oldest = next(order)
        if oldest == self.wanted_ns:
            oldest = next(order)
        del self.samples[oldest]
        if oldest == self.latest_ns:
            self.latest_ns = max(self.samples)
