"""Which offset of a partition may be committed: the contiguous tracker.

The committed offset is the one to read next after a restart. It is the first offset that was sent
and has no terminal answer yet, or, with nothing outstanding, the one after the last that was sent.
So it never passes a record that nobody answered, never goes back, and never waits for a record that
was not sent. Offsets of a partition have gaps (compaction, transaction markers): only their order
is used.

A tracker lives as long as its partition is assigned, and belongs to that generation of it. When the
partition is taken away the tracker is closed, and answers that come later change nothing.
"""

from __future__ import annotations


class PartitionTracker:
    """Tracks one assigned partition. Offsets are Kafka's, ascending as they are sent."""

    __slots__ = ("_committed", "_next", "_outstanding", "closed")

    def __init__(self) -> None:
        self.closed = False
        self._outstanding: dict[int, None] = {}
        self._next: int | None = None
        self._committed: int | None = None

    def sent(self, offset: int) -> None:
        """Track a record that was sent for the first time, later in the partition than all before."""
        self._outstanding[offset] = None
        self._next = offset + 1

    def done(self, offset: int) -> bool:
        """Take a terminal answer. Gives False if it is late or was given before."""
        return self._outstanding.pop(offset, self) is None

    @property
    def outstanding(self) -> int:
        """How many records have no terminal answer yet."""
        return len(self._outstanding)

    def span(self) -> int:
        """Tell how many offsets there are from the first without a terminal answer to the last sent."""
        if not self._outstanding or self._next is None:
            return 0
        return self._next - next(iter(self._outstanding))

    def position(self) -> int | None:
        """Give the offset to commit, None before anything was sent."""
        if self._outstanding:
            return next(iter(self._outstanding))
        return self._next

    def to_commit(self) -> int | None:
        """Give the position if it is not committed yet, else None."""
        position = self.position()
        if self.closed or position is None or position == self._committed:
            return None
        return position

    def committed(self, offset: int) -> None:
        """Take notice that Kafka has a commit. An older one than known changes nothing."""
        if self._committed is None or offset > self._committed:
            self._committed = offset

    def close(self) -> None:
        """End the generation: nothing is outstanding or committable any more."""
        self.closed = True
        self._outstanding.clear()
