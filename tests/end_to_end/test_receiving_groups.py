"""Members of consumer groups that come, go, hang and return, on one replica of the bridge or on two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import Producer
from proton import Delivery
from proton.reactor import DurableSubscription
from support import load
from support.asking import Filters
from support.blocking import Client
from support.clients import annotation, body_of
from support.service import running_service, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from support.blocking import Received
    from support.kafka import RealKafka
    from support.service import Service

OPTIONS: Final = {
    "kafka.consumer.heartbeat.interval.ms": "100",  # members learn of a change with a heartbeat
    "sink.commit.interval.ms": "100",
    "sink.revoke.wait.ms": "1500",
}
QUIET_SECONDS: Final = 0.4
"""Four heartbeats: members have heard of all that happened in their group."""


@pytest.fixture(scope="module")
def service(kafka: RealKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service whose members learn soon of each other."""
    options = {**OPTIONS, "kafka.bootstrap.servers": kafka.bootstrap_servers}
    with running_service(tmp_path_factory.mktemp("service") / "service.log", options) as running:
        yield running


def accept(taken: Iterable[Received]) -> None:
    for each in taken:
        each.answer(Delivery.ACCEPTED)


def places(taken: Iterable[Received]) -> set[tuple[int, int]]:
    """Return the partitions and offsets of messages."""
    return {
        (annotation(each.message, "x-opt-bridge.partition"), annotation(each.message, "x-opt-bridge.offset"))
        for each in taken
    }


def rebalances(service: Service, topic: str) -> list[tuple[str, str, list[int]]]:
    """Return what the consumers of a topic were given and lost, with the names of their links."""
    events = [event for event in service.events("consumer rebalanced") if event["topic"] == topic]
    return [(event["link"], event["kind"], event["partitions"]) for event in events]


def assigned(services: Sequence[Service], topic: str, link: str) -> set[int]:
    """Return the partitions that a link has."""
    partitions: set[int] = set()
    for service in services:
        for name, kind, numbers in rebalances(service, topic):
            if name == link:
                partitions = partitions | {*numbers} if kind == "assigned" else partitions - {*numbers}
    return partitions


def produce(kafka: RealKafka, topic: str, partitions: int, values: Sequence[bytes]) -> None:
    for partition in range(partitions):
        kafka.produce(topic, values, partition=partition)


def test_a_partition_moves_when_its_messages_are_answered_and_none_of_them_comes_again(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(partitions=2)
    address = f"{topic}/group.id/{topic}"
    produce(kafka, topic, 2, [b"0", b"1"])
    with Client(service.amqp_port) as client:
        first = client.receiver(address, 10, name="first")
        taken = first.take(4)
        second = client.receiver(address, 10, name="second")
        wait_until(lambda: "revoked" in [kind for _, kind, _ in rebalances(service, topic)], "the revoke")
        # While the bridge waits for the answers, each of them still counts.
        accept(taken)
        wait_until(lambda: served(client) and bool(assigned([service], topic, "second")), "its partition")
        produce(kafka, topic, 2, [b"2"])
        client.wait(lambda: bool(first.inbox.waiting and second.inbox.waiting), "one for each")
        assert places([*first.take(1), *second.take(1)]) == {(0, 2), (1, 2)}
    wait_until(lambda: kafka.committed(topic, topic) == {0: 2, 1: 2}, "the commits")


def test_what_is_answered_after_its_partition_has_moved_counts_for_nothing(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(partitions=2)
    address = f"{topic}/group.id/{topic}"
    produce(kafka, topic, 2, [b"0", b"1"])
    with Client(service.amqp_port) as client:
        first = client.receiver(address, 10, name="first")
        taken = first.take(4)
        second = client.receiver(address, 10, name="second")
        again = second.take(2)
        (moved,) = assigned([service], topic, "second")
        assert places(again) == {(moved, 0), (moved, 1)}
        assert [each.message.delivery_count for each in again] == [0, 0]

        accept(taken)
        kept = 1 - moved
        wait_until(lambda: served(client) and kafka.committed(topic, topic).get(kept) == 2, "the commit")
        client.serve(0.2)  # two intervals of commits
        assert kafka.committed(topic, topic).get(moved, 0) == 0
        assert not first.inbox.error
        accept(again)
    wait_until(lambda: kafka.committed(topic, topic) == {0: 2, 1: 2}, "the commits")
    ended = {event["link"]: event for event in service.events("link ended") if event["topic"] == topic}
    assert {name: (event["accepted"], event["late"]) for name, event in ended.items()} == {
        "first": (2, 2),
        "second": (2, 0),
    }


def served(client: Client) -> bool:
    """Let a client do its part while something is waited for."""
    client.serve(0.02)
    return True


def test_a_durable_receiver_that_comes_back_disturbs_nobody(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=2)
    address = f"{topic}/group.id/{topic}"
    durable = DurableSubscription()
    with Client(service.amqp_port, "stays") as staying:
        stays = staying.receiver(address, 10, "unsettled", durable, name="stays")
        with Client(service.amqp_port, "returns") as client:
            client.receiver(address, 10, "unsettled", durable, name="returns")
            names = ("stays", "returns")
            wait_until(lambda: all(len(assigned([service], topic, each)) == 1 for each in names), "one each")
            (own,) = assigned([service], topic, "returns")
            staying.serve(QUIET_SECONDS)
            before = [each for each in rebalances(service, topic) if each[0] == "stays"]
        with Client(service.amqp_port, "returns") as client:
            again = client.receiver(address, 10, "unsettled", durable, name="returns")
            assert again.link.remote_source.durability
            produce(kafka, topic, 2, [b"0"])
            assert places(again.take(1)) == {(own, 0)}
            assert places(stays.take(1)) == {(1 - own, 0)}
            staying.serve(QUIET_SECONDS)
            assert [each for each in rebalances(service, topic) if each[0] == "stays"] == before


def test_a_durable_receiver_that_attaches_elsewhere_takes_the_link_over(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"0", b"1"])
    address = f"{topic}/group.id/{topic}"
    durable = DurableSubscription()
    with Client(service.amqp_port, "same") as one, Client(service.amqp_port, "same") as two:
        older = one.receiver(address, 10, "unsettled", durable, name="link")
        taken = older.take(2)
        taken[0].answer(Delivery.ACCEPTED)
        wait_until(lambda: served(one) and kafka.committed(topic, topic) == {0: 1}, "the commit")
        newer = two.receiver(address, 10, "unsettled", durable, name="link")
        assert older.ended() == "amqp:link:stolen"
        assert places(newer.take(1)) == {(0, 1)}


def test_a_link_that_asks_for_nothing_durable_is_no_static_member(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"0"])
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port, "same") as one, Client(service.amqp_port, "same") as two:
        older = one.receiver(address, 10, name="link")
        older.take(1)[0].answer(Delivery.ACCEPTED)
        newer = two.receiver(address, 10, name="link")
        assert not newer.link.remote_source.durability
        wait_until(lambda: served(one) and kafka.committed(topic, topic) == {0: 1}, "the commit")
        older.close()
        kafka.produce(topic, [b"1"])
        assert places(newer.take(1)) == {(0, 1)}
        assert not older.inbox.error


