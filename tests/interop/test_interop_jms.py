"""What only Jakarta Messaging has: sessions and their acknowledgements, subscriptions, browsers, maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka.admin import AdminClient
from interop.records import await_commit, bodies, filled, group_address, letters, seen
from support.service import wait_until

if TYPE_CHECKING:
    from interop.contract import Delivery
    from interop.jms_client import Acknowledge, JmsClient, JmsConnection, JmsConsumer
    from support.kafka import RealKafka
    from support.service import Service

CONSUMERS: Final = 3
RECORDS_EACH: Final = 120


def assigned(service: Service, topic: str) -> dict[str, set[int]]:
    """Return the partitions of each link that reads a topic, as they are now."""
    found: dict[str, set[int]] = {}
    for event in service.events("consumer rebalanced"):
        if event["topic"] == topic:
            before, changed = found.get(event["link"], set()), set(event["partitions"])
            found[event["link"]] = before | changed if event["kind"] == "assigned" else before - changed
    return found


def joined(
    connection: JmsConnection, service: Service, topic: str, acknowledge: Acknowledge
) -> list[JmsConsumer]:
    """Create as many sessions as the topic has partitions, and wait until each has one of them."""
    consumers = [connection.consumer(group_address(topic), acknowledge) for _ in range(CONSUMERS)]
    wait_until(
        lambda: [len(each) for each in assigned(service, topic).values()] == [1] * CONSUMERS,
        "a partition for each session",
    )
    return consumers


def members(kafka: RealKafka, group: str) -> list[str]:
    """Return the instance ids of a group's members."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    described = admin.describe_consumer_groups([group])[group].result()
    return [each.group_instance_id for each in described.members]


