"""Each row of the mapping once: an AMQP client at one end, a plain Kafka client at the other.

What is stored is written down here byte by byte. Tests with generated messages are in `tests/properties`, and
those with other clients in `tests/interop`, whose words for messages are used here.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from interop.proton_client import encoded, seen
from interop.proton_values import decode, encode
from interop.values import array, canonical, described, string, symbol, value
from support import load
from support.blocking import Client, Inbox
from support.clients import annotation, body_of
from support.told import Encoded, Properties, Told, answers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from confluent_kafka import Message as KafkaMessage
    from end_to_end.conftest import StartService
    from support.kafka import RealKafka
    from support.service import Service

ACCEPTED: Final = Told("ACCEPTED")
DATA: Final = {"kind": "data", "sections": ["62"]}
TRACE: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UUID: Final = "12345678-1234-5678-1234-567812345678"
PROPERTIES: Final = {
    "message-id": string("m"),
    "user-id": value("binary", "75"),
    "to": string("a place"),
    "subject": string("s"),
    "reply-to": string("r"),
    "correlation-id": string("c"),
    "content-type": symbol("text/plain"),
    "content-encoding": symbol("gzip"),
    "absolute-expiry-time": value("timestamp", "4102444800000"),
    "creation-time": value("timestamp", "1790000000125"),
    "group-id": string("g"),
    "group-sequence": value("uint", "7"),
    "reply-to-group-id": string("rg"),
}


@dataclass(frozen=True)
class Row:
    """A message, and the record that it is stored as. Its value is `b` where nothing else is said."""

    sections: dict[str, Any]
    headers: tuple[tuple[str, bytes | None], ...] = ()
    key: bytes | None = None
    value: bytes | None = b"b"

    @property
    def message(self) -> dict[str, Any]:
        """The message as `tests/interop` writes it."""
        return {"body": DATA, **self.sections}


def body(inner: dict[str, Any]) -> dict[str, Any]:
    return {"body": {"kind": "value", "value": inner}}


def annotated(*pairs: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"message-annotations": [[symbol(name), each] for name, each in pairs]}


def typed(name: str, given: dict[str, Any], text: bytes | None, kind: str = "") -> Row:
    """Return the row of an application-property of some type."""
    hint = f"v1;{name}={kind or given['type']}".encode()
    return Row({"application-properties": [[name, given]]}, ((name, text), ("amqp-types", hint)))


KEYS: Final = {
    "x-opt-bridge.key": string("bridge"),
    "x-opt-kafka-key": value("binary", "00ff"),
    "event-streams-group-key": string("group"),
    "x-opt-partition-key": string("partition"),
}
LIST: Final = value("list", [value("int", "1"), string("two")])
MAP: Final = value("map", [[string("a"), value("int", "1")]])
ARRAY: Final = array("int", [value("int", "1"), value("int", "-2")])
POINT: Final = described(symbol("example:point"), LIST)
SEQUENCE: Final = value("ulong", "118")

KEPT: Final = (("x-opt-partition-key", b"partition"),)
GROUP_KEPT: Final = (("amqp.ma.event-streams-group-key", b"group"), *KEPT)

ROWS: Final[dict[str, Row]] = {
    "key none": Row({}),
    "key x-opt-bridge.key": Row(annotated(*KEYS.items()), GROUP_KEPT, b"bridge"),
    "key x-opt-kafka-key": Row(annotated(*list(KEYS.items())[1:]), GROUP_KEPT, b"\x00\xff"),
    "key event-streams-group-key": Row(annotated(*list(KEYS.items())[2:]), GROUP_KEPT, b"group"),
    "key x-opt-partition-key": Row(annotated(*list(KEYS.items())[3:]), KEPT, b"partition"),
    "key group-id": Row(
        {"properties": {"group-id": string("g"), "group-sequence": value("uint", "1")}},
        (("group-id", b"g"), ("group-sequence", b"1")),
        b"g",
    ),
    "body data": Row({"body": {"kind": "data", "sections": ["00ff"]}}, value=b"\x00\xff"),
    "body data empty": Row({"body": {"kind": "data", "sections": [""]}}, value=b""),
    "body data many": Row(
        {"body": {"kind": "data", "sections": ["61", "", "6263"]}},
        (("amqp.body", b"data;1,0,2"),),
        value=b"abc",
    ),
    "body string": Row(
        body(string("grüße")), (("amqp.body", b"value;string"),), value=b"gr\xc3\xbc\xc3\x9fe"
    ),
    "body binary": Row(body(value("binary", "00ff")), (("amqp.body", b"value;binary"),), value=b"\x00\xff"),
    "body null": Row(body(value("null", None)), (("amqp.body", b"value;null"),), value=None),
    "body double": Row(body(value("double", "1.1")), (("amqp.body", b"value;double"),), value=b"1.1"),
    "body list": Row(body(LIST), (("amqp.body", b"value;amqp"),), value=encode(LIST)),
    "body map": Row(body(MAP), (("amqp.body", b"value;amqp"),), value=encode(MAP)),
    "body array": Row(body(ARRAY), (("amqp.body", b"value;amqp"),), value=encode(ARRAY)),
    "body described": Row(body(POINT), (("amqp.body", b"value;amqp"),), value=encode(POINT)),
    "body sequence": Row(
        {"body": {"kind": "sequence", "sections": [[value("int", "1")], [string("two")]]}},
        (("amqp.body", b"sequence;2"),),
        value=encode(
            described(SEQUENCE, value("list", [value("int", "1")])),
            described(SEQUENCE, value("list", [string("two")])),
        ),
    ),
    "body none": Row({"body": {"kind": "none"}}, (("amqp.body", b"none"),), value=b""),
    "properties": Row(
        {"properties": PROPERTIES},
        (
            ("message-id", b"m"),
            ("user-id", b"u"),
            ("to", b"a place"),
            ("subject", b"s"),
            ("reply-to", b"r"),
            ("correlation-id", b"c"),
            ("content-type", b"text/plain"),
            ("content-encoding", b"gzip"),
            ("absolute-expiry-time", b"4102444800000"),
            ("creation-time", b"1790000000125"),
            ("group-id", b"g"),
            ("group-sequence", b"7"),
            ("reply-to-group-id", b"rg"),
        ),
        b"g",
    ),
    "properties ids": Row(
        {"properties": {"message-id": value("ulong", "7"), "correlation-id": value("uuid", UUID)}},
        (
            ("message-id", b"7"),
            ("correlation-id", UUID.encode()),
            ("amqp-types", b"v1;message-id=ulong;correlation-id=uuid"),
        ),
    ),
    "properties ids binary": Row(
        {"properties": {"message-id": value("binary", "00ff")}},
        (("message-id", b"\x00\xff"), ("amqp-types", b"v1;message-id=binary")),
    ),
    "application-properties": Row(
        {
            "application-properties": [
                ["plain", string("a")],
                ["subject", string("b")],
                ["amqp.x", string("c")],
                ["app.x", string("d")],
                ["x-opt-x", string("e")],
                ["amqp-types", string("f")],
                ["a;b=c", value("int", "1")],
            ]
        },
        (
            ("plain", b"a"),
            ("app.subject", b"b"),
            ("app.amqp.x", b"c"),
            ("app.app.x", b"d"),
            ("app.x-opt-x", b"e"),
            ("app.amqp-types", b"f"),
            ("a;b=c", b"1"),
            ("amqp-types", b"v1;a%3Bb%3Dc=int"),
        ),
    ),
    "annotations x-opt": Row(
        annotated(("x-opt-custom", string("a")), ("x-opt-count", value("int", "3"))),
        (("x-opt-custom", b"a"), ("x-opt-count", b"3"), ("amqp-types", b"v1;x-opt-count=int")),
    ),
    "annotations of the passage": Row(
        annotated(
            ("x-opt-bridge.topic", string("elsewhere")),
            ("x-opt-kafka-tombstone", value("boolean", "true")),
            ("x-opt-offset", string("5")),
            ("x-opt-sequence-number", value("long", "5")),
            ("x-opt-enqueued-time", value("timestamp", "5")),
        )
    ),
    "annotations others": Row(
        {
            "message-annotations": [
                [symbol("custom"), string("a")],
                [symbol("#5"), string("b")],
                [value("ulong", "5"), string("c")],
            ]
        },
        (("amqp.ma.custom", b"a"), ("amqp.ma.%235", b"b"), ("amqp.ma.#5", b"c")),
    ),
    "trace context of the message": Row(
        annotated(("traceparent", string(TRACE)), ("tracestate", string("a=1"))),
        (
            ("traceparent", TRACE.encode()),
            ("tracestate", b"a=1"),
            ("amqp-types", b"v1;traceparent=annotation;tracestate=annotation"),
        ),
    ),
    "trace context of the application": Row(
        {"application-properties": [["traceparent", string(TRACE)]]}, (("traceparent", TRACE.encode()),)
    ),
    "header": Row(
        {
            "header": {
                "durable": value("boolean", "true"),
                "priority": value("ubyte", "9"),
                "ttl": value("uint", "3600000"),
                "first-acquirer": value("boolean", "true"),
                "delivery-count": value("uint", "2"),
            }
        },
        (
            ("amqp.durable", b"true"),
            ("amqp.priority", b"9"),
            ("amqp.ttl", b"3600000"),
            ("amqp.first-acquirer", b"true"),
            ("amqp.delivery-count", b"2"),
        ),
    ),
    "header defaults": Row(
        {"header": {"durable": value("boolean", "false"), "priority": value("ubyte", "4")}}
    ),
    "delivery-annotations": Row({"delivery-annotations": [[symbol("x-opt-hop"), string("a")]]}),
    "footer": Row(
        {"footer": [[symbol("x-opt-hash"), value("int", "7")]]},
        (("amqp.ft.x-opt-hash", encode(value("int", "7"))),),
    ),
    "type string": Row({"application-properties": [["p", string("ä")]]}, (("p", b"\xc3\xa4"),)),
    "type symbol": typed("p", symbol("a"), b"a"),
    "type boolean": typed("p", value("boolean", "true"), b"true"),
    "type ubyte": typed("p", value("ubyte", "255"), b"255"),
    "type ushort": typed("p", value("ushort", "65535"), b"65535"),
    "type uint": typed("p", value("uint", "4294967295"), b"4294967295"),
    "type ulong": typed("p", value("ulong", "18446744073709551615"), b"18446744073709551615"),
    "type byte": typed("p", value("byte", "-128"), b"-128"),
    "type short": typed("p", value("short", "-32768"), b"-32768"),
    "type int": typed("p", value("int", "-2147483648"), b"-2147483648"),
    "type long": typed("p", value("long", "-9223372036854775808"), b"-9223372036854775808"),
    "type float": typed("p", value("float", "1.1"), b"1.1"),
    "type double": typed("p", value("double", "1e+16"), b"1e+16"),
    "type double infinite": typed("p", value("double", "-Infinity"), b"-Infinity"),
    "type double not a number": typed("p", value("double", "NaN"), b"NaN"),
    "type decimal32": typed("p", value("decimal32", "32800001"), b"32800001"),
    "type decimal64": typed("p", value("decimal64", "2fe38d7ea4c67fff"), b"2fe38d7ea4c67fff"),
    "type decimal128": typed("p", value("decimal128", "00" * 15 + "01"), b"00" * 15 + b"01"),
    "type char": typed("p", value("char", "€"), b"\xe2\x82\xac"),
    "type timestamp": typed("p", value("timestamp", "-125"), b"-125"),
    "type uuid": typed("p", value("uuid", UUID), UUID.encode()),
    "type binary": typed("p", value("binary", "00ff"), b"\x00\xff"),
    "type null": typed("p", value("null", None), None),
    "type list": Row(
        annotated(("x-opt-p", LIST)), (("x-opt-p", encode(LIST)), ("amqp-types", b"v1;x-opt-p=amqp"))
    ),
    "type map": Row(
        annotated(("x-opt-p", MAP)), (("x-opt-p", encode(MAP)), ("amqp-types", b"v1;x-opt-p=amqp"))
    ),
    "type array": Row(
        annotated(("x-opt-p", ARRAY)), (("x-opt-p", encode(ARRAY)), ("amqp-types", b"v1;x-opt-p=amqp"))
    ),
    "type described": Row(
        annotated(("x-opt-p", POINT)), (("x-opt-p", encode(POINT)), ("amqp-types", b"v1;x-opt-p=amqp"))
    ),
}


@dataclass(frozen=True)
class Stored:
    """The rows' messages in Kafka, and as they came back: in the order of `ROWS`."""

    topic: str
    address: str
    records: dict[str, KafkaMessage]
    received: dict[str, dict[str, Any]]


