"""Which records a client receives, and from where on: selectors, partitions, offsets, browsing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interop.contract import Answer, Attach, LinkFilter
from interop.records import CREDIT, OTHERS, await_commit, bodies, filled, group_address, seen
from interop.values import string, value
from proton import Message, int32
from support.clients import send

if TYPE_CHECKING:
    from interop.contract import Client
    from support.kafka import RealKafka
    from support.service import Service

COLORS: Final = ("red", "green")
SELECTOR: Final = "color = 'red' AND weight > 3"

PARTITION: Final = "io.strimzi:partition-filter:int"
OFFSET: Final = "io.strimzi:offset-filter:long"
START: Final = "x-opt-bridge.start"
NO_LOCAL: Final = LinkFilter("apache.org:no-local-filter:list", value("list", []), 0x0000_468C_0000_0003)
"""A filter that the bridge does not know."""


def test_a_selector_chooses_messages_and_the_rest_counts_as_read(
    name: str, client: Client, service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    made = [
        Message(body=f"{color} {weight}", properties={"color": color, "weight": int32(weight)})
        for weight in range(10)
        for color in COLORS
    ]
    send(service.amqp_port, topic, made)
    with client.attach(service.amqp_port, Attach(group_address(topic), selector=SELECTOR)) as receiver:
        receiver.credit(CREDIT)

        taken = receiver.take(6)

        assert seen(taken) == [f"red {weight}" for weight in range(4, 10)]
        # Qpid JMS tells its users nothing of the attach.
        assert len(receiver.applied) == (name != "jms")
        receiver.answer(taken, Answer())
        await_commit(kafka, topic, len(made))


@OTHERS
def test_partition_and_offset_are_chosen_by_filters(
    client: Client, service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in range(2):
        written = [f"{partition}: {number}".encode() for number in range(10)]
        kafka.produce(topic, written, partition=partition)
    filters = (LinkFilter(PARTITION, value("int", "1")), LinkFilter(OFFSET, value("long", "7")), NO_LOCAL)
    with client.attach(service.amqp_port, Attach(group_address(topic), filters=filters)) as receiver:
        receiver.credit(CREDIT)

        taken = receiver.take(3)

        assert seen(taken) == ["1: 7", "1: 8", "1: 9"]
        assert receiver.applied == {PARTITION, OFFSET}
        assert [each.annotations["x-opt-bridge.partition"] for each in taken] == ["1"] * 3
        assert [each.annotations["x-opt-bridge.offset"] for each in taken] == ["7", "8", "9"]


@OTHERS
def test_what_was_there_before_is_not_read_from_latest_on(
    client: Client, service: Service, kafka: RealKafka
) -> None:
    topic, _ = filled(kafka, 5)
    latest = (LinkFilter(START, string("latest")),)
    with client.attach(service.amqp_port, Attach(topic, filters=latest)) as receiver:
        kafka.produce(topic, [b"later"])
        receiver.credit(CREDIT)

        assert seen(receiver.take(1)) == ["later"]
        assert receiver.applied == {START}


@OTHERS
def test_browsing_leaves_the_group_where_it_is(client: Client, service: Service, kafka: RealKafka) -> None:
    topic, address = filled(kafka, 10)
    for _ in range(2):
        with client.attach(service.amqp_port, Attach(address, copies=True)) as receiver:
            receiver.credit(CREDIT)
            taken = receiver.take(10)
            receiver.answer(taken, Answer())

            assert seen(taken) == bodies(range(10))
    assert kafka.committed(topic, topic) == {}
