"""The messages of the benchmarks as templates: bytes, and which of them change from message to message.

Every message has a number. All that changes has a fixed width and follows from the numbers, so that
`bench.load.blocks` fills many messages with a handful of numpy operations.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from bridge.codec import Described, Int, Map, Symbol, Timestamp, ULong, encode

if TYPE_CHECKING:
    from collections.abc import Callable

Numbers: TypeAlias = NDArray[np.int64]
"""Numbers of messages, one-dimensional."""

SHAPES: Final = ("bare", "typical")
DIGITS: Final = 12
"""How many digits of its number a body starts with; no body is shorter."""

_FOUR_DIGITS: Final = np.frombuffer(b"".join(b"%04d" % number for number in range(10_000)), np.uint32)
"""The digits of the numbers below 10,000, as four bytes each."""
_ID_DIGITS: Final = 9
_COUNT: Final = 100_000
_COUNTS: Final = 1_000_000_000
_PRICE: Final = 12.5
_ZERO_DIGIT: Final = ord("0")
# Odd, with bits all over: products look like what tracing libraries draw.
_TRACES: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True)
class Field:
    """Bytes of a message that follow from its number: where they are, as what, and the values."""

    at: int
    dtype: str
    values: Callable[[Numbers], NDArray[Any] | int]

    @property
    def end(self) -> int:
        """Where the field ends."""
        return self.at + np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True)
class Template:
    """One encoded message and its fields; `body_bytes` is how long its body is."""

    encoded: bytes
    fields: tuple[Field, ...]
    body_bytes: int


def template(shape: str, body_bytes: int) -> Template:
    """Make the template of a shape, one of SHAPES; a body of DIGITS bytes at least."""
    body = b"0" * DIGITS + b"x" * (body_bytes - DIGITS)
    head = _typical_head() if shape == "typical" else b""
    encoded = head + _section(0x75, body)
    fields = _digits(len(encoded) - body_bytes, DIGITS)
    if head:
        fields += _typical_fields(head)
    return Template(encoded, tuple(fields), body_bytes)


def _section(code: int, content: object) -> bytes:
    return encode(Described(ULong(code), content))


# Values that occur nowhere else in the message, to find their places by.
_ID: Final = "order-" + "#" * _ID_DIGITS
_CREATED: Final = Timestamp(0x7A7B7C7D7E7F)
_SOME_COUNT: Final = Int(0x6A6B6C6D)
_SOME_PRICE: Final = 1e300
_SOME_TRACE: Final = UUID(int=0x5A5B5C5D5E5F << 64)


def _typical_head() -> bytes:
    """Encode what comes before the body of a message as applications send them."""
    properties: list[object] = [None] * 10
    properties[0], properties[3] = _ID, "orders.created"
    properties[6], properties[9] = Symbol("application/json"), _CREATED
    application = Map(
        [
            ("region", "eu-west-1"),
            ("count", _SOME_COUNT),
            ("price", _SOME_PRICE),
            ("urgent", True),
            ("trace", _SOME_TRACE),
        ]
    )
    return _section(0x73, properties) + _section(0x74, application)


def _typical_fields(head: bytes) -> list[Field]:
    def place(value: object) -> int:
        """Give where the value's content starts, behind its constructor of one byte."""
        return head.index(encode(value)) + 1

    def trace(factor: int) -> Callable[[Numbers], NDArray[Any]]:
        return lambda numbers: (numbers + 1).astype(np.uint64) * np.uint64(factor)

    digits_at = head.index(b"#")
    trace_at = place(_SOME_TRACE)
    return [
        *_digits(digits_at, _ID_DIGITS),
        Field(place(_CREATED), ">i8", lambda _: time.time_ns() // 1_000_000),
        Field(place(_SOME_COUNT), ">i4", lambda numbers: _COUNT + numbers % _COUNTS),
        Field(place(_SOME_PRICE), ">f8", lambda numbers: _PRICE + numbers),
        Field(trace_at, ">u8", trace(_TRACES[0])),
        Field(trace_at + 8, ">u8", trace(_TRACES[1])),
    ]


def _digits(at: int, count: int) -> list[Field]:
    """Make the fields of a number in decimal digits: a group of four each, those left over one each."""
    groups, single = divmod(count, 4)

    def group(power: int) -> Callable[[Numbers], NDArray[Any]]:
        return lambda numbers: _FOUR_DIGITS[numbers // power % 10_000]

    def digit(power: int) -> Callable[[Numbers], NDArray[Any]]:
        return lambda numbers: numbers // power % 10 + _ZERO_DIGIT

    fields = [Field(at + place, ">u1", digit(10 ** (count - place - 1))) for place in range(single)]
    return fields + [
        # In the machine's own order: the table's values are four bytes as they are.
        Field(at + single + 4 * place, "=u4", group(10_000 ** (groups - place - 1)))
        for place in range(groups)
    ]
