"""One assigned partition of a sink link: what waits to be sent, and in which order it goes.

Records are sent in their order. One that is to be sent again goes before those that were not sent yet;
while it waits for its pause to be over, the others wait as well (the order is kept) or go on, as far ahead
as they may.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING

from bridge.sink.offsets import PartitionTracker

if TYPE_CHECKING:
    from bridge.sink.ports import ConsumedRecord
    from bridge.sink.redelivery import Retry


class Lane:
    """A partition in one generation of its assignment.

    `ahead_records` is how many offsets the newest record that was sent may be ahead of the oldest without
    a terminal answer; None keeps the order.
    """

    __slots__ = (
        "_ahead_records",
        "_pausing",
        "_retries",
        "burying",
        "generation",
        "is_queued",
        "leaving",
        "parked",
        "partition",
        "returned_bytes",
        "tracker",
        "waiting",
    )

    def __init__(self, partition: int, generation: int, ahead_records: int | None) -> None:
        self.partition = partition
        self.generation = generation
        self.tracker = PartitionTracker()
        self.waiting: deque[ConsumedRecord] = deque()
        """Records that were not sent yet."""
        self.parked = 0
        """How many of them, the first ones, count as having left the link's buffer: they wait for a record
        that is to be sent again, which is nothing that other partitions should wait for."""
        self.burying = 0
        """How many of its records are on their way to the dead-letter topic."""
        self.returned_bytes = 0
        """What the records take that are to be sent again."""
        self.is_queued = False
        """It waits for its turn to send."""
        self.leaving = False
        """Nothing more of it is to be sent: it will be taken away, or was."""
        self._ahead_records = ahead_records
        self._retries: list[Retry] = []
        """Records to be sent again: all of them where the order is kept, else those whose pause is over."""
        self._pausing = 0
        """How many records wait for their pause to be over, beside those."""

    @property
    def closed(self) -> bool:
        """Tell whether its generation has ended."""
        return self.tracker.closed

    @property
    def returned(self) -> int:
        """Count the records that are to be sent again."""
        return len(self._retries) + self._pausing

    def to_commit(self) -> int | None:
        """Give the offset of the first record without a terminal answer, if that is not committed yet."""
        return self.tracker.to_commit()

    def unsent(self) -> int | None:
        """Give the offset of the first record that was not sent yet, None if nothing waits."""
        return (self.waiting[0].offset() or 0) if self.waiting else None

    def put_back(self, retry: Retry) -> None:
        """Take a record that is to be sent again after a pause."""
        if self._ahead_records is None:
            heappush(self._retries, retry)
        else:
            self._pausing += 1

    def is_due(self, retry: Retry) -> None:
        """Take notice that a record's pause is over."""
        retry.is_due = True
        if self._ahead_records is not None:
            self._pausing -= 1
            heappush(self._retries, retry)

    def has_due(self) -> bool:
        """Tell whether a record is to be sent again now."""
        return bool(self._retries) and self._retries[0].is_due

    def next_retry(self) -> Retry | None:
        """Take the record out that is to be sent again now, None if there is none."""
        if self.has_due():
            return heappop(self._retries)
        return None

    def fresh(self) -> int:
        """Tell how many records that were not sent yet may be sent now."""
        waiting = len(self.waiting)
        if self._ahead_records is None:
            return 0 if self._retries else waiting
        return max(0, min(waiting, self._ahead_records - self.tracker.span())) if waiting else 0

    def can_send(self) -> bool:
        """Tell whether there is anything to be sent now."""
        return self.has_due() or self.fresh() > 0

    def park(self) -> list[ConsumedRecord]:
        """Let what waits count as having left the buffer; gives what did not yet."""
        newly = list(islice(self.waiting, self.parked, None))
        self.parked = len(self.waiting)
        return newly

    def forget(self) -> list[ConsumedRecord]:
        """Drop all that waits; gives what was in the buffer yet."""
        waiting = self.park()
        self.parked = 0
        self.waiting.clear()
        self._retries.clear()
        self._pausing = 0
        return waiting

    def close(self) -> None:
        """End the generation."""
        self.leaving = True
        self.tracker.close()
