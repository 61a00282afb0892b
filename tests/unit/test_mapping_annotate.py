from __future__ import annotations

import pytest

from bridge.codec import Array, Described, Int, Map, Symbol, ULong, decode, encode
from bridge.mapping.annotate import ANNOTATIONS_BYTES_MAX, PAIRS_MAX, annotate, merge

HEADER = b"\x00Sp\xc0\x02\x01\x41"
DELIVERY = b"\x00Sq\xc1\x01\x00"
PROPERTIES = b"\x00Ss\x45"
BODY = b"\x00Su\xa0\x04body"


def annotated(*pairs: tuple[str | int, object]) -> bytes:
    return encode(Map((Symbol(key) if isinstance(key, str) else ULong(key), value) for key, value in pairs))


def section(*pairs: tuple[str | int, object]) -> bytes:
    return b"\x00Sr" + annotated(*pairs)


def test_equal_keys_are_replaced_and_others_stay() -> None:
    message = HEADER + DELIVERY + section(("x-opt-a", 1.5), ("x-opt-b", "b"), (5, "five")) + PROPERTIES + BODY
    given = annotated(("x-opt-b", Int(2)), (5, None), ("new", [Int(1)]))

    assert annotate(message, given) == (
        HEADER
        + DELIVERY
        + section(("x-opt-a", 1.5), ("x-opt-b", Int(2)), (5, None), ("new", [Int(1)]))
        + PROPERTIES
        + BODY
    )


@pytest.mark.parametrize("before", [b"", HEADER, DELIVERY, HEADER + DELIVERY])
@pytest.mark.parametrize("behind", [b"", PROPERTIES, PROPERTIES + BODY, BODY])
def test_a_section_is_put_in_its_place(before: bytes, behind: bytes) -> None:
    given = annotated(("a", "b"))
    assert annotate(before + behind, given) == before + b"\x00Sr" + given + behind


@pytest.mark.parametrize(
    "descriptor",
    [b"\x00\x80\x00\x00\x00\x00\x00\x00\x00\x72", b"\x00" + encode(Symbol("amqp:message-annotations:map"))],
)
def test_sections_may_have_long_descriptors(descriptor: bytes) -> None:
    header = b"\x00\x80\x00\x00\x00\x00\x00\x00\x00\x70\x45"
    message = header + descriptor + annotated(("a", "old")) + BODY
    assert annotate(message, annotated(("a", "new"))) == header + section(("a", "new")) + BODY


def test_a_key_that_is_a_string_is_the_symbol() -> None:
    given = encode(Map([("a", "new")]))
    assert annotate(section(("a", "old")) + BODY, given) == section(("a", "new")) + BODY
    assert merge(b"", given) == annotated(("a", "new"))


@pytest.mark.parametrize(
    "key",
    [
        *("x-opt-bridge.topic", "x-opt-bridge.anything", "x-opt-kafka-headers", "x-opt-offset"),
        *("x-opt-sequence-number", "x-opt-enqueued-time", "x-opt-partition-key", "event-streams-group-key"),
        "a\0b",
    ],
)
def test_where_a_record_is_and_its_key_no_receiver_changes(key: str) -> None:
    message = section(("x-opt-bridge.topic", "orders")) + BODY
    assert annotate(message, annotated((key, "a lie"))) == message
    assert merge(annotated((key, "a lie")), annotated(("a", "b"), (key, "a lie"))) == annotated(("a", "b"))


DAMAGED = [
    *(b"", b"\x40", b"\xc1", b"\xc1\x01\x00\x40", b"\xc1\x01\x01", annotated(("a", "b"))[:-1]),
    *(encode(Map([(Int(1), "b")])), encode([Symbol("a"), "b"]), encode(Map([(Symbol("a"), None)]))[:-1]),
    encode(Described(ULong(1), Map())),
]


@pytest.mark.parametrize("given", DAMAGED)
def test_a_damaged_map_changes_nothing(given: bytes) -> None:
    message = HEADER + section(("a", "b")) + BODY
    assert annotate(message, given) == message
    assert merge(given, annotated(("a", "b"))) == annotated(("a", "b"))
    assert merge(annotated(("a", "b")), given) == annotated(("a", "b"))


@pytest.mark.parametrize("message", [b"\x00", b"\x00Sp", b"abc", b"\x00Sr\xc1\x05\x02", b"\x00Sz\x45"])
def test_what_is_no_message_stays_as_it_is(message: bytes) -> None:
    assert annotate(message, annotated(("a", "b"))) == message


def test_an_array_of_annotations_is_kept_as_it_was_encoded() -> None:
    array = Array("int", [Int(1), Int(2)])
    assert merge(annotated(("a", array)), b"") == annotated(("a", array))


def test_the_later_annotations_win() -> None:
    first = annotated(("a", "1"), ("b", "1"))
    second = annotated(("b", "2"), ("c", "2"))
    assert merge(first, second) == annotated(("a", "1"), ("b", "2"), ("c", "2"))
    assert merge(b"", b"") == b""


def test_they_do_not_grow_without_end() -> None:
    merged = b""
    for number in range(40):
        merged = merge(merged, annotated((f"key-{number}", "x" * 1000)))
        assert len(merged) <= ANNOTATIONS_BYTES_MAX
    kept = [str(key) for key, _ in decoded(merged)]
    assert kept == [f"key-{number}" for number in range(40 - len(kept), 40)]
    assert len(kept) > 10

    assert merge(merged, annotated(("large", "x" * ANNOTATIONS_BYTES_MAX))) == b""
    assert merge(b"", annotated(("large", "x" * ANNOTATIONS_BYTES_MAX), ("small", "x"))) == annotated(
        ("small", "x")
    )
    assert len(decoded(merge(numbered(0, PAIRS_MAX), numbered(10, PAIRS_MAX)))) == PAIRS_MAX
    assert merge(b"", numbered(0, PAIRS_MAX + 1)) == b""


def numbered(first: int, count: int) -> bytes:
    return annotated(*((f"{number}", None) for number in range(first, first + count)))


def decoded(encoded: bytes) -> Map:
    value, stop = decode(encoded)
    assert isinstance(value, Map)
    assert stop == len(encoded)
    return value