def receive(service: Service, address: str, count: int) -> list[dict[str, Any]]:
    """Receive and accept so many messages."""
    with load.Receiver(
        service.amqp_port, address, count=count, mode="unsettled", credit=count, keep=True
    ) as receiver:
        receiver.run()
    return [seen(payload) for payload in receiver.payloads]


@pytest.fixture(scope="module")
def stored(service: Service, kafka: RealKafka) -> Stored:
    """Send all rows on one link to a topic of one partition, read them, and receive them."""
    topic = kafka.create_topic()
    address = f"{topic}/group.id/{topic}"
    with Client(service.amqp_port) as client:
        told = answers(client, topic, [Encoded(encoded(row.message)) for row in ROWS.values()])
    assert dict(zip(ROWS, told, strict=True)) == dict.fromkeys(ROWS, ACCEPTED)
    records = dict(zip(ROWS, kafka.records(topic), strict=True))
    return Stored(topic, address, records, dict(zip(ROWS, receive(service, address, len(ROWS)), strict=True)))


@pytest.mark.parametrize("name", ROWS)
def test_a_message_is_stored_as_its_row_says(stored: Stored, name: str) -> None:
    row, record = ROWS[name], stored.records[name]

    assert (record.key(), record.value()) == (row.key, row.value)
    assert tuple(record.headers() or ()) == row.headers


