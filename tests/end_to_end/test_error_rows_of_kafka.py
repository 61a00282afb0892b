"""What peers are told while Kafka refuses the bridge, does not answer, or has too few replicas."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka.admin import AdminClient
from proton import ConnectionException, Endpoint, Message
from proton.utils import ConnectionClosed, LinkDetached
from support.blocking import Client
from support.clients import data
from support.guarded import LISTENERS, PROPERTIES, GuardedKafka
from support.service import Service, running_service, wait_until
from support.told import ALL, Lists, Properties, Told, answers, attach, sent, told

from bridge.devkafka import DevKafka, DevKafkaError
from bridge.devkafka.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from confluent_kafka.admin._metadata import PartitionMetadata
    from end_to_end.conftest import StartService
    from support.kafka import OwnKafka

ACCEPTED: Final = Told("ACCEPTED")
MODIFIED: Final = Told("MODIFIED", failed=True)
RELEASED: Final = Told("RELEASED")
BROKERS: Final = 3
LEDGER: Final = "__amqp_bridge_ledger"


@pytest.fixture(scope="module")
def guarded() -> Iterator[GuardedKafka]:
    """Give a Kafka that asks who comes; its plain listener asks nobody."""
    try:
        find_java()
    except DevKafkaError as error:
        pytest.skip(str(error))
    with DevKafka(listeners=LISTENERS, extra_properties=PROPERTIES) as cluster:
        yield GuardedKafka(cluster)


@contextmanager
def stopped(kafka: OwnKafka) -> Iterator[None]:
    """Let the only broker answer nothing for a while; its sockets stay open."""
    broker = kafka.cluster.process_ids[1]
    os.kill(broker, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(broker, signal.SIGCONT)


def until_accepted(client: Client, sender: Any) -> list[Told]:  # noqa: ANN401 - proton's sender
    """Send on a link until a message is accepted; gives what was told before."""
    before: list[Told] = []
    while True:
        (answer,) = told(client, sent(sender, data(b"again")))
        if answer == ACCEPTED:
            return before
        before.append(answer)
        client.serve(0.1)


# ---------------------------------------------------------------------- what the bridge may not do


@pytest.fixture(scope="module")
def alice(guarded: GuardedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service that comes as alice, who may do nothing at first."""
    folder = tmp_path_factory.mktemp("alice")
    routes = folder / "routes.yaml"
    routes.write_text('routes:\n  - {match: "ledgered", deduplicate: message-id}\n', "utf-8")
    options = {**guarded.options("alice"), "routes.file": str(routes)}
    with running_service(folder / "service.log", options) as running:
        yield running


def test_what_the_bridge_may_not_see_it_refuses_at_the_attach(alice: Service, guarded: GuardedKafka) -> None:
    topic = guarded.create_topic()
    with Client(alice.amqp_port) as client:
        with pytest.raises(LinkDetached) as sender:
            attach(client, topic)
        with pytest.raises(LinkDetached) as receiver:
            client.receiver(f"{topic}/group.id/{topic}", credit=1)
        (by_itself,) = answers(client, None, [Message(address=topic, body=b"x", inferred=True)])

    for raised in (sender, receiver):
        assert raised.value.condition == "amqp:unauthorized-access"
        assert "TOPIC_AUTHORIZATION_FAILED" in str(raised.value)
    assert (by_itself.state, by_itself.condition) == ("REJECTED", "amqp:unauthorized-access")
    assert by_itself.has(kafka_error="TOPIC_AUTHORIZATION_FAILED", kafka_code=29, retriable=False)


def test_a_receivers_group_that_the_bridge_may_not_use_ends_its_link(
    alice: Service, guarded: GuardedKafka
) -> None:
    topic = guarded.create_topic()
    guarded.allow("alice", "READ", topic)
    with Client(alice.amqp_port) as client:
        receiver = until_attached(client, lambda: client.receiver(f"{topic}/group.id/{topic}", credit=1))
        client.wait(lambda: bool(receiver.inbox.error), "the detach")

    assert receiver.inbox.error == "amqp:unauthorized-access"


