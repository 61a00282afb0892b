"""One Python type for each AMQP type, so that decoding and encoding again keeps the type.

| AMQP (core 1.6) | Python | | AMQP | Python |
|---|---|---|---|---|
| null | `None` | | char | `Char` (one code point) |
| boolean | `bool` | | timestamp | `Timestamp` (ms since the epoch) |
| ubyte, ushort, uint, ulong | `UByte`, `UShort`, `UInt`, `ULong` | | uuid | `uuid.UUID` |
| byte, short, int, long | `Byte`, `Short`, `Int`, `Long` | | binary | `bytes` |
| float | `Float` | | string | `str` |
| double | `float` | | symbol | `Symbol` (ASCII) |
| decimal32, 64, 128 | `Decimal32`, `Decimal64`, `Decimal128` (raw) | | list | `list` |
| map | `Map` | | array | `Array` |
| a described value | `Described` | | | |

A plain `int` is none of these: it does not say which of the nine integers is meant.
The classes do not check ranges when they are made, since the decoder makes only values in range;
`encode` checks them. Numbers compare as Python numbers do, whatever their AMQP type:
`UInt(5) == Long(5)`. To compare with the types, compare what `encode` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload


class _Integer(int):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    __str__ = int.__repr__


class UByte(_Integer):
    """0 .. 2^8 - 1."""

    __slots__ = ()


class UShort(_Integer):
    """0 .. 2^16 - 1."""

    __slots__ = ()


class UInt(_Integer):
    """0 .. 2^32 - 1."""

    __slots__ = ()


class ULong(_Integer):
    """0 .. 2^64 - 1."""

    __slots__ = ()


class Byte(_Integer):
    """-2^7 .. 2^7 - 1."""

    __slots__ = ()


class Short(_Integer):
    """-2^15 .. 2^15 - 1."""

    __slots__ = ()


class Int(_Integer):
    """-2^31 .. 2^31 - 1."""

    __slots__ = ()


class Long(_Integer):
    """-2^63 .. 2^63 - 1."""

    __slots__ = ()


class Timestamp(_Integer):
    """Milliseconds since 1970-01-01T00:00:00Z, as a 64-bit signed integer."""

    __slots__ = ()


class Float(float):
    """A 32-bit IEEE 754 number; a 64-bit one, AMQP's double, is a plain `float`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Float({float(self)!r})"


class _Raw(bytes):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({bytes(self)!r})"


class Decimal32(_Raw):
    """The 4 bytes of an IEEE 754-2008 decimal32, not interpreted."""

    __slots__ = ()


class Decimal64(_Raw):
    """The 8 bytes of a decimal64, not interpreted."""

    __slots__ = ()


class Decimal128(_Raw):
    """The 16 bytes of a decimal128, not interpreted."""

    __slots__ = ()


class _Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class Char(_Text):
    """A single Unicode scalar value."""

    __slots__ = ()


class Symbol(_Text):
    """A symbolic value from a constrained domain, ASCII."""

    __slots__ = ()


class Map(tuple[tuple[object, object], ...]):
    """A map as its (key, value) pairs, in order.

    A `dict` will not do: AMQP's keys may be lists or maps, the integer 1, the unsigned integer 1
    and true are three keys, and the order of the pairs counts (core 1.6.23).
    """

    __slots__ = ()

    def get(self, key: object, default: object = None) -> object:
        """Give the value of the first key of the same Python type that equals `key`."""
        for name, value in self:
            if type(name) is type(key) and name == key:
                return value
        return default

    def __repr__(self) -> str:
        return f"Map({super().__repr__()})"


@dataclass(frozen=True, slots=True)
class Described:
    """A value with a descriptor that says what it means (core 1.2)."""

    descriptor: object
    value: object


class Repeated(Sequence[object]):
    """One value many times over, in the memory of one.

    The elements of an array whose constructor is complete in itself (true, uint0, list0 ...) take
    no bytes, so that ten bytes can announce four thousand million of them.
    """

    __slots__ = ("_count", "value")

    def __init__(self, value: object, count: int) -> None:
        self.value = value
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> object: ...

    @overload
    def __getitem__(self, index: slice) -> Repeated: ...

    def __getitem__(self, index: int | slice) -> object:
        places = range(self._count)[index]
        return Repeated(self.value, len(places)) if isinstance(places, range) else self.value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Repeated):
            return self._count == other._count and (not self._count or self.value == other.value)
        return NotImplemented

    def __hash__(self) -> int:
        return hash((Repeated, self._count))

    def __repr__(self) -> str:
        return f"Repeated({self.value!r}, {self._count})"


@dataclass(frozen=True, slots=True)
class Array:
    """Values of one type (core 1.6.24).

    `element` names the AMQP type of the elements ("uint", "list", "array" ...). Where the elements
    are described, `descriptors` gives their common descriptors, outermost first, and `items` the
    values without them. An empty array keeps both.
    """

    element: str
    items: Sequence[object]
    descriptors: tuple[object, ...] = ()
