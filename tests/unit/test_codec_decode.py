from __future__ import annotations

import math
from uuid import UUID

import pytest

from bridge.codec import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    DecodeError,
    Described,
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
    decode,
)

# The bytes are written down from AMQP 1.0 core, section 1.6.
PRIMITIVES = [
    ("40", None),
    ("41", True),
    ("42", False),
    ("5600", False),
    ("5601", True),
    ("50ff", UByte(255)),
    ("60ffff", UShort(65535)),
    ("70ffffffff", UInt(4294967295)),
    ("5280", UInt(128)),
    ("43", UInt(0)),
    ("80ffffffffffffffff", ULong(18446744073709551615)),
    ("53ff", ULong(255)),
    ("44", ULong(0)),
    ("5180", Byte(-128)),
    ("618000", Short(-32768)),
    ("7180000000", Int(-2147483648)),
    ("54ff", Int(-1)),
    ("818000000000000000", Long(-9223372036854775808)),
    ("5580", Long(-128)),
    ("723fc00000", Float(1.5)),
    ("823ff8000000000000", 1.5),
    ("7422500005", Decimal32(b"\x22\x50\x00\x05")),
    ("842234000000000005", Decimal64(b"\x22\x34\x00\x00\x00\x00\x00\x05")),
    ("94" + "22080000000000000000000000000005", Decimal128(b"\x22\x08" + bytes(13) + b"\x05")),
    ("730001f600", Char("\N{GRINNING FACE}")),
    ("8300000130ff4fe6f0", Timestamp(1309953484528)),
    ("98" + "123e4567e89b12d3a456426614174000", UUID("123e4567-e89b-12d3-a456-426614174000")),
    ("a00201ff", b"\x01\xff"),
    ("b00000000201ff", b"\x01\xff"),
    ("a105" + "c3a968c3a9", "éhé"),
    ("b100000003" + "616263", "abc"),
    ("a303" + "616263", Symbol("abc")),
    ("b300000003" + "616263", Symbol("abc")),
]


@pytest.mark.parametrize(("encoded", "value"), PRIMITIVES)
def test_every_primitive_constructor_is_read_with_its_type(encoded: str, value: object) -> None:
    buffer = bytes.fromhex(encoded)
    decoded, end = decode(buffer)
    assert decoded == value
    assert type(decoded) is type(value)
    assert end == len(buffer)


def test_a_list_of_two() -> None:
    assert decode(bytes.fromhex("c0050241a10178")) == ([True, "x"], 7)


def test_an_empty_list_in_its_three_forms() -> None:
    for encoded in ("45", "c00100", "d00000000400000000"):
        assert decode(bytes.fromhex(encoded))[0] == []


def test_maps_in_both_widths_keep_pairs_in_order() -> None:
    expected = Map([("k", Int(5)), ("a", None)])
    assert decode(bytes.fromhex("c10a04a1016b5405a1016140"))[0] == expected
    assert decode(bytes.fromhex("d10000000d00000004a1016b5405a1016140"))[0] == expected


def test_a_map_key_may_be_of_any_type() -> None:
    # A list, a map, the int 1, the uint 1, and true: five keys.
    decoded, _ = decode(bytes.fromhex("c10f0a4540c1010040540140520140" + "4140"))
    assert decoded == Map([([], None), (Map(), None), (Int(1), None), (UInt(1), None), (True, None)])
    assert [type(key) for key, _ in decoded] == [list, Map, Int, UInt, bool]


def test_described_values() -> None:
    assert decode(bytes.fromhex("00532445"))[0] == Described(ULong(0x24), [])
    assert decode(bytes.fromhex("00a305613a623a63a10178"))[0] == Described(Symbol("a:b:c"), "x")


def test_arrays() -> None:
    symbols = Array("symbol", (Symbol("a"), Symbol("b"), Symbol("c")))
    assert decode(bytes.fromhex("e00803a3016101620163"))[0] == symbols
    wide = Array("int", (Int(1), Int(2)))
    assert decode(bytes.fromhex("f00000000d00000002710000000100000002"))[0] == wide
    assert decode(bytes.fromhex("e0040256" + "0100"))[0] == Array("boolean", (True, False))
    assert decode(bytes.fromhex("e0020041"))[0] == Array("boolean", ())


def test_an_array_of_described_elements_has_the_descriptor_once() -> None:
    decoded, _ = decode(bytes.fromhex("e00702005310540102"))
    assert decoded == Array("int", (Int(1), Int(2)), (ULong(0x10),))


