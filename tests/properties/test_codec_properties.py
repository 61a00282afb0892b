from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.amqp_values import values

from bridge.codec import DecodeError, decode, encode

hundreds = settings(max_examples=400, deadline=None)


@hundreds
@given(values)
def test_a_value_survives_with_its_type(value: object) -> None:
    encoded = encode(value)
    decoded, end = decode(encoded)
    assert end == len(encoded)
    assert type(decoded) is type(value)
    assert encode(decoded) == encoded


@hundreds
@given(values, st.binary(max_size=5), st.binary(max_size=5))
def test_a_value_is_read_at_its_offset_and_nothing_behind_it_is(
    value: object, before: bytes, after: bytes
) -> None:
    encoded = encode(value)
    decoded, end = decode(before + encoded + after, len(before))
    assert encode(decoded) == encoded
    assert end == len(before) + len(encoded)


@hundreds
@given(values, st.data())
def test_every_shortened_value_is_an_error(value: object, data: st.DataObject) -> None:
    encoded = encode(value)
    cut = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(DecodeError) as caught:
        decode(encoded[:cut])
    assert 0 <= caught.value.offset <= cut


@hundreds
@given(st.binary(max_size=60), st.integers(-2, 62))
def test_arbitrary_bytes_are_a_value_or_a_decode_error(buffer: bytes, offset: int) -> None:
    try:
        value, end = decode(buffer, offset)
    except DecodeError:
        return
    assert offset < end <= len(buffer)
    assert decode(encode(value))[1] > 0


@hundreds
@given(values, st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_values_are_a_value_or_a_decode_error(value: object, damage: list[tuple[int, int]]) -> None:
    damaged = bytearray(encode(value))
    for place, byte in damage:
        damaged[place % len(damaged)] = byte
    try:
        again, end = decode(damaged)
    except DecodeError:
        return
    assert end <= len(damaged)
    assert decode(encode(again))[1] > 0
