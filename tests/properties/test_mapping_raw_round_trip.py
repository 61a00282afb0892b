"""Profile raw gives back what it was given; a decoded message is the message that was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from support.amqp_values import Message, messages
from support.mapping_laws import ADDRESS, TIME_MS, Headers, headers_of_records, keys, sections

from bridge.codec import Symbol
from bridge.mapping import native, raw
from bridge.mapping.errors import MappingError
from bridge.mapping.message import parse, write
from bridge.mapping.options import MappingOptions

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIONS = MappingOptions(headers_max=100_000, header_bytes_max=100_000_000)

many = settings(max_examples=400, deadline=None)

to_raw_record = raw.message_to_record(OPTIONS)
from_raw_record = raw.record_to_message("orders", ADDRESS, OPTIONS)
to_native_record = native.message_to_record(OPTIONS)
from_native_record = native.record_to_message("orders", ADDRESS, OPTIONS)


def damage(message: bytes, places: list[tuple[int, int]]) -> bytes:
    damaged = bytearray(message)
    for place, byte in places:
        if damaged:
            damaged[place % len(damaged)] = byte
    return bytes(damaged)


damages = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=3)


def refused(convert: Callable[[bytes], object], message: bytes) -> bool:
    try:
        convert(message)
    except MappingError as error:
        # A count that was damaged may announce more than native allows.
        return error.condition in {"amqp:decode-error", "amqp:resource-limit-exceeded"}
    return False


@many
@given(messages, keys)
def test_a_message_has_the_same_bytes_when_it_comes_back(message: Message, key: str | bytes | None) -> None:
    message.annotations = [(Symbol("x-opt-bridge.key"), key), *message.annotations]
    encoded = message.encoded()
    record = to_raw_record(encoded)
    assert record[:2] == (encoded, to_native_record(encoded)[1])
    delivered = from_raw_record(3, 17, 1, TIME_MS, record[1], record[0], record[2], 0)
    assert delivered == encoded
    assert to_raw_record(delivered) == record


@many
@given(messages, damages)
def test_what_is_no_message_is_refused_by_all_and_delivered_by_none(
    message: Message, places: list[tuple[int, int]]
) -> None:
    damaged = damage(message.encoded(), places)
    if damaged:
        is_refused = refused(parse, damaged)
        assert refused(to_native_record, damaged) == is_refused
        assert refused(to_raw_record, damaged) == is_refused
        marked: Headers = [("amqp.raw", b"0")]
        delivered = from_raw_record(3, 17, 1, TIME_MS, None, damaged, marked, 0)
        assert (delivered == damaged) == (not is_refused)
        assert not refused(parse, delivered)


@many
@given(headers_of_records, st.none() | st.binary(max_size=9))
def test_other_records_are_read_as_native_reads_them(headers: Headers, value: bytes | None) -> None:
    record = (3, 17, 1, TIME_MS, b"k", value, headers, 0)
    assert from_raw_record(*record) == from_native_record(*record)


@many
@given(messages)
def test_a_decoded_message_is_the_message_that_was_sent(message: Message) -> None:
    encoded = message.encoded()
    written = write(parse(encoded))
    assert write(parse(written)) == written
    sent, back = sections(encoded), sections(written)
    for fields in (sent.header, sent.properties, back.header, back.properties):
        while fields and fields[-1] is None:
            del fields[-1]
    assert back.encoded() == sent.encoded()
