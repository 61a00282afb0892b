from __future__ import annotations

import proton
import pytest

from bridge.codec import (
    Byte,
    Described,
    EncodeError,
    Int,
    Long,
    Map,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    encode,
)
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Data, Message, Sequences, Value, parse, write


def sections(*pairs: tuple[object, object]) -> bytes:
    return b"".join(encode(Described(descriptor, content)) for descriptor, content in pairs)


FULL = Message(
    header={"durable": True, "priority": UByte(5), "ttl": UInt(1000), "delivery-count": UInt(2)},
    delivery_annotations=Map([(Symbol("d"), Int(1))]),
    message_annotations=Map([(Symbol("m"), "x"), (ULong(7), None)]),
    properties={"message-id": ULong(1), "subject": "s", "creation-time": Timestamp(5)},
    application_properties=Map([("b", Byte(1)), ("a", None)]),
    body=Data((b"1", b"")),
    footer=Map([(Symbol("f"), [Long(1)])]),
)


def test_a_message_with_every_section_is_read_and_written() -> None:
    encoded = sections(
        (ULong(0x70), [True, UByte(5), UInt(1000), None, UInt(2)]),
        (ULong(0x71), Map([(Symbol("d"), Int(1))])),
        (ULong(0x72), Map([(Symbol("m"), "x"), (ULong(7), None)])),
        (ULong(0x73), [ULong(1), None, None, "s", *[None] * 5, Timestamp(5)]),
        (ULong(0x74), Map([("b", Byte(1)), ("a", None)])),
        (ULong(0x75), b"1"),
        (ULong(0x75), b""),
        (ULong(0x78), Map([(Symbol("f"), [Long(1)])])),
    )
    assert parse(encoded) == FULL
    assert write(FULL) == encoded


@pytest.mark.parametrize(
    ("encoded", "body"),
    [
        (b"", None),
        (b"\x00Su\xa0\x01x", Data((b"x",))),
        (b"\x00Sw\x40", Value.of(None)),
        (b"\x00Sw\x71\x00\x00\x00\x05", Value(b"\x71\x00\x00\x00\x05")),
        (b"\x00Sv\x45\x00Sv\xc0\x02\x01\x41", Sequences(([], [True]))),
    ],
)
def test_each_kind_of_body(encoded: bytes, body: object) -> None:
    message = parse(encoded)
    assert message.body == body
    assert write(message) == encoded


def test_an_amqp_value_keeps_its_encoding_and_knows_its_value() -> None:
    assert Value(b"\x71\x00\x00\x00\x05").value == Int(5)
    assert Value.of(Int(5)).encoded == b"\x54\x05"


def test_descriptors_and_keys_may_have_other_forms() -> None:
    encoded = sections(
        (Symbol("amqp:message-annotations:map"), Map([("a", True)])),
        (Symbol("amqp:application-properties:map"), Map([(Symbol("k"), "v")])),
    )
    wide = b"\x00\x80" + bytes(7) + b"\x75\xa0\x01x"
    message = parse(encoded + wide)
    assert message.message_annotations == Map([(Symbol("a"), True)])
    assert [type(key) for key, _ in message.message_annotations] == [Symbol]
    assert [type(key) for key, _ in message.application_properties] == [str]
    assert message.body == Data((b"x",))


@pytest.mark.parametrize(
    ("encoded", "description"),
    [
        (b"x", "expected a section, found 0x78"),
        (b"\x00", "a constructor, found the end"),
        (b"\x00Su\xa0\x05x", "5 bytes, found 1"),
        (b"\x00Su\xa1\x01x", "binary in a data section"),
        (b"\x00Sv\x40", "a list in a sequence"),
        (b"\x00Sp\x40", "a list"),
        (b"\x00Sr\x45", "a map"),
        (b"\x00So\x45", "a section of a message, found ULong(111)"),
        (b"\x00\x41\x45", "a section of a message, found True"),
        (b"\x00Sw\x40\x00Sw\x40", "a section in its place, or the end"),
        (b"\x00Sw\x40\x00Su\xa0\x00", "a section in its place, or the end"),
        (b"\x00Su\xa0\x00\x00Sp\x45", "a section in its place, or the end"),
        (sections((ULong(0x70), [UInt(1)])), "a bool for durable, found a UInt"),
        (sections((ULong(0x70), [None] * 6)), "at most 5 fields, found 6"),
        (sections((ULong(0x73), [None] * 14)), "at most 13 fields, found 14"),
        (sections((ULong(0x72), Map([(Int(1), True)]))), "a symbol or ulong for each key, found Int(1)"),
        (sections((ULong(0x78), Map([("é", True)]))), "a symbol or ulong for each key"),
        (sections((ULong(0x74), Map([(Int(1), True)]))), "a string for each key, found Int(1)"),
    ],
)
def test_what_is_no_message_is_refused(encoded: bytes, description: str) -> None:
    with pytest.raises(MappingError) as caught:
        parse(encoded)
    assert caught.value.condition == "amqp:decode-error"
    assert description in caught.value.description


def test_a_field_that_there_is_not_cannot_be_written() -> None:
    with pytest.raises(EncodeError, match="no field colour"):
        write(Message(properties={"colour": "red"}))


def test_what_proton_writes_is_read() -> None:
    theirs = proton.Message(
        body="text",
        durable=True,
        subject="s",
        properties={"k": proton.ubyte(3)},
        annotations={proton.symbol("x-opt-a"): 1.5},
    )
    assert parse(bytes(theirs.encode())) == Message(
        header={"durable": True},
        message_annotations=Map([(Symbol("x-opt-a"), 1.5)]),
        properties={"subject": "s"},
        application_properties=Map([("k", UByte(3))]),
        body=Value.of("text"),
    )
