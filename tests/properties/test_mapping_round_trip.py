from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from support.amqp_values import DATA, Message, messages, values
from support.mapping_laws import (
    ADDRESS,
    TIME_MS,
    Headers,
    expected,
    headers_of_records,
    keys,
    sections,
    stripped,
    texts,
)

from bridge.codec import Symbol, encode
from bridge.mapping.errors import MappingError
from bridge.mapping.native import MappingOptions, message_to_record, record_to_message

if TYPE_CHECKING:
    from collections.abc import Callable

GENEROUS = MappingOptions(headers_max=100_000, header_bytes_max=100_000_000)
AS_JSON = MappingOptions(headers_max=100_000, header_bytes_max=100_000_000, value_as_json=True)

thousands = settings(max_examples=1000, deadline=None)
hundreds = settings(max_examples=300, deadline=None)

to_record = message_to_record(GENEROUS)
to_json_record = message_to_record(AS_JSON)
to_message = record_to_message("orders", ADDRESS, GENEROUS)


@thousands
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
    damaged = to_message.damaged
    delivered = to_message(3, 17, 1, TIME_MS, record_key, value, headers, 0)
    assert to_message.damaged == damaged
    back = stripped(sections(delivered))
    assert back.encoded() == expected(message, record_key, headers or []).encoded()


@hundreds
@given(messages)
def test_a_body_stored_as_json_is_the_same_body(message: Message) -> None:
    value, _, headers, _, _ = to_json_record(message.encoded())
    delivered = to_message(3, 17, 1, TIME_MS, None, value, headers, 0)
    assert Message(body=sections(delivered).body).encoded() == Message(body=message.body).encoded()


@hundreds
@given(messages)
def test_a_message_comes_back_a_second_time_unchanged(message: Message) -> None:
    record = to_record(message.encoded())
    delivered = to_message(3, 17, 1, TIME_MS, record[1], record[0], record[2], 0)
    assert to_record(delivered) == (*record[:3], 3, 0)


@thousands
@given(
    headers_of_records,
    st.none() | st.binary(max_size=9) | st.text(max_size=9).map(str.encode),
    st.none() | texts | st.binary(max_size=9) | values.map(encode),
    st.sampled_from([0, 1, 2]),
    st.integers(0, 2),
)
@example([("amqp.ttl", b"1000")], None, b"x", 1, 1)
@example([("creation-time", b"1700000000123")], b"k", b"x", 1, 0)
@example([("group-id", b"g")], None, b"x", 1, 0)
@example([("x-opt-partition-key", b"k")], b"k", b"x", 1, 0)
def test_a_record_that_is_read_and_stored_is_the_same_record(
    headers: Headers,
    key: bytes | None,
    value: bytes | None,
    timestamp_type: int,
    delivery_count: int,
) -> None:
    for options in (
        GENEROUS,
        MappingOptions(foreign_headers="binary", now_ms=lambda: TIME_MS + 500, event_streams=True),
        MappingOptions(foreign_headers="string", creation_time_from_record=False),
    ):
        read = record_to_message("orders", ADDRESS, options)
        message = read(3, 17, timestamp_type, TIME_MS, key, value, headers, delivery_count)
        # A value in JSON comes back as such where the route writes JSON.
        in_json = dict(headers).get("amqp.body") == b"value;json"
        stored = (to_json_record if in_json else to_record)(message)
        assert stored == (value, key, headers or None, 3, 0)
        # The plan, made with the first record, serves the second one as well.
        assert message == read(3, 17, timestamp_type, TIME_MS, key, value, headers, delivery_count)


@hundreds
@given(st.binary(max_size=80) | messages.map(Message.encoded), st.data())
def test_arbitrary_and_damaged_messages_are_a_record_or_a_mapping_error(
    message: bytes, data: st.DataObject
) -> None:
    damaged = bytearray(message)
    for _ in range(data.draw(st.integers(0, 3))):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        value, key, headers, _, _ = message_to_record(MappingOptions())(bytes(damaged))
    except MappingError:
        return
    to_message(0, 0, 1, TIME_MS, key, value, headers, 0)


@hundreds
@given(messages, st.data())
def test_every_shortened_message_is_refused_or_ends_at_a_section(
    message: Message, data: st.DataObject
) -> None:
    encoded = message.encoded()
    cut = data.draw(st.integers(0, len(encoded)))
    try:
        to_record(encoded[:cut])
    except MappingError as error:
        assert error.condition == "amqp:decode-error"  # noqa: PT017 - either is allowed
        return
    sections(encoded[:cut])


def outcome(convert: Callable[[bytes], object], message: bytes) -> object:
    try:
        return convert(message)
    except MappingError as error:
        return error.condition


@hundreds
@given(
    message=messages,
    data=st.booleans(),
    damage=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=6),
)
def test_what_was_read_before_changes_nothing(
    message: Message, *, data: bool, damage: list[tuple[int, int]]
) -> None:
    if data:  # the body of the messages that are compared with earlier ones
        message.body = [(DATA, b"body")]
        message.footer = []
    experienced = message_to_record(MappingOptions())
    original = message.encoded()
    for _ in range(3):
        assert outcome(experienced, original) == outcome(message_to_record(MappingOptions()), original)
    for place, byte in damage:
        damaged = bytearray(original)
        if damaged:
            damaged[place % len(damaged)] = byte
        fresh = message_to_record(MappingOptions())
        assert outcome(experienced, bytes(damaged)) == outcome(fresh, bytes(damaged))
