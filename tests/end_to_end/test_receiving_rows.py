"""What receivers get of records that others wrote, and of dead letters: what `test_mapping_rows` leaves open.

A plain Kafka client writes at one end, an AMQP client receives at the other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka import Producer
from interop.proton_client import encoded, seen
from interop.proton_values import decode, encode
from interop.values import string, symbol, value
from proton import Condition, Delivery
from proton import symbol as proton_symbol
from support import load
from support.blocking import Client, Inbox
from support.clients import annotation, body_of
from support.told import Properties

from bridge.mapping.dead_letter import Origin, dead_letter_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import Message as KafkaMessage
    from end_to_end.conftest import StartService
    from support.kafka import RealKafka
    from support.service import Service

TIMESTAMP_MS: Final = 1_790_000_000_125
CREATED: Final = value("timestamp", str(TIMESTAMP_MS))
NATIVE: Final = "native"
LARGE_BYTES: Final = 16 * 1024 * 1024


def listed(*headers: tuple[str, bytes | None]) -> dict[str, Any]:
    """Return `x-opt-kafka-headers`."""
    pairs = [
        value(
            "list",
            [string(name), value("null", None) if each is None else value("binary", each.hex())],
        )
        for name, each in headers
    ]
    return value("list", pairs)


def letter(*own: tuple[str, bytes | None], annotations: bytes = b"") -> tuple[tuple[str, bytes | None], ...]:
    """Return the headers of a dead letter."""
    origin = Origin("orders", 3, 17, TIMESTAMP_MS, "billing")
    headers = dead_letter_headers(own, origin, reason="max-attempts", attempts=5, annotations=annotations)
    return tuple(headers)


LETTER: Final = (
    ("amqp.dlt.reason", string("max-attempts")),
    ("amqp.dlt.topic", string("orders")),
    ("amqp.dlt.partition", string("3")),
    ("amqp.dlt.offset", string("17")),
    ("amqp.dlt.timestamp", string(str(TIMESTAMP_MS))),
    ("amqp.dlt.attempts", string("5")),
    ("amqp.dlt.group", string("billing")),
)
EVENT: Final = (("ce_id", b"1"), ("ce_source", b"/here"), ("ce_type", b"made"))
ATTRIBUTES: Final = (
    ("cloudEvents:id", string("1")),
    ("cloudEvents:source", string("/here")),
    ("cloudEvents:type", string("made")),
)
RAW: Final = bytes(encoded({"body": {"kind": "data", "sections": ["62"]}}))
TWO_NULLS: Final = (("a", None), ("a", b"\xff"), ("a", None))


@dataclass(frozen=True)
class Row:
    """A record, and what a receiver gets of it on a link with a mapping.

    `application` are all application-properties, `annotations` those that are to be there, `no_annotations`
    those that are not. `creation_time` tells whether the record's time is filled in.
    """

    headers: tuple[tuple[str, bytes | None], ...] = ()
    key: bytes | None = None
    value: bytes | None = b"b"
    body: tuple[str, Any] = ("data", ["62"])
    application: tuple[tuple[str, dict[str, Any]], ...] = ()
    annotations: tuple[tuple[str, dict[str, Any]], ...] = ()
    no_annotations: tuple[str, ...] = ("x-opt-kafka-headers",)
    creation_time: bool = True
    mapping: str = NATIVE


ROWS: Final[dict[str, Row]] = {
    "nothing but a value": Row(
        no_annotations=("x-opt-kafka-headers", "x-opt-bridge.key", "x-opt-kafka-key", "x-opt-partition-key")
    ),
    "empty value": Row(value=b"", body=("data", [""]), no_annotations=("x-opt-kafka-tombstone",)),
    "tombstone without a key": Row(
        value=None,
        body=("value", value("null", None)),
        annotations=(("x-opt-kafka-tombstone", value("boolean", "true")),),
        no_annotations=("x-opt-bridge.key",),
    ),
    "tombstone with headers": Row(
        (("a", b"1"),),
        key=b"k",
        value=None,
        body=("value", value("null", None)),
        application=(("a", string("1")),),
        annotations=(("x-opt-kafka-tombstone", value("boolean", "true")), ("x-opt-bridge.key", string("k"))),
        no_annotations=(),
    ),
    "empty key": Row(
        key=b"",
        annotations=(("x-opt-bridge.key", string("")), ("x-opt-kafka-key", value("binary", ""))),
    ),
    "duplicate null headers": Row(
        TWO_NULLS,
        application=(("a", value("null", None)),),
        annotations=(("x-opt-kafka-headers", listed(*TWO_NULLS)),),
        no_annotations=(),
    ),
    "empty header, empty name": Row(
        (("a", b""), ("", b"b")), application=(("a", string("")), ("", string("b")))
    ),
    "event hubs, with the value of a client": Row(
        (("AMQPheaders", encode(value("int", "0"))), ("a", encode(value("double", "1.5")))),
        application=(("AMQPheaders", value("int", "0")), ("a", value("double", "1.5"))),
        no_annotations=(),
    ),
    "event hubs, with the value of the bridge": Row(
        (("a", encode(value("double", "1.5"))), ("AMQPheaders", b"\x41")),
        application=(("a", value("double", "1.5")),),
        creation_time=False,
        no_annotations=(),
    ),
    "event hubs, with a value that is none": Row(
        (("AMQPheaders", encode(value("int", "0"))), ("a", b"text")),
        application=(("AMQPheaders", value("int", "0")), ("a", string("text"))),
        no_annotations=(),
    ),
    "cloud event in native": Row(
        EVENT, application=tuple((name, string(each.decode())) for name, each in EVENT)
    ),
    "cloud event": Row(EVENT, application=ATTRIBUTES, mapping="cloudevents"),
    "raw of the java bridge": Row(
        value=RAW,
        body=("data", [RAW.hex()]),
        mapping="raw",
    ),
    "dead letter": Row(letter(("a", b"1")), application=(("a", string("1")), *LETTER)),
    "dead letter with bytes": Row(
        letter(("a", b"\xff")), application=(("a", value("binary", "ff")), *LETTER), no_annotations=()
    ),
    "dead letter of the bridge": Row(
        letter(("a", b"1"), ("amqp-types", b"v1;a=int")),
        application=(("a", value("int", "1")), *LETTER),
        creation_time=False,
    ),
    "dead letter, annotated": Row(
        letter(annotations=encode(value("map", [[symbol("x-opt-why"), string("tired")]]))),
        application=LETTER,
        annotations=(("x-opt-why", string("tired")),),
        no_annotations=(),
    ),
    "dead letter, cloud event": Row(
        letter(*EVENT), application=(*ATTRIBUTES, *LETTER), mapping="cloudevents"
    ),
    "dead letter, event hubs": Row(
        letter(("AMQPheaders", encode(value("int", "0"))), ("a", encode(value("int", "5")))),
        application=(("AMQPheaders", value("int", "0")), ("a", value("int", "5")), *LETTER),
        no_annotations=(),
        mapping="eventhubs",
    ),
    "dead letter, strimzi": Row(
        letter(("a", b"1")),
        annotations=(("x-opt-kafka-headers", listed(*letter(("a", b"1")))),),
        no_annotations=(),
        creation_time=False,
        mapping="strimzi",
    ),
    "dead letter, raw": Row(
        letter(("amqp.raw", b"0")),
        value=RAW,
        no_annotations=("x-opt-bridge.offset",),
        mapping="raw",
    ),
}


def receive(service: Service, address: str, count: int, mapping: str) -> list[dict[str, Any]]:
    """Receive and accept so many messages on a link with a mapping of its own, if it is not the default."""
    if mapping == NATIVE:
        with load.Receiver(
            service.amqp_port, address, count=count, mode="unsettled", credit=count, keep=True
        ) as bare:
            bare.run()
        return [seen(payload) for payload in bare.payloads]
    with Client(service.amqp_port) as client:
        inbox = Inbox()
        options: Any = Properties({"x-opt-bridge.mapping": mapping})
        receiver = client.connection.create_receiver(
            address, credit=count, handler=inbox, name=client.link_name(), options=options
        )
        client.wait(lambda: len(inbox.waiting) >= count, f"{count} messages of {receiver.name}")
        return [seen(each.message.encode()) for each in inbox.waiting]


@pytest.fixture(scope="module")
def received(service: Service, kafka: RealKafka) -> dict[str, dict[str, Any]]:
    """Have others write all records, and receive them on one link for each mapping."""
    messages: dict[str, dict[str, Any]] = {}
    for mapping in dict.fromkeys(row.mapping for row in ROWS.values()):
        rows = {name: row for name, row in ROWS.items() if row.mapping == mapping}
        topic = kafka.create_topic()
        kafka.append(topic, [(each.key, each.value, each.headers, TIMESTAMP_MS) for each in rows.values()])
        taken = receive(service, f"{topic}/group.id/{topic}", len(rows), mapping)
        messages |= dict(zip(rows, taken, strict=True))
    return messages


@pytest.mark.parametrize("name", ROWS)
def test_a_record_of_others_is_delivered_as_its_row_says(
    received: dict[str, dict[str, Any]], name: str
) -> None:
    row, message = ROWS[name], received[name]
    kind, content = row.body
    annotations = {key["value"]: each for key, each in message.get("message-annotations", [])}

    assert message["body"] == {"kind": kind, "sections" if kind == "data" else "value": content}
    assert dict(message.get("application-properties", [])) == dict(row.application)
    assert {**annotations, **dict(row.annotations)} == annotations
    assert not annotations.keys() & set(row.no_annotations)
    if row.mapping != "raw" or "amqp.raw" not in dict(row.headers):
        created = CREATED if row.creation_time else None
        assert message["properties"].get("creation-time") == created


def test_a_time_that_the_broker_gave_is_no_creation_time(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic(config={"message.timestamp.type": "LogAppendTime"})
    kafka.append(topic, [(None, b"b", (), TIMESTAMP_MS)])
    (record,) = kafka.records(topic)
    (message,) = receive(service, f"{topic}/group.id/{topic}", 1, NATIVE)

    annotations = {key["value"]: each for key, each in message["message-annotations"]}
    assert annotations["x-opt-kafka-timestamp-type"] == string("LogAppendTime")
    assert annotations["x-opt-enqueued-time"] == value("timestamp", str(record.timestamp()[1]))
    assert record.timestamp()[1] != TIMESTAMP_MS
    assert "creation-time" not in message["properties"]


def test_a_record_of_16_megabytes_is_delivered_whole_and_those_behind_it(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": str(2 * LARGE_BYTES)})
    large = bytes(range(256)) * (LARGE_BYTES // 256)
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "message.max.bytes": 2 * LARGE_BYTES, "log_level": 0}
    )
    for each in (b"before", large, b"behind"):
        producer.produce(topic, each, partition=0)
    assert producer.flush(30.0) == 0

    with load.Receiver(
        service.amqp_port, f"{topic}/group.id/{topic}", count=3, mode="unsettled", credit=3, keep=True
    ) as receiver:
        receiver.run()
    before, whole, behind = receiver.payloads
    assert before.endswith(b"before")
    assert hashlib.sha256(whole[-LARGE_BYTES:]).digest() == hashlib.sha256(large).digest()
    assert behind.endswith(b"behind")


# ---------------------------------------------------------------------- dead letters, all the way


def set_on(disposition: Any, **fields: object) -> None:  # noqa: ANN401 - proton annotates its fields with None
    """Set fields of an outcome."""
    for name, each in fields.items():
        setattr(disposition, name, each)


def given(message: Any, name: str) -> object:  # noqa: ANN401 - as above
    """Return an application-property."""
    return message.properties[name]


def headers_of(record: KafkaMessage) -> dict[str, Any]:
    return dict(record.headers() or [])


def test_what_receivers_refuse_can_be_received_from_the_dead_letter_topic(
    kafka: RealKafka, start_service: StartService
) -> None:
    topic = kafka.create_topic()
    dead = kafka.create_topic(f"{topic}.dlt")
    own = (("a", b"\xff"), ("subject", b"s"))
    kafka.append(topic, [(b"k", b"rejected", own, TIMESTAMP_MS), (b"k", b"elsewhere", own, TIMESTAMP_MS)])
    service = start_service(kafka, sink_dead_letter_topic="{topic}.dlt", sink_commit_interval_ms="100")
    with Client(service.amqp_port) as client:
        rejected, elsewhere = client.receiver(f"{topic}/group.id/{topic}", credit=2).take(2)
        set_on(rejected.delivery.local, condition=Condition("example:broken", "it is broken"))
        rejected.answer(Delivery.REJECTED)
        set_on(elsewhere.delivery.local, annotations={proton_symbol("x-opt-why"): "not here"})
        elsewhere.answer(Delivery.MODIFIED, undeliverable=True)
        first, second = (
            each.message for each in client.receiver(f"{dead}/group.id/{dead}", credit=2).take(2)
        )

    assert [body_of(each) for each in (first, second)] == [b"rejected", b"elsewhere"]
    assert [each.subject for each in (first, second)] == ["s", "s"]
    assert dict(first.properties or {}) == {
        "a": b"\xff",
        "amqp.dlt.reason": "rejected",
        "amqp.dlt.condition": "example:broken",
        "amqp.dlt.description": "it is broken",
        "amqp.dlt.topic": topic,
        "amqp.dlt.partition": "0",
        "amqp.dlt.offset": "0",
        "amqp.dlt.timestamp": str(TIMESTAMP_MS),
        "amqp.dlt.attempts": "1",
        "amqp.dlt.group": topic,
    }
    assert given(second, "amqp.dlt.reason") == "undeliverable-here"
    assert annotation(second, "x-opt-why") == "not here"
    assert annotation(second, "x-opt-bridge.topic") == dead

    stored: Sequence[KafkaMessage] = kafka.records(dead)
    assert [(each.key(), each.value()) for each in stored] == [(b"k", b"rejected"), (b"k", b"elsewhere")]
    assert [list(each.headers() or [])[: len(own)] for each in stored] == [list(own), list(own)]
    annotated = headers_of(stored[1])["amqp.dlt.annotations"]
    assert decode(annotated) == [value("map", [[symbol("x-opt-why"), string("not here")]])]
