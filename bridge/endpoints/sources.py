"""Opens the links of senders: policy, destination, and the machine that joins them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from bridge import addressing
from bridge.config.routes import changed
from bridge.endpoints.contract import ROUTE_CHANGED, SHUTTING_DOWN, ended_for, reference
from bridge.endpoints.deduplicating import DeduplicatingLinks
from bridge.endpoints.destinations import Attachment, DestinationFinder
from bridge.model.conditions import Condition
from bridge.model.failures import Failure
from bridge.observability.links import SourceReporter
from bridge.observability.metrics_links import SourceTotals
from bridge.source import outcomes
from bridge.source import policy as source_policy
from bridge.source.anonymous import AnonymousSourceLink
from bridge.source.link import SourceLink
from bridge.source.outcomes import Place
from bridge.source.ports import Peer, SourceDoors

if TYPE_CHECKING:
    from bridge.amqp.links import IncomingLink
    from bridge.amqp.listener import Connection
    from bridge.config import Settings
    from bridge.config.routes import Route, Routes
    from bridge.endpoints.contract import KafkaClients
    from bridge.endpoints.deduplicating import DeduplicatingLink
    from bridge.kafka.settings import ErrorSink
    from bridge.model.links import AttachRequest
    from bridge.model.outcomes import DeliveryState
    from bridge.source.budget import ByteBudget
    from bridge.source.policy import SourcePolicy

OUTCOMES_PROPERTY: Final = "x-opt-bridge.outcomes"
ANONYMOUS: Final = "(each message's `to`)"
"""What the log calls the topic of a link to the anonymous terminus."""


class SourceEndpoints:
    """All links on which peers send."""

    def __init__(
        self,
        settings: Settings,
        clients: KafkaClients,
        routes: Routes,
        budget: ByteBudget,
        on_kafka_error: ErrorSink,
    ) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._finder = DestinationFinder(settings, clients, routes)
        self._deduplicating = DeduplicatingLinks(settings, clients.bootstrap_servers, routes, on_kafka_error)
        self._doors = SourceDoors(
            clients.pool.classify,
            clients.pump.ready,
            clients.pump.retry,
            lambda: clients.availability.available,
            clients.availability.stored,
            budget,
        )
        self.totals = SourceTotals()
        self._stopping = False
        self._links: dict[SourceLink, str | None] = {}
        """The links that are alive, and the topic that each one's address names."""
        clients.availability.subscribe(self._kafka_changed)

    async def attach(self, connection: Connection, link: IncomingLink) -> Condition | None:
        """Open a link, or give why not. Raises AddressError."""
        request = link.request
        found: Attachment | Condition | Failure | None = None
        topic = None
        if request.address:
            address = addressing.parse_source(request.address)
            topic, routes = address.topic, self._finder.routes
            found = await self._finder.attach(address, request.properties)
            if routes is not self._finder.routes:  # they were replaced while Kafka was asked
                return await self.attach(connection, link)
        if isinstance(found, Failure):
            place = Place(topic or "", reference(connection, request))
            found = outcomes.condition(found, place, description=f"topic {topic!r}: {found.description}")
        if isinstance(found, Attachment) and found.route.deduplication is not None:
            return await self._attach_deduplicating(connection, link, topic, found)
        if self._stopping:
            found = SHUTTING_DOWN
        if isinstance(found, Condition):
            return found
        if not link.ended:
            machine = self._open(connection, link, topic, found)
            machine.opened()
        return None

    async def _attach_deduplicating(
        self, connection: Connection, link: IncomingLink, topic: str | None, found: Attachment
    ) -> Condition | None:
        """Open a link with a producer and a ledger of its own; it gets credit when the ledger is read."""
        request, wanted = link.request, found.route.deduplication
        assert wanted is not None  # noqa: S101 - its caller looked
        place = Place(found.destination.topic, reference(connection, request))
        if link.ended:
            return None
        routes = self._finder.routes
        own = await self._deduplicating.open(request, found.destination, wanted)
        if isinstance(own, Failure):
            return outcomes.condition(own, place)
        if self._stopping or link.ended or routes is not self._finder.routes:
            own.close()
            return SHUTTING_DOWN if self._stopping else ROUTE_CHANGED
        machine = self._open(connection, link, topic, replace(found, destination=own.destination), own)
        own.start(machine, place)
        return None

    def reroute(self, routes: Routes) -> int:
        """Put other routes in force; detaches the links that would be served otherwise, and counts them."""
        topics = {topic for topic in self._links.values() if topic is not None}
        other = changed(self._finder.routes, routes, topics)
        self._finder.reroute(routes)
        detached = [link for link, topic in self._links.items() if topic in other]
        for link in detached:
            link.detach(ROUTE_CHANGED)
        return len(detached)

    def stop(self) -> None:
        """Open no more links, and give no more credit."""
        self._stopping = True
        for link in self._links:
            link.stop_credit()

    async def stopped(self, seconds: float) -> None:
        """Wait until the producers of links that ended have stored what they had, at most so long."""
        await self._deduplicating.stopped(seconds)

    def unanswered(self) -> int:
        """Count the messages that have no outcome yet."""
        return sum(link.window.in_flight for link in self._links)

    # ------------------------------------------------------------------ inside

    def _open(
        self,
        connection: Connection,
        link: IncomingLink,
        topic: str | None,
        found: Attachment | None,
        own: DeduplicatingLink | None = None,
    ) -> SourceLink:
        """Open a link to a destination, or without one to the anonymous terminus; it has no credit yet."""
        request, route = link.request, None if found is None else found.route
        name = ANONYMOUS if found is None else found.destination.topic
        reporter = SourceReporter(connection.connection_id, request.link_name, name, self._loop, self.totals)
        policy = self._policy(request, route)
        if own is not None:
            # All that is sent has to go through the ledger, in its order: nothing is fast and loose.
            policy = replace(policy, prefetch=False, settled_unacknowledged=False)
        peer = Peer(self._understood(request, route), reference(connection, request))
        if found is None:
            machine: SourceLink = AnonymousSourceLink(link, policy, self._finder, self._doors, peer, reporter)
        else:
            machine = SourceLink(link, policy, found.destination, self._doors, peer, reporter)
        self._links[machine] = topic
        reporter.on_end(partial(self._ended, link, machine, own))
        limit = (
            route.max_message_size_bytes if route else None
        ) or self._settings.amqp.max_message_size_bytes
        reporter.counting(partial(_last_words, link, own))
        link.open(machine if own is None else own.handler(machine), limit)
        reporter.attached(request)
        reporter.watch(machine)
        return machine

    def _ended(self, link: IncomingLink, machine: SourceLink, own: DeduplicatingLink | None) -> None:
        self._links.pop(machine, None)
        link.forget_handler()
        if own is not None:
            own.close()

    def _policy(self, request: AttachRequest, route: Route | None) -> SourcePolicy:
        amqp = self._settings.amqp
        credit = None if route is None else route.credit
        return source_policy.choose(
            request.snd_settle_mode,
            request.rcv_settle_mode,
            prefetch_credit=credit or amqp.prefetch_credit,
            manual_credit=credit or amqp.manual_credit,
            mixed_settled=(route.mixed_settled if route else None) or amqp.mixed_settled,
        )

    def _understood(self, request: AttachRequest, route: Route | None) -> frozenset[DeliveryState]:
        """Give the outcomes that a peer may be told beside accepted and rejected."""
        told = self._settings.source.outcomes
        if route is not None:
            told = route.outcomes_for(request.container_id, told)
        if told == "all" or request.properties.get(OUTCOMES_PROPERTY) == "all":
            return outcomes.ALL_UNDERSTOOD
        return _understood(request.outcomes)

    def _kafka_changed(self, available: bool) -> None:  # noqa: FBT001 - a listener's one argument
        for link in list(self._links) if available else ():
            try:
                link.credit_may_flow()
            except Exception as error:  # noqa: BLE001 - one link must not take the others with it
                link.broke(error)


_understood = lru_cache(outcomes.understood)
"""One set for all links whose sources list the same."""


def _last_words(link: IncomingLink, own: DeduplicatingLink | None) -> dict[str, object]:
    """Say at a link's end what its machine does not know: why the bridge ended it, and duplicates."""
    return {**({} if own is None else own.counts()), **ended_for(link)}
