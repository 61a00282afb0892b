"""What an AMQP value is to a filter: a truth value, a number, a text, or something opaque.

| AMQP | in a selector |
|---|---|
| boolean | a truth value |
| integers of all widths, timestamp (in ms) | an exact number |
| float, double; decimal32, 64, 128 (rounded to a double) | an approximate number |
| string, symbol, char | a text |
| uuid | a text: 32 digits in small letters, with hyphens |
| binary | a text if it is UTF-8, for headers and user ids mostly are; opaque if not |
| list, map, array, described values | opaque |

An opaque value is not null, and no comparison with it holds, but for one of equal binaries. A float is
widened as in Java: one of 0.1 is not equal to the literal 0.1, which is a double.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from bridge.codec import (
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Float,
    Int,
    Long,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TRUTHS: Final = frozenset((bool,))
NUMBERS: Final[frozenset[type]] = frozenset(
    (int, float, UByte, UShort, UInt, ULong, Byte, Short, Int, Long, Timestamp, Float)
)
TEXTS: Final[frozenset[type]] = frozenset((str, Symbol, Char))
BINARIES: Final = frozenset((bytes,))

_CATEGORIES: Final = (TRUTHS, NUMBERS, TEXTS, BINARIES)
CATEGORY: Final[Mapping[type, frozenset[type]]] = {kind: each for each in _CATEGORIES for kind in each}
"""The types whose values may be compared with one of a type; opaque ones have none."""


def comparable(value: object) -> object:
    """Give what a selector sees of an AMQP value; None stays None."""
    convert = CONVERSIONS.get(type(value))
    return value if convert is None else convert(value)


def text_or_bytes(value: bytes) -> str | bytes:
    """Give the text of a binary; the binary itself if it is not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


_BIASES: Final = {32: (8, 101), 64: (10, 398), 128: (14, 6176)}
"""By the bits of a decimal: those of its exponent, and what is added to that (IEEE 754-2008, 3.5.2)."""


def approximate(raw: bytes) -> float | None:
    """Give the double nearest to a decimal in binary integer encoding, which AMQP uses (core 1.6.15).

    None for what is no number.
    """
    bits = len(raw) * 8
    exponent_bits, bias = _BIASES[bits]
    number = int.from_bytes(raw, "big")
    sign = -1.0 if number >> (bits - 1) else 1.0
    combination = number >> (bits - 5) & 0xF
    if combination == 0xF:  # noqa: PLR2004 - four bits set
        infinite = not number >> (bits - 6) & 1
        return sign * float("inf") if infinite else None
    coefficient_bits = bits - 1 - exponent_bits
    if combination >> 2 == 0x3:  # noqa: PLR2004 - two bits set: the coefficient begins with 100
        coefficient_bits -= 2
        coefficient = 0b100 << coefficient_bits
    else:
        coefficient = 0
    coefficient |= number & ((1 << coefficient_bits) - 1)
    exponent = (number >> coefficient_bits & ((1 << exponent_bits) - 1)) - bias
    return sign * float(f"{coefficient}e{exponent}")


def _uuid_text(value: UUID) -> str:
    return str(value)


CONVERSIONS: Final[Mapping[type, Callable[..., object]]] = {
    bytes: text_or_bytes,
    UUID: _uuid_text,
    Decimal32: approximate,
    Decimal64: approximate,
    Decimal128: approximate,
}
"""By the Python type of an AMQP value, what makes of it what a selector sees; others stay."""
