from __future__ import annotations

import math
import struct
from uuid import UUID

import pytest

from bridge.codec import (
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
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
    encode,
)
from bridge.mapping.to_text import CODES, MALFORMED, READ, double_text, float_text

SMALLEST_FLOAT = struct.unpack(">f", b"\x00\x00\x00\x01")[0]
LARGEST_FLOAT = struct.unpack(">f", b"\x7f\x7f\xff\xff")[0]


@pytest.mark.parametrize(
    ("value", "text", "code"),
    [
        (None, None, "null"),
        (True, b"true", "boolean"),
        (False, b"false", "boolean"),
        (UByte(200), b"200", "ubyte"),
        (UShort(60_000), b"60000", "ushort"),
        (UInt(0), b"0", "uint"),
        (UInt(200), b"200", "uint"),
        (UInt(2**32 - 1), b"4294967295", "uint"),
        (ULong(0), b"0", "ulong"),
        (ULong(200), b"200", "ulong"),
        (ULong(2**64 - 1), b"18446744073709551615", "ulong"),
        (Byte(-128), b"-128", "byte"),
        (Short(-30_000), b"-30000", "short"),
        (Int(-5), b"-5", "int"),
        (Int(-(2**31)), b"-2147483648", "int"),
        (Long(-5), b"-5", "long"),
        (Long(-(2**63)), b"-9223372036854775808", "long"),
        (Float(0.1), b"0.1", "float"),
        (0.1, b"0.1", "double"),
        (Decimal32(b"\x22\x50\x00\xff"), b"225000ff", "decimal32"),
        (Decimal64(bytes(8)), b"0" * 16, "decimal64"),
        (Decimal128(bytes(16)), b"0" * 32, "decimal128"),
        (Char("\N{GRINNING FACE}"), b"\xf0\x9f\x98\x80", "char"),
        (Timestamp(1_700_000_000_123), b"1700000000123", "timestamp"),
        (UUID("123e4567-e89b-12d3-a456-426614174000"), b"123e4567-e89b-12d3-a456-426614174000", "uuid"),
        (b"\x00\xff", b"\x00\xff", "binary"),
        (b"x" * 300, b"x" * 300, "binary"),
        ("é", b"\xc3\xa9", "string"),
        ("é" * 200, b"\xc3\xa9" * 200, "string"),
        (Symbol("a"), b"a", "symbol"),
        (Symbol("a" * 300), b"a" * 300, "symbol"),
        ([], b"\x45", "amqp"),
        ([UInt(0)], b"\xc0\x02\x01\x43", "amqp"),
        (Map(), b"\xc1\x01\x00", "amqp"),
        (Described(ULong(1), "x"), b"\x00\x53\x01\xa1\x01x", "amqp"),
    ],
)
def test_every_type_has_a_readable_text(value: object, text: bytes | None, code: str) -> None:
    buffer = b"\x40" + encode(value) + b"\x40"
    assert READ[buffer[1]](buffer, 2) == (text, len(buffer) - 1)
    assert CODES[buffer[1]] == code


def test_a_boolean_with_a_byte() -> None:
    assert READ[0x56](b"\x56\x01", 1) == (b"true", 2)
    assert READ[0x56](b"\x56\x00", 1) == (b"false", 2)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, b"1.0"),
        (-0.0, b"-0.0"),
        (1e22, b"1e+22"),
        (5e-324, b"5e-324"),
        (1 / 3, b"0.3333333333333333"),
        (math.nan, b"NaN"),
        (math.inf, b"Infinity"),
        (-math.inf, b"-Infinity"),
    ],
)
def test_doubles_have_their_shortest_text(value: float, text: bytes) -> None:
    assert double_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Float(0.1), b"0.1"),
        (Float(16_777_216), b"16777216.0"),
        (Float(1 / 3), b"0.33333334"),
        (Float(3.4e38), b"3.4e+38"),
        (LARGEST_FLOAT, b"3.4028235e+38"),
        (SMALLEST_FLOAT, b"1e-45"),
        (0.0, b"0.0"),
        (math.nan, b"NaN"),
        (-math.inf, b"-Infinity"),
    ],
)
def test_floats_have_the_shortest_text_that_gives_the_same_32_bits(value: float, text: bytes) -> None:
    rounded = struct.unpack(">f", struct.pack(">f", value))[0]
    assert float_text(rounded) == text


@pytest.mark.parametrize(
    "encoded",
    [
        *("a103616263", "a10361ff62", "a30161ff", "a30161c3", "5602", "7200", "980000", "01", "73"),
        *("7300110000", "c0", "c0050141", "b1000000", "b0", "e0"),
    ],
)
def test_what_is_malformed_raises_or_ends_behind_the_buffer(encoded: str) -> None:
    buffer = bytes.fromhex(encoded)[:-1] if encoded == "a103616263" else bytes.fromhex(encoded)
    try:
        _, end = READ[buffer[0]](buffer, 1)
    except MALFORMED:
        return
    assert end != len(buffer)


def test_an_undefined_constructor_is_named() -> None:
    with pytest.raises(DecodeError, match="at byte 0: expected a constructor that AMQP defines, found 0x7f"):
        READ[0x7F](b"\x7f", 1)
