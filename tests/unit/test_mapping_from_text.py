from __future__ import annotations

import pytest

from bridge.mapping.from_text import WRITE
from bridge.mapping.type_hints import CODES


def test_there_is_a_writer_for_every_code() -> None:
    assert set(WRITE) == CODES


@pytest.mark.parametrize(
    ("code", "text", "encoded"),
    [
        ("null", None, "40"),
        ("boolean", b"true", "41"),
        ("boolean", b"false", "42"),
        ("ubyte", b"255", "50ff"),
        ("ushort", b"5", "600005"),
        ("uint", b"0", "43"),
        ("uint", b"5", "5205"),
        ("uint", b"4294967295", "70ffffffff"),
        ("ulong", b"0", "44"),
        ("ulong", b"5", "5305"),
        ("ulong", b"18446744073709551615", "80ffffffffffffffff"),
        ("byte", b"-128", "5180"),
        ("short", b"-1", "61ffff"),
        ("int", b"-1", "54ff"),
        ("int", b"-129", "71ffffff7f"),
        ("long", b"5", "5505"),
        ("long", b"-9223372036854775808", "818000000000000000"),
        ("float", b"1.5", "723fc00000"),
        ("float", b"NaN", "727fc00000"),
        ("double", b"1.5", "823ff8000000000000"),
        ("double", b"-Infinity", "82fff0000000000000"),
        ("decimal32", b"225000ff", "74225000ff"),
        ("decimal64", b"0" * 16, "84" + "00" * 8),
        ("decimal128", b"0" * 32, "94" + "00" * 16),
        ("char", b"\xc3\xa9", "73000000e9"),
        ("timestamp", b"-1", "83ffffffffffffffff"),
        ("uuid", b"123e4567-e89b-12d3-a456-426614174000", "98123e4567e89b12d3a456426614174000"),
        ("binary", b"\xff", "a001ff"),
        ("binary", b"x" * 256, "b000000100" + "78" * 256),
        ("string", b"\xc3\xa9", "a102c3a9"),
        ("string", b"x" * 256, "b100000100" + "78" * 256),
        ("symbol", b"a", "a30161"),
        ("symbol", b"x" * 256, "b300000100" + "78" * 256),
        ("amqp", b"\x45", "45"),
        ("amqp", b"\xc1\x01\x00", "c10100"),
        ("annotation", b"a", "a10161"),
    ],
)
def test_text_becomes_the_value_again(code: str, text: bytes | None, encoded: str) -> None:
    written = WRITE[code](text)
    assert written is not None
    assert written.hex() == encoded


@pytest.mark.parametrize("code", sorted(CODES - {"null"}))
def test_a_null_header_is_null_alone(code: str) -> None:
    assert WRITE[code](None) is None


NOT_INTEGERS = [
    b"",
    b"-",
    b"-0",
    b"05",
    b"+5",
    b" 5",
    b"5 ",
    b"1_0",
    b"5.0",
    b"0x5",
    b"a",
    b"\xd9\xa3",
    b"9" * 21,
]


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ("null", [b""]),
        ("boolean", [b"True", b"1", b""]),
        ("ubyte", [*NOT_INTEGERS, b"256", b"-1"]),
        ("ushort", [*NOT_INTEGERS, b"65536", b"-1"]),
        ("uint", [*NOT_INTEGERS, b"4294967296", b"-1"]),
        ("ulong", [*NOT_INTEGERS, b"18446744073709551616", b"-1"]),
        ("byte", [*NOT_INTEGERS, b"128", b"-129"]),
        ("short", [*NOT_INTEGERS, b"32768"]),
        ("int", [*NOT_INTEGERS, b"2147483648"]),
        ("long", [*NOT_INTEGERS, b"9223372036854775808"]),
        ("timestamp", [*NOT_INTEGERS, b"9223372036854775808"]),
        ("float", [b"1", b"1.50", b"nan", b"1e400", b"3.4028236e+38", b"0.10000000149011612", b"x", b"inf"]),
        ("double", [b"1", b"1.50", b"nan", b"inf", b"1e22", b"x", b""]),
        ("decimal32", [b"225000FF", b"225000f", b"225000fff", b"22500zff", b""]),
        ("decimal64", [b"225000ff"]),
        ("decimal128", [b"225000ff"]),
        ("char", [b"", b"ab", b"\xff", b"\xed\xa0\x80"]),
        (
            "uuid",
            [
                b"123E4567-E89B-12D3-A456-426614174000",
                b"123e4567e89b12d3a456426614174000",
                b"123e45678-e89-12d3-a456-426614174000",
                b"123e4567-e89b-12d3-a456-42661417400g",
                b"123e4567-e89b-12d3-a456-4266141740-0",
                b"",
            ],
        ),
        ("string", [b"\xff", b"\xed\xa0\x80"]),
        ("symbol", [b"\xc3\xa9"]),
        ("amqp", [b"", b"\x40", b"\xa1\x01a", b"\x45\x45", b"\xc0\x05", b"\xff", b"\x71\x00\x00\x00\x05"]),
    ],
)
def test_text_that_would_not_come_back_the_same_is_no_value(code: str, texts: list[bytes]) -> None:
    assert [text for text in texts if WRITE[code](text) is not None] == []
