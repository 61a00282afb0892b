"""What the endpoints share, and what they say when a link cannot be served."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bridge.model import conditions
from bridge.model.conditions import Condition

if TYPE_CHECKING:
    from bridge.amqp.contract import AnyLink
    from bridge.amqp.listener import Connection
    from bridge.kafka.asking import OffsetAsker
    from bridge.kafka.availability import KafkaAvailability
    from bridge.kafka.catalog import Catalog
    from bridge.kafka.pool import ProducerPool
    from bridge.kafka.producers import ReportPump
    from bridge.model.failures import Failure
    from bridge.model.links import AttachRequest

SHUTTING_DOWN: Final = Condition(conditions.LINK_DETACH_FORCED, "the bridge is shutting down; connect again")
ROUTE_CHANGED: Final = Condition(
    conditions.LINK_DETACH_FORCED, "the route of this address was changed; attach again"
)


@dataclass(frozen=True, slots=True)
class KafkaClients:
    """What all links share on the Kafka side."""

    bootstrap_servers: str
    pool: ProducerPool
    pump: ReportPump
    catalog: Catalog
    availability: KafkaAvailability
    offsets: OffsetAsker


def reference(connection: Connection, request: AttachRequest) -> str:
    """Name a link to its peer as the log does."""
    return f"connection {connection.connection_id}, link {request.link_name}"


def now_ms() -> int:
    """Give the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def refused_by_kafka(failure: Failure, topic: str) -> Condition:
    """Tell why an attach is not served that Kafka was asked about."""
    return Condition(
        failure.condition,
        f"topic {topic!r}: {failure.description}",
        {**failure.info(), "topic": topic},
    )


def ended_for(link: AnyLink) -> dict[str, object]:
    """Say at a link's end why it was the bridge that ended it; nothing if it was the peer."""
    reason = link.reason
    return {} if reason is None else {"condition": reason.name, "description": reason.description}
