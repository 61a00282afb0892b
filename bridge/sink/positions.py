"""What a sink link commits: from where on each of its partitions is for others, or for a later link.

A link that sends unsettled commits what was answered. One that sends settled has committed each record
before it is sent, and reads ahead of its receiver's credit: what it has not sent when it ends, or when a
partition is taken away, it gives back, by a commit that goes back to the first such record.
"""

from __future__ import annotations

from itertools import groupby
from operator import methodcaller
from typing import TYPE_CHECKING, Final

from bridge.sink.lane import Lane

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bridge.sink.policy import SinkPolicy
    from bridge.sink.ports import ConsumedRecord, Offsets

partition_of: Final = methodcaller("partition")
"""Of a record."""


class Positions:
    """The offsets of one link."""

    def __init__(self, policy: SinkPolicy) -> None:
        self._commits = policy.commits
        self._gives_back = policy.commits and policy.sends_settled
        self._position = Lane.unsent if policy.sends_settled else Lane.to_commit
        self._at_end: Offsets = {}

    def running(self, lanes: Iterable[Lane]) -> Offsets:
        """Give what is to be committed while the link goes on. What is sent settled is committed before."""
        return {} if self._gives_back else self.leaving(lanes)

    def leaving(self, lanes: Iterable[Lane]) -> Offsets:
        """Give what is to be committed for lanes that end."""
        if not self._commits:
            return {}
        return {
            lane.partition: (lane.generation, offset)
            for lane in lanes
            if (offset := self._position(lane)) is not None
        }

    def end(self, lanes: Iterable[Lane]) -> Offsets:
        """Give what is to be committed at the link's end."""
        self._at_end = self.leaving(lanes)
        return self._at_end

    def after_end(self, lanes: Mapping[int, Lane], records: Sequence[ConsumedRecord]) -> Offsets:
        """Give what is to be committed because of records that came after the link's end."""
        if not self._gives_back:
            return {}
        offsets: Offsets = {}
        for partition, run in groupby(records, partition_of):
            lane = lanes.get(partition or 0)
            if lane is not None and lane.partition not in self._at_end:
                offset = next(run).offset() or 0
                offsets[lane.partition] = self._at_end[lane.partition] = (lane.generation, offset)
        return offsets
