from __future__ import annotations

from uuid import UUID

import pytest

from bridge.codec import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    EncodeError,
    Float,
    Int,
    Long,
    Map,
    Repeated,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
    encode,
)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, "40"),
        (True, "41"),
        (False, "42"),
        (UByte(5), "5005"),
        (UShort(5), "600005"),
        (UInt(0), "43"),
        (UInt(255), "52ff"),
        (UInt(256), "7000000100"),
        (ULong(0), "44"),
        (ULong(255), "53ff"),
        (ULong(256), "800000000000000100"),
        (Byte(-1), "51ff"),
        (Short(-1), "61ffff"),
        (Int(-128), "5480"),
        (Int(128), "7100000080"),
        (Long(127), "557f"),
        (Long(-129), "81ffffffffffffff7f"),
        (Float(1.5), "723fc00000"),
        (1.5, "823ff8000000000000"),
        (Decimal32(b"\x22\x50\x00\x05"), "7422500005"),
        (Decimal64(bytes(8)), "84" + "00" * 8),
        (Decimal128(bytes(16)), "94" + "00" * 16),
        (Char("é"), "73000000e9"),
        (Timestamp(-1), "83ffffffffffffffff"),
        (UUID("123e4567-e89b-12d3-a456-426614174000"), "98123e4567e89b12d3a456426614174000"),
        (b"\x01", "a00101"),
        ("é", "a102c3a9"),
        (Symbol("a"), "a30161"),
        ([], "45"),
        ([True, "x"], "c0050241a10178"),
        (Map(), "c10100"),
        (Map([("k", Int(5))]), "c10602a1016b5405"),
        (Described(ULong(0x24), []), "00532445"),
        (Array("symbol", (Symbol("a"), Symbol("b"))), "e00602a301610162"),
        (Array("int", (Int(1),)), "e006017100000001"),
        (Array("boolean", (True, False)), "e00402560100"),
        (Array("uint", ()), "e0020070"),
        (Array("int", (Int(1),), (ULong(16),)), "e009010053107100000001"),
        (Array("list", ([], [None])), "e00702c00100020140"),
        (Array("array", (Array("int", ()),)), "e00501e0020071"),
        (Array("null", Repeated(None, 2**32 - 1)), "f000000005ffffffff40"),
        (Array("boolean", Repeated(value=True, count=3)), "e0020341"),
        (Array("null", (None, None)), "e0020240"),
    ],
)
def test_every_type_has_its_shortest_form(value: object, encoded: str) -> None:
    assert encode(value).hex() == encoded


@pytest.mark.parametrize(
    ("value", "head", "size"),
    [
        ("x" * 255, "a1ff", 2),
        ("x" * 256, "b100000100", 5),
        (b"x" * 256, "b000000100", 5),
        (Symbol("x" * 256), "b300000100", 5),
        (["x" * 252], "c0ff01a1fc", 5),
        (["x" * 253], "d00000010300000001a1fd", 11),
        ([None] * 254, "c0fffe40", 4),
        ([None] * 255, "d000000103000000ff40", 10),
        (Map([(b"x" * 300, None)]), "d10000013600000002b00000012c", 14),
        (Array("string", ("x" * 256,)), "f00000010900000001b100000100", 14),
        (Array("list", (["x" * 256], [])), "f00000011a00000002d00000010900000001b100000100", 23),
    ],
)
def test_what_does_not_fit_in_8_bits_takes_32(value: object, head: str, size: int) -> None:
    encoded = encode(value)
    assert encoded[:size].hex() == head


@pytest.mark.parametrize(
    "value",
    [
        5,
        bytearray(b"x"),
        {"a": 1},
        ("a",),
        object(),
        UByte(256),
        Byte(-129),
        UInt(-1),
        ULong(2**64),
        Long(2**63),
        Float(1e300),
        Decimal32(b"abc"),
        Char("ab"),
        Char(""),
        Char("\ud800"),
        Symbol("é"),
        "\ud800",
        [5],
        Array("int", (UInt(1),)),
        Array("nonsense", ()),
        Array("int", Repeated(Int(5), 3)),
        Array("uint", Repeated(None, 3)),
        Described(5, None),
    ],
)
def test_what_amqp_does_not_have_is_refused(value: object) -> None:
    with pytest.raises(EncodeError):
        encode(value)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(EncodeError, match="more than 64 levels of nesting"):
        encode(endless)
