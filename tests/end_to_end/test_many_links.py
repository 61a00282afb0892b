from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import pytest
from support.crowd import Crowd
from support.outbox import Outbox, identity

if TYPE_CHECKING:
    from support.kafka import RealKafka
    from support.service import Service

MESSAGES: Final = 6000


@pytest.mark.parametrize("links", [1, 10, 1000])
def test_every_link_of_a_connection_is_served_and_keeps_its_order(
    kafka: RealKafka, service: Service, links: int
) -> None:
    topic = kafka.create_topic()
    outboxes = [Outbox(number, topic, count=MESSAGES // links) for number in range(links)]
    with Crowd() as crowd:
        crowd.connect(service.amqp_port, outboxes)
        crowd.run(crowd.is_done)

    assert all(len(outbox.accepted) == outbox.deliveries == MESSAGES // links for outbox in outboxes)
    stored: defaultdict[int, list[int]] = defaultdict(list)
    for record in kafka.records(topic):
        owner, number = identity(record.value())
        stored[owner].append(number)
    assert stored == {owner: list(range(MESSAGES // links)) for owner in range(links)}
