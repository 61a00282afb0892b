"""A sink link between its two ends in memory, and the calls that reach it there."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final

from support.sink_port import NO_LIMIT, Delivered, MemoryFeed, MemoryTopic, ReceivingPeer, encode_message

from bridge.model import conditions
from bridge.model.failures import Failure, Stored
from bridge.model.outcomes import ACCEPTED, Outcome
from bridge.sink.link import SinkLink
from bridge.sink.policy import SinkLimits, SinkPolicy
from bridge.sink.redelivery import Redelivery
from bridge.sink.undelivered import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.sink.ports import ConsumedRecord, DeadLetter

REDELIVERY: Final = Redelivery(backoff_seconds=1, backoff_max_seconds=60, attempts_max=3, releases_max=5)
UNSETTLED: Final = SinkPolicy(sends_settled=False, rejected="skip", redelivery=REDELIVERY)
SETTLED: Final = SinkPolicy(sends_settled=True, rejected="skip", redelivery=REDELIVERY)
LIMITS: Final = SinkLimits(buffer_records=100, commit_count=NO_LIMIT, unsettled_bytes=NO_LIMIT)
ABOUT: Final = {"topic": "orders"}

TIMED_OUT: Final = Failure(
    "_MSG_TIMED_OUT", -192, "not now", conditions.INTERNAL_ERROR, retriable=True, stored=Stored.PERHAPS
)
NOT_FOUND: Final = Failure(
    "UNKNOWN_TOPIC_OR_PART", 3, "no such topic", conditions.NOT_FOUND, retriable=False, stored=Stored.NO
)


@dataclass
class SinkLog:
    """What the link told operators."""

    skips: list[tuple[int, int, Outcome]] = field(default_factory=list)
    dead_letters: list[tuple[int, int, DeadLetter]] = field(default_factory=list)
    dead_letter_failures: list[tuple[int, int, Failure]] = field(default_factory=list)
    redeliveries: list[tuple[int, int, Outcome]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)

    def skipped(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Remember a record that was passed over."""
        self.skips.append((partition, offset, outcome))

    def dead_lettered(self, partition: int, offset: int, letter: DeadLetter) -> None:
        """Remember a record that was put away."""
        self.dead_letters.append((partition, offset, letter))

    def dead_letter_failed(self, partition: int, offset: int, failure: Failure) -> None:
        """Remember a record that could not be put away."""
        self.dead_letter_failures.append((partition, offset, failure))

    def redelivered(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Remember a record that will be sent again."""
        self.redeliveries.append((partition, offset, outcome))

    def failed(self, failure: Failure) -> None:
        """Remember what ended the consumer."""
        self.failures.append(failure)

    def ended(self, accepted: int, unanswered: int) -> None:
        """Remember the end."""
        self.ends.append((accepted, unanswered))


class MemoryTimers:
    """A clock that goes on when it is told to. Times are in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = count()
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back after a time."""
        assert seconds > 0
        heappush(self._waiting, (self.now + seconds, next(self._order), call))

    def pauses(self) -> list[float]:
        """Tell how long each timer has to wait still, the shortest first."""
        return [due - self.now for due, _, _ in sorted(self._waiting)]

    def fire(self) -> None:
        """Let the time of the next one come."""
        self.now, _, call = heappop(self._waiting)
        call()

    def fire_all(self) -> None:
        """Let the time of all come that wait now."""
        for _ in range(len(self._waiting)):
            self.fire()


@dataclass(eq=False, slots=True)
class Burial:
    """A record on its way to the dead-letter topic."""

    record: ConsumedRecord
    letter: DeadLetter
    answer: Callable[[Failure | None], None]

    @property
    def place(self) -> tuple[int, int]:
        """Where the record comes from: partition and offset."""
        return self.record.partition() or 0, self.record.offset() or 0


class MemoryDeadLetters:
    """The dead-letter topic. It answers when it is told to; what it has acknowledged is in it."""

    def __init__(self) -> None:
        self.pending: list[Burial] = []
        self.stored: list[Burial] = []
        self.on_send: Callable[[Burial], None] = lambda _: None

    def __call__(
        self, record: ConsumedRecord, letter: DeadLetter, answer: Callable[[Failure | None], None]
    ) -> None:
        """Take a record."""
        burial = Burial(record, letter, answer)
        self.on_send(burial)
        self.pending.append(burial)

    def answer(self, index: int = 0, failure: Failure | None = None) -> None:
        """Acknowledge a record, or refuse it."""
        burial = self.pending.pop(index)
        if failure is None:
            self.stored.append(burial)
        burial.answer(failure)


class SinkRig:
    """A sink link between a consumer and a receiver.

    Calls reach the link as they do in the service: what the receiver does comes in batches that are
    ended, the consumer's records and rebalances come by themselves, timers fire and the dead-letter topic
    answers when they are told to.
    """

    def __init__(
        self,
        policy: SinkPolicy = UNSETTLED,
        *,
        limits: SinkLimits = LIMITS,
        partitions: int = 1,
        records: int = 0,
        room_bytes: int = NO_LIMIT,
        buffer_bytes: int = NO_LIMIT,
        dead_letters: bool = False,
    ) -> None:
        self.topic = MemoryTopic(partitions)
        for partition in range(partitions):
            for _ in range(records):
                self.topic.append(partition)
        self.peer = ReceivingPeer(room_bytes)
        self.feed = MemoryFeed(self.topic, commit_first=policy.sends_settled, buffer_bytes=buffer_bytes)
        self.log = SinkLog()
        self.timers = MemoryTimers()
        self.dead_letters = MemoryDeadLetters()
        self.link = SinkLink(
            self.peer,
            policy,
            limits,
            Surroundings(self.log, self.timers.later, self.dead_letters if dead_letters else None, ABOUT),
            feed=self.feed,
            encode=encode_message,
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

    # ------------------------------------------------------------------ the consumer

    def poll(self, most: int = NO_LIMIT, *, partition: int | None = None) -> int:
        """Let the consumer hand records over, as one batch; gives how many."""
        records = self.feed.poll(most, partition=partition)
        if records:
            self.link.consumed(records)
        return len(records)

    def run(self) -> None:
        """Let the consumer hand over what it may, until it has or may no more, and tell of the end."""
        while self.poll() or self.tell_end():
            pass

    def tell_end(self, *, in_time: bool = True) -> bool:
        """Let the consumer tell that the end was reached, if it was asked; gives whether it told."""
        token = self.feed.found_end(in_time=in_time)
        if token is None:
            return False
        self.link.reached_end(token)
        return True

    def commit(self) -> None:
        """Let the time to commit come, and Kafka confirm it."""
        self.link.commit()
        self.confirm()

    def confirm(self) -> None:
        """Let Kafka commit what the link asked for."""
        offsets = self.feed.commit_pending()
        if offsets:
            self.link.committed(offsets)

    def assign(self, *partitions: int) -> None:
        """Assign partitions; they are read from where the group has committed."""
        self.link.assigned(partitions, self.feed.assign(*partitions))

    def revoking(self, *partitions: int) -> list[bool]:
        """Announce a revoke. Gives a list that gets an item when the link is done with the partitions."""
        drained: list[bool] = []
        self.link.revoking(partitions, lambda: drained.append(True))
        self.feed.stop_reading(*partitions)
        return drained

    def revoked(self, *partitions: int) -> None:
        """End the wait, commit what the link gives for the partitions, and take them away."""
        self.feed.to_commit.update(self.link.revoked(partitions))
        self.feed.commit_pending()
        self.feed.end_generation(*partitions)

    def lost(self, *partitions: int) -> None:
        """Take partitions away that somebody else has already."""
        self.feed.end_generation(*partitions)
        self.link.lost(partitions)
