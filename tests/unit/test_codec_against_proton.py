"""The codec beside an independent one: what Proton writes we read, what we write Proton reads."""

from __future__ import annotations

from uuid import UUID

import proton
import pytest

from bridge.codec import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Long,
    Map,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
    decode,
    encode,
)

ID = UUID("123e4567-e89b-12d3-a456-426614174000")


def array(kind: int, *items: object) -> proton.Array:
    return proton.Array(proton.UNDESCRIBED, kind, *items)  # type: ignore[arg-type]  # Proton's own constant


PAIRS = [
    (None, None),
    (True, True),
    (proton.ubyte(200), UByte(200)),
    (proton.ushort(60_000), UShort(60_000)),
    (proton.uint(0), UInt(0)),
    (proton.uint(4_000_000_000), UInt(4_000_000_000)),
    (proton.ulong(7), ULong(7)),
    (proton.ulong(2**64 - 1), ULong(2**64 - 1)),
    (proton.byte(-100), Byte(-100)),
    (proton.short(-30_000), Short(-30_000)),
    (proton.int32(-5), Int(-5)),
    (proton.int32(2**31 - 1), Int(2**31 - 1)),
    (-5, Long(-5)),
    (-(2**63), Long(-(2**63))),
    (proton.float32(1.5), Float(1.5)),
    (0.1, 0.1),
    (proton.char("é"), Char("é")),
    (proton.timestamp(1_700_000_000_123), Timestamp(1_700_000_000_123)),
    (ID, ID),
    (proton.decimal32(5), Decimal32(b"\x00\x00\x00\x05")),
    (proton.decimal64(5), Decimal64(bytes(7) + b"\x05")),
    (proton.decimal128(bytes(15) + b"\x05"), Decimal128(bytes(15) + b"\x05")),
    ("é" * 200, "é" * 200),
    (b"\x00\xff" * 200, b"\x00\xff" * 200),
    (proton.symbol("amqp:accepted:list"), Symbol("amqp:accepted:list")),
    ([1, "x", []], [Long(1), "x", []]),
    ({"a": proton.uint(1)}, Map([("a", UInt(1))])),
    (proton.Described(proton.ulong(36), ["x"]), Described(ULong(36), ["x"])),
    (
        array(proton.Data.SYMBOL, proton.symbol("a"), proton.symbol("b")),
        Array("symbol", (Symbol("a"), Symbol("b"))),
    ),
    (
        array(proton.Data.INT, proton.int32(1), proton.int32(300)),
        Array("int", (Int(1), Int(300))),
    ),
    (
        proton.Array(proton.symbol("d"), proton.Data.STRING, "a", "b" * 300),
        Array("string", ("a", "b" * 300), (Symbol("d"),)),
    ),
    (
        array(proton.Data.BOOL, True, False),  # noqa: FBT003 - elements
        Array("boolean", (True, False)),
    ),
]


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_what_proton_writes_is_read(theirs: object, ours: object) -> None:
    data = proton.Data()
    data.put_object(theirs)
    written = bytes(data.encode())
    decoded, end = decode(written)
    assert end == len(written)
    assert type(decoded) is type(ours)
    assert encode(decoded) == encode(ours)


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_what_is_written_proton_reads(theirs: object, ours: object) -> None:
    data = proton.Data()
    data.decode(encode(ours))
    data.next()
    read = data.get_object()
    again = proton.Data()
    again.put_object(read)
    expected = proton.Data()
    expected.put_object(theirs)
    assert bytes(again.encode()) == bytes(expected.encode())


def test_a_whole_message_of_proton_is_read_section_by_section() -> None:
    message = proton.Message(
        body={"a": 1},
        durable=True,
        id=ID,
        subject="s",
        properties={"k": proton.ubyte(3)},
        annotations={proton.symbol("x-opt-a"): 1.5},
    )
    written = bytes(message.encode())
    sections = []
    at = 0
    while at < len(written):
        section, at = decode(written, at)
        sections.append(section)
    assert sections == [
        Described(ULong(0x70), [True]),
        Described(ULong(0x72), Map([(Symbol("x-opt-a"), 1.5)])),
        Described(ULong(0x73), [ID, None, None, "s"]),
        Described(ULong(0x74), Map([("k", UByte(3))])),
        Described(ULong(0x77), Map([("a", Long(1))])),
    ]