def test_a_reader_of_one_partition_cannot_commit_for_a_group_that_has_members(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"0"])
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port) as client:
        member = client.receiver(address, 10)
        assert places(member.take(1)) == {(0, 0)}
        reader = client.receiver(address, 10, "unsettled", Filters({"x-opt-bridge.partition": 0}))
        accept(reader.take(1))
        assert reader.ended() == "amqp:precondition-failed"
        assert not member.inbox.error


def test_two_replicas_share_a_group_and_one_inherits_what_the_other_did_not_finish(
    service: Service, kafka: RealKafka, tmp_path_factory: pytest.TempPathFactory
) -> None:
    topic = kafka.create_topic(partitions=4)
    address = f"{topic}/group.id/{topic}"
    options = {**OPTIONS, "kafka.bootstrap.servers": kafka.bootstrap_servers}
    log = tmp_path_factory.mktemp("replica") / "service.log"
    with running_service(log, options) as replica, Client(service.amqp_port) as client:
        stays = client.receiver(address, 100, name="stays")
        gone = load.Receiver(replica.amqp_port, address, count=4, accepts=2)
        replicas = [service, replica]
        wait_until(lambda: gone_runs(gone) and shares(replicas, topic) == [2, 2], "two for each")
        produce(kafka, topic, 4, [b"0", b"1"])
        gone.run()
        own = stays.take(4)
        accept(own)
        wait_until(lambda: served(client) and sum(kafka.committed(topic, topic).values()) == 6, "commits")
        # It ends as if its machine had: in the group's eyes it leaves, and what has no answer is inherited.
        gone.drop()
        inherited = stays.take(2)
        accept(inherited)
        wait_until(
            lambda: served(client) and kafka.committed(topic, topic) == dict.fromkeys(range(4), 2),
            "all commits",
        )
        assert not places(own) & places(inherited)


def gone_runs(receiver: load.Receiver) -> bool:
    """Let the other replica's client do its part, for a turn."""
    turns = iter([False, True])
    receiver.run(until=lambda: next(turns))
    return True


def shares(services: Sequence[Service], topic: str) -> list[int]:
    """Return how many partitions the members on each replica have."""
    found = []
    for service in services:
        links = {link for link, _, _ in rebalances(service, topic)}
        found.append(sum(len(assigned([service], topic, link)) for link in links))
    return found


def test_what_a_transaction_aborted_is_never_delivered_and_the_group_passes_it(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic, "log_level": 0}
    )
    producer.init_transactions(30.0)
    for value, commits in ((b"stored", True), (b"aborted", False), (b"stored too", True), (b"open", None)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(30.0)
        if commits:
            producer.commit_transaction(30.0)
        elif commits is not None:
            producer.abort_transaction(30.0)
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port) as client:
        receiver = client.receiver(address, 10)
        taken = receiver.drain()
        assert [body_of(each.message) for each in taken] == [b"stored", b"stored too"]
        accept(taken)
        # What is decided only now is delivered only then.
        receiver.link.flow(10)
        producer.commit_transaction(30.0)
        accept(late := receiver.take(1))
        assert [body_of(each.message) for each in late] == [b"open"]
    offset = annotation(late[0].message, "x-opt-bridge.offset")
    wait_until(lambda: kafka.committed(topic, topic) == {0: offset + 1}, "the commit")
