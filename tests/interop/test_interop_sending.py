"""Each client sends a thousand messages, and a plain Kafka consumer looks at every record."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import pytest
from interop import expectation
from interop.catalogue import MESSAGES, messages
from interop.contract import Outcome
from interop.libraries import LIBRARIES
from interop.values import string, symbol, value
from support.service import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interop.catalogue import Message
    from interop.contract import Client
    from support.kafka import RealKafka
    from support.service import Service

ACCEPTED: Final = Outcome("accepted")
TOPIC_LIMIT_BYTES: Final = 10_000
SMALL: Final[Message] = {"body": {"kind": "value", "value": string("small")}}
LARGE: Final[Message] = {"body": {"kind": "value", "value": string("large" * TOPIC_LIMIT_BYTES)}}


def check(
    name: str,
    kafka: RealKafka,
    topic: str,
    address: str,
    sent: Sequence[Message],
    outcomes: Sequence[Outcome],
) -> None:
    """Compare all records of a topic with those that the messages should have become."""
    library = LIBRARIES[name]
    records = kafka.records(topic)
    assert len(records) == len(sent)
    differences = []
    for message, record, outcome in itertools.zip_longest(sent, records, outcomes):
        expected = expectation.expected(library.adds(message, address, outcome))
        found = expectation.found(record)
        if found.ranks() != sorted(found.ranks()):
            differences.append(f"{message['kind']}: the parts of the message are not in order: {found}")
        if not library.ordered:
            expected, found = expected.unordered(), found.unordered()
        if found != expected:
            differences.append(f"{message['kind']} ({message['repetition']}):\n {expected}\n {found}")
    assert not differences, "\n".join([f"{len(differences)} records, the first of them:", *differences[:5]])


def settle_modes(service: Service, address: str) -> list[str]:
    """Return the settlement modes of the links to an address, as the bridge has attached them."""
    links = service.events("link attached")
    return [link["snd_settle_mode"] for link in links if link["address"] == address]


def test_unsettled_messages_are_accepted_and_stored_whole(
    name: str, client: Client, service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    sent = messages(LIBRARIES[name].lacks)

    outcomes = client.send(service.amqp_port, topic, sent, settled=False)

    assert outcomes == [ACCEPTED] * MESSAGES
    assert settle_modes(service, topic) == [LIBRARIES[name].settle_mode]
    check(name, kafka, topic, topic, sent, outcomes)


def test_settled_messages_to_an_address_with_slashes_are_stored_whole(
    name: str, client: Client, service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(f"interop.settled.{name}")
    address = topic.replace(".", "/")
    sent = messages(LIBRARIES[name].lacks)

    outcomes = client.send(service.amqp_port, address, sent, settled=True)

    assert {outcome.state for outcome in outcomes} <= {"settled"}
    assert settle_modes(service, address) == ["settled"]
    wait_until(lambda: len(kafka.records(topic)) >= MESSAGES, "all messages in Kafka")
    check(name, kafka, topic, address, sent, outcomes)


def test_a_message_that_is_too_large_for_the_topic_is_rejected_alone(
    client: Client, service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": str(TOPIC_LIMIT_BYTES)})

    outcomes = client.send(service.amqp_port, topic, [SMALL, LARGE, SMALL], settled=False)

    assert outcomes == [ACCEPTED, Outcome("rejected", "amqp:link:message-size-exceeded"), ACCEPTED]
    assert [record.value() for record in kafka.records(topic)] == [b"small", b"small"]


ANNOTATING: Final = [
    name for name, library in LIBRARIES.items() if "message-annotations" not in library.lacks
]
FAULTS: Final[dict[str, tuple[Any, str]]] = {
    "a key that is a number": ([symbol("x-opt-bridge.key"), value("int", "7")], "amqp:invalid-field"),
    "no such partition": ([symbol("x-opt-bridge.partition"), value("int", "7")], "amqp:invalid-field"),
}


@pytest.mark.parametrize("name", ANNOTATING, indirect=True)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_message_with_a_wrong_annotation_is_rejected_alone(
    client: Client, service: Service, kafka: RealKafka, fault: str
) -> None:
    annotation, condition = FAULTS[fault]
    wrong = {**SMALL, "message-annotations": [annotation]}
    topic = kafka.create_topic()

    outcomes = client.send(service.amqp_port, topic, [SMALL, wrong, SMALL], settled=False)

    assert outcomes == [ACCEPTED, Outcome("rejected", condition), ACCEPTED]
    assert len(kafka.records(topic)) == 2


@pytest.mark.parametrize("name", ["rhea"], indirect=True)
def test_a_footer_before_the_body_is_rejected_alone(
    client: Client, service: Service, kafka: RealKafka
) -> None:
    # The order of sections is fixed (core 3.2), and only rhea breaks it.
    wrong = {**SMALL, "footer": [[symbol("x-opt-hash"), value("int", "7")]]}
    topic = kafka.create_topic()

    outcomes = client.send(service.amqp_port, topic, [SMALL, wrong, SMALL], settled=False)

    assert outcomes == [ACCEPTED, Outcome("rejected", "amqp:decode-error"), ACCEPTED]
    assert len(kafka.records(topic)) == 2
