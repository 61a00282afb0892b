from __future__ import annotations

import pytest

from bridge.codec import Described, Map, Symbol, UByte, UInt, ULong, decode, encode
from bridge.mapping import delivery_header
from bridge.mapping.encoding import TRUE, name


def fields(section: bytes) -> object:
    value, end = decode(section)
    assert end == len(section)
    assert isinstance(value, Described)
    assert value.descriptor == ULong(0x70)
    return value.value


def test_a_record_that_stores_nothing() -> None:
    header = delivery_header.read([], [])
    assert fields(header.first) == [True, None, None, True]
    assert header.first.hex() == "005370c0050441404041"
    assert (header.annotation, header.unread, header.ttl_ms) == (b"", [], None)


def test_a_later_attempt() -> None:
    header = delivery_header.read([], [])
    assert fields(header.section(3, None, again=True)) == [True, None, None, False, UInt(3)]
    assert fields(header.section(0, None, again=True)) == [True, None, None, False]


def test_what_the_sender_set_is_kept_aside() -> None:
    header = delivery_header.read(
        [
            (0, "amqp.durable", b"true"),
            (1, "amqp.priority", b"9"),
            (2, "amqp.ttl", b"1000"),
            (3, "amqp.first-acquirer", b"true"),
            (4, "amqp.delivery-count", b"7"),
        ],
        [name("to") + TRUE],
    )
    assert header.unread == []
    assert header.ttl_ms == 1000
    assert fields(header.section(0, 900, again=False)) == [True, UByte(9), UInt(900), True]
    assert header.annotation.startswith(name("x-opt-bridge.stored"))
    stored, _ = decode(header.annotation, len(name("x-opt-bridge.stored")))
    assert stored == Map(
        [
            (Symbol("to"), True),
            (Symbol("amqp.durable"), True),
            (Symbol("amqp.ttl"), UInt(1000)),
            (Symbol("amqp.first-acquirer"), True),
            (Symbol("amqp.delivery-count"), UInt(7)),
        ]
    )


@pytest.mark.parametrize(
    ("field", "texts"),
    [
        ("amqp.durable", [b"false", b"1", None]),
        ("amqp.first-acquirer", [b"false", b"True", None]),
        ("amqp.priority", [b"4", b"256", b"-1", b"", None]),
        ("amqp.ttl", [b"01", b"4294967296", b"soon", None]),
        ("amqp.delivery-count", [b"0", b"-1", None]),
    ],
)
def test_texts_that_the_bridge_does_not_write_are_unread(field: str, texts: list[bytes | None]) -> None:
    for text in texts:
        header = delivery_header.read([(5, field, text)], [])
        assert header.unread == [5]
        assert fields(header.first) == [True, None, None, True]
        assert header.annotation == b""


def test_fields_may_be_encoded_values() -> None:
    stored = [(0, "amqp.durable", b"\x41"), (1, "amqp.ttl", b"\x52\x05"), (2, "amqp.priority", b"\x50\x07")]
    header = delivery_header.read(stored, [], are_encoded=True)
    assert (header.unread, header.ttl_ms, header.priority) == ([], 5, b"\x50\x07")
    own = Map([(Symbol("amqp.durable"), True), (Symbol("amqp.ttl"), UInt(5))])
    assert header.annotation == name("x-opt-bridge.stored") + encode(own)
    refused = [b"", None, b"5", b"\x70\x00\x00\x00\x05", b"\x52\x05\x05", b"\x54\x05", b"\x70", b"\x01"]
    for value in refused:
        assert delivery_header.read([(0, "amqp.ttl", value)], [], are_encoded=True).unread == [0]


def test_a_ttl_is_shortened_by_the_age_of_the_record() -> None:
    assert delivery_header.left_ms(1000, 5000, lambda: 5400) == 600
    assert delivery_header.left_ms(1000, 5000, lambda: 7000) == 0
    assert delivery_header.left_ms(1000, 5000, lambda: 4000) == 1000
    assert delivery_header.left_ms(1000, 5000, None) == 1000
    assert delivery_header.left_ms(None, 5000, lambda: 7000) is None
