"""What a source link is joined to: the shapes of its callables and ports, and of what it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from bridge.mapping.record import ANY_PARTITION, Headers, Record

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from bridge.mapping.large import LargeRecord
    from bridge.model.conditions import Condition
    from bridge.model.failures import Failure
    from bridge.model.outcomes import DeliveryState, Outcome
    from bridge.model.payloads import LargePayload
    from bridge.source.budget import ByteBudget

Delivery: TypeAlias = object
"""An opaque handle of the engine; hashable, valid until the link is closed or the delivery is settled."""

QUEUE_FULL: Final = "_QUEUE_FULL"


class Produced(Protocol):
    """A record that a report is about."""

    def topic(self) -> str | None:
        """Name its topic."""

    def partition(self) -> int | None:
        """Name its partition: negative or None while none was chosen."""

    def key(self) -> bytes | None:
        """Give its key."""

    def value(self) -> bytes | None:
        """Give its value."""


Report: TypeAlias = Callable[[object, Produced | None], None]
"""Called with the producer's error (None: stored) and the record."""


class SourcePort(Protocol):
    """What a source link asks of the engine. Nothing is sent to a link that is closed."""

    def accept(self, deliveries: Sequence[Delivery], *, settle: bool) -> None:
        """Send the outcome accepted for each."""

    def answer(self, delivery: Delivery, outcome: Outcome, *, settle: bool) -> None:
        """Send an outcome."""

    def settle(self, delivery: Delivery) -> None:
        """Settle, and forget the delivery."""

    def grant(self, credit: int) -> None:
        """Give the peer so many credits more."""

    def detach(self, condition: Condition) -> None:
        """End the link for a reason."""


class Produce(Protocol):
    """Hands a record to a producer.

    Gives None when it was taken (a report follows), or the failure when it was refused (none follows).
    The value is copied.
    """

    def __call__(
        self,
        topic: str,
        value: Buffer | None,
        key: bytes | None,
        headers: Headers | None,
        partition: int,
        timestamp_ms: int,
        report: Report,
        /,
    ) -> Failure | None:
        """Produce one record."""


class SourceEvents(Protocol):
    """What a source link tells operators."""

    def refused(self, outcome: Outcome) -> None:
        """Report an unsettled message that was answered with another outcome than accepted."""

    def dropped(self, reason: str) -> None:
        """Report a pre-settled message that was lost, as its sender allowed; perhaps after the link's end."""

    def broke(self, error: Exception) -> None:
        """Report a defect that ended the link."""

    def ended(self, accepted: int, unanswered: int, in_doubt: int) -> None:
        """Report the link's end.

        How many messages were accepted; how many unsettled ones have no outcome; how many have one that
        the sender never settled, and may send again (rcv-settle-mode second).
        """


@dataclass(frozen=True, slots=True)
class Destination:
    """Where messages go, and how: a topic, its producers, and the mapping of its route.

    `produce_alone` sends a record in a batch of its own, after its batch was refused (Reach.BATCH); None
    where batches are not refused. `room` tells how many records the producer's queue still takes.
    `partitions` is how many the topic had when it was found. `partition` is set where the address or the
    link names one. `message_bytes_max` is what the route allows for one message; 0 where the engine sees to
    that. `large_to_record`, where there is one, maps large messages with fewer copies.
    """

    topic: str
    produce: Produce
    produce_unacknowledged: Produce
    room: Callable[[], int]
    to_record: Callable[[bytes], Record]
    partitions: int
    partition: int = ANY_PARTITION
    message_bytes_max: int = 0
    produce_alone: Produce | None = None
    large_to_record: Callable[[LargePayload], LargeRecord] | None = None


@dataclass(frozen=True, slots=True)
class SourceDoors:
    """What all source links of a process share.

    `classify` reads a producer's error, `ready` asks for a `flush` soon, `retry` for one when a producer has
    room again, `kafka_takes` tells whether Kafka
    can be expected to take records now, `stored` hears that it took some.
    """

    classify: Callable[[object], Failure]
    ready: Callable[[Flushable], None]
    retry: Callable[[Flushable], None]
    kafka_takes: Callable[[], bool]
    stored: Callable[[], None]
    budget: ByteBudget


@dataclass(frozen=True, slots=True)
class Peer:
    """What is known of the sender: the outcomes it understands, and what the log calls its link."""

    understood: frozenset[DeliveryState]
    reference: str


class Flushable(Protocol):
    """A link that has something to answer."""

    def flush(self) -> None:
        """Answer it."""

    def broke(self, error: Exception) -> None:
        """Take notice that `flush` raised: a defect, which ends the link alone."""
