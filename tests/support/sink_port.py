"""Both ends of a sink link, in memory: a consumer with a partitioned log behind it, and a receiver.

They are small models of what they stand for: the consumer hands over no more than it was allowed, keeps
to its budget of bytes and commits for the present generation of a partition alone, the socket takes bytes
when it is told to, the receiver's credit runs out. They hold the link to its side of the protocol: a send
beyond credit, a tag that is in use, a commit that goes back or anything after the link's end is an
AssertionError at the call that does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bridge.codec import ULong, decode, encode
from bridge.model.outcomes import DeliveryState, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.model.conditions import Condition
    from bridge.sink.ports import Offsets

SETTLED_WITHOUT_STATE: Final = Outcome(DeliveryState.NONE)
REJECTED: Final = Outcome(DeliveryState.REJECTED)
UNDELIVERABLE_HERE: Final = Outcome(DeliveryState.MODIFIED, undeliverable_here=True)

EXPIRED: Final = b"expired"
"""The value of a record that is not to be sent."""

NO_LIMIT: Final = 1 << 30

_DATA: Final = b"\x00" + encode(ULong(0x75))
_ANNOTATIONS: Final = b"\x00" + encode(ULong(0x72))


def encode_message(
    partition: int,
    offset: int,
    _timestamp_type: int,
    _timestamp_ms: int,
    _key: bytes | None,
    value: bytes | None,
    _headers: Sequence[tuple[str, bytes | None]] | None,
    delivery_count: int,
    again: bool,  # noqa: FBT001 - the shape of Encode
) -> bytes:
    """Make a message by which the receiver can tell the record; one that says so is not to be sent."""
    assert again or not delivery_count
    if value == EXPIRED:
        return b""
    return _DATA + encode(b"%d:%d:%d:%d:%b" % (partition, offset, delivery_count, again, value or b""))


@dataclass(slots=True)
class MemoryRecord:
    """A record as a consumer gives it."""

    number: int
    """The partition."""
    position: int
    """The offset."""
    content: bytes
    named: list[tuple[str, bytes | None]] | None = None
    """The headers."""

    def partition(self) -> int:
        """Give the partition."""
        return self.number

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

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Give the headers."""
        return self.named

    def set_headers(self, value: list[tuple[str, bytes | None]], /) -> None:
        """Have it give other headers from now on."""
        self.named = value

    def __len__(self) -> int:
        return len(self.content)


class MemoryTopic:
    """A topic: a log for each partition, and what its only consumer group has committed."""

    def __init__(self, partitions: int = 1) -> None:
        self.logs: list[list[MemoryRecord]] = [[] for _ in range(partitions)]
        self.committed: dict[int, int] = {}

    def append(self, partition: int = 0, value: bytes = b"x", *, gap: int = 0) -> int:
        """Append a record after a gap in the offsets, which compaction or a marker left; gives its offset."""
        offset = self.end(partition) + gap
        self.logs[partition].append(MemoryRecord(partition, offset, value))
        return offset

    def end(self, partition: int) -> int:
        """Give the offset of the next record that will be appended without a gap."""
        log = self.logs[partition]
        return log[-1].position + 1 if log else 0

    def commit(self, offsets: dict[int, int]) -> None:
        """Commit."""
        for partition, offset in offsets.items():
            assert offset >= self.committed.get(partition, 0), f"a commit of {offset} goes back"
            self.committed[partition] = offset

    def give_back(self, offsets: dict[int, int]) -> None:
        """Commit less than before."""
        for partition, offset in offsets.items():
            assert offset < self.committed[partition], f"nothing is given back by a commit of {offset}"
            self.committed[partition] = offset

    def uncommitted(self, partition: int) -> list[MemoryRecord]:
        """Give the records that a consumer reads which begins now."""
        return [
            record for record in self.logs[partition] if record.position >= self.committed.get(partition, 0)
        ]


