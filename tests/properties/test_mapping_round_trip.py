from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from support.amqp_values import (
    ANNOTATIONS,
    APPLICATION,
    DATA,
    FOOTER,
    HEADER,
    PROPERTIES,
    Message,
    messages,
    values,
)

from bridge.codec import Described, Map, Symbol, Timestamp, UByte, decode, encode
from bridge.mapping import names
from bridge.mapping.errors import MappingError
from bridge.mapping.native import MappingOptions, message_to_record, record_to_message

if TYPE_CHECKING:
    from collections.abc import Callable

Headers: TypeAlias = list[tuple[str, bytes | None]]

ADDRESS = "orders/group.id/billing"
TIME_MS = 1_700_000_000_123
GENEROUS = MappingOptions(headers_max=100_000, header_bytes_max=100_000_000)
AS_JSON = MappingOptions(headers_max=100_000, header_bytes_max=100_000_000, value_as_json=True)
ALL_PROPERTIES = 13
TO, CREATION_TIME = 2, 9

thousands = settings(max_examples=1000, deadline=None)
hundreds = settings(max_examples=300, deadline=None)

to_record = message_to_record(GENEROUS)
to_json_record = message_to_record(AS_JSON)
to_message = record_to_message("orders", ADDRESS, GENEROUS)


def sections(message: bytes) -> Message:
    """Read a message back into its sections, by the codec alone."""
    read = Message()
    at = 0
    while at < len(message):
        section, at = decode(message, at)
        assert isinstance(section, Described)
        code, content = section.descriptor, section.value
        if code == HEADER:
            assert isinstance(content, list)
            read.header = content
        elif code == PROPERTIES:
            assert isinstance(content, list)
            read.properties = content
        elif code in {ANNOTATIONS, APPLICATION, FOOTER}:
            assert isinstance(content, Map)
            name = {ANNOTATIONS: "annotations", APPLICATION: "application", FOOTER: "footer"}
            setattr(read, name[int(str(code))], list(content))
        else:
            read.body.append((int(str(code)), content))
    return read


def padded(fields: list[object], count: int) -> list[object]:
    return [*fields, *[None] * (count - len(fields))]


def expected(message: Message, key: bytes | None, headers: Headers) -> Message:
    """Give what must come back: the message, with what the bridge fills in."""
    header = padded(message.header, 5)
    priority = header[1] if header[1] != UByte(4) else None
    properties = padded(message.properties, ALL_PROPERTIES)
    if properties[TO] is None:
        properties[TO] = ADDRESS
    bridged = any(name == "amqp-types" or name.startswith("amqp.") for name, _ in headers)
    if properties[CREATION_TIME] is None and not bridged:
        properties[CREATION_TIME] = Timestamp(TIME_MS)
    annotations = [
        (name, value)
        for name, value in message.annotations
        if not (isinstance(name, Symbol) and names.is_hop(str(name)))
    ]
    own = any(name == "x-opt-partition-key" for name, _ in annotations)
    if key is not None and not own:
        with suppress(UnicodeDecodeError):
            annotations.insert(0, (Symbol("x-opt-partition-key"), key.decode()))
    return Message(
        header=[True, priority, header[2], True, None],
        annotations=annotations,
        properties=properties,
        application=message.application,
        body=message.body,
        footer=message.footer,
    )


def stripped(message: Message) -> Message:
    """Take the annotations of its passage through the bridge from a message."""
    return Message(
        header=padded(message.header, 5),
        annotations=[
            (name, value)
            for name, value in message.annotations
            if not (isinstance(name, Symbol) and names.is_hop(str(name)))
        ],
        properties=padded(message.properties, ALL_PROPERTIES),
        application=message.application,
        body=message.body,
        footer=message.footer,
    )


keys = st.none() | st.binary(max_size=8) | st.text(max_size=8)


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


types_texts = st.sampled_from(
    [
        *(b"v1", b"v1;", b"v2;a=int", b"v1;a=int", b"v1;a=int;b=uuid", b"v1;a", b"v1;a=nonsense"),
        *(b"v1;subject=symbol", b"v1;a=string", b"v1;a=amqp", b"v1;a=null", b"v1;a=annotation"),
        *(b"v1;traceparent=annotation", b"v1;message-id=ulong;a=float", b"v1;a=int;a=long", b"\xff"),
        *(b"v1;%61=int", b"v1;x-opt-a=symbol", b"v1;amqp.body=int", b"v1;amqp.ft.a=int", b""),
        *(b"v1;app.subject=boolean", b"v1;user-id=string", b"v1;creation-time=timestamp"),
    ]
)
body_texts = st.sampled_from(
    [
        *(b"none", b"data;1,2", b"data;3", b"data;0,0", b"data;", b"data;01,2", b"data;-1,4"),
        *(b"value;string", b"value;binary", b"value;null", b"value;int", b"value;amqp", b"value;"),
        *(b"value;json", b"sequence;1", b"sequence;0", b"sequence;x", b"value;uuid", b"\xff", b""),
        *(b"value;annotation", b"value;\xff", b"data;99999999999999999999,1"),
    ]
)
texts = st.sampled_from(
    [
        *(b"", b"true", b"false", b"0", b"4", b"5", b"05", b"-1", b"1.5", b"1.50", b"NaN", b"nan"),
        *(b"18446744073709551616", b"abc", b"\xff\xfe", b"\xc3\xa9", b"00ff00ff", b"00FF00FF"),
        *(b"123e4567-e89b-12d3-a456-426614174000", b"123E4567-E89B-12D3-A456-426614174000"),
        *(b"\x45", b"\xc0\x01\x00", b"\x40", b"\xa1\x01a", b"\x71\x00\x00\x00\x05", b"1_0", b" 1"),
        *(b"1700000000123", b'{"a":{"$int":5}}', b"[1]", b'{"$map":[1]}', b'{"$int":true}'),
        *(b"\x00Sv\x45", b"\x00Sv\xc0\x02\x01\x41\x00Sv\x45", b"\x00Sw\x45"),
    ]
)
header_names = st.sampled_from(
    [
        *names.PROPERTIES,
        *names.HEADER_FIELDS,
        *("a", "b", "app.a", "app.subject", "app.app.a", "app.", "x-opt-a", "x-opt-partition-key"),
        *("x-opt-bridge.key", "x-opt-bridge.offset", "x-opt-kafka-headers", "x-opt-offset"),
        *("amqp.ma.a", "amqp.ma.#1", "amqp.ma.#01", "amqp.ma.%231", "amqp.ma.x-opt-a", "amqp.ma.é"),
        *("amqp.ft.a", "amqp.ft.#99999999999999999999", "amqp.da.a", "amqp.unknown", "x-opt-é"),
        *("traceparent", "tracestate", "amqp.ma.traceparent", "AMQPheaders", "", "é"),
        *("amqp.body", "amqp-types"),
    ]
)
headers_of_records = st.lists(
    st.tuples(
        header_names | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        st.none() | texts | st.binary(max_size=6) | st.text(max_size=6).map(str.encode),
    )
    | st.tuples(st.just("amqp-types"), types_texts)
    | st.tuples(st.just("amqp.body"), body_texts)
    | st.tuples(header_names, values.map(encode)),
    max_size=7,
)


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
        in_json = ("amqp.body", b"value;json") in headers
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