@pytest.mark.parametrize("name", ROWS)
def test_a_message_that_was_stored_comes_back(stored: Stored, name: str) -> None:
    sent, back = ROWS[name].message, stored.received[name]

    assert back["body"] == plain(sent["body"])
    assert given(back["properties"], {"to", "creation-time"} - sent.get("properties", {}).keys()) == plain(
        sent.get("properties", {})
    )
    assert sorted(back.get("application-properties", [])) == sorted(
        plain(sent.get("application-properties", []))
    )
    assert lasting(back, ROWS[name]) == lasting(plain(sent), ROWS[name])
    assert back.get("footer") == plain(sent.get("footer"))
    assert back["header"].get("priority", value("ubyte", "4")) == sent.get("header", {}).get(
        "priority", value("ubyte", "4")
    )


def plain(part: Any) -> Any:  # noqa: ANN401 - any part of a message
    """Return a part of a message with each number in one spelling."""
    if isinstance(part, dict) and "type" in part and "value" in part:
        return canonical(part)
    if isinstance(part, dict):
        return {name: plain(each) for name, each in part.items()}
    return [plain(each) for each in part] if isinstance(part, list) else part


def given(section: dict[str, Any], filled_in: set[str]) -> dict[str, Any]:
    return {name: each for name, each in section.items() if name not in filled_in}


