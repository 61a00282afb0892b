"""What a sink link talks to: the engine, its consumer, those who watch, and the records in between.

Shapes only. The edges fulfil them (`bridge.amqp`, `bridge.kafka`), and the composition root joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from bridge.model.outcomes import DeliveryState

if TYPE_CHECKING:
    from bridge.model.conditions import Condition
    from bridge.model.failures import Failure
    from bridge.model.outcomes import Outcome

Delivery: TypeAlias = object
"""An opaque handle of the engine; hashable, valid until settled or the link is closed."""


class ConsumedRecord(Protocol):
    """A record as the consumer gives it. `len()` of one is its value's size in bytes."""

    def partition(self) -> int | None:
        """Give the partition."""

    def offset(self) -> int | None:
        """Give the offset."""

    def timestamp(self) -> tuple[int, int]:
        """Give the timestamp's type and milliseconds."""

    def key(self) -> bytes | None:
        """Give the key."""

    def value(self) -> bytes | None:
        """Give the value."""

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Give the headers in order."""

    def set_headers(self, value: list[tuple[str, bytes | None]], /) -> None:
        """Have it give other headers from now on."""

    def __len__(self) -> int: ...


class SinkPort(Protocol):
    """What a sink link asks of the engine."""

    def credit(self) -> int:
        """Tell how many messages the peer takes now."""

    def draining(self) -> bool:
        """Tell whether the peer wants its unused credit back."""

    def room_bytes(self) -> int:
        """Tell how many bytes may be sent now; when none, `batch_ended` is called once there are."""

    def send(self, tag: bytes, payload: bytes) -> Delivery:
        """Send unsettled."""

    def send_settled(self, tag: bytes, payload: bytes) -> None:
        """Send settled."""

    def sent(self) -> None:
        """Say that a batch was sent."""

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Settle, and forget the deliveries."""

    def drained(self) -> None:
        """Give unused credit back."""

    def detach(self, condition: Condition) -> None:
        """End the link for a reason."""


Offsets: TypeAlias = dict[int, tuple[int, int]]
"""What to commit: by partition, the generation of its assignment and the offset to read next."""


class Feed(Protocol):
    """What a sink link asks of its consumer."""

    def allow(self, total: int) -> None:
        """Allow so many records to be handed over, counted since the link began."""

    def took(self, size_bytes: int) -> None:
        """Say that so many bytes of what was handed over have left the buffer."""

    def commit(self, offsets: Offsets) -> None:
        """Commit these offsets, soon; those of a generation that has ended are dropped."""

    def hold(self, partitions: frozenset[int]) -> None:
        """Read nothing of these partitions until it is said again without them."""

    def find_end(self, token: int) -> None:
        """Ask to be told, with `reached_end`, when all is handed over that is in the partitions now.

        It is told as well when that cannot be found out in time. Another token replaces the one before.
        """

    def stop(self, offsets: Offsets) -> None:
        """Commit these offsets and leave the group."""


class Reason(Enum):
    """Why a record goes to the dead-letter topic."""

    REJECTED = "rejected"
    UNDELIVERABLE_HERE = "undeliverable-here"
    MAX_ATTEMPTS = "max-attempts"
    MESSAGE_SIZE_EXCEEDED = "message-size-exceeded"

    @classmethod
    def of_refusal(cls, outcome: Outcome) -> Reason:
        """Give the reason of a receiver that does not want a record, however often it comes."""
        return cls.REJECTED if outcome.state is DeliveryState.REJECTED else cls.UNDELIVERABLE_HERE


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What is told of a record that goes to the dead-letter topic.

    `attempts` is how often it was delivered, `condition` what the receiver said when it rejected it,
    `annotations` what it wanted merged into the message's annotations: an encoded AMQP map, or empty.
    """

    reason: Reason
    attempts: int
    condition: Condition | None = None
    annotations: bytes = b""


DeadLetters: TypeAlias = "Callable[[ConsumedRecord, DeadLetter, Callable[[Failure | None], None]], None]"
"""Sends a record to the dead-letter topic, once, and calls back: None when Kafka has acknowledged it.

It is called back on the event loop's thread, never from within the call."""

Annotate: TypeAlias = Callable[[bytes, bytes], bytes]
"""Merges annotations, an encoded AMQP map, into an encoded message."""


class SinkEvents(Protocol):
    """What a sink link tells operators."""

    def skipped(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Report a record that the receiver refused for good, and that was passed over."""

    def dead_lettered(self, partition: int, offset: int, letter: DeadLetter) -> None:
        """Report a record that the dead-letter topic has."""

    def dead_letter_failed(self, partition: int, offset: int, failure: Failure) -> None:
        """Report a record that the dead-letter topic did not take; it is tried again if that may help."""

    def redelivered(self, partition: int, offset: int, outcome: Outcome) -> None:
        """Report a record that will be sent again."""

    def failed(self, failure: Failure) -> None:
        """Report what ended the consumer."""

    def ended(self, accepted: int, unanswered: int) -> None:
        """Report the link's end: how many records were accepted, how many have no outcome."""


Encode: TypeAlias = Callable[
    [
        int,
        int,
        int,
        int,
        bytes | None,
        bytes | None,
        Sequence[tuple[str, bytes | None]] | None,
        int,
        bool,
    ],
    bytes,
]
"""Makes the message of a record, empty if the record is not to be sent at all: it has expired.

Partition, offset, timestamp type, timestamp in ms, key, value, headers, delivery count, and
whether it was sent before."""

EncodePlain: TypeAlias = Callable[[int, int, int, bytes], bytes]
"""Makes the message of a record that has a value and a CreateTime, but neither a key nor headers, and was not
sent before: partition, offset, timestamp in ms, value."""

CREATE_TIME: Final = 1
"""The type of a timestamp that its producer gave."""
