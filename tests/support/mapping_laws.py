"""What the laws of the mapping are stated with: messages as sections, and records of all kinds."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeAlias

from hypothesis import strategies as st
from support.amqp_values import (
    ANNOTATIONS,
    APPLICATION,
    FOOTER,
    HEADER,
    PROPERTIES,
    Message,
    symbols,
    values,
)

from bridge.codec import Described, Map, Symbol, Timestamp, UByte, ULong, decode, encode
from bridge.mapping import names

Headers: TypeAlias = list[tuple[str, bytes | None]]

ADDRESS = "orders/group.id/billing"
TIME_MS = 1_700_000_000_123
ALL_PROPERTIES = 13
TO, CREATION_TIME = 2, 9


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
    bridged = bridged or ("AMQPheaders", b"\x41") in headers
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


types_texts = st.sampled_from(
    [
        *(b"v1", b"v1;", b"v2;a=int", b"v1;a=int", b"v1;a=int;b=uuid", b"v1;a", b"v1;a=nonsense"),
        *(b"v1;subject=symbol", b"v1;a=string", b"v1;a=amqp", b"v1;a=null", b"v1;a=annotation"),
        *(b"v1;traceparent=annotation", b"v1;message-id=ulong;a=float", b"v1;a=int;a=long", b"\xff"),
        *(
            b"v1;%61=int",
            b"v1;x-opt-a=symbol",
            b"v1;x-opt-partition-key=int",
            b"v1;amqp.body=int",
            b"v1;amqp.ft.a=int",
            b"",
        ),
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
        *(
            "amqp.ma.a",
            "amqp.ma.#1",
            "amqp.ma.event-streams-group-key",
            "amqp.ma.#01",
            "amqp.ma.%231",
            "amqp.ma.x-opt-a",
            "amqp.ma.é",
        ),
        *("amqp.ft.a", "amqp.ft.#99999999999999999999", "amqp.da.a", "amqp.unknown", "x-opt-é"),
        *("traceparent", "tracestate", "amqp.ma.traceparent", "AMQPheaders", "", "é"),
        *("amqp.body", "amqp-types"),
        *("amqp.dlt.reason", "amqp.dlt.offset", "amqp.dlt.", "app.amqp.dlt.reason"),
    ]
)
receivers_maps = st.lists(
    st.tuples(
        symbols
        | st.sampled_from(["x-opt-a", "x-opt-bridge.offset", "x-opt-partition-key", "traceparent"]).map(
            Symbol
        )
        | st.integers(0, 2**64 - 1).map(ULong),
        values,
    ),
    max_size=3,
    unique_by=lambda pair: encode(pair[0]),
).map(lambda pairs: encode(Map(pairs)))
"""What receivers want merged into the annotations of a message."""
headers_of_records = st.lists(
    st.tuples(
        header_names | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        st.none() | texts | st.binary(max_size=6) | st.text(max_size=6).map(str.encode),
    )
    | st.tuples(st.just("amqp-types"), types_texts)
    | st.tuples(st.just("amqp.body"), body_texts)
    | st.tuples(header_names, values.map(encode))
    | st.tuples(st.just("amqp.dlt.annotations"), receivers_maps),
    max_size=7,
)

keys = st.none() | st.binary(max_size=8) | st.text(max_size=8)
