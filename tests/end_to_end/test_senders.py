from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any, Final

import pytest
from proton import Message
from proton.utils import LinkDetached
from support import load
from support.blocking import Client
from support.clients import Answer, data, send, state_of
from support.service import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from end_to_end.conftest import StartService
    from support.kafka import OwnKafka, RealKafka
    from support.service import Service

MESSAGES: Final = 350
"""More than three times the window of the shared service's links."""
ACCEPTED: Final = Answer("ACCEPTED")
TOO_LARGE: Final = Answer("REJECTED", "amqp:link:message-size-exceeded")


def bodies(count: int) -> list[bytes]:
    return [b"message %d" % number for number in range(count)]


def stored(kafka: RealKafka, topic: str) -> list[bytes | None]:
    return [record.value() for record in kafka.records(topic)]


def test_settled_messages_are_stored_and_never_answered(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    answers = send(service.amqp_port, topic, data(*bodies(MESSAGES)), "settled")

    assert answers == {}
    wait_until(lambda: len(stored(kafka, topic)) >= MESSAGES, "all messages in Kafka")
    assert stored(kafka, topic) == bodies(MESSAGES)


@pytest.mark.parametrize("mode", ["unsettled", "mixed"])
def test_unsettled_messages_are_stored_in_order_and_accepted(
    service: Service, kafka: RealKafka, mode: str
) -> None:
    topic = kafka.create_topic()

    answers = send(service.amqp_port, topic, data(*bodies(MESSAGES)), mode)

    assert answers == dict.fromkeys(range(MESSAGES), ACCEPTED)
    assert stored(kafka, topic) == bodies(MESSAGES)


def test_on_a_mixed_link_settled_messages_keep_their_place_and_get_no_answer(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()

    answers = send(
        service.amqp_port, topic, data(*bodies(MESSAGES)), "mixed", presettles=lambda number: number % 3 > 0
    )

    assert answers == dict.fromkeys(range(0, MESSAGES, 3), ACCEPTED)
    wait_until(lambda: len(stored(kafka, topic)) >= MESSAGES, "all messages in Kafka")
    assert stored(kafka, topic) == bodies(MESSAGES)


def test_with_second_the_bridge_leaves_it_to_the_sender_to_settle(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    answers = send(service.amqp_port, topic, data(*bodies(MESSAGES)), "second")

    assert answers == dict.fromkeys(range(MESSAGES), Answer("ACCEPTED", settled=False))
    assert stored(kafka, topic) == bodies(MESSAGES)


def test_nothing_is_accepted_before_kafka_has_it(
    own_kafka: Callable[..., OwnKafka], start_service: StartService
) -> None:
    kafka = own_kafka()
    topic = kafka.create_topic()
    service = start_service(kafka)
    send(service.amqp_port, topic, data(b"the topic is known from now on"))
    broker = kafka.cluster.process_ids[1]
    with Client(service.amqp_port) as client:
        sender = client.sender(topic)

        os.kill(broker, signal.SIGSTOP)
        deliveries: list[Any] = [sender.link.send(message) for message in data(*bodies(50))]
        client.sender(topic)  # it is answered after the bridge has read what went before
        answered_meanwhile = [delivery for delivery in deliveries if delivery.remote_state]
        os.kill(broker, signal.SIGCONT)

        assert answered_meanwhile == []
        client.wait(lambda: all(delivery.settled for delivery in deliveries), "the outcomes")
        assert [state_of(delivery) for delivery in deliveries] == ["ACCEPTED"] * 50
    assert stored(kafka, topic)[1:] == bodies(50)


def test_a_message_that_only_the_topic_finds_too_large_is_rejected_alone(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()  # Kafka's default is 1 MiB, the bridge's 16
    sent = bodies(50)
    sent[20] = b"x" * 1_500_000

    answers = send(service.amqp_port, topic, data(*sent))

    assert answers.pop(20) == TOO_LARGE
    assert set(answers.values()) == {ACCEPTED}
    assert stored(kafka, topic) == sent[:20] + sent[21:]


def test_a_topic_for_small_messages_takes_many_of_them_at_once(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "20000"})
    sent = [b"%d" % number + b"x" * 1000 for number in range(90)]
    sent[20] = b"x" * 30_000

    answers = send(service.amqp_port, topic, data(*sent))

    assert answers.pop(20) == TOO_LARGE
    assert set(answers.values()) == {ACCEPTED}
    assert stored(kafka, topic) == sent[:20] + sent[21:]


def test_more_than_the_announced_size_ends_the_link(kafka: RealKafka, start_service: StartService) -> None:
    topic = kafka.create_topic()
    service = start_service(kafka, amqp_max_message_size_bytes="10000")

    with Client(service.amqp_port) as client:
        sender = client.sender(topic)
        assert sender.link.remote_max_message_size == 10_000
        with pytest.raises(LinkDetached) as raised:
            sender.send(data(b"x" * 10_001)[0])

    assert raised.value.condition == "amqp:link:message-size-exceeded"
    assert stored(kafka, topic) == []


def test_an_unknown_topic_is_refused(service: Service) -> None:
    with Client(service.amqp_port) as client, pytest.raises(LinkDetached) as raised:
        client.sender("no-such-topic")

    assert raised.value.condition == "amqp:not-found"


@pytest.mark.parametrize("address", ["a topic", "orders//europe", "orders/group.id/billing"])
def test_a_bad_address_is_refused_and_the_connection_goes_on(
    service: Service, kafka: RealKafka, address: str
) -> None:
    topic = kafka.create_topic()
    with Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            client.sender(address)

        assert raised.value.condition == "amqp:invalid-field"
        assert state_of(client.sender(topic).send(data(b"good")[0])) == "ACCEPTED"


def test_messages_to_the_anonymous_terminus_go_where_each_says(service: Service, kafka: RealKafka) -> None:
    first, second = kafka.create_topic(), kafka.create_topic(partitions=2)
    messages = [
        Message(address=address, body=b"%d" % number, inferred=True)
        for number, address in enumerate(
            [first, f"{second}/Partitions/1", first, "no-such-topic", "a b", None]
        )
    ]

    answers = send(service.amqp_port, "", messages)  # proton sends no address then

    assert [answers[number] for number in range(6)] == [
        *[ACCEPTED] * 3,
        Answer("REJECTED", "amqp:not-found"),
        Answer("REJECTED", "amqp:precondition-failed"),
        Answer("REJECTED", "amqp:precondition-failed"),
    ]
    assert stored(kafka, first) == [b"0", b"2"]
    assert stored(kafka, second) == [b"1"]


def test_a_long_run_passes_many_windows(service: Service, kafka: RealKafka) -> None:
    # 2,000 windows of credit, and three times the 65,536 after which 16 bits begin anew.
    count = 200_000
    topic = kafka.create_topic(partitions=4)

    with load.Sender(service.amqp_port, topic, count=count, size=20) as sender:
        sender.run()

    assert sender.states.count(load.ACCEPTED) == count
    assert {record.value() for record in kafka.records(topic)} == set(map(sender.body, range(count)))
