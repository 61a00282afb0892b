"""Receivers that look at copies: of all that is there, as often as they like, and nobody notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from proton import Delivery, Terminus
from proton.reactor import Copy
from support.asking import Filters, applied, selector
from support.blocking import Client
from support.clients import body_of
from support.service import wait_until
from support.told import Properties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from end_to_end.conftest import StartService
    from proton.reactor import LinkOption
    from support.blocking import Received
    from support.kafka import RealKafka
    from support.service import Service

RECORDS: Final = 6
MODE: Final = Properties({"x-opt-bridge.mode": "browse"})
OUTCOMES: Final = (Delivery.ACCEPTED, Delivery.RELEASED, Delivery.MODIFIED, Delivery.REJECTED)


@pytest.fixture(scope="module")
def shelf(kafka: RealKafka) -> str:
    """Give a topic of two partitions with records of two colours in each."""
    topic = kafka.create_topic(partitions=2)
    for partition in range(2):
        records = [
            (None, b"%d" % number, (("colour", (b"red", b"blue")[number % 2]),), 0)
            for number in range(RECORDS)
        ]
        kafka.append(topic, records, partition=partition)
    return topic


def bodies(taken: Sequence[Received]) -> list[bytes]:
    return sorted(body_of(each.message) for each in taken)


ALL: Final = sorted([b"%d" % number for number in range(RECORDS)] * 2)


@pytest.mark.parametrize("option", [Copy(), MODE], ids=["distribution-mode", "link property"])
@pytest.mark.parametrize("address", ["TOPIC", "TOPIC/group.id/TOPIC"])
def test_a_topic_is_browsed_again_and_again_whatever_is_answered(
    service: Service, kafka: RealKafka, shelf: str, address: str, option: LinkOption
) -> None:
    known = kafka.groups(shelf)
    with Client(service.amqp_port) as client:
        for state in OUTCOMES:
            receiver = client.receiver(address.replace("TOPIC", shelf), 100, "unsettled", option)
            assert receiver.link.remote_source.distribution_mode == Terminus.DIST_MODE_COPY
            taken = receiver.drain()
            assert bodies(taken) == ALL
            for each in taken:
                each.answer(state, failed=True, undeliverable=state == Delivery.MODIFIED)
            # Nothing comes back, and nothing ends the link.
            receiver.link.flow(100)
            assert receiver.drain() == []
            assert not receiver.inbox.error
    assert kafka.groups(shelf) <= known
    assert kafka.committed(shelf, shelf) == {}


def test_what_is_browsed_its_consumers_get_as_well(service: Service, kafka: RealKafka, shelf: str) -> None:
    group = f"{shelf}-readers"
    with Client(service.amqp_port) as client:
        reader = client.receiver(f"{shelf}/group.id/{group}", 100)
        assert reader.link.remote_source.distribution_mode == Terminus.DIST_MODE_MOVE
        browser = client.receiver(f"{shelf}/group.id/{group}", 100, "settled", Copy())
        copies = browser.drain()
        assert bodies(copies) == ALL
        assert all(each.delivery.settled for each in copies)
        taken = reader.take(2 * RECORDS)
        assert bodies(taken) == ALL
        for each in taken:
            each.answer(Delivery.ACCEPTED)
    wait_until(lambda: kafka.committed(group, shelf) == {0: RECORDS, 1: RECORDS}, "the commits")


def test_filters_say_which_part_is_browsed(service: Service, shelf: str) -> None:
    with Client(service.amqp_port) as client:
        reds = client.receiver(shelf, 100, "unsettled", Copy(), selector("colour = 'red'"))
        assert bodies(reds.drain()) == [b"0", b"0", b"2", b"2", b"4", b"4"]

        last = Filters({"x-opt-bridge.partition": 1, "x-opt-bridge.start": RECORDS - 2})
        some = client.receiver(shelf, 100, "unsettled", Copy(), last)
        assert applied(some) == {"x-opt-bridge.partition": 1, "x-opt-bridge.start": RECORDS - 2}
        assert bodies(some.drain()) == [b"4", b"5"]


def test_who_browses_needs_no_dead_letter_topic_and_puts_nothing_there(
    kafka: RealKafka, start_service: StartService
) -> None:
    with_letters, without = kafka.create_topic(), kafka.create_topic()
    dead = kafka.create_topic(f"{with_letters}.dlt")
    service = start_service(kafka, sink_dead_letter_topic="{topic}.dlt", sink_max_attempts="1")
    with Client(service.amqp_port) as client:
        for topic in (with_letters, without):
            kafka.produce(topic, [b"0"])
            receiver = client.receiver(topic, 10, "unsettled", Copy())
            (taken,) = receiver.drain()
            taken.answer(Delivery.REJECTED)
            receiver.link.flow(10)
            assert receiver.drain() == []
    assert kafka.records(dead) == []


class Durable(Copy):
    """Asks for a copy that outlives the link: a durable subscription of JMS."""

    def apply(self, receiver: Any) -> None:  # noqa: ANN401 - proton's receiver
        super().apply(receiver)
        receiver.source.durability = Terminus.DELIVERIES
        receiver.source.expiry_policy = Terminus.EXPIRE_NEVER


def test_a_durable_subscription_is_a_member_of_its_group_and_no_browser(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"0"])
    with Client(service.amqp_port, "subscriber") as client:
        receiver = client.receiver(f"{topic}/group.id/{topic}", 10, "unsettled", Durable())
        assert receiver.link.remote_source.durability == Terminus.CONFIGURATION
        assert receiver.link.remote_source.expiry_policy == Terminus.EXPIRE_NEVER
        receiver.take(1)[0].answer(Delivery.ACCEPTED)
    wait_until(lambda: kafka.committed(topic, topic) == {0: 1}, "the commit")
