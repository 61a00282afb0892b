"""What a share link talks to beside what every sink link does: a feed of a share group, and its records.

Shapes only, as in `bridge.sink.ports`. In a share group (KIP-932) Kafka gives each record to one member at a
time, for as long as its lock lasts, and hears of each what became of it: there are no offsets to commit.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from bridge.sink.ports import ConsumedRecord, SinkEvents, SinkPort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.model.failures import Failure
    from bridge.model.outcomes import Outcome
    from bridge.sink.ports import Delivery


class SharePort(SinkPort, Protocol):
    """What a share link asks of the engine."""

    def settle_as(self, deliveries: Sequence[Delivery], outcome: Outcome) -> None:
        """Settle deliveries with an outcome of the sending end's own, and forget them."""


class Acknowledgement(IntEnum):
    """What Kafka is told of a record, by KIP-932's own numbers.

    ACCEPT: it is done. RELEASE: it is given to a member again. REJECT: it is not given to anybody again.
    """

    ACCEPT = 1
    RELEASE = 2
    REJECT = 3


class ShareRecord(ConsumedRecord, Protocol):
    """A record of a share group."""

    def delivery_count(self) -> int | None:
        """Tell how often Kafka has given it to a member, this time included."""


Answer: TypeAlias = tuple[ShareRecord, Acknowledgement]
"""A record, and what Kafka is told of it."""


class ShareFeed(Protocol):
    """What a share link asks of its consumers.

    Records come in batches, numbered by the feed. All of a batch is answered, in any order and in as many
    parts, before the consumer that got it can ask for more.
    """

    def want(self, records: int) -> None:
        """Say for how many more records there is credit. A hint, not a bound: batches are Kafka's."""

    def acknowledge(self, batch: int, answers: Sequence[Answer], ticket: int) -> None:
        """Tell Kafka of records of a batch.

        `acknowledged` is called with the ticket, once and later: when Kafka has answered, or when it is sure
        that it will not.
        """

    def find_end(self, token: int) -> None:
        """Ask to be told, with `reached_end`, that nothing was there for a while.

        If there are records they are handed over instead, and it may be asked anew. It is told at once where
        no consumer is free to look.
        """

    def stop(self) -> None:
        """Tell Kafka what was answered, and leave the group."""


class ShareEvents(SinkEvents, Protocol):
    """What a share link tells operators."""

    def unrecorded(self, partition: int, offset: int, acknowledgement: str, failure: Failure) -> None:
        """Report an answer that Kafka did not take: the record may be delivered again."""

    def lapsed(self, partition: int, offset: int) -> None:
        """Report a record that was not answered in time, and was given back to the group."""

    def answered_late(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Report an outcome that came after its record was given back; it changes nothing."""

    def closed(self) -> None:
        """Take notice that the link is over; `ended` follows when Kafka has answered all that it was told."""


class State(Enum):
    """Where a record is that Kafka has given to the link.

    WAITING for credit, SENT to the receiver, PAUSED before it is given back, BURYING while the dead-letter
    topic has not acknowledged it, ANSWERED once Kafka is told what became of it.
    """

    WAITING = "waiting"
    SENT = "sent"
    PAUSED = "paused"
    BURYING = "burying"
    ANSWERED = "answered"


class Held:
    """A record that Kafka has given to the link.

    `attempts` is how often it was given to anybody. With `is_last` Kafka gives it to nobody again: released,
    it would be gone without a trace. `is_accepted` is the receiver's word, not Kafka's.
    """

    __slots__ = (
        "attempts",
        "batch",
        "delivery",
        "is_accepted",
        "is_last",
        "offset",
        "partition",
        "record",
        "state",
    )

    def __init__(self, record: ShareRecord, batch: int, attempts_max: int) -> None:
        self.record = record
        self.batch = batch
        self.partition = record.partition() or 0
        self.offset = record.offset() or 0
        self.attempts = record.delivery_count() or 1
        self.is_last = self.attempts >= attempts_max
        self.state = State.WAITING
        self.is_accepted = False
        self.delivery: Delivery | None = None
        """While the receiver has it, and until it is settled."""