def test_a_bridge_that_may_write_nowhere_says_so_and_its_links_go_on_when_it_may(
    alice: Service, guarded: GuardedKafka
) -> None:
    # Without the right to write to any topic Kafka gives no producer id: the producer fails for good, and is
    # replaced by others that fail as well until the right is there.
    topic, seen = guarded.create_topic(), guarded.create_topic()
    guarded.allow("alice", "DESCRIBE", topic)
    guarded.allow("alice", "DESCRIBE", seen)
    wait_until(lambda: bool(fatal_errors(alice)), "the producer's end")
    with Client(alice.amqp_port) as client:
        lists: Any = until_attached(client, lambda: attach(client, topic, Lists(*ALL)))
        none = attach(client, topic)
        refused = [*told(client, sent(lists, data(b"1"))), *told(client, sent(none, data(b"1")))]

        guarded.allow("alice", "WRITE", topic)
        refused += until_accepted(client, lists)
        refused += until_accepted(client, none)
        (denied,) = answers(client, seen, data(b"not here"))

    for each in (*refused, denied):
        assert (each.state, each.condition) == ("REJECTED", "amqp:unauthorized-access")
    assert all(each.has(kafka_error="CLUSTER_AUTHORIZATION_FAILED", retriable=False) for each in refused)
    assert denied.has(kafka_error="TOPIC_AUTHORIZATION_FAILED", retriable=False, topic=seen)
    assert {error["kafka_error"] for error in fatal_errors(alice)} == {"CLUSTER_AUTHORIZATION_FAILED"}
    assert {record.value() for record in guarded.records(topic)} == {b"again"}


def test_a_transactional_id_that_the_bridge_may_not_use_refuses_the_attach(
    alice: Service, guarded: GuardedKafka
) -> None:
    guarded.create_topic("ledgered")
    guarded.create_topic(LEDGER, 1, {"cleanup.policy": "compact"})
    for topic in ("ledgered", LEDGER):
        for operation in ("READ", "WRITE", "DESCRIBE_CONFIGS"):
            guarded.allow("alice", operation, topic)

    with Client(alice.amqp_port) as client:
        error = ""
        while "TRANSACTIONAL_ID" not in error:  # until the broker knows what is allowed
            with pytest.raises(LinkDetached) as raised:
                attach(client, "ledgered").send(data(b"x")[0])
            assert raised.value.condition == "amqp:unauthorized-access"
            error = str(raised.value)


def test_a_bridge_that_kafka_does_not_let_in_is_not_ready_and_tells_senders_to_come_again(
    guarded: GuardedKafka, tmp_path: Path
) -> None:
    topic = guarded.create_topic()
    options = {**guarded.options("bob", "not his password"), "kafka.metadata.timeout.ms": "1000"}
    with running_service(tmp_path / "service.log", options) as service, Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            attach(client, topic)
        by_itself = attach(client, None)
        service.await_events("kafka unreachable")
        errors = service.await_events("kafka error")
        status, answer = service.probe("/readyz")

        assert raised.value.condition == "amqp:internal-error"
        assert "'retriable'): True" in str(raised.value)
        assert by_itself.link.credit == 0
        assert (status, answer["status"]) == (503, "not ready")
        assert "_AUTHENTICATION" in {error["kafka_error"] for error in errors}


def until_attached(client: Client, attach_link: Callable[[], Any]) -> Any:  # noqa: ANN401 - proton's link
    """Attach until the broker knows what is allowed since a moment ago."""
    while True:
        try:
            return attach_link()
        except LinkDetached as error:
            assert error.condition == "amqp:unauthorized-access"  # noqa: PT017 - it is not always raised
            client.serve(0.05)


def fatal_errors(service: Service) -> list[dict[str, Any]]:
    return [event for event in service.events("kafka error") if event["fatal"]]


# ---------------------------------------------------------------------- no answer


