"""Opens the links of receivers: a consumer of their own, and the machine that joins them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from bridge import addressing
from bridge.config.routes import changed
from bridge.endpoints import dead_letters, guarding, information, receiving
from bridge.endpoints.contract import (
    ROUTE_CHANGED,
    SHUTTING_DOWN,
    ended_for,
    now_ms,
    reference,
    refused_by_kafka,
)
from bridge.endpoints.destinations import choose_mapping, mapping_options, missing_partition, reserved
from bridge.endpoints.shares import ShareEndpoints, SharePlan
from bridge.filters.selecting import selecting
from bridge.kafka import settings as kafka_settings
from bridge.kafka.consumer import ConsumerFeed
from bridge.kafka.contract import FeedSettings
from bridge.kafka.identity import instance_id
from bridge.mapping import event_streams
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.failures import Failure
from bridge.observability.links import SinkReporter
from bridge.observability.metrics_links import SinkTotals
from bridge.sink.link import SinkLink
from bridge.sink.policy import SinkLimits
from bridge.sink.undelivered import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.addressing import SinkAddress
    from bridge.amqp.links import OutgoingLink
    from bridge.amqp.listener import Connection
    from bridge.config import Settings
    from bridge.config.routes import Route, Routes
    from bridge.endpoints.contract import KafkaClients
    from bridge.endpoints.receiving import Reading
    from bridge.kafka.catalog import Topic
    from bridge.mapping.profiles import Profile, RecordToMessage
    from bridge.sink.ports import DeadLetters

STOLEN: Condition = Condition(
    conditions.LINK_STOLEN, "the link was attached anew, and its place in the consumer group with it"
)
STEAL_SECONDS = 10.0

Identity: TypeAlias = tuple[str, str, str]
"""A static member: the peer's container-id, the link's name, the group."""
Place: TypeAlias = tuple[str | None, str, int | None]
"""What is read for a group by a link that is no member of it: the group, the topic, the partition."""
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Asked:
    """An attach that is being answered."""

    connection: Connection
    link: OutgoingLink
    address: SinkAddress
    route: Route
    profile: Profile
    reading: Reading
    topic: Topic


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be opened for it."""

    starts: Mapping[int, int]
    dead_letters: DeadLetters | None
    identity: Identity | None


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
        self._links: dict[OutgoingLink, str] = {}
        """The links, and the topics that their addresses name."""
        self._information = information.InformationEndpoints(settings, clients, on_kafka_error)
        self.totals = SinkTotals()
        self._shares = ShareEndpoints(settings, clients, on_kafka_error, self.totals)
        self._members: dict[Identity, tuple[OutgoingLink, asyncio.Future[None]]] = {}
        """Static members: their links, and when their consumers have stopped."""
        self._readers: dict[Place, tuple[OutgoingLink, asyncio.Future[None]]] = {}
        """The same for links that chose a partition, for a group that they are no members of."""
        self._stopping = False
        self._feeds: set[asyncio.Future[None]] = set()

    async def attach(self, connection: Connection, link: OutgoingLink) -> Condition | None:
        """Open a link, or give why not. Raises AddressError and FilterError."""
        routes = self._routes
        asked = await self._asked(connection, link)
        if isinstance(asked, Condition):
            return asked
        if asked.address.info:
            return await self._information.attach(connection, link, asked.address, asked.topic.name)
        share = asked.address.share
        if share is None:
            plan: Plan | SharePlan | Condition = await self._plan(asked)
        else:
            plan = await self._shares.plan(share, asked.reading, asked.route)
        if isinstance(plan, Condition):
            return plan
        if routes is not self._routes:  # they were replaced while Kafka was asked
            return await self.attach(connection, link)
        if self._stopping:
            return SHUTTING_DOWN
        if not link.ended:
            self._links[link] = asked.address.topic
            try:
                self._open(asked, plan)
            except BaseException:
                self._links.pop(link, None)
                raise
        return None

    def reroute(self, routes: Routes) -> int:
        """Put other routes in force; detaches the links that would be served otherwise, and counts them."""
        other = changed(self._routes, routes, set(self._links.values()))
        self._routes = routes
        detached = [link for link, topic in self._links.items() if topic in other]
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

    # ------------------------------------------------------------------ planning

    async def _asked(self, connection: Connection, link: OutgoingLink) -> Asked | Condition:
        """Find the route, the mapping and the topic of an attach."""
        request = link.request
        address = addressing.parse_sink(request.address or "")
        route = self._routes.find(address.topic)
        profile = choose_mapping(route, request.properties, self._settings.mapping.default)
        if isinstance(profile, Condition):
            return profile
        refusal = reserved(route.topic, self._settings)
        if refusal is not None:
            return refusal
        # What is wrong with the attach itself comes first.
        reading = receiving.read(address, request, route, self._settings)
        topic = await self._clients.catalog.topic(route.topic)
        if isinstance(topic, Failure):
            return refused_by_kafka(topic, route.topic)
        return Asked(connection, link, address, route, profile, reading, topic)

    async def _plan(self, asked: Asked) -> Plan | Condition:
        reading, topic = asked.reading, asked.topic
        refusal = missing_partition(topic, reading.partition)
        if refusal is not None:
            return refusal
        letters = await self._dead_letters(asked)
        if isinstance(letters, Condition):
            return letters
        starts = await receiving.starting_offsets(reading, topic, self._clients.offsets, now_ms())
        if isinstance(starts, Condition):
            return starts
        if isinstance(starts, Failure):
            return refused_by_kafka(starts, topic.name)
        identity = self._identity(asked)
        if identity is not None:
            await self._steal(identity, asked.link)
        if reading.resumes:
            await self._left(reading, topic)
        return Plan(starts, letters, identity)

    async def _dead_letters(self, asked: Asked) -> DeadLetters | Condition | None:
        if asked.reading.browses:
            return None
        return await dead_letters.find(asked.route, self._settings, self._clients, asked.reading.group)

    def _identity(self, asked: Asked) -> Identity | None:
        """Tell as which static member of its group a link joins; None for a dynamic one."""
        reading = asked.reading
        request, static = asked.link.request, self._settings.sink.static_membership
        if reading.group is None or not reading.is_member:
            return None
        if static == "never" or (static == "durable" and not request.durable):
            return None
        return request.container_id, request.link_name, reading.group

    async def _steal(self, identity: Identity, thief: OutgoingLink) -> None:
        """End the link that has this identity now, and wait until its consumer has stopped.

        Not for a link that has ended itself while Kafka was asked: its peer may be back already, with the
        link that would be ended.
        """
        while not thief.ended and (member := self._members.get(identity)) is not None:
            link, stopped = member
            link.detach(STOLEN)
            await asyncio.wait([stopped], timeout=STEAL_SECONDS)
            if self._members.get(identity) is member:
                del self._members[identity]

    async def _left(self, reading: Reading, topic: Topic) -> None:
        """Wait until a reader of a group's partition that goes has committed what this one begins at."""
        link, stopped = self._readers.get((reading.group, topic.name, reading.partition), (None, None))
        if link is not None and stopped is not None and link.ended:
            await asyncio.wait([stopped], timeout=STEAL_SECONDS)

    # ------------------------------------------------------------------ opening

    def _open(self, asked: Asked, plan: Plan | SharePlan) -> None:
        on_end = partial(self._ended, asked.link)
        if isinstance(plan, SharePlan):
            _, stopped = self._shares.open(
                asked.connection, asked.link, plan, asked.reading, asked.route, self._mapped(asked), on_end
            )
            self._await(stopped)
        else:
            self._open_reader(asked, plan, on_end)

    def _ended(self, link: OutgoingLink) -> None:
        self._links.pop(link, None)
        link.forget_handler()

    def _open_reader(self, asked: Asked, plan: Plan, on_end: Callable[[], object]) -> None:
        connection, link, route, reading = asked.connection, asked.link, asked.route, asked.reading
        request, sink = link.request, self._settings.sink
        policy = receiving.policy_of(reading, request, route, sink)
        reporter = SinkReporter(
            connection.connection_id, request.link_name, route.topic, self._loop, on_end, self.totals
        )
        feed = ConsumerFeed(
            FeedSettings(
                topic=route.topic,
                options=self._consumer_options(reading, plan.identity),
                buffer_bytes=sink.buffer_bytes,
                revoke_wait_seconds=sink.revoke_wait_ms / 1000,
                commit_first=policy.sends_settled and policy.commits,
                starts=plan.starts,
                assigned=not reading.is_member,
                resumes=reading.resumes,
                commits=policy.commits,
                end_wait_seconds=sink.drain_wait_ms / 1000,
            ),
            reporter,
            self._clients.offsets,
        )
        to_message = self._mapped(asked)
        predicates = reading.filters.predicates
        encode = selecting(to_message, predicates) if predicates else to_message
        machine = SinkLink(
            link,
            policy,
            SinkLimits(
                sink.buffer_records, sink.commit_count, sink.unsettled_bytes, request.max_message_size_bytes
            ),
            Surroundings(
                reporter,
                guarding.later(self._loop, link),
                guarding.answering(link, plan.dead_letters),
                {"topic": route.topic, "reference": reference(connection, request)},
            ),
            feed=feed,
            encode=encode,
            plain=None if predicates else to_message.plain,
        )
        reporter.counting(
            lambda: {
                "late": machine.late_count,
                "damaged": to_message.damaged,
                "filtered": getattr(encode, "filtered", 0),
                **ended_for(link),
            }
        )
        link.open(
            machine,
            reading.filters.applied,
            browses=reading.browses,
            durable=reading.group is not None,
        )
        reporter.attached(request)
        reporter.watch(machine)
        feed.start(machine)
        self._await(feed.stopped)
        if plan.identity is not None:
            self._remember(self._members, plan.identity, link, feed.stopped)
        if reading.group is not None and not reading.is_member:
            place = reading.group, route.topic, reading.partition
            self._remember(self._readers, place, link, feed.stopped)
        self._commit_on_time(machine)
        machine.opened()

    def _await(self, stopped: asyncio.Future[None]) -> None:
        """Have the shutdown wait for a consumer."""
        self._feeds.add(stopped)
        stopped.add_done_callback(self._feeds.discard)

    def _mapped(self, asked: Asked) -> RecordToMessage:
        """Make what turns the link's records into messages."""
        request = asked.link.request
        speaks = event_streams.desired(request.capabilities, request.properties, request.filters)
        options = replace(mapping_options(asked.route), event_streams=speaks)
        return asked.profile.record_to_message(asked.topic.name, request.address or "", options)

    def _remember(
        self,
        where: dict[Key, tuple[OutgoingLink, asyncio.Future[None]]],
        key: Key,
        link: OutgoingLink,
        stopped: asyncio.Future[None],
    ) -> None:
        """Remember a link as long as its consumer lives."""

        def forget(_: asyncio.Future[None]) -> None:
            if where.get(key) == (link, stopped):
                del where[key]

        where[key] = link, stopped
        stopped.add_done_callback(forget)

    def _consumer_options(self, reading: Reading, identity: Identity | None) -> kafka_settings.Options:
        kafka = self._settings.kafka
        return kafka_settings.consumer(
            self._clients.bootstrap_servers,
            {**kafka.common, **kafka.consumer},
            group=reading.group or receiving.NO_GROUP,
            queue_bytes=self._settings.sink.buffer_bytes,
            on_error=self._on_kafka_error,
            instance_id=None if identity is None else instance_id(*identity[:2]),
        )

    def _commit_on_time(self, machine: SinkLink) -> None:
        """Commit what is done every so often, while the link lives."""
        if not machine.closed:
            machine.commit()
            self._loop.call_later(
                self._settings.sink.commit_interval_ms / 1000, self._commit_on_time, machine
            )
