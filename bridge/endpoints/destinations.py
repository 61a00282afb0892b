"""Finds where the messages for an address go: its route, its topic in Kafka, a producer, a mapping."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from bridge import addressing
from bridge.addressing import AddressError, names
from bridge.endpoints.contract import now_ms
from bridge.mapping.keys import keyed
from bridge.mapping.large import large_message_to_record
from bridge.mapping.profiles import PROFILES
from bridge.mapping.record import ANY_PARTITION
from bridge.mapping.timestamps import stamped
from bridge.model import conditions, dialect
from bridge.model.conditions import Condition
from bridge.model.failures import Failure
from bridge.source.ports import Destination

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.addressing import SinkAddress, SourceAddress
    from bridge.config import Settings
    from bridge.config.routes import MappingName, Route, Routes
    from bridge.endpoints.contract import KafkaClients
    from bridge.kafka.catalog import Topic
    from bridge.kafka.pool import Acks
    from bridge.mapping.options import MappingOptions
    from bridge.mapping.profiles import Profile
    from bridge.source.anonymous import Found
    from bridge.source.ports import Produce

MAPPING_PROPERTY: Final = "x-opt-bridge.mapping"
PARTITION_PROPERTIES: Final = ("event-streams-partition", "x-opt-bridge.partition")

REMEMBERED_SECONDS: Final = 30.0
FAILURE_REMEMBERED_SECONDS: Final = 1.0
"""How soon a topic that was missing, or could not be asked for, is asked for again."""
REMEMBERED_MAX: Final = 4096

ADDRESS_MAX: Final = 300
"""No topic with a partition is longer; what is remembered of addresses is bounded by that, too."""
TOO_LONG: Final = Condition(
    conditions.PRECONDITION_FAILED,
    f"the message's `to` is longer than the {ADDRESS_MAX} characters that an address may have",
)
FAILED: Final = Condition(conditions.INTERNAL_ERROR, "the bridge failed; its log says why")


@dataclass(frozen=True, slots=True)
class Attachment:
    """What a sender's link is joined to, found by its address."""

    destination: Destination
    route: Route


class Producing(NamedTuple):
    """The ways into Kafka that all destinations with the same producers share (see `Destination`)."""

    produce: Produce
    produce_unacknowledged: Produce
    produce_alone: Produce
    room: Callable[[], int]


