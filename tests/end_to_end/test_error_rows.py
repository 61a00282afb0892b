"""What peers are told of each failure: the rows of docs/tables.md that need no broken Kafka."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import pytest
from proton import Link, Message, Terminus, symbol
from proton.reactor import LinkOption
from proton.utils import LinkDetached
from support.blocking import Client
from support.clients import data
from support.told import Encoded, Lists, Properties, Told, answers, attach, sent

if TYPE_CHECKING:
    from pathlib import Path

    from end_to_end.conftest import StartService
    from support.kafka import RealKafka
    from support.service import Service

ACCEPTED: Final = Told("ACCEPTED")
FORMER: Final = {"io.strimzi:condition": "io.strimzi:error-to-kafka"}
SMALL: Final = {"max.message.bytes": "20000"}


def annotated(name: str, value: object) -> Message:
    return Message(body=b"x", inferred=True, annotations={symbol(name): value})


REFUSED: Final[dict[str, tuple[Any, dict[str, str], str, dict[str, Any]]]] = {
    # what is sent, the topic's configuration, the condition, what its info says beside topic and reference
    "no AMQP at all": (Encoded(b"hello"), {}, "amqp:decode-error", {"retriable": False}),
    "no section of a message": (Encoded(b"\x00S\x24\x45"), {}, "amqp:decode-error", {"retriable": False}),
    "a section cut short": (Encoded(b"\x00Su\xa0\x09cut"), {}, "amqp:decode-error", {"retriable": False}),
    "a key of the wrong type": (
        annotated("x-opt-bridge.key", 7),
        {},
        "amqp:invalid-field",
        {"retriable": False},
    ),
    "a partition of the wrong type": (
        annotated("x-opt-bridge.partition", "first"),
        {},
        "amqp:invalid-field",
        {"retriable": False},
    ),
    "a partition that is not there": (
        annotated("x-opt-bridge.partition", 7),
        {},
        "amqp:invalid-field",
        {
            **FORMER,
            "kafka-error": "_UNKNOWN_PARTITION",
            "kafka-code": -190,
            "retriable": False,
            "partition": 7,
        },
    ),
    "headers of the wrong form": (
        annotated("x-opt-kafka-headers", ["name", b"value"]),
        {},
        "amqp:invalid-field",
        {"retriable": False},
    ),
    "a name that holds a NUL": (
        Message(body=b"x", inferred=True, properties={"a\0b": "value"}),
        {},
        "amqp:invalid-field",
        {"retriable": False},
    ),
    "too many headers": (
        Message(body=b"x", inferred=True, properties={f"p{number}": "v" for number in range(300)}),
        {},
        "amqp:resource-limit-exceeded",
        {"retriable": False},
    ),
    "too large headers": (
        Message(body=b"x", inferred=True, properties={"p": "v" * 300_000}),
        {},
        "amqp:resource-limit-exceeded",
        {"retriable": False},
    ),
    "more than the topic takes": (
        data(b"x" * 30_000)[0],
        SMALL,
        "amqp:link:message-size-exceeded",
        {
            **FORMER,
            "kafka-error": "MSG_SIZE_TOO_LARGE",
            "kafka-code": 10,
            "retriable": False,
            "partition": 0,
        },
    ),
    "no key on a compacted topic": (
        data(b"x")[0],
        {"cleanup.policy": "compact"},
        "amqp:precondition-failed",
        {"retriable": False},
    ),
}


@pytest.mark.parametrize("cause", REFUSED)
def test_what_will_not_pass_is_rejected_alone_and_says_where_and_why(
    service: Service, kafka: RealKafka, cause: str
) -> None:
    message, config, condition, info = REFUSED[cause]
    topic = kafka.create_topic(config=config)
    good = annotated("x-opt-bridge.key", "key")

    with Client(service.amqp_port) as client:
        before, refused, after = answers(client, topic, [good, message, good])
        # A peer that lists other outcomes is told the same: this one is rejected whatever it lists.
        (listed,) = answers(client, topic, [message], Lists("accepted", "rejected", "released", "modified"))

    assert (before, after) == (ACCEPTED, ACCEPTED)
    assert len(kafka.records(topic)) == 2
    assert (refused.state, refused.condition) == (listed.state, listed.condition) == ("REJECTED", condition)
    said = dict(refused.info)
    reference = said.pop("reference")
    assert said == {**info, "topic": topic}
    (link,) = [each["link"] for each in service.events("link attached") if each["address"] == topic][:1]
    assert reference.endswith(f"link {link}")


def test_a_settled_message_that_will_not_pass_is_dropped_and_counted(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    with Client(service.amqp_port) as client:
        sender = attach(client, topic, mode="settled")
        sent(sender, [*data(b"1"), Encoded(b"hello"), annotated("x-opt-bridge.partition", 7), *data(b"2")])
        # What comes behind is stored: the link went on.
        while [record.value() for record in kafka.records(topic)] != [b"1", b"2"]:
            client.serve(0.05)
        sender.close()

    (ended,) = [event for event in service.events("link ended") if event["topic"] == topic]
    assert ended["dropped"] == 2


class Coordinator(LinkOption):
    """Attaches to the coordinator of transactions, in place of a node (transactions 4.2)."""

    def apply(self, link: Link) -> None:
        link.target.type = Terminus.COORDINATOR


class Dynamic(LinkOption):
    """Asks for a node to be made."""

    def apply(self, link: Link) -> None:
        link.target.dynamic = True


@pytest.mark.parametrize(
    ("address", "option", "condition"),
    [
        ("no-such-topic", None, "amqp:not-found"),
        ("a topic", None, "amqp:invalid-field"),
        ("x" * 250, None, "amqp:invalid-field"),
        ("amqp://elsewhere/orders", None, "amqp:not-implemented"),
        ("TOPIC/group.id/g", None, "amqp:invalid-field"),
        ("TOPIC/Partitions/1", None, "amqp:invalid-field"),
        ("TOPIC/Partitions/x", None, "amqp:invalid-field"),
        ("TOPIC", Properties({"x-opt-bridge.partition": "first"}), "amqp:invalid-field"),
        ("TOPIC", Properties({"x-opt-bridge.mapping": "nonsense"}), "amqp:invalid-field"),
        ("__amqp_bridge_ledger", None, "amqp:not-allowed"),
        (None, Coordinator(), "amqp:not-implemented"),
        (None, Dynamic(), "amqp:not-implemented"),
    ],
)
def test_a_refused_attach_says_why_and_the_connection_goes_on(
    service: Service, kafka: RealKafka, address: str | None, option: LinkOption | None, condition: str
) -> None:
    topic = kafka.create_topic()
    with Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            attach(client, address and address.replace("TOPIC", topic), *([option] if option else []))
        assert raised.value.condition == condition

        assert answers(client, topic, data(b"the connection goes on")) == [ACCEPTED]


@pytest.mark.parametrize(
    ("address", "condition"),
    [
        ("no-such-topic/group.id/g", "amqp:not-found"),
        ("no-such-topic/Partitions/0", "amqp:not-found"),
        ("no-such-topic/$info", "amqp:not-found"),
        (None, "amqp:not-found"),
        ("TOPIC", "amqp:invalid-field"),
        ("TOPIC/group.id/", "amqp:invalid-field"),
        ("TOPIC/Partitions/1", "amqp:invalid-field"),
        ("TOPIC/ConsumerGroups/g/Partitions/1", "amqp:invalid-field"),
        ("TOPIC/Partitions/0/group.id/g", "amqp:invalid-field"),
        ("TOPIC/ConsumerGroups/", "amqp:invalid-field"),
        ("TOPIC/Partitions/0/$info", "amqp:invalid-field"),
        ("TOPIC/share/g/$info", "amqp:invalid-field"),
        ("TOPIC/share/", "amqp:invalid-field"),
        ("TOPIC/share/g", "amqp:not-implemented"),
        ("__amqp_bridge_ledger/group.id/g", "amqp:not-allowed"),
        ("amqp://elsewhere/orders/group.id/g", "amqp:not-implemented"),
    ],
)
def test_a_receivers_refused_attach_says_why(
    service: Service, kafka: RealKafka, address: str | None, condition: str
) -> None:
    topic = kafka.create_topic()
    with Client(service.amqp_port) as client:
        with pytest.raises(LinkDetached) as raised:
            client.receiver(address and address.replace("TOPIC", topic), credit=1)
        assert raised.value.condition == condition
        # The connection goes on.
        assert client.receiver(f"{topic}/Partitions/0", credit=1).drain() == []


def test_a_message_names_another_partition_than_its_link(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=3)
    with Client(service.amqp_port) as client:
        messages = [annotated("x-opt-bridge.partition", number) for number in (1, 2)]
        same, other = answers(client, f"{topic}/Partitions/1", messages)

    assert same == ACCEPTED
    assert (other.state, other.condition) == ("REJECTED", "amqp:invalid-field")
    assert [record.partition() for record in kafka.records(topic)] == [1]


def test_the_anonymous_terminus_rejects_what_an_attach_would_refuse(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    to = {
        None: "amqp:precondition-failed",
        "a topic": "amqp:precondition-failed",
        "no-such-topic": "amqp:not-found",
        f"{topic}/Partitions/9": "amqp:invalid-field",
        "__amqp_bridge_ledger": "amqp:not-allowed",
    }
    with Client(service.amqp_port) as client:
        messages = [Message(address=address, body=b"x", inferred=True) for address in (*to, topic)]
        *refused, last = answers(client, None, messages)

    assert last == ACCEPTED
    assert [(each.state, each.condition) for each in refused] == [("REJECTED", name) for name in to.values()]
    assert all(each.has(retriable=False) for each in refused)
    assert [each.info["topic"] for each in refused] == [address or "" for address in to]


def test_a_mapping_that_has_no_form_for_a_body_says_so(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    mapping = Properties({"x-opt-bridge.mapping": "strimzi"})
    with Client(service.amqp_port) as client:
        good, refused = answers(client, topic, [Message(body="text"), Message(body=1.5)], mapping)

    assert good == ACCEPTED
    assert (refused.state, refused.condition) == ("REJECTED", "amqp:not-implemented")


def test_kafkas_rules_for_timestamps_reject_a_record_with_the_brokers_own_error(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    topic = kafka.create_topic(config={"message.timestamp.before.max.ms": "60000"})
    routes = tmp_path / "routes.yaml"
    routes.write_text(
        f'routes:\n  - {{match: "{topic}", timestamp: creation-time, max_skew: 30d}}\n', "utf-8"
    )
    service = start_service(kafka, routes_file=str(routes))
    with Client(service.amqp_port) as client:
        late = Message(body=b"x", creation_time=int(time.time()) - 86_400)
        (refused,) = answers(client, topic, [late])

    assert (refused.state, refused.condition) == ("REJECTED", "amqp:precondition-failed")
    assert refused.has(kafka_error="INVALID_TIMESTAMP", kafka_code=32, retriable=False, topic=topic)
