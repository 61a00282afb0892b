"""What each settlement mode promises a sender, where no other test of this folder shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from support import load
from support.blocking import Client
from support.clients import data
from support.service import wait_until
from support.told import Encoded, Told, answers, attach, sent, told

if TYPE_CHECKING:
    from pathlib import Path

    from end_to_end.conftest import StartService
    from support.kafka import RealKafka
    from support.service import Service

ACCEPTED: Final = Told("ACCEPTED")


def values(kafka: RealKafka, topic: str) -> list[Any]:
    return [record.value() for record in kafka.records(topic)]


@pytest.mark.parametrize("size", [100, 200_000])
def test_an_aborted_message_leaves_nothing_behind(service: Service, kafka: RealKafka, size: int) -> None:
    topic = kafka.create_topic()
    with Client(service.amqp_port) as client:
        sender = attach(client, topic)
        (first,) = sent(sender, data(b"1"))
        aborted = sender.link.delivery("aborted")
        sender.link.stream(b"\x00Su\xb0" + size.to_bytes(4, "big") + b"x" * (size // 2))
        client.sender(topic)  # it is answered after that half has come
        aborted.abort()
        (last,) = sent(sender, data(b"2"))
        assert told(client, [first, last]) == [ACCEPTED] * 2
        client.wait(lambda: sender.link.credit >= 24, "the credit")  # half of what a link begins with

    assert values(kafka, topic) == [b"1", b"2"]


def test_on_a_mixed_link_settled_messages_may_go_without_kafkas_acknowledgement(
    kafka: RealKafka, start_service: StartService
) -> None:
    topic = kafka.create_topic()
    service = start_service(kafka, amqp_mixed_settled="acks0")
    with Client(service.amqp_port) as client:
        sender = attach(client, topic, mode="mixed")
        settled = sent(sender, data(b"settled"))
        settled[0].settle()
        assert told(client, sent(sender, data(b"unsettled"))) == [ACCEPTED]

    wait_until(lambda: sorted(values(kafka, topic)) == [b"settled", b"unsettled"], "both")


def test_one_acknowledgement_may_do(kafka: RealKafka, start_service: StartService, tmp_path: Path) -> None:
    whole, leader = kafka.create_topic(), kafka.create_topic()
    routes = tmp_path / "routes.yaml"
    routes.write_text(f'routes:\n  - {{match: "{leader}", acks: "1"}}\n', "utf-8")
    service = start_service(kafka, routes_file=str(routes))
    bodies = [b"%d" % number for number in range(300)]
    with Client(service.amqp_port) as client:
        for topic in (whole, leader):
            assert answers(client, topic, data(*bodies)) == [ACCEPTED] * 300
            assert values(kafka, topic) == bodies


def test_what_a_sender_did_not_settle_is_in_doubt_until_its_connection_ends(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    client = Client(service.amqp_port)
    sender = attach(client, topic, mode="second")
    deliveries = sent(sender, data(b"1", b"2", b"3"))
    client.wait(lambda: all(each.remote_state for each in deliveries), "the outcomes")
    assert not any(each.settled for each in deliveries)
    deliveries[0].settle()
    client.sender(topic)  # it is answered after the settlement was read
    client.connection.close()

    def ended() -> list[dict[str, Any]]:
        links = [event for event in service.events("link ended") if event["topic"] == topic]
        return [event for event in links if event["accepted"]]

    wait_until(lambda: bool(ended()), "the link's end")
    assert [(event["accepted"], event["in_doubt"]) for event in ended()] == [(3, 2)]
    assert values(kafka, topic) == [b"1", b"2", b"3"]


def test_a_sender_that_vanishes_is_told_nothing_and_what_it_sent_is_stored(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    sender = load.Sender(service.amqp_port, topic, count=100_000)
    sender.run(until=lambda: sender.answered >= 1000)
    sender.drop()

    accepted = sender.with_state(load.ACCEPTED)
    wait_until(
        lambda: any(event["topic"] == topic for event in service.events("link ended")), "the link's end"
    )
    stored = values(kafka, topic)
    assert stored[: len(accepted)] == accepted


def test_a_message_in_many_frames_is_one_record(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    body = b"x" * 600_000
    with Client(service.amqp_port) as client:
        sender = attach(client, topic)
        delivery = sender.link.delivery("in parts")
        sender.link.stream(b"\x00Su\xb0" + len(body).to_bytes(4, "big"))
        for at in range(0, len(body), 50_000):
            sender.link.stream(body[at : at + 50_000])
            client.serve(0.01)
        sender.link.advance()
        (after,) = sent(sender, [Encoded(b"\x00Su\xa0\x05after")])
        assert told(client, [delivery, after]) == [ACCEPTED] * 2

    assert values(kafka, topic) == [body, b"after"]
