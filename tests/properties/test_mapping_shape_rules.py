"""What is compared with earlier messages, in either way, is what a reader without a past reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.amqp_values import DATA, Message, messages
from support.shapes import WAYS, WIDTHS, encoded, learnt, mapping, of_values, typical

from bridge.codec import Float, Map, Symbol, encode
from bridge.mapping.errors import MappingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.record import Record

Values: TypeAlias = list[tuple[int, bytes]]

BINARY8, STRING8, LONGEST = 0xA0, 0xA1, 9

kinds = st.lists(
    st.sampled_from(sorted(WIDTHS)).map(lambda code: (code, WIDTHS[code]))
    | st.tuples(st.sampled_from([BINARY8, STRING8]), st.integers(0, LONGEST)),
    min_size=1,
    max_size=7,
)
octets = st.one_of(
    st.binary(min_size=16, max_size=16),
    st.sampled_from([b"\x00", b"\x7f", b"\x80", b"\xff"]).map(lambda octet: octet * 16),
    st.text("é€a", min_size=6, max_size=6).map(lambda text: (text.encode() * 3)[:16]),
    st.integers(0, 255).map(lambda number: bytes(3) + bytes((number,)) * 13),
)


def outcome(convert: Callable[[bytes], object], message: bytes) -> object:
    """Give the record, or what is wrong with the message."""
    try:
        return convert(message)
    except MappingError as error:
        return error.condition, str(error)


def alone(message: bytes) -> Record:
    """Read a message as if it were the first one."""
    return mapping("python")(message)


@settings(max_examples=300, deadline=None)
@given(
    kinds, st.lists(st.lists(octets, min_size=7, max_size=7), min_size=1, max_size=9), st.binary(max_size=3)
)
@example([(STRING8, 2)], [[b"\xc3\xa9" * 8] * 7, [b"\xa9\xc3" * 8] * 7], b"")
@example([(0x56, 1), (0x73, 4)], [[b"\x00" * 16] * 7, [b"\x01" * 16] * 7, [b"\x02" * 16] * 7], b"")
def test_values_of_all_types_are_read_alike(
    kinds: list[tuple[int, int]], drawn: list[list[bytes]], body: bytes
) -> None:
    first = of_values([(code, bytes(width)) for code, width in kinds])
    shapes = {way: learnt(way, first) for way in WAYS}
    for values in drawn:
        message = of_values(
            [(code, value[:width]) for (code, width), value in zip(kinds, values, strict=False)], body
        )
        try:
            wanted = alone(message)
        except MappingError:
            assert shapes["compiled"].record(message) is None
        else:
            assert shapes["compiled"].record(message) == wanted
            assert shapes["python"].record(message) == wanted


@settings(max_examples=300, deadline=None)
@given(
    message=messages,
    key=st.none() | st.text(max_size=4) | st.binary(max_size=4),
    data=st.booleans(),
    body=st.sampled_from([b"", b"body", b"x" * 256]),
    damages=st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=4),
            st.sampled_from([0, 0, 0, -1, -3, 1]),
        ),
        max_size=9,
    ),
)
@example(message=Message(), key=None, data=True, body=b"", damages=[([], length) for length in range(-6, 2)])
def test_a_past_changes_nothing_in_either_way(
    message: Message,
    *,
    key: str | bytes | None,
    data: bool,
    body: bytes,
    damages: list[tuple[list[tuple[int, int]], int]],
) -> None:
    if key is not None:
        message.annotations.append((Symbol("x-opt-bridge.key"), key))
    if data:  # only such messages are compared with earlier ones
        message.body, message.footer = [(DATA, body)], []
    experienced = [mapping(way) for way in WAYS]
    original = message.encoded()
    for _ in range(3):
        for convert in experienced:
            assert outcome(convert, original) == outcome(alone, original)
    for octets_of, more in damages:
        damaged = bytearray(original)
        for place, octet in octets_of:
            if damaged:
                damaged[place % len(damaged)] = octet
        other = bytes(damaged[: len(damaged) + min(more, 0)]) + bytes(max(more, 0))
        for convert in experienced:
            assert outcome(convert, other) == outcome(alone, other)
            assert outcome(convert, original) == outcome(alone, original)


def of_kind(kind: int, number: int) -> bytes:
    """Write one of some messages, which begin alike or not."""
    body = b"x" * number
    return [
        typical(number, body=body),
        typical(number, key=("x-opt-bridge.key", f"k{number % 10}"), body=body),
        typical(number).replace(b"region", b"legion"),
        encoded((0x70, [True]), (0x75, body)),
        encoded((0x72, Map([(Symbol("x-opt-a"), Float(number))])), (0x75, body)),
        of_values([(STRING8, b"%03d" % number), (0x72, bytes((64, number, 0, 0)))], body),
    ][kind]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 255)) | st.binary(max_size=60), max_size=60))
def test_messages_of_many_shapes_one_after_another(order: list[tuple[int, int] | bytes]) -> None:
    experienced = [mapping(way) for way in WAYS]
    for other in order:
        message = other if isinstance(other, bytes) else of_kind(*other)
        for convert in experienced:
            assert outcome(convert, message) == outcome(alone, message)
            assert convert(b"\x00Su" + encode(message)) == (message, None, None, -1, 0)