class DestinationFinder:
    """Finds destinations, for links by their address and for messages by their `to`."""

    def __init__(self, settings: Settings, clients: KafkaClients, routes: Routes) -> None:
        self._settings = settings
        self._clients = clients
        self._routes = routes
        self._loop = asyncio.get_running_loop()
        self._known: dict[str, tuple[float, Found]] = {}
        self._ways: dict[tuple[Acks, int | None], Producing] = {}
        self._asked: dict[str, list[Callable[[], None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def routes(self) -> Routes:
        """The routes in force."""
        return self._routes

    def reroute(self, routes: Routes) -> None:
        """Put other routes in force, for what is found from now on."""
        self._routes = routes
        self._known.clear()

    # ------------------------------------------------------------------ links

    async def attach(
        self, address: SourceAddress, properties: Mapping[str, str | int | bool]
    ) -> Attachment | Condition | Failure:
        """Find where a link's messages go.

        Raises AddressError for a route that makes no topic, and for properties that name no one partition.
        """
        route = self._routes.find(address.topic)
        profile = choose_mapping(route, properties, self._settings.mapping.default)
        if isinstance(profile, Condition):
            return profile
        partition = bound_partition(address, properties)
        refusal = reserved(route.topic, self._settings)
        if refusal is not None:
            return refusal
        topic = await self._clients.catalog.topic(route.topic)
        if isinstance(topic, Failure):
            return topic
        refusal = missing_partition(topic, partition)
        if refusal is not None:
            return refusal
        return Attachment(self._destination(route, profile, topic, partition), route)

    def _destination(
        self, route: Route, profile: Profile, topic: Topic, partition: int | None
    ) -> Destination:
        to_record = profile.message_to_record(mapping_options(route))
        if route.timestamp == "creation-time":
            to_record = stamped(to_record, route.max_skew_ms, now_ms)
        if topic.needs_key:
            to_record = keyed(to_record, topic.name)
        large = large_message_to_record(to_record) if profile.stores_data else None
        ways = self._producing(route.acks or self._settings.kafka.acks, topic.max_message_bytes)
        return Destination(
            topic.name,
            ways.produce,
            ways.produce_unacknowledged,
            ways.room,
            to_record,
            topic.partitions,
            ANY_PARTITION if partition is None else partition,
            route.max_message_size_bytes or 0,
            ways.produce_alone,
            large,
        )

    def _producing(self, acks: Acks, limit_bytes: int | None) -> Producing:
        """Give how records are produced for topics that take so much."""
        ways = self._ways.get((acks, limit_bytes))
        if ways is None:
            pool = self._clients.pool
            acknowledged, unacknowledged = pool.get(acks, limit_bytes), pool.get("0", limit_bytes)
            ways = self._ways[acks, limit_bytes] = Producing(
                acknowledged.produce,
                unacknowledged.produce,
                lambda *record: pool.alone(acks).produce(*record),
                acknowledged.room,
            )
        return ways

    # ------------------------------------------------------------------ messages

    def known(self, address: str) -> Found | None:
        """Give what is known of a message's `to`."""
        if len(address) > ADDRESS_MAX:
            return TOO_LONG
        found = self._known.get(address)
        return found[1] if found is not None and found[0] > self._loop.time() else None

    def ask(self, address: str, answered: Callable[[], None]) -> None:
        """Find out where a message's `to` leads; calls back when `known` has it."""
        waiting = self._asked.get(address)
        if waiting is not None:
            if answered not in waiting:
                waiting.append(answered)
            return
        self._asked[address] = [answered]
        task = self._loop.create_task(self._answer(address))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def forget(self, topic: str) -> None:
        """Ask for a topic anew when it is needed again."""
        self._clients.catalog.forget(topic)
        gone = [
            address
            for address, (_, found) in self._known.items()
            if isinstance(found, Destination) and found.topic == topic
        ]
        for address in gone:
            del self._known[address]

    async def _answer(self, address: str) -> None:
        routes = self._routes
        try:
            found = await self._find(address)
        except Exception:  # a defect must not leave the messages without an answer
            self._remember(address, FAILED)
            raise
        else:
            if routes is self._routes:
                self._remember(address, found)
        finally:
            for answered in self._asked.pop(address):
                answered()

    async def _find(self, address: str) -> Found:
        try:
            found = await self.attach(addressing.parse_source(address), {})
        except AddressError as error:
            # What is wrong with a link's address is wrong with the message here.
            return Condition(conditions.PRECONDITION_FAILED, f"the message's `to`: {error.description}")
        if not isinstance(found, Attachment):
            return found
        if found.route.deduplication is not None:
            return Condition(
                conditions.NOT_ALLOWED,
                f"duplicates are suppressed on {found.route.topic}, which takes a link of its own: attach to"
                " its address",
            )
        return found.destination

    def _remember(self, address: str, found: Found) -> None:
        former = self._known.pop(address, None)
        if former is not None and isinstance(former[1], Destination) and isinstance(found, Destination):
            # The same producers as before, or a link's order would not be kept from one to the other.
            found = replace(
                former[1],
                to_record=found.to_record,
                large_to_record=found.large_to_record,
                partitions=found.partitions,
            )
        if len(self._known) >= REMEMBERED_MAX:
            del self._known[next(iter(self._known))]
        seconds = REMEMBERED_SECONDS if isinstance(found, Destination) else FAILURE_REMEMBERED_SECONDS
        self._known[address] = (self._loop.time() + seconds, found)


def reserved(topic: str, settings: Settings) -> Condition | None:
    """Refuse the topic that is the bridge's own."""
    if topic != settings.deduplication.topic:
        return None
    return Condition(
        conditions.NOT_ALLOWED,
        f"topic {topic!r} is the bridge's own memory of what was stored (deduplication)",
    )


def choose_mapping(
    route: Route, properties: Mapping[str, str | int | bool], default: MappingName
) -> Profile | Condition:
    """Choose a link's mapping: its own, the route's or the default; or say why it cannot have its own."""
    by_route = route.mapping or default
    asked = properties.get(MAPPING_PROPERTY, by_route)
    if asked not in PROFILES:
        return Condition(
            conditions.INVALID_FIELD,
            f"{MAPPING_PROPERTY} is {str(asked)[:40]!r}; it is one of {', '.join(PROFILES)}",
        )
    if asked != by_route and not route.mapping_override:
        return Condition(
            conditions.NOT_ALLOWED,
            f"{MAPPING_PROPERTY}: the route of this address has the mapping {by_route}, and links may not"
            " choose another one",
        )
    return PROFILES[str(asked)]


def mapping_options(route: Route) -> MappingOptions:
    """Give a route's mapping options, with a clock."""
    return _with_clock(route.options)


@lru_cache
def _with_clock(options: MappingOptions) -> MappingOptions:
    return replace(options, now_ms=now_ms)


def missing_partition(topic: Topic, partition: int | None) -> Condition | None:
    """Refuse a partition that a topic does not have."""
    if partition is None or partition < topic.partitions:
        return None
    return Condition(
        conditions.INVALID_FIELD,
        f"topic {topic.name!r} has partitions 0 to {topic.partitions - 1}, not {partition}",
        {"topic": topic.name, "partition": partition, "retriable": False},
        dialect.PARTITION,
    )


def bound_partition(
    address: SourceAddress | SinkAddress, properties: Mapping[str, str | int | bool]
) -> int | None:
    """Find the partition that a link is bound to: by its address, or by a property of it.

    Raises AddressError for a property that is no number, or another one.
    """
    found = address.partition
    for name in PARTITION_PROPERTIES:
        given = properties.get(name)
        if given is None:
            continue
        text = str(given)
        try:
            number = names.partition(text)
        except AddressError as error:
            raise names.invalid(
                f"the link property {name} must be the number of a partition, it is {text[:20]!r}"
            ) from error
        if found is not None and found != number:
            raise names.invalid(
                f"the link property {name} names partition {number}, and its address or another property"
                f" names {found}"
            )
        found = number
    return found
