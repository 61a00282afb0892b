from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from proton import Delivery
from proton.utils import LinkDetached
from support.blocking import Client
from support.clients import values

if TYPE_CHECKING:
    from end_to_end.conftest import StartService
    from support.kafka import RealKafka
    from support.service import Service


def test_more_receivers_than_partitions_share_a_topic_and_a_failed_record_comes_again(
    kafka: RealKafka, start_service: StartService
) -> None:
    topic = kafka.create_topic()
    for number in range(4):
        kafka.produce(topic, [b"%d" % number])
    service = start_service(kafka, kafka_share_enabled="true")
    address = f"{topic}/share/workers-{topic}"
    with Client(service.amqp_port) as client:
        first, second = (client.receiver(address, credit=2) for _ in range(2))
        failed, *others = [*first.take(2), *second.take(2)]
        assert sorted(values([each.message for each in [failed, *others]])) == [b"0", b"1", b"2", b"3"]
        for each in others:
            each.answer(Delivery.ACCEPTED)
        failed.answer(Delivery.MODIFIED, failed=True)
        first.link.flow(1)
        [again] = first.take(1)
        assert again.message.body == failed.message.body
        assert again.message.delivery_count == 1
        again.answer(Delivery.ACCEPTED)
        first.close()
        second.close()
        third = client.receiver(address, credit=1)
        assert third.drain() == []


def test_share_groups_are_refused_unless_they_are_enabled(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    with (
        Client(service.amqp_port) as client,
        pytest.raises(LinkDetached, match=r"kafka\.share\.enabled"),
    ):
        client.receiver(f"{topic}/share/workers", credit=1)