def test_what_kafka_does_not_answer_in_time_is_told_by_what_the_peer_lists(
    guarded: GuardedKafka, start_service: StartService
) -> None:
    topic, unheard_of = guarded.create_topic(), guarded.create_topic()
    service = start_service(
        guarded, kafka_producer_message_timeout_ms="1500", kafka_metadata_timeout_ms="1000"
    )
    message, elsewhere = data(b"x")[0], Message(address=unheard_of, body=b"x", inferred=True)
    with Client(service.amqp_port) as client:
        lists_all, lists_none = attach(client, topic, Lists(*ALL)), attach(client, topic)
        lists_released = attach(client, topic, Lists("accepted", "rejected", "released"))
        asks_for_all = attach(client, topic, Properties({"x-opt-bridge.outcomes": "all"}))
        settles = attach(client, topic, mode="mixed")
        anonymous_all, anonymous_none = attach(client, None, Lists(*ALL)), attach(client, None)
        links = [lists_all, lists_none, lists_released, asks_for_all]
        assert [answer for link in links for answer in told(client, sent(link, [message]))] == [ACCEPTED] * 4

        with stopped(guarded):
            deliveries = [sent(link, [message])[0] for link in links]
            nowhere = [sent(link, [elsewhere])[0] for link in (anonymous_all, anonymous_none)]
            settled = settles.link.send(message)
            settled.settle()
            with pytest.raises(LinkDetached) as raised:
                attach(client, unheard_of)
            perhaps, surely_not = told(client, deliveries), told(client, nowhere)
            settles.close()
            service.await_events("kafka unreachable")

        # Links stay, with all that was in flight answered.
        for link in (lists_all, lists_none):
            client.wait(lambda link=link: link.link.credit > 0, "credit again")  # type: ignore[misc]
            assert until_accepted(client, link) == []

    assert raised.value.condition == "amqp:internal-error"
    assert perhaps[0] == perhaps[3] == MODIFIED
    for each in perhaps[1:3]:
        assert (each.state, each.condition) == ("REJECTED", "amqp:internal-error")
        assert each.has(kafka_error="_MSG_TIMED_OUT", kafka_code=-192, retriable=True, topic=topic)
        assert "io.strimzi:condition" in each.info
        assert "reference" in each.info
    released, rejected = surely_not
    assert released == RELEASED
    assert (rejected.state, rejected.condition) == ("REJECTED", "amqp:internal-error")
    assert rejected.has(retriable=True, topic=unheard_of)
    (dropped,) = [event for event in service.events("link ended") if event["dropped"]]
    assert dropped["dropped"] == 1


def test_messages_for_which_the_queue_is_full_are_held_and_stored_in_order(
    guarded: GuardedKafka, start_service: StartService
) -> None:
    queue, links, credit = 10, 5, 10
    topics = [guarded.create_topic() for _ in range(links)]
    service = start_service(
        guarded,
        amqp_manual_credit=str(credit),
        kafka_producer_queue_buffering_max_messages=str(queue),
    )
    with Client(service.amqp_port) as client:
        senders = [attach(client, topic) for topic in topics]
        for sender in senders:
            client.wait(lambda sender=sender: sender.link.credit == credit, "credit")  # type: ignore[misc]
            assert told(client, sent(sender, data(b"0"))) == [ACCEPTED]
            client.wait(lambda sender=sender: sender.link.credit >= credit - 1, "credit")  # type: ignore[misc]
        with stopped(guarded):
            bodies = [b"%d" % number for number in range(1, credit)]
            deliveries = [each for sender in senders for each in sent(sender, data(*bodies))]
            assert len(deliveries) > queue
            client.sender(topics[0])  # answered after all before it was read
            assert not any(delivery.settled for delivery in deliveries)
        assert told(client, deliveries) == [ACCEPTED] * len(deliveries)

    for topic in topics:
        assert [record.value() for record in guarded.records(topic)] == [b"0", *bodies]


def test_a_shutdown_turns_links_away_and_answers_nothing_that_kafka_did_not(
    guarded: GuardedKafka, start_service: StartService
) -> None:
    topic = guarded.create_topic()
    service = start_service(guarded, shutdown_grace_ms="2500")
    client = Client(service.amqp_port)
    sender = attach(client, topic)
    assert told(client, sent(sender, data(b"1"))) == [ACCEPTED]
    with stopped(guarded):
        (delivery,) = sent(sender, data(b"2"))
        client.serve(0.2)  # it is on its way
        service.signal(signal.SIGTERM)
        service.await_events("service stopping")
        with pytest.raises(LinkDetached) as turned_away:
            attach(client, topic)
        with pytest.raises((ConnectionClosed, ConnectionException)) as closed:
            client.wait(lambda: delivery.settled, "the end")
        service.stop()

    assert turned_away.value.condition == "amqp:link:detach-forced"
    assert "amqp:connection:forced" in str(closed.value)
    assert not delivery.remote_state
    (ended,) = service.events("service stopped")
    assert ended["unacknowledged_records"] == 1