def test_three_sessions_share_a_topic_and_get_everything_once(
    jms: JmsClient, service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(partitions=CONSUMERS)
    with jms.connect(service.amqp_port) as connection:
        consumers = joined(connection, service, topic, "auto")
        for partition in range(CONSUMERS):
            written = [f"{partition}: {number}".encode() for number in range(RECORDS_EACH)]
            kafka.produce(topic, written, partition=partition)

        received = [seen(each.receive(RECORDS_EACH)) for each in consumers]

        await_commit(kafka, topic, *[RECORDS_EACH] * CONSUMERS)
    # Each has a partition, whole and in order; together they have all of them.
    assert sorted(received) == [
        [f"{partition}: {number}" for number in range(RECORDS_EACH)] for partition in range(CONSUMERS)
    ]


def test_what_a_closed_session_did_not_acknowledge_goes_to_another(
    jms: JmsClient, service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(partitions=CONSUMERS)
    with jms.connect(service.amqp_port) as connection:
        consumers = joined(connection, service, topic, "client")
        for partition in range(CONSUMERS):
            kafka.produce(topic, [f"partition {partition}".encode()], partition=partition)
        (given_up,) = consumers[0].receive()
        others = consumers[1:]
        for each in others:
            each.acknowledge(each.receive()[0])
        consumers[0].close()

        found: list[Delivery] = []

        def one_has_it() -> bool:  # which of them, Kafka decides
            for each in others:
                found.extend(each.receive(1, timeout_ms=50))
            return bool(found)

        wait_until(one_has_it, "what was not acknowledged")

    assert seen(found) == seen([given_up])


def test_client_acknowledge_is_for_all_that_was_received(
    jms: JmsClient, service: Service, kafka: RealKafka
) -> None:
    topic, address = filled(kafka, 10)
    with jms.connect(service.amqp_port) as connection:
        consumer = connection.consumer(address, "client")
        *_, last = consumer.receive(4)
        consumer.acknowledge(last)
        consumer.receive(3)
        consumer.close()
        await_commit(kafka, topic, 4)

        consumer = connection.consumer(address, "client")
        again = consumer.receive(6)

        assert seen(again) == bodies(range(4, 10))
        consumer.acknowledge(again[-1])
        await_commit(kafka, topic, 10)


def test_recover_delivers_again_and_counts(jms: JmsClient, service: Service, kafka: RealKafka) -> None:
    topic, address = filled(kafka, 5)
    with jms.connect(service.amqp_port) as connection:
        consumer = connection.consumer(address, "client")
        consumer.receive(3)
        consumer.recover()

        again = consumer.receive(5)

        # The client does so by itself: the bridge has no part in it.
        assert seen(again) == bodies(range(5))
        assert [each.count for each in again] == [1, 1, 1, 0, 0]
        consumer.acknowledge(again[-1])
        await_commit(kafka, topic, 5)


def test_what_is_recovered_too_often_becomes_a_dead_letter(
    jms: JmsClient, service: Service, kafka: RealKafka, dead_letters: str
) -> None:
    topic, address = filled(kafka, 3)
    with jms.connect(service.amqp_port, **{"jms.redeliveryPolicy.maxRedeliveries": "1"}) as connection:
        consumer = connection.consumer(address, "client")
        for _ in range(2):
            consumer.receive(1)
            consumer.recover()

        rest = consumer.receive(2)

        # Qpid JMS gives it back as modified: failed, and undeliverable here.
        assert seen(rest) == ["record 1", "record 2"]
        consumer.acknowledge(rest[-1])
        await_commit(kafka, topic, 3)
    (dead,) = letters(kafka, dead_letters, topic)
    assert (dead["amqp.dlt.offset"], dead["amqp.dlt.reason"]) == (b"0", b"undeliverable-here")


def test_a_durable_subscription_goes_on_where_it_was(
    jms: JmsClient, service: Service, kafka: RealKafka
) -> None:
    topic, address = filled(kafka, 6)
    instances = []
    for first in (0, 3):
        with jms.connect(service.amqp_port, f"reader-of-{topic}") as connection:
            consumer = connection.consumer(address, "client", subscription="all-of-it")
            taken = consumer.receive(3)

            assert seen(taken) == bodies(range(first, first + 3))
            consumer.acknowledge(taken[-1])
            await_commit(kafka, topic, first + 3)
            instances += members(kafka, topic)
    # The same static member of the group, so that it comes back without a rebalance.
    assert len(instances) == 2
    assert len(set(instances)) == 1
    assert instances[0]


def test_a_subscription_is_deleted_in_kafka_not_by_unsubscribe(
    jms: JmsClient, service: Service, kafka: RealKafka
) -> None:
    _, address = filled(kafka, 1)
    with jms.connect(service.amqp_port, "reader-that-leaves") as connection:
        consumer = connection.consumer(address, subscription="all-of-it")
        assert seen(consumer.receive(1)) == ["record 0"]
        consumer.close()

        with pytest.raises(AssertionError, match="InvalidDestinationException"):
            connection.unsubscribe("all-of-it")


def test_shared_subscriptions_are_not_offered(jms: JmsClient, service: Service, kafka: RealKafka) -> None:
    _, address = filled(kafka, 1)
    with (
        jms.connect(service.amqp_port) as connection,
        pytest.raises(AssertionError, match="does not support shared subscriptions"),
    ):
        connection.consumer(address, subscription="ours", shared=True)


def test_a_queue_browser_finds_all_and_ends(jms: JmsClient, service: Service, kafka: RealKafka) -> None:
    topic, address = filled(kafka, 50)
    with jms.connect(service.amqp_port) as connection:
        for _ in range(2):
            assert seen(connection.browse(address)) == bodies(range(50))
        assert kafka.committed(topic, topic) == {}


def test_receive_finds_what_is_there_without_waiting(
    jms: JmsClient, service: Service, kafka: RealKafka
) -> None:
    _, address = filled(kafka, 2)
    with jms.connect(service.amqp_port, **{"jms.prefetchPolicy.all": "0"}) as connection:
        consumer = connection.consumer(address)

        assert seen(consumer.receive(1, timeout_ms=0)) == ["record 0"]
        assert seen(consumer.receive(1, timeout_ms=100)) == ["record 1"]
        assert consumer.receive(1, timeout_ms=0) == []
        assert consumer.receive(1, timeout_ms=10) == []


def test_what_kafka_knows_of_a_topic_is_a_map_message(
    jms: JmsClient, service: Service, kafka: RealKafka
) -> None:
    topic, address = filled(kafka, 7)
    with jms.connect(service.amqp_port) as connection:
        consumer = connection.consumer(address, "client")
        consumer.acknowledge(consumer.receive(4)[-1])
        await_commit(kafka, topic, 4)

        (told,) = connection.consumer(f"{address}/$info").receive(1)

    assert isinstance(told.body, dict)
    expected = {
        "topic": topic,
        "partitions": 1,
        "partition": 0,
        "earliest": 0,
        "latest": 7,
        "group": topic,
        "committed": 4,
        "lag": 3,
    }
    assert expected.items() <= told.body.items()
