from __future__ import annotations

from uuid import UUID

import pytest

from bridge.codec import encode
from bridge.codec.types import Map, Symbol, UInt, ULong
from bridge.mapping.errors import MappingError
from bridge.mapping.identity import message_id_identity
from bridge.mapping.message import Message, Value, write

BODY = b"\x00Su\xa0\x04body"


def properties(*encoded: bytes) -> bytes:
    """Encode the section with these fields, as they are."""
    content = b"".join(encoded)
    return b"\x00Ss\xc0" + bytes((len(content) + 1, len(encoded))) + content


def identity(*encoded: bytes) -> bytes | None:
    return message_id_identity(properties(*encoded) + BODY)


def test_one_id_has_one_identity_in_whichever_width_it_is_sent() -> None:
    five = [b"\x53\x05", b"\x80" + (5).to_bytes(8, "big")]
    assert {identity(each) for each in five} == {b"\x53\x05"}
    assert {identity(each) for each in (b"\x44", b"\x53\x00", b"\x80" + bytes(8))} == {b"\x44"}
    assert identity(b"\xa1\x02id") == identity(b"\xb1\x00\x00\x00\x02id") == b"\xa1\x02id"
    assert identity(b"\xa0\x02id") == identity(b"\xb0\x00\x00\x00\x02id") == b"\xa0\x02id"


def test_ids_of_different_types_are_different() -> None:
    ids = [ULong(5), UInt(5), "5", b"5", Symbol("5"), UUID(int=5), "", b"", True]
    assert len({identity(encode(each)) for each in ids}) == len(ids)


@pytest.mark.parametrize("value", ["id", "größe", "x" * 300, ULong(2**64 - 1), UUID(int=7), b"\x00" * 300])
def test_the_id_is_found_behind_all_sections(value: object) -> None:
    message = Message(
        header={"durable": True},
        delivery_annotations=Map([(Symbol("a"), "b")]),
        message_annotations=Map([(Symbol("x-opt-key"), "k" * 300)]),
        properties={"message-id": value, "to": "somewhere", "subject": "s"},
        application_properties=Map([("p", 1.5)]),
        body=Value.of("text"),
        footer=Map([(Symbol("f"), "g")]),
    )
    assert message_id_identity(write(message)) == encode(value)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        BODY,
        b"\x00SpE" + BODY,
        b"\x00SpE\x00SsE" + BODY,
        b"\x00Sr\xc1\x01\x00" + BODY,
        properties(b"\x40", b"\xa1\x01x") + BODY,
        b"\x00St\xc1\x01\x00" + BODY,
    ],
)
def test_a_message_may_have_no_id(message: bytes) -> None:
    assert message_id_identity(message) is None


def test_descriptors_may_be_symbols_or_wide() -> None:
    section = properties(b"\xa1\x02id")[3:]
    symbol = b"\x00\xa3\x14amqp:properties:list"
    wide = b"\x00\x80" + (0x73).to_bytes(8, "big")
    for descriptor in (symbol, wide):
        assert message_id_identity(descriptor + section + BODY) == b"\xa1\x02id"
        assert message_id_identity(b"\x00SpE" + descriptor + section + BODY) == b"\xa1\x02id"
    assert message_id_identity(b"\x00\xa3\x10amqp:header:list\x45" + BODY) is None


@pytest.mark.parametrize(
    "message",
    [
        b"\x00Ss\x40" + BODY,
        b"\x00Ss\xc0\x09\x01\xa1\x02id",
        b"\x00Ss\xc0\x03\x01\xa1\x09" + BODY,
        properties(b"\xa1\x01\xff") + BODY,
        properties(b"\xa1\x09id") + BODY,
        b"\x00Sp\xc0\xff\x00",
        b"\x00Sr\xd1\x00\x00\x01\x00\x00\x00\x00\x00",
        b"\x00S",
        b"\x00Sr",
        b"nonsense",
    ],
)
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(MappingError) as refusal:
        message_id_identity(message)
    assert refusal.value.condition == "amqp:decode-error"
