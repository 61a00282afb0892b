from __future__ import annotations

from uuid import UUID

import proton
import pytest

from bridge.codec import (
    Described,
    Int,
    Long,
    Map,
    Symbol,
    UByte,
    UInt,
    ULong,
    encode,
)
from bridge.mapping.errors import MappingError
from bridge.mapping.options import MappingOptions
from bridge.mapping.to_record import message_to_record

to_record = message_to_record(MappingOptions())

DATA = (0x75, b"body")


def message(*sections: tuple[int, object]) -> bytes:
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


def symbols(pairs: dict[str, object]) -> Map:
    return Map([(Symbol(name), value) for name, value in pairs.items()])


@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000])
def test_a_message_of_one_data_section_is_its_bytes(size: int) -> None:
    body = b"x" * size
    assert to_record(message((0x75, body))) == (body, None, None, -1, 0)
    assert to_record(message((0x70, []), (0x73, []), (0x75, body))) == (body, None, None, -1, 0)
    assert to_record(message((0x70, [None]), (0x72, Map()), (0x75, body))) == (body, None, None, -1, 0)


def test_the_typical_message_byte_by_byte() -> None:
    header = "005370c0020141"
    properties = "005373c01c0a" + "a1026964" + "4040" + "a10173" + "4040" + "a303612f62" + "4040"
    creation_time = "83000000000000002a"
    application = "005374c10c04" + "a1016e5405" + "a10173a10178"
    data = "005375a004626f6479"
    encoded = bytes.fromhex(header + properties + creation_time + application + data)
    assert to_record(encoded) == (
        b"body",
        None,
        [
            ("amqp.durable", b"true"),
            ("message-id", b"id"),
            ("subject", b"s"),
            ("content-type", b"a/b"),
            ("creation-time", b"42"),
            ("n", b"5"),
            ("s", b"x"),
            ("amqp-types", b"v1;n=int"),
        ],
        -1,
        0,
    )


def test_every_section_in_order() -> None:
    value, key, headers, partition, _ = to_record(
        message(
            (0x70, [None, UByte(7)]),
            (0x71, symbols({"event-streams-target-partition": Symbol("9")})),
            (0x72, symbols({"x-opt-bridge.key": "k", "x-opt-a": Long(1), "b": "x"})),
            (0x73, [ULong(7)]),
            (0x74, Map([("subject", "mine")])),
            (0x77, Int(5)),
            (0x78, symbols({"crc": UInt(1)})),
        )
    )
    assert (value, key, partition) == (b"5", b"k", 9)
    assert headers == [
        ("amqp.priority", b"7"),
        ("x-opt-a", b"1"),
        ("amqp.ma.b", b"x"),
        ("message-id", b"7"),
        ("app.subject", b"mine"),
        ("amqp.body", b"value;int"),
        ("amqp.ft.crc", b"\x52\x01"),
        ("amqp-types", b"v1;x-opt-a=long;message-id=ulong"),
    ]


def test_a_partition_in_the_message_goes_before_one_in_the_delivery() -> None:
    named = (0x72, symbols({"x-opt-bridge.partition": Int(3)}))
    delivery = (0x71, symbols({"event-streams-target-partition": Symbol("9")}))
    assert to_record(message(delivery, named, DATA))[3] == 3
    assert to_record(message(delivery, DATA))[3] == 9


def test_a_group_id_is_the_last_resort_for_a_key() -> None:
    grouped = (0x73, [*[None] * 10, "g"])
    assert to_record(message(grouped, DATA))[1] == b"g"
    assert to_record(message((0x72, symbols({"x-opt-partition-key": "p"})), grouped, DATA))[1] == b"p"
    never = message_to_record(MappingOptions(key_from_group_id=False))
    assert never(message(grouped, DATA)) == (b"body", None, [("group-id", b"g")], -1, 0)


def test_delivery_annotations_are_dropped_unless_they_are_to_be_kept() -> None:
    annotated = message((0x71, symbols({"a": Int(5)})), DATA)
    assert to_record(annotated) == (b"body", None, None, -1, 0)
    keeping = message_to_record(MappingOptions(keep_delivery_annotations=True))
    assert keeping(annotated)[2] == [("amqp.da.a", b"\x54\x05")]


def test_trace_context_of_the_application_has_the_plain_name() -> None:
    annotated = (0x72, symbols({"traceparent": "hop", "tracestate": "s"}))
    application = (0x74, Map([("traceparent", "end to end")]))
    assert to_record(message(annotated, application, DATA))[2] == [
        ("amqp.ma.traceparent", b"hop"),
        ("tracestate", b"s"),
        ("traceparent", b"end to end"),
        ("amqp-types", b"v1;tracestate=annotation"),
    ]


