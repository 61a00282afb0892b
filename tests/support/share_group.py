"""A share group, in memory: a small model of what Kafka does for one (KIP-932).

It locks records, counts how often it gave each, and drops without a word what is released for the last time.
A link that acknowledges a record twice, or leaves one to its lock, meets an AssertionError.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.sink.share_ports import Acknowledgement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.sink.share_ports import Answer


@dataclass(frozen=True, slots=True)
class MemoryShareRecord:
    """A record as a share consumer gives it."""

    position: int
    content: bytes
    given: int

    def partition(self) -> int:
        """Give the partition."""
        return 0

    def offset(self) -> int:
        """Give the offset."""
        return self.position

    def timestamp(self) -> tuple[int, int]:
        """Give no timestamp."""
        return 0, 0

    def key(self) -> None:
        """Give no key."""

    def value(self) -> bytes:
        """Give the value."""
        return self.content

    def headers(self) -> None:
        """Give no headers."""

    def set_headers(self, value: object, /) -> None:
        """Fail: those of a share group stay as they are."""
        raise AssertionError(f"there were none before {value!r}")

    def delivery_count(self) -> int:
        """Give how often it was given to anybody."""
        return self.given

    def __len__(self) -> int:
        return len(self.content)


class MemoryShareGroup:
    """A share group on a partition."""

    def __init__(self, values: Sequence[bytes], *, attempts_max: int = 5) -> None:
        self.values = list(values)
        self.attempts_max = attempts_max
        self.available = list(range(len(values)))
        self.given: Counter[int] = Counter()
        self.locked: set[int] = set()
        self.accepted: list[int] = []
        self.rejected: list[int] = []
        self.dropped: list[int] = []
        """What was released for the last time: lost without a word."""

    def acquire(self, most: int) -> list[MemoryShareRecord]:
        """Give records to a member; as brokers do, one whose last time it is comes alone."""
        last = [each for each in self.available if self.given[each] + 1 >= self.attempts_max]
        chosen = last[:1] or self.available[:most]
        self.available = [each for each in self.available if each not in chosen]
        self.given.update(chosen)
        self.locked.update(chosen)
        return [MemoryShareRecord(each, self.values[each], self.given[each]) for each in chosen]

    def acknowledge(self, offset: int, kind: Acknowledgement) -> bool:
        """Take what became of a record; gives False if its lock has lapsed."""
        if offset not in self.locked:
            return False
        self.locked.remove(offset)
        if kind is Acknowledgement.ACCEPT:
            self.accepted.append(offset)
        elif kind is Acknowledgement.REJECT:
            self.rejected.append(offset)
        elif self.given[offset] >= self.attempts_max:
            self.dropped.append(offset)
        else:
            self.available.append(offset)
        return True

    def lapse(self, offset: int) -> None:
        """Let the lock of a record lapse."""
        self.acknowledge(offset, Acknowledgement.RELEASE)


class MemoryShareFeed:
    """A link's consumer, as the link sees it: one batch at a time, all acknowledged before the next.

    What is acknowledged reaches the group with `confirm`.
    """

    def __init__(self, group: MemoryShareGroup) -> None:
        self.group = group
        self.wanted = 0
        self.batch: dict[int, MemoryShareRecord] = {}
        """Records that are not acknowledged, by offset."""
        self.number = 0
        self.pending: list[tuple[int, list[tuple[int, Acknowledgement]]]] = []
        self.end: int | None = None
        self.stopped = False

    def want(self, records: int) -> None:
        """Take notice of what is wanted."""
        assert records >= 0
        self.wanted = records

    def acknowledge(self, batch: int, answers: Sequence[Answer], ticket: int) -> None:
        """Take acknowledgements."""
        assert batch == self.number
        assert answers
        for record, _ in answers:
            del self.batch[record.offset() or 0]
        self.pending.append((ticket, [(record.offset() or 0, kind) for record, kind in answers]))

    def find_end(self, token: int) -> None:
        """Take notice that somebody wants to know the end."""
        self.end = token

    def stop(self) -> None:
        """Leave the group."""
        assert not self.stopped
        assert not self.batch, "records are left to their locks"
        self.stopped = True
