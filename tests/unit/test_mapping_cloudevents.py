from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bridge.codec import Described, Int, Long, Map, Symbol, Timestamp, ULong, encode
from bridge.mapping import cloudevents, native
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Data, Message, Value, parse
from bridge.mapping.options import MappingOptions

if TYPE_CHECKING:
    from bridge.mapping.record import Headers

OPTIONS = MappingOptions()
TIME_MS = 1_700_000_000_123
CREATED_MS = 1_522_900_584_000  # 2018-04-05T03:56:24Z


def sent(*sections: tuple[int, object]) -> bytes:
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


def properties(**fields: object) -> tuple[int, object]:
    names = ("to", "subject", "reply_to", "correlation_id", "content_type")
    return 0x73, [None, None, *(fields.get(name) for name in names), None, None, None, fields.get("group_id")]


def binary_mode(prefix: str, time: object, more: list[tuple[str, object]] | None = None) -> bytes:
    """Encode the example of the AMQP binding, section 3.1.4."""
    attributes = {
        "specversion": "1.0",
        "type": "com.example.someevent",
        "time": time,
        "id": "1234-1234-1234",
        "source": "/mycontext/subcontext",
    }
    pairs = [(prefix + name, value) for name, value in attributes.items()]
    return sent(
        properties(to="myqueue", content_type=Symbol("application/json; charset=utf-8")),
        (0x74, Map([*pairs, *(more or [])])),
        (0x75, b"{}"),
    )


ATTRIBUTES: Headers = [
    ("ce_specversion", b"1.0"),
    ("ce_type", b"com.example.someevent"),
    ("ce_time", b"2018-04-05T03:56:24Z"),
    ("ce_id", b"1234-1234-1234"),
    ("ce_source", b"/mycontext/subcontext"),
]
BEFORE: Headers = [("to", b"myqueue"), ("content-type", b"application/json; charset=utf-8")]
TIME_IS_A_TIMESTAMP: Headers = [("amqp-types", b"v1;ce_time=timestamp")]


def to_record(message: bytes) -> tuple[bytes | None, bytes | None, Headers]:
    value, key, headers, partition, timestamp_ms = cloudevents.message_to_record(OPTIONS)(message)
    assert (partition, timestamp_ms) == (-1, 0)
    return value, key, headers or []


def to_message(
    headers: Headers, value: bytes | None = b"{}", key: bytes | None = None
) -> tuple[Message, bytes]:
    read = cloudevents.record_to_message("mytopic", "myqueue", OPTIONS)
    delivered = read(3, 17, 1, TIME_MS, key, value, headers, 0)
    return parse(delivered), delivered


@pytest.mark.parametrize(
    ("time", "types"),
    [
        ("2018-04-05T03:56:24Z", []),
        (Timestamp(CREATED_MS), TIME_IS_A_TIMESTAMP),
        (Long(CREATED_MS), [("amqp-types", b"v1;ce_time=long")]),
    ],
)
def test_binary_mode_becomes_binary_mode(time: object, types: Headers) -> None:
    message = binary_mode("cloudEvents:", time)
    assert to_record(message) == (b"{}", None, [*BEFORE, *ATTRIBUTES, *types])
    back = to_message([*BEFORE, *ATTRIBUTES, *types])[0]
    assert encode(back.application_properties) == encode(parse(message).application_properties)
    assert back.properties["content-type"] == Symbol("application/json; charset=utf-8")
    assert back.body == Data((b"{}",))


def test_the_separator_of_jms_clients_is_kept() -> None:
    message = binary_mode("cloudEvents_", Timestamp(CREATED_MS))
    marker: Headers = [("amqp.cloudevents", b"_")]
    headers = [*BEFORE, *marker, *ATTRIBUTES, *TIME_IS_A_TIMESTAMP]
    assert to_record(message) == (b"{}", None, headers)
    back = to_message(headers)[0]
    assert encode(back.application_properties) == encode(parse(message).application_properties)


