"""Opens the links of receivers: a consumer of their own, and the machine that joins them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from bridge import addressing
from bridge.config.routes import changed
from bridge.endpoints.contract import ROUTE_CHANGED, SHUTTING_DOWN
from bridge.endpoints.destinations import choose_mapping, mapping_options, reserved
from bridge.kafka import settings as kafka_settings
from bridge.kafka.consumer import GroupFeed
from bridge.kafka.contract import FeedSettings
from bridge.model.conditions import Condition
from bridge.model.failures import Failure
from bridge.observability.links import SinkReporter
from bridge.sink import policy as sink_policy
from bridge.sink.link import SinkLimits, SinkLink

if TYPE_CHECKING:
    from bridge.amqp.links import OutgoingLink
    from bridge.amqp.listener import Connection
    from bridge.config import Settings
    from bridge.config.routes import Route, Routes
    from bridge.endpoints.contract import KafkaClients
    from bridge.mapping.profiles import Profile


class SinkEndpoints:
    """All links on which peers receive."""

    def __init__(
        self,
        settings: Settings,
        clients: KafkaClients,
        routes: Routes,
        on_kafka_error: kafka_settings.ErrorSink,
    ) -> None:
        self._settings = settings
        self._clients = clients
        self._routes = routes
        self._on_kafka_error = on_kafka_error
        self._loop = asyncio.get_running_loop()
        self._links: dict[SinkLink, tuple[str, OutgoingLink]] = {}
        self._stopping = False
        self._feeds: set[asyncio.Future[None]] = set()

    async def attach(self, connection: Connection, link: OutgoingLink) -> Condition | None:
        """Open a link, or give why not. Raises AddressError."""
        request = link.request
        address = addressing.parse_sink(request.address or "")
        routes = self._routes
        route = routes.find(address.topic)
        profile = choose_mapping(route, request.properties, self._settings.mapping.default)
        refusal = profile if isinstance(profile, Condition) else reserved(route.topic, self._settings)
        if isinstance(profile, Condition) or refusal is not None:
            return refusal
        topic = await self._clients.catalog.topic(route.topic)
        if routes is not self._routes:  # they were replaced while Kafka was asked
            return await self.attach(connection, link)
        if isinstance(topic, Failure):
            return Condition(
                topic.condition,
                f"topic {route.topic!r}: {topic.description}",
                {
                    "kafka-error": topic.kafka_error,
                    "kafka-code": topic.kafka_code,
                    "retriable": topic.retriable,
                    "topic": route.topic,
                },
            )
        if self._stopping:
            return SHUTTING_DOWN
        if not link.ended:
            self._open(connection, link, address, (route, profile))
        return None

    def reroute(self, routes: Routes) -> int:
        """Put other routes in force; detaches the links that would be served otherwise, and counts them."""
        other = changed(self._routes, routes, {topic for topic, _ in self._links.values()})
        self._routes = routes
        detached = [link for topic, link in self._links.values() if topic in other]
        for link in detached:
            link.detach(ROUTE_CHANGED)
        return len(detached)

    def stop(self) -> None:
        """Open no more links."""
        self._stopping = True

    async def stopped(self, seconds: float) -> None:
        """Wait until all consumers have committed and left their groups, at most so long."""
        if self._feeds:
            await asyncio.wait(self._feeds, timeout=seconds)

    # ------------------------------------------------------------------ inside

    def _open(
        self,
        connection: Connection,
        link: OutgoingLink,
        address: addressing.SinkAddress,
        found: tuple[Route, Profile],
    ) -> None:
        route, profile = found
        request, sink = link.request, self._settings.sink
        policy = sink_policy.choose(request.snd_settle_mode, rejected=sink.rejected)
        reporter = SinkReporter(
            connection.connection_id,
            request.link_name,
            route.topic,
            self._loop,
            on_end=lambda: self._links.pop(machine, None),
        )
        feed = GroupFeed(
            FeedSettings(
                topic=route.topic,
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
            encode=profile.record_to_message(route.topic, request.address or "", mapping_options(route)),
            later=partial(self._loop.call_later, sink.redelivery_backoff_ms / 1000),
            events=reporter,
        )
        self._links[machine] = (address.topic, link)
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
