"""Answers attaches: finds the address and the topic, and joins a link to its endpoint.

Here the edges and the journeys meet: a source link gets its AMQP port and the shared producers, a
sink link its AMQP port and a consumer. What they then do is theirs.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bridge import addressing
from bridge.addressing import AddressError
from bridge.amqp.links import IncomingLink, OutgoingLink
from bridge.kafka import failures
from bridge.kafka import settings as kafka_settings
from bridge.kafka.consumer import GroupFeed
from bridge.kafka.contract import FeedSettings
from bridge.mapping import native
from bridge.mapping.record import ANY_PARTITION
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.failures import Failure
from bridge.observability import events
from bridge.observability.links import SinkReporter, SourceReporter
from bridge.sink import policy as sink_policy
from bridge.sink.link import SinkLimits, SinkLink
from bridge.source import outcomes
from bridge.source import policy as source_policy
from bridge.source.link import SourceDoors, SourceLink, SourceRoute

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from bridge.amqp.contract import AnyLink
    from bridge.amqp.listener import Connection
    from bridge.config import Settings
    from bridge.kafka.catalog import Catalog
    from bridge.kafka.producers import ReportPump, SharedProducer


SHUTTING_DOWN: Final = Condition(conditions.LINK_DETACH_FORCED, "the bridge is shutting down; connect again")


@dataclass(frozen=True, slots=True)
class KafkaClients:
    """What all links share on the Kafka side."""

    bootstrap_servers: str
    acknowledged: SharedProducer
    unacknowledged: SharedProducer
    pump: ReportPump
    catalog: Catalog


class Endpoints:
    """Makes the endpoints of links, and knows those that are alive."""

    def __init__(
        self,
        settings: Settings,
        clients: KafkaClients,
        on_kafka_error: kafka_settings.ErrorSink,
    ) -> None:
        self._settings = settings
        self._clients = clients
        self._on_kafka_error = on_kafka_error
        self._loop = asyncio.get_running_loop()
        self._attaching: set[asyncio.Task[None]] = set()
        self._stopping = False
        self.sources: set[SourceLink] = set()
        self.sinks: set[SinkLink] = set()
        self._feeds: set[asyncio.Future[None]] = set()
        self._options = native.MappingOptions(now_ms=_now_ms)

    def attach(self, connection: Connection, link: AnyLink) -> None:
        """Answer an attach, now or when Kafka has said what topic there is."""
        request = link.request
        if self._stopping:
            self._refuse(
                connection,
                link,
                SHUTTING_DOWN,
            )
            return
        unsupported = _unsupported(link)
        if unsupported is not None:
            self._refuse(connection, link, unsupported)
            return
        try:
            if isinstance(link, IncomingLink):
                source = addressing.parse_source(request.address or "")
                self._start(connection, link, self._attach_source(connection, link, source))
            else:
                sink = addressing.parse_sink(request.address or "")
                self._start(connection, link, self._attach_sink(connection, link, sink))
        except AddressError as error:
            self._refuse(connection, link, Condition(error.condition, error.description))

    def stop(self) -> None:
        """Refuse attaches, and give no more credit to senders."""
        self._stopping = True
        for source in self.sources:
            source.stop_credit()

    def unanswered(self) -> int:
        """Count the messages that have no outcome yet."""
        return sum(source.window.in_flight for source in self.sources)

    async def feeds_stopped(self, seconds: float) -> None:
        """Wait until all consumers have committed and left their groups, at most so long."""
        if self._feeds:
            await asyncio.wait(self._feeds, timeout=seconds)

    # ------------------------------------------------------------------ source

    async def _attach_source(
        self, connection: Connection, link: IncomingLink, address: addressing.SourceAddress
    ) -> None:
        refusal = await self._topic_refusal(address.topic, address.partition)
        if link.ended:
            return
        if refusal is not None:
            self._refuse(connection, link, refusal)
            return
        amqp = self._settings.amqp
        request = link.request
        policy = source_policy.choose(
            request.snd_settle_mode,
            request.rcv_settle_mode,
            prefetch_credit=amqp.prefetch_credit,
            manual_credit=amqp.manual_credit,
            mixed_settled=amqp.mixed_settled,
        )
        clients = self._clients
        reporter = SourceReporter(
            connection.connection_id,
            request.link_name,
            address.topic,
            self._loop,
            on_end=lambda: self.sources.discard(source),
        )
        source = SourceLink(
            link,
            policy,
            SourceRoute(address.topic, ANY_PARTITION if address.partition is None else address.partition),
            SourceDoors(
                clients.acknowledged.produce,
                clients.unacknowledged.produce,
                failures.classify_report,
                clients.pump.ready,
            ),
            # One for each link: it remembers what that link's messages have in common.
            to_record=native.message_to_record(self._options),
            understood_outcomes=outcomes.understood(request.outcomes),
            events=reporter,
        )
        self.sources.add(source)
        link.open(source, amqp.max_message_size_bytes)
        reporter.attached(request)
        source.opened()

    # ------------------------------------------------------------------ sink

    async def _attach_sink(
        self, connection: Connection, link: OutgoingLink, address: addressing.SinkAddress
    ) -> None:
        refusal = await self._topic_refusal(address.topic, None)
        if link.ended:
            return
        if refusal is not None:
            self._refuse(connection, link, refusal)
            return
        request, sink = link.request, self._settings.sink
        policy = sink_policy.choose(request.snd_settle_mode, rejected=sink.rejected)
        reporter = SinkReporter(
            connection.connection_id,
            request.link_name,
            address.topic,
            self._loop,
            on_end=lambda: self.sinks.discard(machine),
        )
        feed = GroupFeed(
            FeedSettings(
                topic=address.topic,
                options=kafka_settings.consumer(
                    self._clients.bootstrap_servers,
                    {**self._settings.kafka.common, **self._settings.kafka.consumer},
                    group=address.group,
                    queue_bytes=sink.buffer_bytes,
                    on_error=self._on_kafka_error,
                ),
                buffer_bytes=sink.buffer_bytes,
                revoke_wait_seconds=sink.revoke_wait_ms / 1000,
                commit_first=policy.sends_settled,
            ),
            reporter,
        )
        machine = SinkLink(
            link,
            policy,
            SinkLimits(sink.buffer_records, sink.commit_count),
            feed=feed,
            encode=native.record_to_message(address.topic, request.address or "", self._options),
            later=partial(self._loop.call_later, sink.redelivery_backoff_ms / 1000),
            events=reporter,
        )
        self.sinks.add(machine)
        link.open(machine)
        reporter.attached(request)
        feed.start(machine)
        self._feeds.add(feed.stopped)
        feed.stopped.add_done_callback(self._feeds.discard)
        self._commit_on_time(machine)
        machine.opened()

    def _commit_on_time(self, machine: SinkLink) -> None:
        """Commit what is done every so often, while the link lives."""
        if not machine.closed:
            machine.commit()
            self._loop.call_later(
                self._settings.sink.commit_interval_ms / 1000, self._commit_on_time, machine
            )

    # ------------------------------------------------------------------ both

    async def _topic_refusal(self, topic: str, partition: int | None) -> Condition | None:
        """Give why a topic cannot be used, or None if it can."""
        answer = await self._clients.catalog.topic(topic)
        if self._stopping:
            return SHUTTING_DOWN
        if isinstance(answer, Failure):
            return Condition(
                answer.condition,
                f"topic {topic!r}: {answer.description}",
                {"kafka-error": answer.kafka_error, "topic": topic},
            )
        if partition is not None and partition >= answer.partitions:
            return Condition(
                conditions.INVALID_FIELD,
                f"topic {topic!r} has partitions 0 to {answer.partitions - 1}, not {partition}",
            )
        return None

    def _start(self, connection: Connection, link: AnyLink, attach: Coroutine[Any, Any, None]) -> None:
        def done(task: asyncio.Task[None]) -> None:
            self._attaching.discard(task)
            error = None if task.cancelled() else task.exception()
            if error is not None:
                events.link_handler_failed(connection.connection_id, link.request.link_name, error)
                link.detach(
                    Condition(
                        conditions.INTERNAL_ERROR,
                        "the bridge failed to serve the attach; its log says why",
                    )
                )

        task = self._loop.create_task(attach)
        self._attaching.add(task)
        task.add_done_callback(done)

    def _refuse(self, connection: Connection, link: AnyLink, condition: Condition) -> None:
        request = link.request
        events.link_refused(connection.connection_id, request.link_name, request.address, condition)
        link.refuse(condition)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _unsupported(link: AnyLink) -> Condition | None:
    """Give why an attach cannot be served at all."""
    request = link.request
    if request.coordinator:
        return Condition(conditions.NOT_IMPLEMENTED, "AMQP transactions are not offered by this bridge")
    if request.dynamic:
        return Condition(
            conditions.NOT_IMPLEMENTED,
            "dynamic nodes are not offered: attach to the address of a Kafka topic",
        )
    if not request.peer_sends and request.browses:
        return Condition(
            conditions.NOT_IMPLEMENTED,
            "browsing (distribution-mode copy) is not offered: a consumer group takes its messages",
        )
    if not request.peer_sends and request.filters:
        # Left out of the answer, as the specification allows, they would be overlooked by clients that
        # do not look there: their users would lose messages that they did not ask for.
        return Condition(
            conditions.NOT_IMPLEMENTED,
            f"filters are not offered: attach without {', '.join(sorted(request.filters))}",
        )
    if request.address is None and request.peer_sends:
        return Condition(
            conditions.NOT_IMPLEMENTED,
            "the anonymous terminus is not offered: attach to the address of a Kafka topic",
        )
    return None