def test_an_array_of_arrays() -> None:
    # Two arrays of uint: [1] and [], each with its own size, count and constructor.
    decoded, _ = decode(bytes.fromhex("e00902e003015201" + "020052"))
    assert decoded == Array("array", (Array("uint", (UInt(1),)), Array("uint", ())))


def test_elements_without_bytes_take_no_memory() -> None:
    decoded, end = decode(bytes.fromhex("f000000005ffffffff40"))
    assert end == 10
    assert decoded == Array("null", Repeated(None, 2**32 - 1))


def test_special_floats() -> None:
    assert math.isnan(decode(bytes.fromhex("827ff8000000000000"))[0])  # type: ignore[arg-type]
    assert decode(bytes.fromhex("72ff800000"))[0] == -math.inf


@pytest.mark.parametrize("buffer", [bytearray(b"\x40\x41"), memoryview(b"\x40\x41")])
def test_any_buffer_is_read_at_an_offset(buffer: bytearray | memoryview) -> None:
    assert decode(buffer, 1) == (True, 2)


@pytest.mark.parametrize(
    ("encoded", "offset", "expected"),
    [
        ("", 0, "a constructor, found the end"),
        ("01", 0, "a constructor that AMQP defines, found 0x01"),
        ("5602", 1, "0 or 1 for a boolean, found 2"),
        ("56", 1, "1 bytes, found 0"),
        ("81000000", 1, "8 bytes, found 3"),
        ("98" + "00" * 15, 1, "16 bytes, found 15"),
        ("a10361", 2, "3 bytes, found 1"),
        ("a1", 1, "1 bytes, found 0"),
        ("b1ffffffff", 5, "4294967295 bytes, found 0"),
        ("a103" + "ff6263", 2, "UTF-8"),
        ("a103" + "61c328", 3, "UTF-8"),
        ("a103" + "eda080", 2, "UTF-8"),
        ("a302" + "61c3", 3, "ASCII"),
        ("730000d800", 1, "a Unicode scalar value"),
        ("7300110000", 1, "a Unicode scalar value"),
        ("d0000000ffffffffff", 5, "255 bytes, found 4"),
        ("d000000004ffffffff", 5, "at most 0 elements here, found 4294967295"),
        ("c0040141" + "4040", 4, "the end of a compound value, found 2 more bytes"),
        ("c1020140", 1, "an even count in a map, found 1"),
        ("f000000008ffffffff71000000", 10, "at most 3 elements here, found 4294967295"),
        ("e0050154014040", 5, "the end of an array, found 2 more bytes"),
        ("e0020101", 3, "a constructor that AMQP defines, found 0x01"),
        ("e00100", 3, "1 bytes, found 0"),
        ("e0040100" + "5310", 6, "1 bytes, found 0"),
        ("00", 1, "a constructor, found the end"),
        ("005310", 3, "a constructor, found the end"),
    ],
)
def test_malformed_bytes_say_where_and_what(encoded: str, offset: int, expected: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(bytes.fromhex(encoded))
    assert (caught.value.offset, caught.value.expected) == (offset, expected)
    assert str(caught.value) == f"at byte {offset}: expected {expected}"


@pytest.mark.parametrize("offset", [-1, 3])
def test_an_offset_outside_of_the_buffer(offset: int) -> None:
    with pytest.raises(DecodeError, match="an offset within the buffer of 2 bytes"):
        decode(b"\x40\x40", offset)


def nested_lists(levels: int) -> bytes:
    encoded = b"\x45"
    for _ in range(levels - 1):
        encoded = b"\xd0" + (len(encoded) + 4).to_bytes(4, "big") + b"\x00\x00\x00\x01" + encoded
    return encoded


@pytest.mark.parametrize(
    "encoded",
    [
        nested_lists(100_000 // 9),
        b"\x00" * 100_000,
        b"\xe0\xff\x01" + b"\x00\x40" * 100_000,
        (b"\x00\x40" * 70) + b"\x40",
    ],
)
def test_nesting_is_bounded(encoded: bytes) -> None:
    with pytest.raises(DecodeError):
        decode(encoded)


def test_64_levels_are_read() -> None:
    value, _ = decode(nested_lists(65))
    for _ in range(64):
        assert isinstance(value, list)
        [value] = value
    assert value == []
    with pytest.raises(DecodeError, match="at most 64 levels of nesting"):
        decode(nested_lists(66))