@dataclass(eq=False, slots=True)
class Delivered:
    """One delivery at the receiver.

    `attempts` is the delivery count that it came with, `again` whether it says that it was sent before,
    `annotations` its message-annotations, encoded, `size_bytes` the size of the message.
    """

    tag: bytes
    partition: int
    offset: int
    attempts: int
    again: bool
    annotations: bytes
    size_bytes: int

    @classmethod
    def read(cls, tag: bytes, payload: bytes) -> Delivered:
        """Read a message that `encode_message` made."""
        annotations, at = b"", 0
        if payload.startswith(_ANNOTATIONS):
            at = decode(payload, len(_ANNOTATIONS))[1]
            annotations = payload[len(_ANNOTATIONS) : at]
        content, end = decode(payload, at + len(_DATA))
        assert isinstance(content, bytes)
        assert end == len(payload)
        partition, offset, attempts, again, _ = content.split(b":", 4)
        return cls(tag, int(partition), int(offset), int(attempts), again == b"1", annotations, len(payload))


class ReceivingPeer:
    """The remote receiver, and the socket in between; the port of the link.

    `room` is how many bytes the socket's buffer holds. What was sent stays in it until `socket_writes`.
    """

    def __init__(self, room: int = NO_LIMIT) -> None:
        self.capacity = room
        self.buffered = 0
        self.blocked = False
        self.link_credit = 0
        self.drain = False
        self.returned = 0
        """Credit that came back unused."""
        self.delivered: list[Delivered] = []
        """All deliveries, in order."""
        self.unsettled: dict[Delivered, None] = {}
        """Deliveries that the bridge has not settled."""
        self.detached = False
        self.condition: Condition | None = None
        self.on_send: Callable[[Delivered], None] = lambda _: None
        self.on_drained: Callable[[], None] = lambda: None
        self.on_detach: Callable[[], None] = lambda: None

    def credit(self) -> int:
        """Tell the credit."""
        return 0 if self.detached else self.link_credit

    def draining(self) -> bool:
        """Tell whether unused credit is wanted back."""
        return not self.detached and self.drain

    def room_bytes(self) -> int:
        """Tell how much the socket takes now."""
        room = self.capacity - self.buffered
        self.blocked = self.blocked or room <= 0
        return max(room, 0)

    def send(self, tag: bytes, payload: bytes) -> Delivered:
        """Take an unsettled delivery."""
        assert tag not in {delivery.tag for delivery in self.unsettled}, f"{tag!r} is in use (core 2.6.12)"
        delivery = self._take(tag, payload)
        self.unsettled[delivery] = None
        return delivery

    def send_settled(self, tag: bytes, payload: bytes) -> None:
        """Take a settled delivery."""
        self._take(tag, payload)

    def sent(self) -> None:
        """Take notice of a batch's end."""

    def settle(self, deliveries: Sequence[object]) -> None:
        """Forget deliveries."""
        assert not self.detached
        for delivery in deliveries:
            assert isinstance(delivery, Delivered)
            del self.unsettled[delivery]

    def drained(self) -> None:
        """Take unused credit back."""
        assert self.drain, "nobody asked for it"
        assert self.link_credit > 0
        self.on_drained()
        self.returned += self.link_credit
        self.link_credit = 0

    def detach(self, condition: Condition) -> None:
        """Take the end of the link; as with the engine, the link is told at once."""
        assert not self.detached
        self.detached = True
        self.condition = condition
        self.on_detach()

    def _take(self, tag: bytes, payload: bytes) -> Delivered:
        assert not self.detached, "nothing is sent on a link that is gone"
        assert self.link_credit > 0, "nothing is sent without credit"
        assert self.buffered < self.capacity, "no message is begun without room"
        assert len(tag) <= 32, "core 2.8.7"
        self.link_credit -= 1
        self.buffered += len(payload)
        delivery = Delivered.read(tag, payload)
        self.on_send(delivery)
        self.delivered.append(delivery)
        return delivery