def test_the_example_of_the_kafka_binding_becomes_a_message() -> None:
    headers: Headers = [  # section 3.2.5 of the Kafka binding
        ("ce_specversion", b"1.0"),
        ("ce_type", b"com.example.someevent"),
        ("ce_source", b"/mycontext/subcontext"),
        ("ce_id", b"1234-1234-1234"),
        ("ce_time", b"2018-04-05T03:56:24Z"),
        ("content-type", b"application/avro"),
    ]
    message, delivered = to_message(headers, b"avro", b"mykey")
    assert dict(message.application_properties) == {
        "cloudEvents:specversion": "1.0",
        "cloudEvents:type": "com.example.someevent",
        "cloudEvents:source": "/mycontext/subcontext",
        "cloudEvents:id": "1234-1234-1234",
        "cloudEvents:time": "2018-04-05T03:56:24Z",
    }
    assert message.properties["content-type"] == Symbol("application/avro")
    assert message.body == Data((b"avro",))
    assert cloudevents.message_to_record(OPTIONS)(delivered) == (b"avro", b"mykey", headers, 3, 0)


def test_structured_mode_goes_through_as_it_is() -> None:
    event = json.dumps({"specversion": "1.0", "type": "com.example.someevent"}).encode()
    content_type = Symbol("application/cloudevents+json; charset=utf-8")
    message = sent(properties(to="myqueue", content_type=content_type), (0x75, event))
    headers: Headers = [("to", b"myqueue"), ("content-type", content_type.encode())]
    assert to_record(message) == (event, None, headers)
    back = to_message(headers, event)[0]
    assert back.properties["content-type"] == content_type
    assert back.body == Data((event,))


@pytest.mark.parametrize(
    ("value", "text", "code"),
    [
        (True, b"true", "boolean"),
        (Long(42), b"42", "long"),
        (Int(-42), b"-42", "int"),
        ("text", b"text", None),
        (Symbol("text"), b"text", "symbol"),
        (b"\x00\xff", b"AP8=", "binary"),
        (Timestamp(0), b"1970-01-01T00:00:00Z", "timestamp"),
        (Timestamp(-1), b"1969-12-31T23:59:59.999Z", "timestamp"),
        (Timestamp(253_402_300_799_999), b"9999-12-31T23:59:59.999Z", "timestamp"),
        (Timestamp(253_402_300_800_000), b"253402300800000", "timestamp"),
        (Timestamp(-62_135_596_800_000), b"0001-01-01T00:00:00Z", "timestamp"),
        (Timestamp(-(2**63)), b"-9223372036854775808", "timestamp"),
        (None, None, "null"),
    ],
)
def test_attributes_have_canonical_text_and_keep_their_type(
    value: object, text: bytes | None, code: str | None
) -> None:
    pairs = Map([("cloudEvents:ext", value)])
    headers: Headers = [("ce_ext", text)]
    if code is not None:
        headers.append(("amqp-types", b"v1;ce_ext=" + code.encode()))
    assert to_record(sent((0x74, pairs), (0x75, b"")))[2] == headers
    assert encode(to_message(headers)[0].application_properties) == encode(pairs)


def test_other_properties_are_stored_as_native_stores_them() -> None:
    more: list[tuple[str, object]] = [
        ("count", Int(5)),
        ("ce_id", "mine"),
        ("app.ce_id", "x"),
        ("subject", "s"),
    ]
    message = binary_mode("cloudEvents:", "now", more)
    headers = to_record(message)[2]
    assert headers[-5:] == [
        ("count", b"5"),
        ("app.ce_id", b"mine"),
        ("app.app.ce_id", b"x"),
        ("app.subject", b"s"),
        ("amqp-types", b"v1;count=int"),
    ]
    back = to_message(headers)[0]
    assert encode(back.application_properties) == encode(parse(message).application_properties)


def test_attributes_with_both_separators_keep_them() -> None:
    pairs = Map([("cloudEvents_id", "1"), ("cloudEvents:id", Long(2))])
    headers: Headers = [("cloudEvents_id", b"1"), ("ce_id", b"2"), ("amqp-types", b"v1;ce_id=long")]
    assert to_record(sent((0x74, pairs), (0x75, b"")))[2] == headers
    assert encode(to_message(headers)[0].application_properties) == encode(pairs)


def test_a_message_that_is_no_event_is_stored_as_native_stores_it() -> None:
    message = sent(
        (0x72, Map([(Symbol("x-opt-a"), True)])),
        properties(subject="s", group_id="g"),
        (0x74, Map([("a", Int(5))])),
        (0x77, Int(5)),
    )
    record = native.message_to_record(OPTIONS)(message)
    assert cloudevents.message_to_record(OPTIONS)(message) == record
    read = cloudevents.record_to_message("t", "a", OPTIONS)
    reference = native.record_to_message("t", "a", OPTIONS)
    assert read(0, 1, 1, TIME_MS, *record[1::-1], record[2], 0) == reference(
        0, 1, 1, TIME_MS, *record[1::-1], record[2], 0
    )


