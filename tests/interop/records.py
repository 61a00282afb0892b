"""Numbered records for receivers, and where their group stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from support.service import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interop.contract import Delivery
    from support.kafka import RealKafka

CREDIT: Final = 1000
"""More than any test has records."""

OTHERS: Final = pytest.mark.parametrize("name", ["proton", "rhea", "go"], indirect=True)
"""For those clients whose users see all that AMQP has: those of JMS do not."""


def filled(kafka: RealKafka, count: int) -> tuple[str, str]:
    """Create a topic with so many records; gives it, and the address of a group that has read none."""
    topic = kafka.create_topic()
    kafka.produce(topic, [body.encode() for body in bodies(range(count))])
    return topic, group_address(topic)


def group_address(topic: str) -> str:
    """Return the address of the topic's group, which has its name."""
    return f"{topic}/group.id/{topic}"


def bodies(numbers: Iterable[int]) -> list[str]:
    """Return the bodies of numbered records."""
    return [f"record {number}" for number in numbers]


def seen(deliveries: Sequence[Delivery]) -> list[str]:
    """Return the bodies of what a client has received."""
    return [str(each.body) for each in deliveries]


def await_commit(kafka: RealKafka, topic: str, *offsets: int) -> None:
    """Wait until the topic's group has committed these offsets, by partition."""
    expected = dict(enumerate(offsets))
    wait_until(lambda: kafka.committed(topic, topic) == expected, f"the commit of {expected}")


def letters(kafka: RealKafka, dead_letters: str, topic: str) -> list[dict[str, str | bytes | None]]:
    """Return what is in the dead-letter topic of a topic's records: their headers."""
    found = [dict(record.headers() or ()) for record in kafka.records(dead_letters)]
    return [headers for headers in found if headers["amqp.dlt.topic"] == topic.encode()]
