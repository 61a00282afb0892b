"""Joins links whose route suppresses duplicates to a producer and a ledger of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bridge.amqp import native
from bridge.kafka import settings as kafka_settings
from bridge.kafka.deduplication import DeduplicatingProducers
from bridge.kafka.ledger_contract import LedgerSettings
from bridge.mapping.errors import MappingError
from bridge.mapping.identity import message_id_identity
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.failures import Failure
from bridge.source import outcomes
from bridge.source.deduplication import Windows
from bridge.source.ledger import LinkName
from bridge.source.ports import QUEUE_FULL

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from bridge.config import Settings
    from bridge.config.routes import Routes
    from bridge.kafka.deduplication import DeduplicatingProducer
    from bridge.mapping.record import Headers, Record
    from bridge.model.deduplication import Deduplication
    from bridge.model.links import AttachRequest
    from bridge.model.payloads import LargePayload
    from bridge.source.link import SourceLink
    from bridge.source.outcomes import Place
    from bridge.source.ports import Destination, Produce, Report

    IdentifiedProduce = Callable[
        [str, bytes | None, bytes | None, Headers | None, int, int, Report, bytes], Failure | None
    ]

_DAY_MS: Final = 86_400_000
CLIENT: Final = "deduplication"
"""What the log calls the Kafka clients of these links."""


class DeduplicatingLinks:
    """All links of the process that suppress duplicates."""

    def __init__(
        self,
        settings: Settings,
        bootstrap_servers: str,
        routes: Routes,
        on_error: kafka_settings.ErrorSink,
    ) -> None:
        kafka, ours = settings.kafka, settings.deduplication

        def said(_client: str, name: str, description: str, fatal: bool) -> None:  # noqa: FBT001 - ErrorSink
            # Not what the shared producer says: a link's own is fenced when the link is attached elsewhere.
            on_error(CLIENT, name, description, fatal)

        windows = [rule.route.deduplication for rule in routes.rules]
        self._windows = Windows()
        self._producers = DeduplicatingProducers(
            LedgerSettings(
                producer=kafka_settings.producer(
                    bootstrap_servers,
                    {**kafka.common, **kafka.producer},
                    acks="all",
                    message_max_bytes=settings.amqp.max_message_size_bytes,
                    on_error=said,
                ),
                client=kafka_settings.admin(bootstrap_servers, kafka.common, on_error=said),
                topic=ours.topic,
                partitions=ours.partitions,
                retention_ms=max(_DAY_MS, *(2 * window.window_ms for window in windows if window), 0),
                transaction_timeout_ms=ours.transaction_timeout_ms,
                links_max=ours.links_max,
            )
        )

    async def open(
        self, request: AttachRequest, destination: Destination, wanted: Deduplication
    ) -> DeduplicatingLink | Failure:
        """Make what a link needs, or say why it cannot have it. To be closed, unless it is started."""
        name = LinkName(request.container_id, request.link_name, destination.topic)
        producer = await self._producers.open(self._windows.ledger(name, wanted))
        if isinstance(producer, Failure):
            return producer
        return DeduplicatingLink(producer, destination, wanted)

    async def stopped(self, seconds: float) -> None:
        """Wait until all that were closed have stored what they had, at most so long."""
        await self._producers.stopped(seconds)


class DeduplicatingLink:
    """Gives each record of one link the identity of its message.

    A message is mapped and produced in one go, so the identity that `to_record` or `tagged` found is
    that of the record which `produce` is given next.
    """

    def __init__(
        self, producer: DeduplicatingProducer, destination: Destination, wanted: Deduplication
    ) -> None:
        self._producer = producer
        self._plain = destination
        self._by_message_id = wanted.by == "message-id"
        self._identity = b""
        self._machine: SourceLink | None = None
        self._place: Place | None = None

    @property
    def destination(self) -> Destination:
        """The destination by way of this link's producer, pre-settled messages included."""
        return replace(
            self._plain,
            produce=self._identified(self._producer.produce),
            produce_unacknowledged=self._identified(self._producer.produce_settled),
            produce_alone=None,
            room=self._producer.room,
            to_record=self._identified_record if self._by_message_id else self._tagged_record,
            large_to_record=None,  # what waits for its transaction is kept
        )

    def handler(self, machine: SourceLink) -> SourceLink | TagReader:
        """Give what the engine tells of the link's transfers."""
        return machine if self._by_message_id else TagReader(machine, self._tagged)

    def start(self, machine: SourceLink, place: Place) -> None:
        """Read the ledger; the link gets its first credit when that is done."""
        self._machine, self._place = machine, place
        self._producer.start(self)

    def close(self) -> None:
        """Store what was taken, and end."""
        self._producer.close()

    def counts(self) -> dict[str, object]:
        """Say at the link's end what the log should have of it."""
        return {"duplicates": self._producer.duplicates_suppressed}

    # ------------------------------------------------------------------ from the producer

    def ready(self) -> None:
        """Let messages come."""
        if self._machine is not None:
            self._machine.opened()

    def stolen(self) -> None:
        """End the link: it was attached again elsewhere."""
        if self._machine is not None:
            self._machine.detach(
                Condition(
                    conditions.LINK_STOLEN, "a link of this container-id and name was attached elsewhere"
                )
            )

    def failed(self, failure: Failure) -> None:
        """End the link: its producer cannot go on."""
        if self._machine is not None and self._place is not None:
            name = conditions.INTERNAL_ERROR if failure.retriable else failure.condition
            self._machine.detach(outcomes.condition(failure, self._place, name))

    # ------------------------------------------------------------------ for each message

    def _identified_record(self, message: bytes) -> Record:
        identity = message_id_identity(message)
        if identity is None:
            raise MappingError(
                conditions.PRECONDITION_FAILED,
                "the message has no message-id, by which duplicates are suppressed on this address",
            )
        self._identity = identity
        return self._plain.to_record(message)

    def _tagged(self, tag: bytes) -> None:
        self._identity = tag

    def _tagged_record(self, message: bytes) -> Record:
        if not self._identity:
            raise MappingError(
                conditions.INVALID_FIELD,
                "the delivery has no tag, by which duplicates are suppressed on this address",
            )
        return self._plain.to_record(message)

    def _identified(self, produce: IdentifiedProduce) -> Produce:
        """Give a door of the producer as links know it: without the identity, which is this link's to add."""

        def hand_over(
            topic: str,
            value: Buffer | None,
            key: bytes | None,
            headers: Headers | None,
            partition: int,
            timestamp_ms: int,
            report: Report,
            /,
        ) -> Failure | None:
            # What waits for its transaction is kept.
            kept = None if value is None else bytes(value)
            failure = produce(topic, kept, key, headers, partition, timestamp_ms, report, self._identity)
            if failure is not None and failure.kafka_error == QUEUE_FULL:
                # The link would keep the record and try again, by then with another message's identity.
                return replace(failure, kafka_error="_PREV_IN_PROGRESS")
            return failure

        return hand_over


class TagReader:
    """Passes everything on to a link's machine, and notes the tag of each delivery before."""

    def __init__(self, machine: SourceLink, tagged: Callable[[bytes], None]) -> None:
        self._machine = machine
        self._tagged = tagged
        self.arriving = machine.arriving
        self.aborted = machine.aborted
        self.settled = machine.settled
        self.batch_ended = machine.batch_ended
        self.close = machine.close

    def transferred(self, delivery: Any, payload: bytes, settled: bool, /) -> None:  # noqa: ANN401, FBT001 - the engine's
        """Take one whole message."""
        self._tagged(native.delivery_tag(delivery))
        self._machine.transferred(delivery, payload, settled)

    def transferred_large(self, delivery: Any, payload: LargePayload, settled: bool, /) -> None:  # noqa: ANN401, FBT001 - likewise
        """Take one whole message of several frames."""
        self._tagged(native.delivery_tag(delivery))
        self._machine.transferred_large(delivery, payload, settled)
