from __future__ import annotations

from uuid import UUID

import pytest

from bridge.codec import (
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Float,
    Int,
    Map,
    Symbol,
    Timestamp,
    ULong,
)
from bridge.filters.values import (
    BINARIES,
    CATEGORY,
    NUMBERS,
    TEXTS,
    TRUTHS,
    approximate,
    comparable,
    text_or_bytes,
)


@pytest.mark.parametrize(
    ("value", "seen", "category"),
    [
        (True, True, TRUTHS),
        (Int(5), 5, NUMBERS),
        (ULong(2**64 - 1), 2**64 - 1, NUMBERS),
        (Timestamp(1000), 1000, NUMBERS),
        (Float(1.5), 1.5, NUMBERS),
        (2.5, 2.5, NUMBERS),
        (Decimal32(bytes.fromhex("32800001")), 1.0, NUMBERS),
        ("text", "text", TEXTS),
        (Symbol("text"), "text", TEXTS),
        (Char("t"), "t", TEXTS),
        (UUID(int=255), "00000000-0000-0000-0000-0000000000ff", TEXTS),
        (b"text", "text", TEXTS),
        (b"\xff", b"\xff", BINARIES),
    ],
)
def test_what_a_selector_sees_of_an_amqp_value(
    value: object, seen: object, category: frozenset[type]
) -> None:
    assert comparable(value) == seen
    assert CATEGORY[type(comparable(value))] is category


def test_null_stays_null_and_compound_values_are_opaque() -> None:
    assert comparable(None) is None
    assert type(comparable(Map())) not in CATEGORY
    assert type(comparable([])) not in CATEGORY


def test_binaries_that_are_no_utf_8_stay_binaries() -> None:
    assert text_or_bytes("é".encode()) == "é"
    assert text_or_bytes(b"\xe9") == b"\xe9"


@pytest.mark.parametrize(
    ("raw", "number"),
    [
        (Decimal32(bytes.fromhex("32800000")), 0.0),
        (Decimal32(bytes.fromhex("3200000f")), 1.5),
        (Decimal32(bytes.fromhex("b200000f")), -1.5),
        (Decimal32(bytes.fromhex("6cb8967f")), 9_999_999.0),
        (Decimal64((398 << 53 | 42).to_bytes(8, "big")), 42.0),
        (Decimal64((396 << 53 | 42).to_bytes(8, "big")), 0.42),
        (Decimal128((6177 << 113 | 42).to_bytes(16, "big")), 420.0),
        (Decimal32(bytes.fromhex("78000000")), float("inf")),
        (Decimal32(bytes.fromhex("f8000000")), float("-inf")),
        (Decimal32(bytes.fromhex("7c000000")), None),
    ],
)
def test_decimals_become_doubles(raw: bytes, number: float | None) -> None:
    assert approximate(raw) == number
