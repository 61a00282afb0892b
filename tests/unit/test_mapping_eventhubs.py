"""Golden vectors of profile eventhubs.

The encodings are those that Microsoft documents for its `AmqpDeserializer`, in the repository
azure-event-hubs-for-kafka, tutorials/interop. The bytes were written by hand, after part 1.6 of the
core specification of AMQP 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

import proton
import pytest

from bridge.codec import Described, Int, Map, Symbol, Timestamp, UByte, UInt, ULong, encode
from bridge.mapping.errors import MappingError
from bridge.mapping.eventhubs import message_to_record, record_to_message
from bridge.mapping.message import Data, Sequences, Value, parse
from bridge.mapping.options import MappingOptions

if TYPE_CHECKING:
    from bridge.mapping.record import Record

TIME_MS = 1_700_000_000_123
MARKER = ("AMQPheaders", b"\x41")
OPTIONS = MappingOptions()


def sent(*sections: tuple[int, object]) -> bytes:
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


def record(message: bytes, options: MappingOptions = OPTIONS) -> Record:
    return message_to_record(options)(message)


def headers(*sections: tuple[int, object]) -> list[tuple[str, bytes | None]] | None:
    return record(sent(*sections, (0x75, b"body")))[2]


DOCUMENTED: Final = {
    "null": b"\x40",
    "true": b"\x41",
    "false": b"\x42",
    "uint zero": b"\x43",
    "ulong zero": b"\x44",
    "ubyte": b"\x50\xff",
    "byte": b"\x51\x80",
    "small uint": b"\x52\xff",
    "small ulong": b"\x53\xff",
    "small int": b"\x54\x80",
    "small long": b"\x55\x80",
    "ushort": b"\x60\xfe\xdc",
    "short": b"\x61\x80\x00",
    "uint": b"\x70\xfe\xdc\xba\x98",
    "int": b"\x71\x00\x00\x04\xd2",
    "float 1.125": b"\x72\x3f\x90\x00\x00",
    "char": b"\x73\x00\x01\xf6\x00",
    "ulong": b"\x80\xfe\xdc\xba\x98\x76\x54\x32\x10",
    "long 5555555555": b"\x81\x00\x00\x00\x01\x4b\x23\x0c\xe3",
    "double 1.125": b"\x82\x3f\xf2\x00\x00\x00\x00\x00\x00",
    "timestamp": b"\x83\x00\x00\x01\x8b\xcf\xe5\x68\x7b",
    "uuid": b"\x98\x12\x3e\x45\x67\xe8\x9b\x12\xd3\xa4\x56\x42\x66\x14\x17\x40\x00",
    "short binary": b"\xa0\x02\x00\xff",
    "long binary": b"\xb0\x00\x00\x00\x02\x00\xff",
    "short string": b"\xa1\x05hello",
    "long string": b"\xb1\x00\x00\x00\x05hello",
    "short symbol": b"\xa3\x01s",
    "long symbol": b"\xb3\x00\x00\x00\x01s",
    "uri": b"\x00\xa3\x11com.microsoft:uri\xa1\x17http://www.contoso.com/",
}
"""Each type that the deserializer knows, by an encoding that it reads."""


@pytest.mark.parametrize("encoded", DOCUMENTED.values(), ids=DOCUMENTED)
def test_each_documented_type(encoded: bytes) -> None:
    pair = b"\xa1\x01k" + encoded
    message = b"\x00St\xc1" + bytes((len(pair) + 1, 2)) + pair + b"\x00Su\xa0\x04body"
    value, key, stored, _, _ = record(message)
    assert (value, key, stored) == (b"body", None, [("k", encoded), MARKER])
    delivered = record_to_message("t", "a", OPTIONS)(3, 17, 1, TIME_MS, key, value, stored, 0)
    assert pair in delivered
    assert record(delivered) == (value, key, stored, 3, 0)


def test_the_documented_message() -> None:
    # Microsoft's example sets three properties: "hello", 1234, and the advised AMQPheaders with 0.
    message = b"".join(
        (
            b"\x00St\xc1\x41\x06",
            b"\xa1\x10MyStringProperty\xa1\x05hello",
            b"\xa1\x11MyIntegerProperty\x71\x00\x00\x04\xd2",
            b"\xa1\x0bAMQPheaders\x54\x00",
            b"\x00Su\xa0\x0dan event body",
        )
    )
    assert record(message) == (
        b"an event body",
        None,
        [
            ("MyStringProperty", b"\xa1\x05hello"),
            ("MyIntegerProperty", b"\x71\x00\x00\x04\xd2"),
            ("AMQPheaders", b"\x54\x00"),
        ],
        -1,
        0,
    )


def test_a_boolean_of_two_bytes_is_written_in_one() -> None:
    # The deserializer's own tests refuse 0x56.
    message = b"\x00St\xc1\x09\x04\xa1\x00\x56\x01\xa1\x01b\x42\x00Su\xa0\x00"
    assert record(message)[2] == [("", b"\x41"), ("b", b"\x42"), MARKER]


def test_seven_properties_are_text_and_the_others_are_not() -> None:
    fields = [
        *("id", b"me", "to", "subject", "reply", "correlation", Symbol("a/b"), Symbol("gzip")),
        *(Timestamp(5), Timestamp(TIME_MS), "group", UInt(7), "reply group"),
    ]
    assert headers((0x73, fields)) == [
        ("message-id", b"id"),
        ("user-id", b"me"),
        ("to", b"to"),
        ("subject", b"\xa1\x07subject"),
        ("reply-to", b"reply"),
        ("correlation-id", b"\xa1\x0bcorrelation"),
        ("content-type", b"a/b"),
        ("content-encoding", b"gzip"),
        ("absolute-expiry-time", b"\x83" + bytes(7) + b"\x05"),
        ("creation-time", b"1700000000123"),
        ("group-id", b"\xa1\x05group"),
        ("group-sequence", b"\x52\x07"),
        ("reply-to-group-id", b"\xa1\x0breply group"),
        MARKER,
    ]


def test_what_is_not_documented_is_encoded_too() -> None:
    assert headers(
        (0x70, [True, UByte(5), UInt(1000)]),
        (0x72, Map([(Symbol("x-opt-a"), "a"), (Symbol("b"), Int(1)), (ULong(7), None)])),
        (0x74, Map([("subject", "s"), ("traceparent", "00")])),
    ) == [
        ("amqp.durable", b"\x41"),
        ("amqp.priority", b"\x50\x05"),
        ("amqp.ttl", b"\x70\x00\x00\x03\xe8"),
        ("x-opt-a", b"\xa1\x01a"),
        ("amqp.ma.b", b"\x54\x01"),
        ("amqp.ma.#7", b"\x40"),
        ("app.subject", b"\xa1\x01s"),
        ("traceparent", b"\xa1\x0200"),
        MARKER,
    ]


@pytest.mark.parametrize(
    ("body", "value", "hint", "kind"),
    [
        ([(0x77, "x")], b"x", b"\xa1\x0cvalue;string", Value),
        ([(0x75, b"a"), (0x75, b"b")], b"ab", b"\xa1\x08data;1,1", Data),
        ([(0x76, [])], b"\x00SvE", b"\xa1\x0asequence;1", Sequences),
        ([(0x77, None)], None, b"\xa1\x0avalue;null", Value),
    ],
)
def test_another_body_is_told_by_an_encoded_string(
    body: list[tuple[int, object]], value: bytes | None, hint: bytes, kind: type
) -> None:
    stored = record(sent(*body))
    assert stored[:3] == (value, None, [("amqp.body", hint), MARKER])
    to_message = record_to_message("t", "a", OPTIONS)
    delivered = parse(to_message(3, 17, 1, TIME_MS, None, value, stored[2], 0))
    assert isinstance(delivered.body, kind)
    assert to_message.damaged == 0


def test_a_message_without_headers_is_not_marked() -> None:
    assert record(sent((0x75, b"x"))) == (b"x", None, None, -1, 0)
    assert record(sent((0x70, []), (0x73, []), (0x75, b"x"))) == (b"x", None, None, -1, 0)


def test_a_property_that_is_like_the_marker_comes_back() -> None:
    stored = headers((0x74, Map([("AMQPheaders", True)])))
    assert stored == [("app.AMQPheaders", b"\x41"), MARKER]
    delivered = record_to_message("t", "a", OPTIONS)(3, 17, 1, TIME_MS, None, b"", stored, 0)
    assert parse(delivered).application_properties == Map([("AMQPheaders", True)])


def test_key_and_partition_are_those_of_every_profile() -> None:
    annotations = Map([(Symbol("x-opt-partition-key"), "k"), (Symbol("x-opt-bridge.partition"), Int(2))])
    stored = record(sent((0x72, annotations), (0x75, b"")))
    assert stored == (b"", b"k", [("x-opt-partition-key", b"\xa1\x01k"), MARKER], 2, 0)
    unpromoted = MappingOptions(key_from_partition_key=False)
    assert record(sent((0x72, annotations), (0x75, b"")), unpromoted)[1] is None
    assert record(sent((0x73, [*[None] * 10, "g"]), (0x75, b"")))[1] == b"g"


def test_a_delivery_counts_and_shortens_the_ttl() -> None:
    options = MappingOptions(now_ms=lambda: TIME_MS + 400)
    stored = [("amqp.ttl", b"\x70\x00\x00\x03\xe8"), MARKER]
    delivered = record_to_message("t", "a", options)(3, 17, 1, TIME_MS, None, b"", stored, 2)
    message = parse(delivered)
    assert message.header == {
        "durable": True,
        "ttl": UInt(600),
        "first-acquirer": False,
        "delivery-count": UInt(2),
    }
    assert "creation-time" not in message.properties  # the bridge wrote the record, which had none
    assert record(delivered) == (b"", None, stored, 3, 0)


@pytest.mark.parametrize("bad", [b"\x70\x00", b"\x52\x05\x05", b"1000", b"", None, b"\x54\x05"])
def test_a_field_of_the_header_that_is_none_is_counted(bad: bytes | None) -> None:
    stored = [("amqp.ttl", bad), MARKER]
    to_message = record_to_message("t", "a", OPTIONS)
    delivered = to_message(3, 17, 1, TIME_MS, None, b"", stored, 0)
    assert to_message.damaged == 1
    assert record(delivered)[2] == stored


def test_a_record_of_event_hubs_itself_takes_its_time_as_creation_time() -> None:
    stored = [("a", b"\xa1\x01b"), ("AMQPheaders", b"\x43")]
    delivered = record_to_message("t", "a", OPTIONS)(3, 17, 1, TIME_MS, None, b"", stored, 0)
    message = parse(delivered)
    assert message.properties["creation-time"] == Timestamp(TIME_MS)
    assert message.application_properties == Map([("a", "b"), ("AMQPheaders", UInt(0))])
    assert message.message_annotations.get(Symbol("x-opt-kafka-headers")) is None
    assert record(delivered)[2] == stored


def test_limits_and_malformed_messages() -> None:
    for broken in (b"\x00St\xc1\x05\x02\x54\x01\x54\x01", b"\x00Ss\xc0\x03\x01\xa1\x05", b"\x00Ss\x40"):
        with pytest.raises(MappingError) as caught:
            record(broken)
        assert caught.value.condition == "amqp:decode-error"
    with pytest.raises(MappingError) as caught:
        record(sent((0x74, Map([("a", 1.5), ("b", 1.5)]))), MappingOptions(headers_max=2))
    assert caught.value.condition == "amqp:resource-limit-exceeded"


def test_proton_reads_the_headers_of_what_it_sent() -> None:
    properties = {
        "string": "é" * 200,
        "int": proton.int32(-1234),
        "long": 5_555_555_555,
        "ubyte": proton.ubyte(255),
        "ushort": proton.ushort(60_000),
        "uint": proton.uint(4_000_000_000),
        "ulong": proton.ulong(2**64 - 1),
        "float": proton.float32(1.125),
        "double": 0.1,
        "true": True,
        "false": False,
        "char": proton.char("é"),
        "timestamp": proton.timestamp(TIME_MS),
        "uuid": UUID("123e4567-e89b-12d3-a456-426614174000"),
        "binary": b"\x00\xff",
        "symbol": proton.symbol("s"),
        "null": None,
    }
    message = proton.Message(body=b"body", properties=properties, subject="s", inferred=True)
    body, _, stored, _, _ = record(bytes(message.encode()))
    assert body == b"body"
    read = {}
    for name, header in stored or []:
        data = proton.Data()
        assert header is not None
        assert data.decode(header) == len(header)
        data.next()
        value = data.get_object()
        value = bytes(value) if isinstance(value, memoryview) else value
        read[name] = (type(value), value)
    assert read.pop("AMQPheaders") == (bool, True)
    assert read.pop("subject") == (str, "s")
    assert read == {name: (type(sent_value), sent_value) for name, sent_value in properties.items()}


def test_proton_reads_what_is_delivered() -> None:
    stored = [("message-id", b"id"), ("a", b"\x54\x05"), ("subject", b"\xa1\x01s"), MARKER]
    delivered = record_to_message("t", "a", OPTIONS)(3, 17, 1, TIME_MS, b"k", b"body", stored, 0)
    message = proton.Message()
    message.decode(delivered)
    assert message.id == "id"
    assert message.subject == "s"
    properties: object = message.properties
    assert properties == {"a": 5}
    assert message.body == b"body"
    assert message.annotations is not None
    assert message.annotations["x-opt-bridge.key"] == "k"
