"""A sink link between its two ends in memory, and the calls that reach it there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.sink_port import EXPIRED, NO_LIMIT, Delivered, MemoryFeed, MemoryTopic, ReceivingPeer

from bridge.model.outcomes import ACCEPTED, Outcome
from bridge.sink.link import SinkLimits, SinkLink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bridge.model.failures import Failure
    from bridge.sink.policy import SinkPolicy


@dataclass
class SinkLog:
    """What the link told operators."""

    skips: list[tuple[int, int, Outcome]] = field(default_factory=list)
    redeliveries: list[tuple[int, int, Outcome]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    defects: list[Exception] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)

    def skipped(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Remember a record that was passed over."""
        self.skips.append((partition, offset, outcome))

    def redelivered(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Remember a record that will be sent again."""
        self.redeliveries.append((partition, offset, outcome))

    def failed(self, failure: Failure) -> None:
        """Remember what ended the consumer."""
        self.failures.append(failure)

    def broke(self, error: Exception) -> None:
        """Remember a defect."""
        self.defects.append(error)

    def ended(self, accepted: int, unanswered: int) -> None:
        """Remember the end."""
        self.ends.append((accepted, unanswered))


def encode(
    partition: int,
    offset: int,
    _timestamp_type: int,
    _timestamp_ms: int,
    _key: bytes | None,
    value: bytes | None,
    _headers: Sequence[tuple[str, bytes | None]] | None,
    delivery_count: int,
    again: bool,  # noqa: FBT001 - the shape of Encode
) -> bytes | None:
    """Encode a record so that the receiver can tell which it was; one that says so is not to be sent."""
    assert again or not delivery_count
    if value == EXPIRED:
        return None
    return b"%d:%d:%d:%b" % (partition, offset, delivery_count, value or b"")


class SinkRig:
    """A sink link between a consumer and a receiver.

    Calls reach the link as they do in the service: what the receiver does comes in batches that are
    ended, the consumer's records and rebalances come by themselves, timers fire when they are told to.
    """

    def __init__(
        self,
        policy: SinkPolicy,
        *,
        partitions: int = 1,
        records: int = 0,
        buffer_records: int = 100,
        commit_count: int = NO_LIMIT,
        room_bytes: int = NO_LIMIT,
        buffer_bytes: int = NO_LIMIT,
    ) -> None:
        self.topic = MemoryTopic(partitions)
        for partition in range(partitions):
            for _ in range(records):
                self.topic.append(partition)
        self.peer = ReceivingPeer(room_bytes)
        self.feed = MemoryFeed(self.topic, commit_first=policy.sends_settled, buffer_bytes=buffer_bytes)
        self.log = SinkLog()
        self.timers: list[Callable[[], None]] = []
        self.link = SinkLink(
            self.peer,
            policy,
            SinkLimits(buffer_records, commit_count),
            feed=self.feed,
            encode=encode,
            later=self.timers.append,
            events=self.log,
        )
        self.peer.on_detach = self.link.close
        self.link.opened()
        self.assign(*range(partitions))

    # ------------------------------------------------------------------ the receiver

    def flow(self, credit: int, *, drain: bool = False) -> None:
        """Let the receiver set its credit."""
        self.peer.link_credit = credit
        self.peer.drain = drain
        self.link.batch_ended()

    def dispose(self, outcomes: Iterable[tuple[Delivered, Outcome]]) -> None:
        """Let the receiver answer deliveries, as one batch."""
        for delivery, outcome in outcomes:
            if self.peer.detached:
                return
            if outcome == ACCEPTED:
                self.link.accepted(delivery)
            else:
                self.link.disposed(delivery, outcome)
        if not self.peer.detached:
            self.link.batch_ended()

    def accept(self, *deliveries: Delivered) -> None:
        """Let the receiver accept deliveries, as one batch."""
        self.dispose((delivery, ACCEPTED) for delivery in deliveries)

    def socket_writes(self) -> None:
        """Let the socket take all that waits; who was told that there is no room hears of it."""
        self.peer.buffered = 0
        if self.peer.blocked and not self.peer.detached:
            self.peer.blocked = False
            self.link.batch_ended()

    def detach(self) -> None:
        """Let the receiver detach."""
        self.peer.detached = True
        self.link.close()

    def fire_timers(self) -> None:
        """Let the time of all timers come."""
        timers, self.timers[:] = self.timers[:], []
        for timer in timers:
            timer()

    # ------------------------------------------------------------------ the consumer

    def poll(self, most: int = NO_LIMIT, *, partition: int | None = None) -> int:
        """Let the consumer hand records over, as one batch; gives how many."""
        records = self.feed.poll(most, partition=partition)
        if records:
            self.link.consumed(records)
        return len(records)

    def run(self) -> None:
        """Let the consumer hand over what it may, until it has or may no more."""
        while self.poll():
            pass

    def commit(self) -> None:
        """Let the time to commit come, and Kafka confirm it."""
        self.link.commit()
        self.confirm()

    def confirm(self) -> None:
        """Let Kafka commit what the link asked for."""
        offsets, self.feed.to_commit = self.feed.to_commit, {}
        self.topic.commit(offsets)
        self.link.committed(offsets)

    def assign(self, *partitions: int) -> None:
        """Assign partitions; they are read from where the group has committed."""
        for partition in partitions:
            self.feed.positions[partition] = self.topic.committed.get(partition, 0)
        self.link.assigned(partitions)

    def revoking(self, *partitions: int) -> list[bool]:
        """Announce a revoke. Gives a list that gets an item when the link is done with the partitions."""
        drained: list[bool] = []
        self.link.revoking(partitions, lambda: drained.append(True))
        for partition in partitions:
            del self.feed.positions[partition]
        return drained

    def revoked(self, *partitions: int) -> None:
        """End the wait, and commit what the link gives for the partitions."""
        offsets = self.link.revoked(partitions)
        for partition in partitions:
            self.feed.to_commit.pop(partition, None)
        self.topic.commit(offsets)

    def lost(self, *partitions: int) -> None:
        """Take partitions away that somebody else has already."""
        for partition in partitions:
            self.feed.to_commit.pop(partition, None)
            del self.feed.positions[partition]
        self.link.lost(partitions)
