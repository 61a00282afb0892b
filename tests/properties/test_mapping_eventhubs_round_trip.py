"""The laws of `bridge.mapping.native`, for profile eventhubs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from support.amqp_values import Message, messages, values
from support.mapping_laws import (
    ADDRESS,
    TIME_MS,
    Headers,
    expected,
    header_names,
    headers_of_records,
    keys,
    sections,
    stripped,
    texts,
)

from bridge.codec import Symbol, encode
from bridge.mapping import native
from bridge.mapping.errors import MappingError
from bridge.mapping.eventhubs import message_to_record, record_to_message
from bridge.mapping.eventhubs_values import TEXTS
from bridge.mapping.options import MappingOptions
from bridge.mapping.to_text import READ

if TYPE_CHECKING:
    from collections.abc import Callable

GENEROUS = MappingOptions(headers_max=100_000, header_bytes_max=100_000_000)

many = settings(max_examples=600, deadline=None)
some = settings(max_examples=150, deadline=None)

to_record = message_to_record(GENEROUS)
to_message = record_to_message("orders", ADDRESS, GENEROUS)
native_to_record = native.message_to_record(GENEROUS)
native_to_message = native.record_to_message("orders", ADDRESS, GENEROUS)


def as_text(message_id: object) -> object:
    """Give the message-id that comes back: one that is no string is its text."""
    if message_id is None:
        return None
    encoded = encode(message_id)
    text = READ[encoded[0]](encoded, 1)[0]
    assert text is not None
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


@many
@given(messages, keys, keys)
def test_a_message_that_is_stored_and_read_is_the_same_message(
    message: Message, key: str | bytes | None, partition_key: str | bytes | None
) -> None:
    message.annotations += [
        (Symbol(name), value)
        for name, value in (("x-opt-bridge.key", key), ("x-opt-partition-key", partition_key))
        if value is not None
    ]
    assume(len({encode(name) for name, _ in message.annotations}) == len(message.annotations))
    value, record_key, headers, partition, _ = to_record(message.encoded())
    assert partition == -1
    if message.properties:
        message.properties[0] = as_text(message.properties[0])
    wanted = expected(message, record_key, headers or []).encoded()
    for read in (to_message, native_to_message):
        damaged = read.damaged
        delivered = read(3, 17, 1, TIME_MS, record_key, value, headers, 0)
        assert read.damaged == damaged
        assert stripped(sections(delivered)).encoded() == wanted


@some
@given(messages)
def test_all_headers_but_the_seven_are_encoded_values(message: Message) -> None:
    _, _, headers, _, _ = to_record(message.encoded())
    assert not headers or headers[-1][0] == "AMQPheaders" or "AMQPheaders" in dict(headers)
    for name, header in headers or []:
        assert header is not None
        if name not in TEXTS:
            assert header[:1] != b"\x56"
            assert READ[header[0]](header, 1)[1] == len(header)


@some
@given(messages)
def test_a_message_comes_back_a_second_time_unchanged(message: Message) -> None:
    record = to_record(message.encoded())
    delivered = to_message(3, 17, 1, TIME_MS, record[1], record[0], record[2], 0)
    assert to_record(delivered) == (*record[:3], 3, 0)


event_hubs_headers = st.lists(
    st.tuples(
        header_names,
        st.none() | texts | values.map(encode) | st.sampled_from([b"\x56\x01", b"\x56\x00", b"\x41"]),
    )
    | st.tuples(
        st.just("amqp.body"),
        st.sampled_from([b"none", b"data;1,2", b"value;int", b"value;null", b"sequence;1"]).map(
            lambda hint: encode(hint.decode())
        ),
    ),
    max_size=6,
).flatmap(
    lambda pairs: st.sampled_from(
        [
            [*pairs, ("AMQPheaders", b"\x41")],
            [*pairs, ("AMQPheaders", b"\x54\x00")],
            [("AMQPheaders", b"\x41"), *pairs],
            [("AMQPheaders", b"\x54\x00"), *pairs],
            [("AMQPheaders", None), *pairs],
        ]
    )
)


@many
@given(
    headers_of_records | event_hubs_headers,
    st.none() | st.binary(max_size=9) | st.text(max_size=9).map(str.encode),
    st.none() | texts | st.binary(max_size=9) | values.map(encode),
    st.sampled_from([0, 1, 2]),
    st.integers(0, 2),
)
@example([("AMQPheaders", b"\x41")], None, b"x", 1, 0)
@example([("amqp.body", b"value;json")], None, b'{"a":{"$int":5}}', 1, 0)
@example([("app.AMQPheaders", b"\x41"), ("AMQPheaders", b"\x54\x00")], None, b"x", 1, 0)
@example([("app.AMQPheaders", b"\x54\x00"), ("AMQPheaders", b"\x41")], None, b"x", 1, 0)
@example([("a", b"\x56\x01"), ("AMQPheaders", b"\x41")], None, b"x", 1, 0)
@example([("creation-time", b"1700000000123"), ("AMQPheaders", b"\x54\x00")], b"k", b"x", 1, 0)
@example([("subject", b"\x40"), ("AMQPheaders", b"\x41")], None, b"x", 1, 0)
def test_a_record_that_is_read_and_stored_is_the_same_record(
    headers: Headers,
    key: bytes | None,
    value: bytes | None,
    timestamp_type: int,
    delivery_count: int,
) -> None:
    # A value in JSON comes back as such where the route writes JSON.
    in_json = replace(GENEROUS, value_as_json=dict(headers).get("amqp.body") == b"value;json")
    store = message_to_record(in_json)
    for options in (
        GENEROUS,
        MappingOptions(foreign_headers="binary", now_ms=lambda: TIME_MS + 500, event_streams=True),
    ):
        read = record_to_message("orders", ADDRESS, options)
        message = read(3, 17, timestamp_type, TIME_MS, key, value, headers, delivery_count)
        assert store(message) == (value, key, headers or None, 3, 0)
        # The plan, made with the first record, serves the second one as well.
        assert message == read(3, 17, timestamp_type, TIME_MS, key, value, headers, delivery_count)


@some
@given(headers_of_records | event_hubs_headers, st.none() | st.binary(max_size=9))
def test_a_record_that_native_reads_and_stores_is_the_same_record(
    headers: Headers, value: bytes | None
) -> None:
    read = native_to_message(3, 17, 1, TIME_MS, None, value, headers, 0)
    in_json = MappingOptions(value_as_json=dict(headers).get("amqp.body") == b"value;json")
    assert native.message_to_record(in_json)(read) == (value, None, headers or None, 3, 0)


def condition(convert: Callable[[bytes], object], message: bytes) -> str | None:
    try:
        convert(message)
    except MappingError as error:
        return error.condition
    return None


@some
@given(st.binary(max_size=80) | messages.map(Message.encoded), st.data())
def test_damaged_messages_are_refused_where_native_refuses_them(message: bytes, data: st.DataObject) -> None:
    damaged = bytearray(message)
    for _ in range(data.draw(st.integers(0, 3))):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    assert condition(to_record, bytes(damaged)) == condition(native_to_record, bytes(damaged))
