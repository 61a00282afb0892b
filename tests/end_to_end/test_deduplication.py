"""Messages that are sent again, over connections and replicas: stored once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from proton import Message
from proton.utils import BlockingConnection, LinkDetached, SendException
from support.blocking import Client
from support.clients import Answer, send

if TYPE_CHECKING:
    from pathlib import Path

    from end_to_end.conftest import StartService
    from support.kafka import RealKafka
    from support.service import Service

ACCEPTED = Answer("ACCEPTED")


def deduplicating(
    start_service: StartService, kafka: RealKafka, folder: Path, by: str, topic: str, **options: str
) -> Service:
    file = folder / "routes.yaml"
    file.write_text(f'routes:\n  - {{match: "{topic}", deduplicate: {by}}}\n', "utf-8")
    return start_service(kafka, routes_file=str(file), **options)


def messages(*numbers: int) -> list[Message]:
    return [Message(id=f"id-{number}", body=b"%d" % number, inferred=True) for number in numbers]


def values(kafka: RealKafka, topic: str) -> list[bytes | None]:
    return [record.value() for record in kafka.records(topic)]


def test_a_message_that_is_sent_again_is_accepted_and_not_stored_again(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    service = deduplicating(start_service, kafka, tmp_path, "message-id", topic)

    first = send(service.amqp_port, topic, messages(0, 1, 2, 1))
    again = send(service.amqp_port, topic, messages(2, 3, 0))
    settled = send(service.amqp_port, topic, messages(3, 4), "settled")

    assert first == dict.fromkeys(range(4), ACCEPTED)
    assert again == dict.fromkeys(range(3), ACCEPTED)
    assert settled == {}
    with Client(service.amqp_port) as client:
        client.sender(topic).send(messages(5)[0])
    assert values(kafka, topic) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    ended = service.await_events("link ended", 4)
    assert [event["duplicates"] for event in ended] == [1, 2, 1, 0]


def test_another_replica_knows_what_was_stored_and_takes_the_link_over(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    one = deduplicating(start_service, kafka, tmp_path, "message-id", topic)
    other = deduplicating(start_service, kafka, tmp_path, "message-id", topic)
    connections = [
        BlockingConnection(f"amqp://127.0.0.1:{each.amqp_port}", timeout=60, container_id="sender")
        for each in (one, other)
    ]
    former = connections[0].create_sender(topic, name="orders")
    former.send(messages(1)[0])

    latter = connections[1].create_sender(topic, name="orders")
    latter.send(messages(1)[0])
    latter.send(messages(2)[0])
    with pytest.raises((LinkDetached, SendException)) as raised:
        former.send(messages(3)[0])

    assert getattr(raised.value, "condition", "") == "amqp:link:stolen"
    assert values(kafka, topic) == [b"1", b"2"]
    for connection in connections:
        connection.close()


def test_by_delivery_tag_a_link_recognises_its_own(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    service = deduplicating(start_service, kafka, tmp_path, "delivery-tag", topic)
    for container, tags in (("a", "xyx"), ("a", "yz"), ("b", "x")):
        connection = BlockingConnection(
            f"amqp://127.0.0.1:{service.amqp_port}", timeout=60, container_id=container
        )
        sender = connection.create_sender(topic, name="orders")
        for tag in tags:
            delivery = sender.link.delivery(tag)
            sender.link.stream(b"\x00Su\xa0\x01" + tag.encode())
            sender.link.advance()
            connection.wait(lambda delivery=delivery: delivery.settled)  # type: ignore[misc]
            assert delivery.remote_state == 0x24
            delivery.settle()
        connection.close()
    assert values(kafka, topic) == [b"x", b"y", b"z", b"x"]


def test_what_cannot_be_recognised_is_rejected(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    service = deduplicating(start_service, kafka, tmp_path, "message-id", topic)
    nameless = Message(body=b"x", inferred=True)

    assert send(service.amqp_port, topic, [nameless, *messages(1)]) == {
        0: Answer("REJECTED", "amqp:precondition-failed"),
        1: ACCEPTED,
    }
    by_itself = Message(address=topic, id="2", body=b"x", inferred=True)
    assert send(service.amqp_port, "", [by_itself]) == {0: Answer("REJECTED", "amqp:not-allowed")}


def test_the_ledger_is_not_for_clients_and_such_links_are_few(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    service = deduplicating(start_service, kafka, tmp_path, "message-id", topic, deduplication_links_max="1")
    with Client(service.amqp_port) as client:
        client.sender(topic).send(messages(1)[0])
        assert refusal(client, topic) == "amqp:resource-limit-exceeded"
        assert refusal(client, "__amqp_bridge_ledger") == "amqp:not-allowed"


def refusal(client: Client, address: str) -> Any:  # noqa: ANN401 - proton's condition name
    with pytest.raises(LinkDetached) as raised:
        client.sender(address)
    return raised.value.condition
