"""Answers attaches: refuses what is not offered, and has the others opened by the endpoint they ask for."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bridge.addressing import AddressError
from bridge.amqp.links import IncomingLink
from bridge.endpoints.contract import SHUTTING_DOWN, reference
from bridge.endpoints.sinks import SinkEndpoints
from bridge.endpoints.sources import SourceEndpoints
from bridge.filters.errors import FilterError
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.observability import events

if TYPE_CHECKING:
    from bridge.amqp.contract import AnyLink
    from bridge.amqp.listener import Connection
    from bridge.config import Settings
    from bridge.config.routes import Routes
    from bridge.endpoints.contract import KafkaClients
    from bridge.kafka.settings import ErrorSink
    from bridge.observability.metrics_links import SinkTotals, SourceTotals
    from bridge.source.budget import ByteBudget


RETRIABLE: Final = frozenset({conditions.INTERNAL_ERROR, conditions.LINK_DETACH_FORCED})
"""Conditions of attaches that may be answered otherwise later, where their info does not say so."""


class Endpoints:
    """Makes the endpoints of links, and knows those that are alive."""

    def __init__(
        self,
        settings: Settings,
        clients: KafkaClients,
        routes: Routes,
        budget: ByteBudget,
        on_kafka_error: ErrorSink,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._attaching: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._sources = SourceEndpoints(settings, clients, routes, budget, on_kafka_error)
        self._sinks = SinkEndpoints(settings, clients, routes, on_kafka_error)

    @property
    def source_totals(self) -> SourceTotals:
        """What all source links have done."""
        return self._sources.totals

    @property
    def sink_totals(self) -> SinkTotals:
        """What all sink links have done."""
        return self._sinks.totals

    def attach(self, connection: Connection, link: AnyLink) -> None:
        """Answer an attach, now or when Kafka has said what topic there is."""
        refusal = SHUTTING_DOWN if self._stopping else _unsupported(link)
        if refusal is not None:
            self._refuse(connection, link, refusal)
            return
        task = self._loop.create_task(self._open(connection, link))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    def reroute(self, routes: Routes) -> int:
        """Put other routes in force.

        Detaches the links that would be served otherwise from now on, and gives their number; the others
        are not touched.
        """
        return self._sources.reroute(routes) + self._sinks.reroute(routes)

    def stop(self) -> None:
        """Refuse attaches, and give no more credit to senders."""
        self._stopping = True
        self._sources.stop()
        self._sinks.stop()

    def unanswered(self) -> int:
        """Count the messages that have no outcome yet."""
        return self._sources.unanswered()

    async def stopped(self, seconds: float) -> None:
        """Wait until consumers have left their groups, and producers of single links stored what they had."""
        await asyncio.gather(self._sinks.stopped(seconds), self._sources.stopped(seconds))

    # ------------------------------------------------------------------ inside

    async def _open(self, connection: Connection, link: AnyLink) -> None:
        try:
            if isinstance(link, IncomingLink):
                refusal = await self._sources.attach(connection, link)
            else:
                refusal = await self._sinks.attach(connection, link)
        except (AddressError, FilterError) as error:
            refusal = Condition(error.condition, error.description, former=error.former)
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            events.link_handler_failed(connection.connection_id, link.request.link_name, error)
            link.detach(
                Condition(
                    conditions.INTERNAL_ERROR, "the bridge failed to serve the attach; its log says why"
                )
            )
            return
        if refusal is not None and not link.ended:
            self._refuse(connection, link, refusal)

    def _refuse(self, connection: Connection, link: AnyLink, condition: Condition) -> None:
        request = link.request
        info = {
            "retriable": condition.name in RETRIABLE,
            "reference": reference(connection, request),
            **condition.info,
        }
        condition = replace(condition, info=info)
        events.link_refused(connection.connection_id, request.link_name, request.address, condition)
        link.refuse(condition)


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
    if request.malformed:
        return Condition(conditions.INVALID_FIELD, request.malformed)
    if not request.peer_sends and request.address is None:
        # So JMS asks for a durable subscription that is to be deleted.
        return Condition(
            conditions.NOT_FOUND,
            "the attach names no address; what a consumer group has read is kept by Kafka under the group's"
            " name, not by the bridge under a link's",
        )
    return None