def test_an_event_without_data_is_a_null_value() -> None:
    message = sent((0x74, Map([("cloudEvents:id", "1")])), (0x77, None))
    value, _, headers = to_record(message)
    assert value is None
    assert to_message(headers, None)[0].body == Value.of(None)
    with pytest.raises(MappingError) as caught:
        cloudevents.message_to_record(MappingOptions(tombstones=False))(message)
    assert caught.value.condition == "amqp:not-allowed"


KEYED = Map([("cloudEvents:partitionkey", "p")])


@pytest.mark.parametrize(
    ("message", "key"),
    [
        (sent((0x74, KEYED), (0x75, b"")), b"p"),
        (sent(properties(group_id="g"), (0x74, KEYED), (0x75, b"")), b"p"),
        (sent(properties(group_id="g"), (0x74, Map([("cloudEvents:id", "1")])), (0x75, b"")), b"g"),
        (sent(properties(group_id="g"), (0x75, b"")), b"g"),
        (sent(properties(group_id="g"), (0x74, Map([("cloudEvents_partitionkey", "")])), (0x75, b"")), b"g"),
        (sent((0x72, Map([(Symbol("x-opt-bridge.key"), "k")])), (0x74, KEYED), (0x75, b"")), b"k"),
        (sent((0x72, Map([(Symbol("x-opt-partition-key"), "k")])), (0x74, KEYED), (0x75, b"")), b"k"),
        (sent((0x74, KEYED), (0x75, b"x-opt-bridge.offset")), b"p"),
    ],
)
def test_the_key_is_an_annotation_or_partitionkey_or_group_id(message: bytes, key: bytes) -> None:
    assert to_record(message)[1] == key


def test_a_record_without_a_key_comes_back_without_one() -> None:
    headers: Headers = [("group-id", b"g"), ("ce_partitionkey", b"p")]
    delivered = to_message(headers)[1]
    assert cloudevents.message_to_record(OPTIONS)(delivered) == (b"{}", None, headers, 3, 0)


def test_group_id_is_no_key_where_the_route_says_so() -> None:
    message = sent(properties(group_id="g"), (0x75, b""))
    assert cloudevents.message_to_record(MappingOptions(key_from_group_id=False))(message)[1] is None


@pytest.mark.parametrize(
    "headers",
    [
        [("cloudEvents:id", b"1")],
        [("cloudEvents:id", b"1"), ("ce_id", b"2")],
        [("ce_id", b"1"), ("amqp.cloudevents", b"_")],
        [("amqp.cloudevents", b"_")],
        [("amqp.cloudevents", b"as-is"), ("ce_id", b"1")],
        [("ce_a", b"1522900584000"), ("amqp-types", b"v1;ce_a=timestamp")],
        [("ce_a", b"2018-04-05T05:56:24+02:00"), ("amqp-types", b"v1;ce_a=timestamp")],
        [("ce_a", b"AP8"), ("amqp-types", b"v1;ce_a=binary")],
        [("ce_a", b"\xff"), ("amqp-types", b"v1;%63e_a=int")],
    ],
)
def test_headers_that_could_not_come_back_are_read_as_native_does(headers: Headers) -> None:
    message, delivered = to_message(headers)
    assert message.application_properties.get("amqp.cloudevents") is not None
    assert cloudevents.message_to_record(OPTIONS)(delivered) == (b"{}", None, headers, 3, 0)


def test_attributes_of_others_are_never_binary() -> None:
    read = cloudevents.record_to_message("t", "a", MappingOptions(foreign_headers="binary"))
    message = parse(read(0, 1, 1, TIME_MS, None, b"", [("ce_id", b"1")], 0))
    assert dict(message.application_properties) == {"cloudEvents:id": "1"}


def test_damaged_hints_are_counted() -> None:
    read = cloudevents.record_to_message("t", "a", OPTIONS)
    read(0, 1, 1, TIME_MS, None, b"", [("ce_id", b"x"), ("amqp-types", b"v1;ce_id=int")], 0)
    assert read.damaged == 1
