from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.amqp_values import Message, messages
from support.lent_payload import Lent

from bridge.codec import Described, Int, Map, Symbol, ULong, encode
from bridge.mapping.errors import MappingError
from bridge.mapping.large import body_place, large_message_to_record
from bridge.mapping.native import message_to_record
from bridge.mapping.options import MappingOptions

if TYPE_CHECKING:
    from bridge.mapping.record import Record

BODY = b"\x00Su\xb0" + (1000).to_bytes(4, "big") + b"x" * 1000


def section(code: int, content: object) -> bytes:
    return encode(Described(ULong(code), content))


def result(convert: object, message: object) -> Record | str:
    """Give what becomes of a message, or the condition of its refusal."""
    assert callable(convert)
    try:
        record: Record = convert(message)
    except MappingError as error:
        return error.condition
    return record


@pytest.mark.parametrize(
    "head",
    [
        b"",
        section(0x70, [True]),
        b"\x00SpE",
        section(0x72, Map([(Symbol("x-opt-a"), "a" * 300)])),
        section(0x73, ["id", None, None, "subject"]) + section(0x74, Map([("a", "b"), ("c", Int(5))])),
    ],
)
def test_the_body_is_found_behind_whatever_there_is(head: bytes) -> None:
    assert body_place(memoryview(head + BODY)) == len(head)
    large = large_message_to_record(message_to_record(MappingOptions()))
    payload = Lent(head + BODY)
    value, *others = large(payload)
    assert (value, *others) == message_to_record(MappingOptions())(head + BODY)
    assert isinstance(value, memoryview)
    payload.take_back()
    assert value == bytes(1000), "it is where the message is"


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x00Su\xa0\x05hello",
        BODY + section(0x78, Map([(Symbol("a"), Int(1))])),
        BODY[:-1],
        b"\x00\xa3\x10amqp:data:binary" + BODY[3:],
        b"\x00Sr\x40" + BODY,
        section(0x77, "text"),
        b"\x00Ss\xd0\xff\xff\xff\xff\x00\x00\x00\x00" + BODY,
    ],
)
def test_there_is_no_such_body_in_other_messages(message: bytes) -> None:
    assert body_place(memoryview(message)) == -1


@settings(max_examples=200, deadline=None)
@given(messages.map(Message.encoded), st.sampled_from([BODY, b""]), st.integers(0, 40))
def test_a_large_message_gives_the_record_that_it_gives_in_the_ordinary_way(
    head: bytes, body: bytes, cut: int
) -> None:
    message = (head + body)[: None if cut > 20 else -cut or None]
    to_record = message_to_record(MappingOptions())
    assert result(large_message_to_record(to_record), Lent(message)) == result(to_record, message)
