"""Typed values in JSON: the vocabulary in which messages are described to clients in any language.

A value is `{"type": "ulong", "value": "18446744073709551615"}`; the text of each type is told beside
`EDGES`. Compound ones hold others: `list` a list of values, `map` a list of pairs, `array` its element
type as `of` and a list of values, `described` a `descriptor` and a `value`. Knows neither Kafka nor
the bridge.
"""

from __future__ import annotations

import math
import random
import struct
import uuid
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Value: TypeAlias = dict[str, Any]

_LONG_TEXT: Final = "x" * 300
"""Longer than what AMQP's short encodings hold."""

EDGES: Final[dict[str, tuple[str | None, ...]]] = {
    "null": (None,),
    "boolean": ("true", "false"),
    # Integers are decimal digits.
    "ubyte": ("0", "255", "127"),
    "ushort": ("0", "65535", "255"),
    "uint": ("0", "4294967295", "255", "256"),
    "ulong": ("0", "18446744073709551615", "255", "256", "9007199254740992"),
    "byte": ("0", "-128", "127"),
    "short": ("0", "-32768", "32767"),
    "int": ("0", "-2147483648", "2147483647", "-128", "127", "-129", "128"),
    "long": ("0", "-9223372036854775808", "9223372036854775807", "-128", "127", "-129", "128"),
    # Floating point numbers are what Python's float() reads.
    "float": ("0.5", "NaN", "Infinity", "-Infinity", "-0.0", "3.4028235e+38", "1e-45", "1.1"),
    "double": (
        "0.5",
        "NaN",
        "Infinity",
        "-Infinity",
        "-0.0",
        "1.7976931348623157e+308",
        "5e-324",
        "1.1",
        "1e+16",
    ),
    # Decimals are the hexadecimal digits of IEEE 754's encoding.
    "decimal32": ("32800001", "00000000"),
    "decimal64": ("2fe38d7ea4c67fff", "0000000000000000"),
    "decimal128": ("000102030405060708090a0b0c0d0e0f", "0" * 32),
    "char": ("A", "€", "😀", "\x00"),
    # Milliseconds since 1970.
    "timestamp": ("0", "1790000000125", "-125", "253402300799999"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "12345678-1234-5678-1234-567812345678"),
    # Binary is hexadecimal digits.
    "binary": ("", "00ff", "ab" * 300),
    "string": ("", "grüße, 日本 😀", _LONG_TEXT, "a;b=c%\n"),
    "symbol": ("a", "example:symbol#1", _LONG_TEXT),
}
"""The values that come first, by type; then come random ones."""

_INTEGER_BITS: Final = {
    "ubyte": (0, 8),
    "ushort": (0, 16),
    "uint": (0, 32),
    "ulong": (0, 64),
    "byte": (1, 7),
    "short": (1, 15),
    "int": (1, 31),
    "long": (1, 63),
}
"""Whether there are negative ones, and the bits of the largest."""
PRIMITIVES: Final = tuple(EDGES)


def value(kind: str, text: object) -> Value:
    """Write down a value."""
    return {"type": kind, "value": text}


def string(text: str) -> Value:
    """Write down a string."""
    return value("string", text)


def symbol(text: str) -> Value:
    """Write down a symbol."""
    return value("symbol", text)


def array(of: str, elements: Iterable[Value]) -> Value:
    """Write down an array, all of whose elements have one type."""
    return {"type": "array", "of": of, "value": list(elements)}


def described(descriptor: Value, inner: Value) -> Value:
    """Write down a described value."""
    return {"type": "described", "descriptor": descriptor, "value": inner}


class Source:
    """Gives values: the n-th source of a name gives the same ones on every machine.

    As `repetition` grows, each type's edges come first.
    """

    def __init__(self, name: str, repetition: int) -> None:
        self.repetition = repetition
        self.random: Final = random.Random(f"{name}/{repetition}")  # noqa: S311 - no secrets are made of it

    def value(self, kind: str) -> Value:
        """Give a value of a primitive type."""
        edges = EDGES[kind]
        if self.repetition < len(edges):
            return value(kind, edges[self.repetition])
        return value(kind, self._text(kind))

    def _text(self, kind: str) -> str | None:
        if kind in _INTEGER_BITS:
            negative, bits = _INTEGER_BITS[kind]
            size = self.random.getrandbits(self.random.randint(1, bits))
            return str(-size if negative and self.random.random() < 0.5 else size)
        if kind in _RANDOM:
            return _RANDOM[kind](self.random)
        return EDGES[kind][self.repetition % len(EDGES[kind])]


def _float(source: random.Random) -> str:
    (number,) = struct.unpack(">f", source.randbytes(4))
    return float_text(number, ">f")


def _double(source: random.Random) -> str:
    (number,) = struct.unpack(">d", source.randbytes(8))
    return float_text(number, ">d")


def _string(source: random.Random) -> str:
    return "".join(source.choices("abcdefghijklmnop äöü€日本😀;=%", k=source.randint(1, 40)))


def _symbol(source: random.Random) -> str:
    return "".join(source.choices("abcdefghijklmnop.-:", k=source.randint(1, 20)))


_RANDOM: Final[dict[str, Callable[[random.Random], str]]] = {
    "float": _float,
    "double": _double,
    "decimal32": lambda source: source.randbytes(4).hex(),
    "decimal64": lambda source: source.randbytes(8).hex(),
    "decimal128": lambda source: source.randbytes(16).hex(),
    "char": lambda source: source.choice("abcäöü€日本😀"),
    "timestamp": lambda source: str(source.randint(1, 4_000_000_000_000)),
    "uuid": lambda source: str(uuid.UUID(bytes=source.randbytes(16))),
    "binary": lambda source: source.randbytes(source.randint(1, 40)).hex(),
    "string": _string,
    "symbol": _symbol,
}


def float_text(number: float, layout: str) -> str:
    """Return the shortest text that gives a number of the struct layout `>f` or `>d` again."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if layout == ">d":
        return repr(number)
    exact = struct.pack(layout, number)
    for digits in range(1, 10):
        shorter = float(f"{number:.{digits}g}")
        try:
            if struct.pack(layout, shorter) == exact:
                return repr(shorter)
        except OverflowError:
            continue  # rounded up beyond the largest
    raise AssertionError(number)


def canonical(found: Value) -> Value:
    """Return a value with each number in one spelling, as languages write numbers differently."""
    kind, inner = found["type"], found["value"]
    if kind in {"float", "double", "number"}:
        number = float(inner)
        if kind == "float":
            (number,) = struct.unpack(">f", struct.pack(">f", number))
        return value(kind, float_text(number, ">f" if kind == "float" else ">d"))
    if kind in {"list", "array"}:
        return {**found, "value": [canonical(each) for each in inner]}
    if kind == "map":
        return value("map", [[canonical(key), canonical(each)] for key, each in inner])
    if kind == "described":
        return described(canonical(found["descriptor"]), canonical(inner))
    return found


def walk(found: Value) -> Iterable[Value]:
    """Give a value and all those inside it."""
    yield found
    inner = found["value"]
    if found["type"] in {"list", "array"}:
        for each in inner:
            yield from walk(each)
    elif found["type"] == "map":
        for key, each in inner:
            yield from walk(key)
            yield from walk(each)
    elif found["type"] == "described":
        yield from walk(found["descriptor"])
        yield from walk(inner)
