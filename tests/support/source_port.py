"""Both ends of a source link, in memory: a sender that has credit, and a producer that has a queue.

They are small models of what they stand for, and hold the link to its side of the protocol: whatever
no sender could make sense of (two outcomes, an outcome for a settled delivery, anything after the
link's end) is an AssertionError at the call that does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from support.lent_payload import Lent

from bridge.mapping.errors import MappingError
from bridge.mapping.record import ANY_PARTITION, ARRIVAL_TIME, Headers, Record
from bridge.model import conditions
from bridge.model.failures import Failure, Stored
from bridge.model.outcomes import ACCEPTED, DeliveryState, Outcome
from bridge.source.budget import ByteBudget
from bridge.source.link import SourceLink
from bridge.source.ports import QUEUE_FULL, Destination, Flushable, Peer, Report, SourceDoors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from bridge.mapping.large import LargeRecord
    from bridge.model.conditions import Condition
    from bridge.model.payloads import LargePayload
    from bridge.source.policy import SourcePolicy

TOPIC: Final = "orders"
PARTITIONS: Final = 6
REFERENCE: Final = "connection 1, link sender"
UNDECODABLE: Final = b"undecodable"

QUEUE_IS_FULL: Final = Failure(
    QUEUE_FULL,
    -184,
    "the producer's queue is full",
    conditions.INTERNAL_ERROR,
    retriable=True,
    stored=Stored.NO,
)
NO_LEADER: Final = Failure(
    "LEADER_NOT_AVAILABLE",
    5,
    "there is no leader",
    conditions.INTERNAL_ERROR,
    retriable=True,
    stored=Stored.NO,
)
TIMED_OUT: Final = Failure(
    "_MSG_TIMED_OUT",
    -192,
    "the record timed out",
    conditions.INTERNAL_ERROR,
    retriable=True,
    stored=Stored.PERHAPS,
)
TOO_LARGE: Final = Failure(
    "MSG_SIZE_TOO_LARGE",
    10,
    "the record is too large",
    conditions.LINK_MESSAGE_SIZE_EXCEEDED,
    retriable=False,
    stored=Stored.NO,
)


class SendingPeer:
    """The remote sender; the port of the link. Deliveries are numbers."""

    def __init__(self) -> None:
        self.credit = 0
        self.grants: list[int] = []
        self.sent = 0
        self.unanswered: set[int] = set()
        """Unsettled deliveries that have no outcome yet."""
        self.unsettled: set[int] = set()
        """Deliveries that the bridge has not settled yet."""
        self.outcomes: dict[int, Outcome] = {}
        self.detached = False
        self.condition: Condition | None = None
        """Why the bridge ended the link."""
        self.on_detach: Callable[[], None] | None = None
        """What the engine does when a link ends: it closes its handler."""

    def transfer(self, *, settled: bool) -> int:
        """Spend one credit on a delivery."""
        assert self.credit > 0, "a sender without credit does not send"
        assert not self.detached
        self.credit -= 1
        delivery = self.sent
        self.sent += 1
        if not settled:
            self.unanswered.add(delivery)
            self.unsettled.add(delivery)
        return delivery

    @property
    def in_doubt(self) -> set[int]:
        """Deliveries that have their outcome and wait for the sender to settle."""
        return self.unsettled - self.unanswered

    def accept(self, deliveries: Sequence[object], *, settle: bool) -> None:
        """Take the outcome accepted for each."""
        for delivery in deliveries:
            self.answer(delivery, ACCEPTED, settle=settle)

    def answer(self, delivery: object, outcome: Outcome, *, settle: bool) -> None:
        """Take an outcome."""
        assert not self.detached, "nothing is sent on a link that is gone"
        assert isinstance(delivery, int)
        assert delivery in self.unanswered, (
            f"delivery {delivery} was settled by its sender, or has an outcome"
        )
        self.unanswered.remove(delivery)
        self.outcomes[delivery] = outcome
        if settle:
            self.unsettled.remove(delivery)

    def settle(self, delivery: object) -> None:
        """Take the bridge's settlement of a delivery that has its outcome already."""
        assert not self.detached
        assert isinstance(delivery, int)
        assert delivery in self.in_doubt, f"delivery {delivery} has no outcome, or is settled"
        self.unsettled.remove(delivery)

    def grant(self, credit: int) -> None:
        """Take credit."""
        assert not self.detached
        assert credit > 0
        self.credit += credit
        self.grants.append(credit)

    def detach(self, condition: Condition) -> None:
        """Take the end of the link, and its reason."""
        assert not self.detached
        self.detached = True
        self.condition = condition
        if self.on_detach is not None:
            self.on_detach()

    def count(self, state: DeliveryState) -> int:
        """Count the deliveries with that outcome."""
        return sum(outcome.state is state for outcome in self.outcomes.values())


