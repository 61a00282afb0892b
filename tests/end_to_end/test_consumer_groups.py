from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proton import Delivery
from support.blocking import Client
from support.clients import annotation, body_of, values
from support.service import wait_until

if TYPE_CHECKING:
    from end_to_end.conftest import StartService
    from support.blocking import Receiver
    from support.kafka import RealKafka
    from support.service import Service

PARTITIONS: Final = 4


def test_receivers_of_a_group_share_the_partitions_and_inherit_them(
    kafka: RealKafka, start_service: StartService
) -> None:
    topic = kafka.create_topic(partitions=PARTITIONS)
    # Members learn of a change with a heartbeat: 3 seconds by default.
    service = start_service(kafka, kafka_consumer_heartbeat_interval_ms="100")
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port) as client:
        first = client.receiver(address, credit=1000)
        wait_until(lambda: assigned(service, "link-1") == {0, 1, 2, 3}, "all partitions for one")
        second = client.receiver(address, credit=1000)
        wait_until(
            lambda: len(assigned(service, "link-1")) == len(assigned(service, "link-2")) == 2, "two for each"
        )

        got = exchange(client, kafka, topic, [first, second], b"shared")

        assert got[0] == {(partition, b"shared") for partition in assigned(service, "link-1")}
        assert got[1] == {(partition, b"shared") for partition in assigned(service, "link-2")}

        first.close()
        wait_until(lambda: assigned(service, "link-2") == {0, 1, 2, 3}, "all partitions for the other")

        assert exchange(client, kafka, topic, [second], b"inherited") == [
            {(partition, b"inherited") for partition in range(PARTITIONS)}
        ]
    wait_until(lambda: kafka.committed(topic, topic) == dict.fromkeys(range(PARTITIONS), 2), "the commits")


def test_groups_are_independent(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"for all"])
    with Client(service.amqp_port) as client:
        receivers = [client.receiver(f"{topic}/group.id/{group}", credit=1) for group in ("a", "b", "a/c")]

        assert [values([receiver.take(1)[0].message]) for receiver in receivers] == [[b"for all"]] * 3


def test_a_receiver_without_partitions_stays_attached_and_takes_over(
    kafka: RealKafka, start_service: StartService
) -> None:
    topic = kafka.create_topic()
    service = start_service(kafka, kafka_consumer_heartbeat_interval_ms="100")
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port) as client:
        first = client.receiver(address, credit=10)
        wait_until(lambda: assigned(service, "link-1") == {0}, "the partition")
        second = client.receiver(address, credit=10)
        wait_until(lambda: rebalances(service, "link-2") > 0, "the other's part in the group")
        owner, idle = (first, second) if assigned(service, "link-1") else (second, first)
        kafka.produce(topic, [b"for the owner", b"for its heir"])
        taken = owner.take(2)
        taken[0].answer(Delivery.ACCEPTED)

        owner.close()

        assert values([idle.take(1)[0].message]) == [b"for its heir"]


def exchange(
    client: Client, kafka: RealKafka, topic: str, receivers: list[Receiver], value: bytes
) -> list[set[tuple[int, bytes]]]:
    """Put a record into each partition; give what each receiver got, when all have arrived."""
    for partition in range(PARTITIONS):
        kafka.produce(topic, [value], partition=partition)
    client.wait(lambda: sum(len(each.inbox.waiting) for each in receivers) == PARTITIONS, "all records")
    got = []
    for receiver in receivers:
        taken = receiver.take(len(receiver.inbox.waiting))
        for each in taken:
            each.answer(Delivery.ACCEPTED)
        got.append(
            {(annotation(each.message, "x-opt-bridge.partition"), body_of(each.message)) for each in taken}
        )
    return got


def assigned(service: Service, link: str) -> set[int]:
    """Return the partitions that a link has, as the service's log tells."""
    partitions: set[int] = set()
    for event in service.events("consumer rebalanced"):
        if event["link"] == link and event["kind"] == "assigned":
            partitions |= set(event["partitions"])
        elif event["link"] == link:
            partitions -= set(event["partitions"])
    return partitions


def rebalances(service: Service, link: str) -> int:
    return sum(event["link"] == link for event in service.events("consumer rebalanced"))
