"""A layout, made in either way, gives what the ordinary way gives, whatever later records are."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.layouts import WAYS, made, made_by, ordinary
from support.mapping_laws import ADDRESS, TIME_MS, Headers, headers_of_records, texts

from bridge.mapping.from_text import WRITE
from bridge.mapping.native import MappingOptions, record_to_message
from bridge.mapping.to_message import USES_BEFORE_LAYOUT

BRIDGED: Headers = [
    ("amqp.durable", b"true"),
    ("message-id", b"order-1"),
    ("content-type", b"application/json"),
    ("creation-time", b"1700000000123"),
    ("count", b"100000"),
    ("price", b"12.5"),
    ("urgent", b"true"),
    ("trace", b"00000000-0400-0000-0000-000000000000"),
    ("amqp-types", b"v1;count=int;price=double;urgent=boolean;trace=uuid"),
]
FOREIGN: Headers = [("a", b"1"), ("b", "é".encode())]
OTHER_VALUES = st.sampled_from(
    [None, b"", b"x" * 255, b"x" * 256, b"\xff", "é".encode(), b"-1", b"1e400", b"true"]
)


decimals = st.builds(
    lambda digits, point: digits[:point] + "." + digits[point:],
    st.text("0123456789", max_size=19),
    st.integers(0, 19),
)
doubles = st.floats() | st.binary(min_size=8, max_size=8).map(lambda bits: struct.unpack(">d", bits)[0])
limits = st.builds(
    lambda power, sign, more: sign * 2**power + more,
    st.sampled_from([0, 7, 8, 15, 16, 31, 32, 63, 64]),
    st.sampled_from([-1, 1]),
    st.integers(-9, 9),
)
disguises = st.sampled_from(["-{}", "0{}", "+{}", " {}", "{} ", "{}0", "{}.", "{}e1", "{}\0", "{}_0"])
hostile = st.one_of(
    st.none(),
    st.sampled_from([b"", b"-", b"x" * 255, b"x" * 256, b"x" * 70_000, b"\xff" * 256, b"\xed\xa0\x80"]),
    st.sampled_from(["é", "é" * 128]).map(str.encode),
    st.binary(max_size=40),
    st.text(max_size=9).map(str.encode),
)


def texts_of(type_name: str) -> st.SearchStrategy[bytes | None]:
    """Give texts of a type, and texts that nearly are."""
    if type_name in {"double", "float"}:
        plain = decimals | decimals | doubles.map(repr)
    elif type_name == "uuid":
        plain = st.uuids().map(str) | st.uuids().map(str).map(str.upper) | st.from_regex(r"\A[0-9a-f-]{36}\Z")
    else:
        plain = (st.integers(-(2**64), 2**65) | st.integers(-300, 300) | limits).map(str)
    disguised = st.builds(str.format, disguises, plain)
    return plain.map(str.encode) | plain.map(str.encode) | disguised.map(str.encode) | hostile


TYPES = tuple(name for name in WRITE if name not in {"annotation", "string"})
typed_texts = st.sampled_from([*TYPES, *["double"] * 5]).flatmap(
    lambda type_name: st.tuples(
        st.just(type_name), st.lists(st.tuples(texts_of(type_name), hostile | st.just(b"eu")), max_size=9)
    )
)


@settings(max_examples=200, deadline=None)
@given(typed_texts, st.none() | st.binary(max_size=300), st.integers(-9, 2**63 - 1))
@example(("timestamp", [(b"9223372036854775808", b"eu")]), None, 0)
def test_both_ways_take_the_same_texts(
    drawn: tuple[str, list[tuple[bytes | None, bytes | None]]], key: bytes | None, offset: int
) -> None:
    type_name, texts = drawn

    def record(typed: bytes | None, plain: bytes | None) -> Headers:
        return [("v", typed), ("plain", plain), ("amqp-types", f"v1;v={type_name}".encode())]

    generated, compiled = (made(way, record(b"1", b"eu")) for way in WAYS)
    assert generated is not None
    assert compiled is not None
    for typed, plain in texts:
        headers = record(typed, plain)
        fits = WRITE[type_name](typed) is not None and WRITE["string"](plain) is not None
        wanted = ordinary(headers, offset=offset, value=b"v", key=key) if fits else None
        assert compiled(3, offset, TIME_MS, key, b"v", headers) == wanted
        is_short = all(text is None or (text.isascii() and len(text) < 256) for text in (typed, plain))
        assert generated(3, offset, TIME_MS, key, b"v", headers) in ({wanted} if is_short else {wanted, None})


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([BRIDGED, FOREIGN]) | headers_of_records,
    st.data(),
    st.none() | st.binary(max_size=9) | st.text(max_size=9).map(str.encode),
    st.binary(max_size=3) | st.sampled_from([b"x" * 255, b"x" * 256]),
)
@example([("x-opt-a", b"1"), ("a", b"2")], None, b"k", b"v")
@example([("amqp.ttl", b"1000"), ("a", b"2")], None, None, b"v")
def test_a_record_like_many_before_it_is_encoded_as_if_it_were_the_first(
    way: str, headers: Headers, data: st.DataObject | None, key: bytes | None, value: bytes
) -> None:
    with made_by(way):
        check(headers, data, key, value)


def check(headers: Headers, data: st.DataObject | None, key: bytes | None, value: bytes) -> None:
    for options in (
        MappingOptions(),
        MappingOptions(foreign_headers="binary", creation_time_from_record=False),
        MappingOptions(now_ms=lambda: TIME_MS + 500, expired="skip", event_streams=True),
    ):
        experienced = record_to_message("orders", ADDRESS, options)
        for number in range(USES_BEFORE_LAYOUT):
            experienced(3, number, 1, TIME_MS, key, value, headers, 0)
        later = headers
        if data is not None:
            changed = data.draw(
                st.lists(st.none() | OTHER_VALUES | texts, min_size=1, max_size=len(headers) + 1)
            )
            pairs = zip(headers, changed, strict=False)
            later = [(name, other if other is not None else text) for (name, text), other in pairs]
            later += headers[len(later) :]
        for record in (
            headers,
            later,
            [*later, ("more", b"1")],
            [(name + "2", text) for name, text in later],
        ):
            for attempts, again in ((0, False), (1, True)):
                given_to_both = (3, 10**9, 1, TIME_MS + 7, key, value, record, attempts, again)
                fresh = record_to_message("orders", ADDRESS, options)
                assert experienced(*given_to_both) == fresh(*given_to_both)
                assert experienced.damaged == 0 or fresh.damaged in {0, 1}