@dataclass(frozen=True, slots=True)
class Queued:
    """One record in a producer's queue."""

    name: str
    payload: bytes | None
    number: int
    report: Report
    record_key: bytes | None = None

    def topic(self) -> str:
        """Name its topic."""
        return self.name

    def partition(self) -> int:
        """Name its partition."""
        return self.number

    def key(self) -> bytes | None:
        """Give its key."""
        return self.record_key

    def value(self) -> bytes | None:
        """Give its value."""
        return self.payload


class MemoryProducer:
    """A producer whose queue holds `capacity` records, and whose broker answers when it is told to.

    A producer that asks for no acknowledgement is one that is told to `store` at once.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.refusal: Failure | None = None
        self.queue: list[Queued] = []
        self.taken: list[bytes | None] = []
        """The values of all records that ever came into the queue, in order."""
        self.stored: set[bytes | None] = set()
        """The values that Kafka has."""

    def __call__(
        self,
        topic: str,
        value: Buffer | None,
        key: bytes | None,
        _headers: Headers | None,
        partition: int,
        _timestamp_ms: int,
        report: Report,
        /,
    ) -> Failure | None:
        """Produce one record."""
        if self.refusal is not None:
            return self.refusal
        if len(self.queue) >= self.capacity:
            return QUEUE_IS_FULL
        kept = None if value is None else bytes(value)
        self.queue.append(Queued(topic, kept, partition, report, key))
        self.taken.append(kept)
        return None

    def room(self) -> int:
        """Count the records that the queue still takes."""
        return max(0, self.capacity - len(self.queue))

    def store(self, count: int | None = None) -> None:
        """Report the oldest records, or all, as stored."""
        count = len(self.queue) if count is None else count
        stored, self.queue = self.queue[:count], self.queue[count:]
        for produced in stored:
            self.stored.add(produced.payload)
            produced.report(None, produced)

    def fail(self, failure: Failure, index: int = 0) -> None:
        """Report a record as failed."""
        produced = self.queue.pop(index)
        produced.report(failure, produced)


class SourceLog:
    """What the link told operators."""

    def __init__(self) -> None:
        self.refusals: list[Outcome] = []
        self.drops: list[str] = []
        self.defects: list[Exception] = []
        self.ends: list[tuple[int, int, int]] = []

    def refused(self, outcome: Outcome) -> None:
        """Remember a message with another outcome than accepted."""
        self.refusals.append(outcome)

    def dropped(self, reason: str) -> None:
        """Remember a lost message."""
        self.drops.append(reason)

    def broke(self, error: Exception) -> None:
        """Remember a defect."""
        self.defects.append(error)

    def ended(self, accepted: int, unanswered: int, in_doubt: int) -> None:
        """Remember the end."""
        self.ends.append((accepted, unanswered, in_doubt))


def to_record(payload: bytes) -> Record:
    """Map a message: `b"value"`, or `b"value@3"` for partition 3. Raises MappingError for UNDECODABLE."""
    if payload == UNDECODABLE:
        raise MappingError(conditions.DECODE_ERROR, "the message cannot be decoded")
    value, _, partition = payload.partition(b"@")
    return value, None, None, int(partition) if partition else ANY_PARTITION, ARRIVAL_TIME


def large_to_record(payload: LargePayload) -> LargeRecord:
    """Map a message as `to_record` does; the value is where the message is."""
    _, key, headers, partition, timestamp_ms = to_record(bytes(payload.view()))
    return payload.rest(0), key, headers, partition, timestamp_ms


def classify(error: object) -> Failure:
    """Read an error: in memory they are failures already."""
    assert isinstance(error, Failure)
    return error


class SourceRig:
    """A source link between a sender and two producers."""

    def __init__(
        self,
        policy: SourcePolicy,
        *,
        capacity: int = 1 << 20,
        partition: int = ANY_PARTITION,
        understood: frozenset[DeliveryState] = frozenset(),
        budget_bytes: int = 1 << 30,
        sees_room: bool = False,
    ) -> None:
        self.peer = SendingPeer()
        self.producer = MemoryProducer(capacity)
        self.unacknowledged = MemoryProducer(capacity)
        self.alone = MemoryProducer(1 << 20)
        self.log = SourceLog()
        self.ready: list[Flushable] = []
        self.waiting: list[Flushable] = []
        """Those that found the queue full."""
        self.budget = ByteBudget(budget_bytes)
        self.kafka_takes = True
        self.told_of_stored = 0
        # Usually it is the other links that have filled the queue since the credit was given.
        room = self.producer.room if sees_room else lambda: 1 << 20
        self.link = SourceLink(
            self.peer,
            policy,
            Destination(
                TOPIC,
                self.producer,
                self.unacknowledged,
                room,
                to_record,
                PARTITIONS,
                partition,
                produce_alone=self.alone,
                large_to_record=large_to_record,
            ),
            SourceDoors(
                classify,
                self.ready.append,
                self._ask_again,
                lambda: self.kafka_takes,
                self._kafka_stored,
                self.budget,
            ),
            Peer(understood, REFERENCE),
            self.log,
        )
        self.peer.on_detach = self.link.close
        self.link.opened()

    def _ask_again(self, link: Flushable) -> None:
        assert link not in self.waiting, "a link asks once"
        self.waiting.append(link)

    def _kafka_stored(self) -> None:
        self.told_of_stored += 1

    def send(self, payload: bytes = b"value", *, settled: bool = False) -> int:
        """Send one message within a batch."""
        delivery = self.peer.transfer(settled=settled)
        self.link.transferred(delivery, payload, settled)
        return delivery

    def send_large(self, payload: bytes, *, settled: bool = False) -> int:
        """Send one message of several frames, whose memory serves another one afterwards."""
        delivery = self.peer.transfer(settled=settled)
        lent = Lent(payload)
        self.link.transferred_large(delivery, lent, settled)
        lent.take_back()
        self.link.batch_ended()
        return delivery

    def send_all(self, *payloads: bytes, settled: bool = False) -> list[int]:
        """Send messages as one batch."""
        deliveries = [self.send(payload, settled=settled) for payload in payloads]
        self.link.batch_ended()
        return deliveries

    def flush(self) -> None:
        """Let the link answer, if it asked for that."""
        assert len(self.ready) <= 1, "a link asks once"
        ready = dict.fromkeys([*self.ready, *self.waiting])
        self.ready.clear()
        self.waiting.clear()
        for link in ready:
            link.flush()

    def store(self, count: int | None = None) -> None:
        """Let Kafka store the oldest records, or all, and the link answer."""
        self.producer.store(count)
        self.flush()

    def fail(self, failure: Failure, index: int = 0) -> None:
        """Let Kafka refuse a record, and the link answer."""
        self.producer.fail(failure, index)
        self.flush()

    def settle(self, *deliveries: int) -> None:
        """Let the sender settle deliveries, as one batch."""
        for delivery in deliveries:
            self.link.settled(delivery)
        self.link.batch_ended()

    def detach(self) -> None:
        """Let the sender detach."""
        self.peer.detached = True
        self.link.close()