@pytest.mark.parametrize("form", ["long", "symbol"])
def test_descriptors_of_other_forms_are_understood(form: str) -> None:
    names = {
        0x70: "header:list",
        0x73: "properties:list",
        0x75: "data:binary",
        0x72: "message-annotations:map",
    }
    sections = [(0x70, [True]), (0x72, symbols({"x-opt-bridge.key": "k"})), (0x73, ["id"]), DATA]
    encoded = b""
    for code, content in sections:
        if form == "long":
            encoded += b"\x00\x80" + bytes(7) + bytes((code,)) + encode(content)
        else:
            encoded += b"\x00" + encode(Symbol(f"amqp:{names[code]}")) + encode(content)
    assert to_record(encoded) == to_record(message(*sections))


def test_no_body_at_all() -> None:
    assert to_record(b"") == (b"", None, [("amqp.body", b"none")], -1, 0)
    assert to_record(message((0x70, []))) == (b"", None, [("amqp.body", b"none")], -1, 0)


@pytest.mark.parametrize(
    "encoded",
    [
        b"\x00",
        b"\x00Su",
        b"\x00Su\xa0",
        b"\x00Su\xa0\x05abc",
        b"\x00Su\xa0\x02abc",
        b"\x00Su\xb0\x00\x00\x00\x05abc",
        b"\x00Su\xa1\x01x",
        b"\x00SpE\x00SsE\x00Su\xa0",
        b"\x00SpE\x00SsE\x00Su\xa0\x05abc",
        b"\x00S\x79\x45",
        b"\x00\xa3\x01a\x45",
        b"\x40",
        b"not AMQP at all",
        message(DATA, (0x70, [])),
        message((0x73, []), (0x72, Map()), DATA),
        message((0x70, []), (0x70, []), DATA),
        message(DATA, (0x77, "x")),
        message((0x77, "x"), (0x77, "y")),
        message(DATA, (0x78, Map()), (0x78, Map())),
        message((0x74, []), DATA),
        message((0x72, Map([(Int(5), "x")])), DATA),
        message((0x74, Map([(Int(5), "x")])), DATA),
    ],
)
def test_what_is_no_message_is_refused(encoded: bytes) -> None:
    with pytest.raises(MappingError, match="the message is not valid AMQP: ") as caught:
        to_record(encoded)
    assert caught.value.condition == "amqp:decode-error"


def test_too_many_headers_are_refused() -> None:
    strict = message_to_record(MappingOptions(headers_max=3))
    assert len(strict(message((0x74, Map([(n, "x") for n in "abc"])), DATA))[2] or ()) == 3
    with pytest.raises(MappingError, match="makes 4 headers, 3 are allowed") as caught:
        strict(message((0x74, Map([(n, "x") for n in "abcd"])), DATA))
    assert caught.value.condition == "amqp:resource-limit-exceeded"


def test_too_large_headers_are_refused() -> None:
    strict = message_to_record(MappingOptions(header_bytes_max=100))
    assert strict(message((0x74, Map([("a", "x" * 99)])), DATA))[2] == [("a", b"x" * 99)]
    with pytest.raises(MappingError, match="makes 101 bytes of headers, 100 are allowed") as caught:
        strict(message((0x74, Map([("a", "x" * 100)])), DATA))
    assert caught.value.condition == "amqp:resource-limit-exceeded"
    assert strict(message((0x75, b"x" * 10_000)))[2] is None


def test_a_list_of_many_data_sections_counts_as_a_header() -> None:
    strict = message_to_record(MappingOptions(header_bytes_max=3000))
    with pytest.raises(MappingError, match="bytes of headers"):
        strict(message(*[(0x75, b"")] * 2000))


def test_what_python_proton_sends() -> None:
    identity = UUID("123e4567-e89b-12d3-a456-426614174000")
    sent = proton.Message(
        body=b"body",
        inferred=True,
        id=identity,
        subject="s",
        priority=7,
        ttl=1.5,
        creation_time=1.0,
        properties={"a": 5, "b": None, "c": proton.symbol("s")},
        annotations={proton.symbol("x-opt-partition-key"): "p"},
    )
    assert to_record(bytes(sent.encode())) == (
        b"body",
        b"p",
        [
            ("amqp.priority", b"7"),
            ("amqp.ttl", b"1500"),
            ("x-opt-partition-key", b"p"),
            ("message-id", b"123e4567-e89b-12d3-a456-426614174000"),
            ("subject", b"s"),
            ("creation-time", b"1000"),
            ("a", b"5"),
            ("b", None),
            ("c", b"s"),
            ("amqp-types", b"v1;message-id=uuid;a=long;b=null;c=symbol"),
        ],
        -1,
        0,
    )