def test_an_attach_during_which_the_routes_change_is_to_be_made_again(
    guarded: GuardedKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = guarded.create_topic()
    routes = tmp_path / "routes.yaml"
    routes.write_text(f'routes:\n  - {{match: "{topic}", deduplicate: message-id}}\n', "utf-8")
    service = start_service(guarded, routes_file=str(routes))
    with Client(service.amqp_port) as client:
        attach(client, topic).close()  # the topic and the ledger are known from now on
        with stopped(guarded):
            blocking: Any = client.connection
            sender = blocking.container.create_sender(blocking.conn, topic, name="during")
            client.serve(0.2)  # it is asked
            routes.write_text("routes: []\n", "utf-8")
            service.signal(signal.SIGHUP)
            service.await_events("routes loaded")
        with pytest.raises(LinkDetached) as raised:
            client.wait(lambda: bool(sender.state & Endpoint.REMOTE_CLOSED), "the answer")

        assert raised.value.condition == "amqp:link:detach-forced"
        assert answers(client, topic, data(b"by the new route")) == [ACCEPTED]


# ---------------------------------------------------------------------- too few replicas


def partitions_of(kafka: OwnKafka, topic: str) -> dict[int, PartitionMetadata]:
    """Return what one of the brokers knows of a topic's partitions: it may lag behind the others."""
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    return client.list_topics(topic, timeout=30).topics[topic].partitions


def in_sync(kafka: OwnKafka, topic: str) -> int:
    found = partitions_of(kafka, topic)
    return len(found[0].isrs) if found else 0


def leaders_of(kafka: OwnKafka, topic: str, partitions: int) -> dict[int, int]:
    """Return the leader of each partition, when all brokers that it has are in sync."""
    known: dict[int, PartitionMetadata] = {}

    def is_whole() -> bool:
        known.update(partitions_of(kafka, topic))
        return len(known) == partitions and all(len(each.isrs) == BROKERS for each in known.values())

    wait_until(is_whole, f"all replicas of {topic}")
    return {partition: each.leader for partition, each in known.items()}


def test_without_enough_replicas_a_message_waits_and_is_then_told_and_a_new_leader_is_followed(
    own_kafka: Callable[..., OwnKafka], start_service: StartService
) -> None:
    kafka = own_kafka(brokers=BROKERS)
    strict = kafka.create_topic(config={"min.insync.replicas": "3"})
    led = kafka.create_topic(partitions=3)
    leader, leaders = leaders_of(kafka, strict, 1)[0], leaders_of(kafka, led, 3)
    # One broker dies that does not lead the topic which needs all three, and leads a partition of the other.
    partition, dies = next(each for each in leaders.items() if each[1] != leader)
    service = start_service(
        kafka, kafka_producer_message_timeout_ms="6000", kafka_reconnect_backoff_max_ms="500"
    )
    with Client(service.amqp_port) as client:
        lists_all, lists_none = attach(client, strict, Lists(*ALL)), attach(client, strict)
        follows = attach(client, f"{led}/Partitions/{partition}")
        for link in (lists_all, lists_none, follows):
            assert told(client, sent(link, data(b"1"))) == [ACCEPTED]

        kafka.cluster.kill(dies)
        wait_until(lambda: in_sync(kafka, strict) == BROKERS - 1, "the end of the replica")
        deliveries = [sent(link, data(b"2"))[0] for link in (lists_all, lists_none, follows)]
        modified, rejected, accepted = told(client, deliveries)

    assert accepted == ACCEPTED
    assert modified == MODIFIED
    assert (rejected.state, rejected.condition) == ("REJECTED", "amqp:internal-error")
    assert rejected.has(retriable=True, topic=strict, partition=0)
    assert [record.value() for record in kafka.records(led)] == [b"1", b"2"]
    assert {record.value() for record in kafka.records(strict)} <= {b"1", b"2"}
