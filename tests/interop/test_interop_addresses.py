"""The forms of addresses that clients use: the anonymous terminus, where each message says where to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from interop.contract import Outcome
from interop.values import string

if TYPE_CHECKING:
    from interop.catalogue import Message
    from interop.contract import Client
    from support.kafka import RealKafka
    from support.service import Service

MESSAGES: Final = 20
ACCEPTED: Final = Outcome("accepted")


def message(number: int, to: str) -> Message:
    return {
        "properties": {"to": string(to)},
        "body": {"kind": "value", "value": string(f"message {number}")},
    }


def test_messages_to_the_anonymous_terminus_go_where_each_says(
    name: str, client: Client, service: Service, kafka: RealKafka
) -> None:
    plain = kafka.create_topic()
    dotted = kafka.create_topic(f"interop.anonymous.{name}")
    addresses = (plain, dotted.replace(".", "/"))
    sent = [message(number, addresses[number % 2]) for number in range(MESSAGES)]

    outcomes = client.send(service.amqp_port, None, sent, settled=False)

    assert outcomes == [ACCEPTED] * MESSAGES
    for topic, first in ((plain, 0), (dotted, 1)):
        expected = [b"message %d" % number for number in range(first, MESSAGES, 2)]
        assert [record.value() for record in kafka.records(topic)] == expected


def test_at_the_anonymous_terminus_a_message_to_nowhere_is_rejected_alone(
    name: str, client: Client, service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    nowhere = f"no-such-topic-for-{name}"
    sent = [message(0, topic), message(1, nowhere), message(2, topic)]

    outcomes = client.send(service.amqp_port, None, sent, settled=False)

    assert outcomes == [ACCEPTED, Outcome("rejected", "amqp:not-found"), ACCEPTED]
    assert [record.value() for record in kafka.records(topic)] == [b"message 0", b"message 2"]


def test_a_link_to_a_topic_that_is_not_there_is_refused_in_words(
    name: str, client: Client, service: Service
) -> None:
    nowhere = f"no-such-topic-for-{name}"

    with pytest.raises(AssertionError, match="amqp:not-found"):
        client.send(service.amqp_port, nowhere, [message(0, nowhere)], settled=False)
    with pytest.raises(AssertionError, match="amqp:not-found"):
        client.receive(service.amqp_port, f"{nowhere}/group.id/{name}", 1)