def lasting(message: dict[str, Any], row: Row) -> list[Any]:
    """Return the annotations that are not of the passage."""
    passage = ("x-opt-bridge.", "x-opt-kafka-")
    names = {"x-opt-offset", "x-opt-sequence-number", "x-opt-enqueued-time"}
    if row.key is not None and "x-opt-partition-key" not in dict(row.headers):
        names.add("x-opt-partition-key")
    return [
        [key, each]
        for key, each in message.get("message-annotations", [])
        if not str(key["value"]).startswith(passage) and key["value"] not in names
    ]


# ---------------------------------------------------------------------- topic and partition


def test_the_partition_is_the_messages_then_the_deliverys_then_the_partitioners(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic(partitions=8)
    kinds = ("ubyte", "ushort", "uint", "ulong", "byte", "short", "int", "long")
    delivery = {"delivery-annotations": [[symbol("event-streams-target-partition"), symbol("3")]]}
    sections = [annotated(("x-opt-bridge.partition", value(kind, str(at)))) for at, kind in enumerate(kinds)]
    sections += [delivery, {**delivery, **annotated(("x-opt-bridge.partition", value("int", "5")))}]
    # Java's clients put these keys there: see tests/support/murmur2.py.
    sections += [annotated(("x-opt-bridge.key", string("key")))] * 2
    with Client(service.amqp_port) as client:
        messages = [
            Encoded(encoded({"body": {"kind": "data", "sections": [f"{at:02x}"]}, **each}))
            for at, each in enumerate(sections)
        ]
        assert answers(client, topic, messages) == [ACCEPTED] * len(sections)

    partitions = {body_byte(record): record.partition() for record in kafka.records(topic)}
    assert [partitions[at] for at in range(10)] == [*range(8), 3, 5]
    assert partitions[10] == partitions[11]


def body_byte(record: KafkaMessage) -> int:
    found = record.value()
    assert isinstance(found, bytes)
    return found[0]


# ---------------------------------------------------------------------- what a route changes


def test_a_route_changes_what_is_stored(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    row: Any = {
        "delivery-annotations": [[symbol("x-opt-hop"), string("a")]],
        **annotated(("x-opt-partition-key", string("partition"))),
        "properties": {"group-id": string("g"), "group-sequence": value("uint", "1")},
        **body(MAP),
    }
    topics = {
        option: kafka.create_topic()
        for option in (
            "value: json",
            "keep_delivery_annotations: true",
            "key_from_partition_key: false",
            "key_from_partition_key: false, key_from_group_id: false",
        )
    }
    lines = [f'  - {{match: "{topic}", {option}}}' for option, topic in topics.items()]
    routes = tmp_path / "routes.yaml"
    routes.write_text("\n".join(["routes:", *lines]), "utf-8")
    service = start_service(kafka, routes_file=str(routes))
    records: list[KafkaMessage] = []
    with Client(service.amqp_port) as client:
        for topic in topics.values():
            assert answers(client, topic, [Encoded(encoded(row))]) == [ACCEPTED]
            records += kafka.records(topic)

    as_json, kept, by_group, by_none = records
    assert (as_json.key(), as_json.value()) == (b"partition", b'{"a":{"$int":1}}')
    assert header(as_json, "amqp.body") == b"value;json"
    assert header(kept, "amqp.da.x-opt-hop") == encode(string("a"))
    assert (by_group.key(), by_none.key()) == (b"g", None)
    assert header(by_none, "x-opt-partition-key") == b"partition"


def header(record: KafkaMessage, name: str) -> Any:  # noqa: ANN401 - bytes, or None
    return dict(record.headers() or [])[name]


# ---------------------------------------------------------------------- from Kafka to AMQP


@dataclass(frozen=True)
class Record:
    """A record that others wrote, and what a receiver sees of it.

    `annotations` are those that are to be there; `application`, where given, all application-properties.
    """

    headers: tuple[tuple[str, bytes | None], ...] = ()
    key: bytes | None = None
    value: bytes | None = b"b"
    body: dict[str, Any] | None = None
    properties: tuple[tuple[str, dict[str, Any]], ...] = ()
    application: tuple[tuple[str, dict[str, Any]], ...] | None = None
    annotations: tuple[tuple[str, dict[str, Any]], ...] = ()


def as_list(*headers: tuple[str, bytes]) -> dict[str, Any]:
    pairs = [value("list", [string(name), value("binary", each.hex())]) for name, each in headers]
    return value("list", pairs)


DAMAGED: Final = (("count", b"five"), ("amqp-types", b"v1;count=int"))
TWICE: Final = (("a", b"1"), ("b", b"2"), ("a", b"3"))

RECORDS: Final[dict[str, Record]] = {
    "value": Record(value=b"\x00\xff", body={"kind": "data", "sections": ["00ff"]}),
    "tombstone": Record(
        key=b"k",
        value=None,
        body={"kind": "value", "value": value("null", None)},
        annotations=(("x-opt-kafka-tombstone", value("boolean", "true")),),
    ),
    "body hint": Record(
        (("amqp.body", b"value;int"),), value=b"5", body={"kind": "value", "value": value("int", "5")}
    ),
    "types": Record(
        (("count", b"5"), ("amqp-types", b"v1;count=int")), application=(("count", value("int", "5")),)
    ),
    "damaged hint": Record(
        DAMAGED,
        application=(("count", value("binary", b"five".hex())),),
        annotations=(("x-opt-kafka-headers", as_list(*DAMAGED)),),
    ),
    "foreign headers": Record(
        (("text", "ä".encode()), ("bytes", b"\xff")),
        application=(("text", string("ä")), ("bytes", value("binary", "ff"))),
    ),
    "foreign annotations": Record(
        (("x-opt-custom", b"a"),), annotations=(("x-opt-custom", string("a")),), application=()
    ),
    "event hubs": Record(
        (("AMQPheaders", encode(string("yes"))), ("count", encode(value("int", "5")))),
        application=(("AMQPheaders", string("yes")), ("count", value("int", "5"))),
    ),
    "properties": Record(
        (("content-type", b"text/plain"), ("message-id", b"m"), ("subject", b"s"), ("to", b"a place")),
        properties=(
            ("content-type", symbol("text/plain")),
            ("message-id", string("m")),
            ("subject", string("s")),
            ("to", string("a place")),
        ),
        application=(),
    ),
    "duplicate names": Record(
        TWICE,
        application=(("b", string("2")), ("a", string("3"))),
        annotations=(("x-opt-kafka-headers", as_list(*TWICE)),),
    ),
    "null header": Record((("a", None),), application=(("a", value("null", None)),)),
    "key": Record(
        key="ä".encode(),
        annotations=(
            ("x-opt-bridge.key", string("ä")),
            ("x-opt-kafka-key", value("binary", "c3a4")),
            ("x-opt-partition-key", string("ä")),
        ),
    ),
    "key binary": Record(
        key=b"\xff",
        annotations=(
            ("x-opt-bridge.key", value("binary", "ff")),
            ("x-opt-kafka-key", value("binary", "ff")),
        ),
    ),
    "annotations of the passage": Record(
        (("x-opt-bridge.topic", b"a lie"), ("x-opt-offset", b"a lie")),
        annotations=(("x-opt-bridge.partition", value("int", "0")),),
    ),
}
TIMESTAMP_MS: Final = 1_790_000_000_125


@dataclass(frozen=True)
class Foreign:
    """The records in the order of `RECORDS`, as a receiver got them."""

    topic: str
    address: str
    received: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def foreign(service: Service, kafka: RealKafka) -> Foreign:
    """Have others write all records, and receive them."""
    topic = kafka.create_topic()
    address = f"{topic}/group.id/{topic}"
    kafka.append(topic, [(each.key, each.value, each.headers, TIMESTAMP_MS) for each in RECORDS.values()])
    return Foreign(topic, address, dict(zip(RECORDS, receive(service, address, len(RECORDS)), strict=True)))


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_delivered_as_its_row_says(foreign: Foreign, name: str) -> None:
    row, message = RECORDS[name], foreign.received[name]
    offset = str(list(RECORDS).index(name))
    found = {key["value"]: each for key, each in message["message-annotations"]}
    place = {
        "x-opt-bridge.topic": string(foreign.topic),
        "x-opt-bridge.partition": value("int", "0"),
        "x-opt-bridge.offset": value("long", offset),
        "x-opt-offset": string(offset),
        "x-opt-sequence-number": value("long", offset),
        "x-opt-enqueued-time": value("timestamp", str(TIMESTAMP_MS)),
        "x-opt-kafka-timestamp-type": string("CreateTime"),
    }
    bridged = any(header.startswith("amqp") for header, _ in row.headers)
    created = {} if bridged else {"creation-time": value("timestamp", str(TIMESTAMP_MS))}

    assert {**found, **place, **dict(row.annotations)} == found
    assert ("x-opt-kafka-tombstone" in found) == (row.value is None)
    assert row.key is not None or not {"x-opt-bridge.key", "x-opt-kafka-key"} & found.keys()
    if row.body is not None:
        assert message["body"] == row.body
    expected = {"to": string(foreign.address), **created, **dict(row.properties)}
    assert message["properties"] == expected
    if row.application is not None:
        assert dict(message.get("application-properties", [])) == dict(row.application)
    assert message["header"] == {
        "durable": value("boolean", "true"),
        "first-acquirer": value("boolean", "true"),
        "delivery-count": value("uint", "0"),
    } or message["header"] == {
        "durable": value("boolean", "true"),
        "first-acquirer": value("boolean", "true"),
    }


def test_a_delivery_is_tagged_with_partition_and_offset(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=3)
    kafka.produce(topic, [b"0", b"1"], partition=2)
    with Client(service.amqp_port) as client:
        taken = client.receiver(f"{topic}/group.id/{topic}", credit=2).take(2)
        tags = [each.delivery.tag for each in taken]

    assert [tag.split(":")[:2] for tag in tags] == [["2", "0"], ["2", "1"]]


def test_a_route_changes_what_is_delivered(
    kafka: RealKafka, start_service: StartService, tmp_path: Path
) -> None:
    binary, text, skipping, delivering = (kafka.create_topic() for _ in range(4))
    routes = tmp_path / "routes.yaml"
    routes.write_text(
        "routes:\n"
        f'  - {{match: "{binary}", foreign_headers: binary, creation_time_from_record: false}}\n'
        f'  - {{match: "{text}", foreign_headers: string}}\n'
        f'  - {{match: "{skipping}", expired: skip}}\n',
        "utf-8",
    )
    service = start_service(kafka, routes_file=str(routes))
    now_ms = round(time.time() * 1000)
    for topic in (binary, text):
        kafka.append(topic, [(None, b"b", (("a", b"text"), ("b", b"\xff")), TIMESTAMP_MS)])
    ttl = (("amqp.ttl", b"60000"),)
    for topic in (skipping, delivering):
        kafka.append(topic, [(None, b"old", ttl, now_ms - 120_000), (None, b"new", ttl, now_ms - 20_000)])

    def received(topic: str, count: int = 1) -> list[dict[str, Any]]:
        return receive(service, f"{topic}/group.id/{topic}", count)

    (as_binary,), (as_text,) = received(binary), received(text)
    assert dict(as_binary["application-properties"])["a"] == value("binary", b"text".hex())
    assert "creation-time" not in as_binary["properties"]
    assert dict(as_text["application-properties"])["a"] == string("text")
    assert dict(as_text["application-properties"])["b"]["type"] == "string"
    (only,) = received(skipping)
    expired, fresh = received(delivering, 2)
    assert only["body"] == fresh["body"] == {"kind": "data", "sections": [b"new".hex()]}
    assert expired["header"]["ttl"] == value("uint", "0")
    assert 0 < int(only["header"]["ttl"]["value"]) <= 40_000


# ---------------------------------------------------------------------- the other profiles

EVENT: Final = {
    "properties": {"subject": string("s"), "message-id": string("m")},
    "application-properties": [["cloudEvents:id", string("1")], ["count", value("int", "5")]],
    **body(string("text")),
}
NATIVE_BODY: Final = ("amqp.body", b"value;string")
PROFILES: Final[dict[str, tuple[bytes, Sequence[tuple[str, bytes]]]]] = {
    "native": (
        b"text",
        [
            ("message-id", b"m"),
            ("subject", b"s"),
            ("cloudEvents:id", b"1"),
            ("count", b"5"),
            NATIVE_BODY,
            ("amqp-types", b"v1;count=int"),
        ],
    ),
    "eventhubs": (
        b"text",
        [
            ("message-id", b"m"),
            ("subject", encode(string("s"))),
            ("cloudEvents:id", encode(string("1"))),
            ("count", b"\x54\x05"),
            ("amqp.body", encode(string("value;string"))),
            ("AMQPheaders", b"\x41"),
        ],
    ),
    "strimzi": (b"text", []),
    "strimzi-json": (
        json.dumps(
            {
                "properties": {"messageId": "m", "subject": "s"},
                "applicationProperties": {"cloudEvents:id": "1", "count": 5},
                "body": {"type": "amqpValue", "section": "text"},
            }
        ).encode(),
        [],
    ),
    "raw": (encoded(EVENT), [("amqp.raw", b"0")]),
    "cloudevents": (
        b"text",
        [
            ("message-id", b"m"),
            ("subject", b"s"),
            ("ce_id", b"1"),
            ("count", b"5"),
            NATIVE_BODY,
            ("amqp-types", b"v1;count=int"),
        ],
    ),
}


def received_with(client: Client, address: str, mapping: Properties) -> Any:  # noqa: ANN401 - proton's annotations say None
    """Receive one message on a link with a mapping of its own."""
    inbox = Inbox()
    options: Any = mapping
    receiver = client.connection.create_receiver(
        address, credit=1, handler=inbox, name=client.link_name(), options=options
    )
    client.wait(lambda: bool(inbox.waiting), f"a message of {receiver.name}")
    return inbox.waiting.popleft().message


@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_stores_and_gives_back(service: Service, kafka: RealKafka, profile: str) -> None:
    topic = kafka.create_topic()
    mapping = Properties({"x-opt-bridge.mapping": profile})
    expected_value, expected_headers = PROFILES[profile]
    with Client(service.amqp_port) as client:
        assert answers(client, topic, [Encoded(encoded(EVENT))], mapping) == [ACCEPTED]
        (record,) = kafka.records(topic)
        back = received_with(client, f"{topic}/group.id/{topic}", mapping)

    stored_value = record.value()
    if profile == "strimzi-json":
        assert json.loads(stored_value or b"") == json.loads(expected_value)
    else:
        assert stored_value == expected_value
    assert list(record.headers() or []) == expected_headers
    if profile == "strimzi":  # keeps the body alone, without its kind
        assert body_of(back) == b"text"
    else:
        assert (back.body, back.subject, back.id) == ("text", "s", "m")
        assert back.properties == {"cloudEvents:id": "1", "count": 5}
    if profile != "raw":
        assert annotation(back, "x-opt-bridge.offset") == 0


def test_events_that_others_wrote_have_their_attributes(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    headers = (("ce_id", b"1"), ("ce_source", b"/here"), ("content-type", b"text/plain"))
    kafka.append(topic, [(None, b"data", headers, TIMESTAMP_MS)])
    with Client(service.amqp_port) as client:
        mapping = Properties({"x-opt-bridge.mapping": "cloudevents"})
        back = received_with(client, f"{topic}/group.id/{topic}", mapping)

    assert back.properties == {"cloudEvents:id": "1", "cloudEvents:source": "/here"}
    assert back.content_type == "text/plain"


def test_the_stored_encodings_are_amqps() -> None:
    # The rows use Proton's encoder; this is what it gives, and what a reader has to decode.
    assert encode(value("int", "7")) == b"\x54\x07"
    assert decode(b"\xc0\x08\x02\x54\x01\xa1\x03two") == [LIST]
