"""What became of each record of a topic, as all its receivers know it together.

Record `offset` of partition `partition` says so itself at the end of its value, which its receivers read;
a body of its own tells nothing else. A mark is made by one thread, and read by any.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME_BYTES: Final = 13
FILLER: Final = b"x" * 87
SATURATED: Final = 255


def value_of(partition: int, offset: int, filler: bytes = FILLER) -> bytes:
    """Return the value of the record at a place, 100 bytes long if no other filler is given."""
    return b"%b%03d:%09d" % (filler, partition, offset)


def place_of(value: bytes) -> tuple[int, int]:
    """Read partition and offset from a value, or from a message that ends with one."""
    return int(value[-13:-10]), int(value[-9:])


class Marks:
    """Counts for each record of a topic; what is more than 255 counts as that."""

    def __init__(self, partitions: int, records: int) -> None:
        self.size = partitions * records
        """How many records there are."""
        self._counts = [bytearray(records) for _ in range(partitions)]
        self._frontiers = [0] * partitions
        self.records = 0
        """How many have a mark."""

    def add(self, partition: int, offset: int) -> int:
        """Mark a record; gives how often it was marked before."""
        counts = self._counts[partition]
        before = counts[offset]
        if not before:
            self.records += 1
        counts[offset] = min(before + 1, SATURATED)
        return before

    def count(self, partition: int, offset: int) -> int:
        """Tell how often a record was marked."""
        return self._counts[partition][offset]

    def frontier(self, partition: int) -> int:
        """Return the first offset of a partition that has no mark; never goes back."""
        found = self._counts[partition].find(0, self._frontiers[partition])
        self._frontiers[partition] = len(self._counts[partition]) if found < 0 else found
        return self._frontiers[partition]

    def repeats(self) -> int:
        """Count the marks beyond the first of each record."""
        return sum(sum(counts) for counts in self._counts) - self.records

    def histogram(self) -> dict[int, int]:
        """Count the records by how often they were marked."""
        return dict(sorted(sum(map(Counter, self._counts), Counter()).items()))

    def either(self, others: Marks) -> int:
        """Count the records that have a mark here or there."""
        return sum(bool(a or b) for a, b in self._pairs(others))

    def common(self, others: Marks) -> int:
        """Count the records that have a mark both here and there."""
        return sum(bool(a and b) for a, b in self._pairs(others))

    def _pairs(self, others: Marks) -> Iterator[tuple[int, int]]:
        for mine, theirs in zip(self._counts, others._counts, strict=True):
            yield from zip(mine, theirs, strict=True)

    def more_than(self, count: int) -> list[tuple[int, int]]:
        """List the records with more marks than so many."""
        return [
            (partition, offset)
            for partition, counts in enumerate(self._counts)
            for offset, found in enumerate(counts)
            if found > count
        ]


class Journal:
    """The records of a topic, and what its receivers got and said.

    `records` is how many each partition has in the end.
    """

    def __init__(self, partitions: int, records: int) -> None:
        self.partitions = partitions
        self.records = records
        self.delivered = Marks(partitions, records)
        self.accepted = Marks(partitions, records)
        """Accepted by a receiver that wrote so to its socket."""
        self.settled = Marks(partitions, records)
        """Accepted, and settled by the bridge thereupon."""
        self.returned = Marks(partitions, records)
        """Released, or modified as failed."""
        self.rejected = Marks(partitions, records)
        self.buried = Marks(partitions, records)
        """Found in the dead-letter topic."""
        self.deliveries = 0

    @property
    def total(self) -> int:
        """How many records the topic has in the end."""
        return self.partitions * self.records

    def got(self, message: bytes) -> tuple[int, int]:
        """Mark what a message tells, and return its place."""
        place = place_of(message)
        self.delivered.add(*place)
        self.deliveries += 1
        return place
