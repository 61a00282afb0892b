"""Opens the links of senders: policy, destination, and the machine that joins them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bridge import addressing
from bridge.endpoints.contract import ROUTE_CHANGED, SHUTTING_DOWN
from bridge.endpoints.destinations import DestinationFinder
from bridge.kafka import failures
from bridge.model.conditions import Condition
from bridge.model.failures import Failure
from bridge.observability.links import SourceReporter
from bridge.source import outcomes
from bridge.source import policy as source_policy
from bridge.source.anonymous import AnonymousSourceLink
from bridge.source.link import SourceLink
from bridge.source.outcomes import Place
from bridge.source.ports import Peer, SourceDoors

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.amqp.links import IncomingLink
    from bridge.amqp.listener import Connection
    from bridge.config import Settings
    from bridge.config.routes import Route, Routes
    from bridge.endpoints.contract import KafkaClients
    from bridge.endpoints.destinations import Attachment
    from bridge.model.links import AttachRequest
    from bridge.model.outcomes import DeliveryState
    from bridge.source.budget import ByteBudget
    from bridge.source.policy import SourcePolicy

OUTCOMES_PROPERTY: Final = "x-opt-bridge.outcomes"
ANONYMOUS: Final = "(each message's `to`)"
"""What the log calls the topic of a link to the anonymous terminus."""


class SourceEndpoints:
    """All links on which peers send."""

    def __init__(self, settings: Settings, clients: KafkaClients, routes: Routes, budget: ByteBudget) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._finder = DestinationFinder(settings, clients, routes)
        self._doors = SourceDoors(
            failures.classify_report,
            clients.pump.ready,
            lambda: clients.availability.available,
            budget,
        )
        self._stopping = False
        self._links: dict[SourceLink, str | None] = {}
        """The links that are alive, and the topic that each one's address names."""
        clients.availability.subscribe(self._kafka_changed)

    async def attach(self, connection: Connection, link: IncomingLink) -> Condition | None:
        """Open a link, or give why not. Raises AddressError."""
        request = link.request
        if not request.address:
            if self._stopping:
                return SHUTTING_DOWN
            self._open_anonymous(connection, link)
            return None
        address = addressing.parse_source(request.address)
        found = await self._finder.attach(address, request.properties)
        if isinstance(found, Condition):
            return found
        if isinstance(found, Failure):
            place = Place(address.topic, _reference(connection, request))
            return outcomes.condition(
                found, place, description=f"topic {address.topic!r}: {found.description}"
            )
        if self._stopping:
            return SHUTTING_DOWN
        if not link.ended:
            self._open(connection, link, address.topic, found)
        return None

    def reroute(self, routes: Routes, changed: Callable[[Routes, Routes, set[str]], set[str]]) -> int:
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

    def unanswered(self) -> int:
        """Count the messages that have no outcome yet."""
        return sum(link.window.in_flight for link in self._links)

    # ------------------------------------------------------------------ inside

    def _open(self, connection: Connection, link: IncomingLink, topic: str, found: Attachment) -> None:
        route, request = found.route, link.request
        reporter = self._reporter(connection, request, found.destination.topic)
        machine = SourceLink(
            link,
            self._policy(request, route),
            found.destination,
            self._doors,
            Peer(self._understood(request, route), _reference(connection, request)),
            reporter,
        )
        limit = route.max_message_size_bytes or self._settings.amqp.max_message_size_bytes
        self._run(link, machine, reporter, topic, limit)

    def _open_anonymous(self, connection: Connection, link: IncomingLink) -> None:
        request = link.request
        reporter = self._reporter(connection, request, ANONYMOUS)
        machine = AnonymousSourceLink(
            link,
            self._policy(request, None),
            self._finder,
            self._doors,
            Peer(self._understood(request, None), _reference(connection, request)),
            reporter,
        )
        self._run(link, machine, reporter, None, self._settings.amqp.max_message_size_bytes)

    def _run(
        self,
        link: IncomingLink,
        machine: SourceLink,
        reporter: SourceReporter,
        topic: str | None,
        message_bytes_max: int,
    ) -> None:
        self._links[machine] = topic
        reporter.on_end(lambda: self._links.pop(machine, None))
        link.open(machine, message_bytes_max)
        reporter.attached(link.request)
        machine.opened()

    def _reporter(self, connection: Connection, request: AttachRequest, topic: str) -> SourceReporter:
        return SourceReporter(connection.connection_id, request.link_name, topic, self._loop)

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
        return outcomes.understood(request.outcomes)

    def _kafka_changed(self, available: bool) -> None:  # noqa: FBT001 - a listener's one argument
        if available:
            for link in list(self._links):
                link.credit_may_flow()


def _reference(connection: Connection, request: AttachRequest) -> str:
    """Name a link to its peer as the log does."""
    return f"connection {connection.connection_id}, link {request.link_name}"
