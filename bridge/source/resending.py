"""Records whose batches were refused, perhaps for a neighbour: each is sent again, alone.

So it is refused for itself, or stored; after records that were sent later than it was.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Protocol

from bridge.mapping.record import ANY_PARTITION
from bridge.source.ports import QUEUE_FULL, Flushable

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.model.failures import Failure
    from bridge.source.outcomes import Place
    from bridge.source.pending import Failed
    from bridge.source.ports import Delivery, Produce, Produced


class Owner(Flushable, Protocol):
    """The link whose records they are."""

    def alone(self, topic: str) -> Produce | None:
        """Give what sends a topic's record in a batch of its own; None where nothing does."""

    def reported_alone(self, failed: Failed, error: object, produced: Produced | None) -> None:
        """Take the report of a record that was sent alone."""

    def failed(self, delivery: Delivery | None, size: int, failure: Failure, place: Place) -> None:
        """Answer a record that is not stored."""


class Resending:
    """The refused records of one link, in their order.

    `classify` reads a producer's error, `retry` asks for a `flush` of the link when a producer has room.
    """

    __slots__ = ("_classify", "_owner", "_retry", "refused")

    def __init__(
        self, owner: Owner, classify: Callable[[object], Failure], retry: Callable[[Flushable], None]
    ) -> None:
        self._owner = owner
        self._classify = classify
        self._retry = retry
        self.refused: deque[Failed] = deque()

    def close(self) -> list[Failed]:
        """Send nothing more; gives what was not sent."""
        refused = list(self.refused)
        self.refused.clear()
        return refused

    def send(self, place_of: Callable[[Produced | None], Place]) -> None:
        """Send them as far as the producer takes them."""
        refused = self.refused
        while refused:
            failed, produced = refused[0], refused[0].produced
            place = place_of(produced)
            alone = self._owner.alone(place.topic)
            if produced is None or alone is None:
                failure: Failure | None = self._classify(failed.error)
            else:
                number = ANY_PARTITION if place.partition is None else place.partition
                record = produced.value(), produced.key(), failed.headers, number
                report = partial(self._owner.reported_alone, failed)
                failure = alone(place.topic, *record, failed.timestamp_ms, report)
            if failure is not None and failure.kafka_error == QUEUE_FULL:
                self._retry(self._owner)
                return
            refused.popleft()
            if failure is not None:
                self._owner.failed(failed.delivery, failed.size_bytes, failure, place)
