"""Opens the links of receivers of share groups: their feed, and the machine that joins the two.

A share group is asked for as it is set at the brokers before its link is opened, and is set to begin where
the route or `sink.start` says if nobody has set it. What a share group cannot do is refused here: to choose
among its records, to browse, to begin where one receiver wants.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bridge.endpoints import dead_letters, guarding
from bridge.endpoints.contract import ended_for, now_ms, reference, refused_by_kafka
from bridge.endpoints.receiving import policy_of
from bridge.kafka import settings as kafka_settings
from bridge.kafka import share_groups
from bridge.kafka.share_consumer import ShareFeed
from bridge.kafka.share_contract import ShareFeedSettings
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.failures import Failure
from bridge.model.receiving import Position
from bridge.observability.shares import ShareReporter
from bridge.sink.share_link import ShareLimits, ShareLink
from bridge.sink.undelivered import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.amqp.links import OutgoingLink
    from bridge.amqp.listener import Connection
    from bridge.config import Settings
    from bridge.config.routes import Route
    from bridge.endpoints.contract import KafkaClients
    from bridge.endpoints.receiving import Reading
    from bridge.kafka.share_groups import ShareGroup
    from bridge.mapping.profiles import RecordToMessage
    from bridge.model.receiving import Start
    from bridge.observability.metrics_links import SinkTotals
    from bridge.sink.ports import DeadLetters

BATCH_RECORDS_MAX: Final = 500
"""How many records a consumer asks for at a time; all are locked, for others too, until they are answered."""


@dataclass(frozen=True, slots=True)
class SharePlan:
    """What a share link is opened with: its group's name and settings, and where its dead letters go."""

    name: str
    group: ShareGroup
    dead_letters: DeadLetters | None


class ShareEndpoints:
    """Plans and opens share links. Who calls it keeps the links."""

    def __init__(
        self,
        settings: Settings,
        clients: KafkaClients,
        on_kafka_error: kafka_settings.ErrorSink,
        totals: SinkTotals,
    ) -> None:
        self._totals = totals
        self._settings = settings
        self._clients = clients
        self._on_kafka_error = on_kafka_error
        self._loop = asyncio.get_running_loop()

    async def plan(self, share: str, reading: Reading, route: Route) -> SharePlan | Condition:
        """Ask for what a link to the share group `share` needs, or give why there is none.

        Waits for Kafka. Raises AddressError where Kafka could have no topic of the dead letters' name.
        """
        refusal = refuse(reading, enabled=self._settings.kafka.share_enabled)
        if refusal is not None:
            return refusal
        letters = await dead_letters.find(route, self._settings, self._clients, share)
        if isinstance(letters, Condition):
            return letters
        kafka = self._settings.kafka
        group = await share_groups.prepare(
            kafka_settings.admin(
                self._clients.bootstrap_servers, kafka.common, on_error=self._on_kafka_error
            ),
            share,
            start=start_of_group(reading.start, now_ms()),
            isolation={**kafka.common, **kafka.consumer}.get("isolation.level", "read_committed"),
            timeout_seconds=kafka.metadata_timeout_ms / 1000,
        )
        if isinstance(group, Failure):
            return refused_by_kafka(group, route.topic)
        return SharePlan(share, group, letters)

    def open(
        self,
        connection: Connection,
        link: OutgoingLink,
        plan: SharePlan,
        reading: Reading,
        route: Route,
        to_message: RecordToMessage,
        on_end: Callable[[], object],
    ) -> tuple[ShareLink, asyncio.Future[None]]:
        """Open a link. Gives its machine, and when its consumers have left the group.

        `on_end` is called when the link is over.
        """
        request, sink = link.request, self._settings.sink
        reporter = ShareReporter(
            connection.connection_id, request.link_name, route.topic, self._loop, on_end, self._totals
        )
        feed = ShareFeed(self._feed_settings(plan, route), reporter)
        machine = ShareLink(
            link,
            policy_of(reading, request, route, sink),
            ShareLimits(plan.group.attempts_max, request.max_message_size_bytes),
            Surroundings(
                reporter,
                guarding.later(self._loop, link),
                guarding.answering(link, plan.dead_letters),
                {"topic": route.topic, "reference": reference(connection, request)},
            ),
            reporter,
            feed=feed,
            encode=to_message,
        )
        reporter.counting(
            lambda: {
                "lapsed": machine.lapsed_count,
                "late": machine.late_count,
                "unrecorded": machine.unrecorded_count,
                "damaged": to_message.damaged,
                **ended_for(link),
            }
        )
        link.open(machine, durable=True)
        reporter.attached(request)
        reporter.watch(machine)
        feed.start(machine)
        machine.opened()
        return machine, feed.stopped

    def _feed_settings(self, plan: SharePlan, route: Route) -> ShareFeedSettings:
        kafka, sink = self._settings.kafka, self._settings.sink
        return ShareFeedSettings(
            topic=route.topic,
            options=share_groups.options(
                self._clients.bootstrap_servers,
                {**kafka.common, **kafka.consumer},
                group=plan.name,
                fetch_bytes=sink.buffer_bytes,
                on_error=self._on_kafka_error,
            ),
            batch_records=min(sink.buffer_records, BATCH_RECORDS_MAX),
            hold_seconds=plan.group.lock_seconds * share_groups.HOLD,
            end_wait_seconds=min(sink.drain_wait_ms / 1000, plan.group.lock_seconds),
        )


def refuse(reading: Reading, *, enabled: bool) -> Condition | None:
    """Tell what a receiver wants that a share group does not do; None if it does it all.

    A filtered record could only be released, and would come again at once, or be taken from everybody.
    """
    wanted = (
        (not enabled, "share groups are switched off in this bridge: kafka.share.enabled is false"),
        (
            bool(reading.filters.predicates),
            "a share group gives each record to one receiver, so that none can filter",
        ),
        (reading.is_asked, "all receivers of a share group begin at one place, which none can choose"),
        (reading.browses, "a share group gives each record to one receiver, so that none can browse"),
        (reading.partition is not None, "a share group reads all partitions, so that none can be chosen"),
    )
    for is_wanted, description in wanted:
        if is_wanted:
            return Condition(conditions.NOT_IMPLEMENTED, description)
    return None


def start_of_group(start: Start, now_ms: int) -> str:
    """Give the value of `share.auto.offset.reset` for where receivers begin that do not say it themselves.

    A time becomes the age that it has now: a share group knows no other.
    """
    match start.position:
        case Position.LATEST:
            return "latest"
        case Position.AGE:
            return _by_duration(start.value)
        case Position.TIME:
            return _by_duration(now_ms - start.value) if start.value < now_ms else "latest"
        case _:
            return "earliest"


def _by_duration(milliseconds: int) -> str:
    return f"by_duration:PT{milliseconds // 1000}.{milliseconds % 1000:03}S"
