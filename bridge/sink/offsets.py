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

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ANSWERED_MIN: Final = 1024
"""How many answered offsets may be remembered behind one that is not, however few those are."""


class PartitionTracker:
    """Tracks one assigned partition. Offsets are Kafka's, ascending as they are sent."""

    __slots__ = ("_committed", "_next", "_order", "_outstanding", "closed")

    def __init__(self) -> None:
        self.closed = False
        self._outstanding: dict[int, None] = {}
        self._order: deque[int] = deque()
        """The offsets as they were sent, those among them that are answered. To look for the first one in the
        dictionary would take time for each that it ever held, since it keeps their places."""
        self._next: int | None = None
        self._committed: int | None = None

    def sent(self, offset: int) -> None:
        """Track a record that was sent for the first time, later in the partition than all before."""
        self._outstanding[offset] = None
        self._order.append(offset)
        self._next = offset + 1

    def all_sent(self, offsets: Sequence[int]) -> None:
        """Track records, as `sent` does one: at least one, in their order."""
        self._outstanding.update(dict.fromkeys(offsets))
        self._order.extend(offsets)
        self._next = offsets[-1] + 1

    def done(self, offset: int) -> bool:
        """Take a terminal answer. Gives False if it is late or was given before."""
        return self._outstanding.pop(offset, self) is None

    @property
    def outstanding(self) -> int:
        """How many records have no terminal answer yet."""
        return len(self._outstanding)

    def span(self) -> int:
        """Tell how many offsets there are from the first without a terminal answer to the last sent."""
        first = self._first()
        return 0 if first is None or self._next is None else self._next - first

    def position(self) -> int | None:
        """Give the offset to commit, None before anything was sent."""
        first = self._first()
        return self._next if first is None else first

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
        self._order.clear()

    def _first(self) -> int | None:
        """Give the first offset without a terminal answer. Takes a bounded time for each that was sent."""
        order, outstanding = self._order, self._outstanding
        while order and order[0] not in outstanding:
            order.popleft()
        if len(order) > 2 * len(outstanding) + ANSWERED_MIN:
            # One that is not answered for long holds up all that were sent and answered since.
            self._order = deque(outstanding)
        return order[0] if order else None
