"""The type system of AMQP 1.0 (core, part 1): bytes to Python values and back.

`decode(buffer, offset) -> (value, next_offset)` and `encode(value) -> bytes`. `bridge.codec.types`
says which Python type stands for which AMQP type. Knows types only: what a section, a frame or a
performative means is said elsewhere. Never reads outside the buffer, never needs memory out of
proportion to it, and raises nothing but `DecodeError` and `EncodeError`.
"""

from bridge.codec.decode import decode
from bridge.codec.encode import encode
from bridge.codec.errors import DecodeError, EncodeError
from bridge.codec.types import (
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
    Repeated,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

__all__ = [
    "Array",
    "Byte",
    "Char",
    "Decimal32",
    "Decimal64",
    "Decimal128",
    "DecodeError",
    "Described",
    "EncodeError",
    "Float",
    "Int",
    "Long",
    "Map",
    "Repeated",
    "Short",
    "Symbol",
    "Timestamp",
    "UByte",
    "UInt",
    "ULong",
    "UShort",
    "decode",
    "encode",
]