class MemoryFeed:
    """A consumer of a topic: one member of a group, which loses and gets partitions as the test says.

    With `commit_first` records are committed when they are handed over.
    """

    def __init__(self, topic: MemoryTopic, *, commit_first: bool, buffer_bytes: int = NO_LIMIT) -> None:
        self.topic = topic
        self.commit_first = commit_first
        self.buffer_bytes = buffer_bytes
        self.positions: dict[int, int] = {}
        """The offset that each assigned partition is read from next."""
        self.generations: dict[int, int] = {}
        """The generation of each assigned partition; one that is being revoked has it until that is over."""
        self.generation = 0
        """The latest one."""
        self.held: frozenset[int] = frozenset()
        """The partitions of which the link wants nothing for now."""
        self.allowed = 0
        self.handed = 0
        self.handed_bytes = 0
        self.taken_bytes = 0
        self.to_commit: Offsets = {}
        self.stopped = False
        self._end: tuple[int, dict[int, int]] | None = None
        """What is to be told, and the offsets up to which all is to be handed over before."""

    # ------------------------------------------------------------------ from the link

    def allow(self, total: int) -> None:
        """Take notice of how many records are wanted."""
        assert total > self.allowed, "a call that says nothing"
        self.allowed = total

    def took(self, size_bytes: int) -> None:
        """Take notice of bytes that have left the link."""
        self.taken_bytes += size_bytes
        assert self.taken_bytes <= self.handed_bytes

    def commit(self, offsets: Offsets) -> None:
        """Remember what is to be committed."""
        assert not self.stopped or self.commit_first
        assert offsets
        self.to_commit.update(offsets)

    def hold(self, partitions: frozenset[int]) -> None:
        """Take notice of the partitions that are not to be read."""
        assert partitions != self.held, "a call that says nothing"
        self.held = partitions

    def find_end(self, token: int) -> None:
        """Remember what is in the partitions now."""
        assert not self.stopped
        self._end = token, {number: self.topic.end(number) for number in self.positions}

    def stop(self, offsets: Offsets) -> None:
        """Commit and leave."""
        assert not self.stopped
        self.stopped = True
        self.to_commit.update(offsets)
        self.commit_pending()

    # ------------------------------------------------------------------ as Kafka and the group have it

    def assign(self, *partitions: int) -> int:
        """Get partitions, to be read from where the group has committed; gives their generation."""
        self.generation += 1
        for partition in partitions:
            assert partition not in self.generations
            self.positions[partition] = self.topic.committed.get(partition, 0)
            self.generations[partition] = self.generation
        return self.generation

    def stop_reading(self, *partitions: int) -> None:
        """Hand nothing more over of partitions that go away."""
        for partition in partitions:
            del self.positions[partition]

    def end_generation(self, *partitions: int) -> None:
        """Lose partitions: what was to be committed for them is not."""
        for partition in partitions:
            self.positions.pop(partition, None)
            del self.generations[partition]
            self.to_commit.pop(partition, None)

    def commit_pending(self) -> dict[int, int]:
        """Commit what was asked for, but for generations that have ended; gives what was committed."""
        pending, self.to_commit = self.to_commit, {}
        offsets = {}
        for partition, (generation, offset) in pending.items():
            assert generation <= self.generation
            if self.generations.get(partition) == generation:
                offsets[partition] = offset
        if self.commit_first:
            self.topic.give_back(offsets)
        else:
            self.topic.commit(offsets)
        return offsets

    def wanted(self) -> int:
        """Tell how many records may be handed over now."""
        if self.stopped or self.handed_bytes - self.taken_bytes >= self.buffer_bytes:
            return 0
        return max(0, self.allowed - self.handed)

    def poll(self, most: int = NO_LIMIT, *, partition: int | None = None) -> list[MemoryRecord]:
        """Take the next records, those of one partition or of all, and move on."""
        records: list[MemoryRecord] = []
        room = min(most, self.wanted())
        partitions = self.positions.keys() if partition is None else {partition}
        for number in sorted(partitions - self.held):
            ahead = [
                record for record in self.topic.logs[number] if record.position >= self.positions[number]
            ]
            records += ahead[: room - len(records)]
        for record in records:
            self.positions[record.number] = record.position + 1
        if self.commit_first and records:
            self.topic.commit({record.number: record.position + 1 for record in records})
        self.handed += len(records)
        self.handed_bytes += sum(map(len, records))
        return records

    def found_end(self, *, in_time: bool = True) -> int | None:
        """Take the token that is to be told now, if all was handed over, or there is no more time for it."""
        if self._end is None or self.stopped:
            return None
        token, ends = self._end
        ends = {number: end for number, end in ends.items() if number not in self.held}
        if in_time and any(self.positions.get(number, end) < end for number, end in ends.items()):
            return None
        self._end = None
        return token
