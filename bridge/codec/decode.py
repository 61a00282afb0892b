"""AMQP bytes to Python values (core 1.2 and 1.6): one function for each constructor.

Strict where the specification is: UTF-8, ASCII symbols, Unicode scalar values, booleans of 0 or 1,
and sizes and counts that agree with what is there. Nothing is allocated for what a count announces
before its bytes are seen, and the nesting is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final, NoReturn, TypeAlias
from uuid import UUID

from bridge.codec import types
from bridge.codec.errors import DecodeError
from bridge.codec.names import TYPE_NAMES

MAX_DEPTH: Final = 64
"""How deep lists, maps, arrays and descriptors may nest. Real messages use three or four levels."""

_Read: TypeAlias = Callable[[bytes, int, int, int], tuple[object, int]]
"""Buffer, place behind the constructor, end of what may be read, levels left: value and place
behind it."""


def decode(buffer: bytes | bytearray | memoryview, offset: int = 0) -> tuple[object, int]:
    """Decode the value at `offset`; gives it and the offset behind it.

    The value's Python type is told by `bridge.codec.types`. Raises DecodeError for anything
    malformed, with the offset in `buffer`.
    """
    if not isinstance(buffer, bytes):
        buffer = bytes(buffer)
    end = len(buffer)
    if not 0 <= offset <= end:
        raise DecodeError(offset, f"an offset within the buffer of {end} bytes")
    return _value(buffer, offset, end, MAX_DEPTH)


def _value(buffer: bytes, at: int, end: int, depth: int) -> tuple[object, int]:
    if at >= end:
        raise DecodeError(at, "a constructor, found the end")
    return _READ[buffer[at]](buffer, at + 1, end, depth)


def _short(at: int, end: int, width: int) -> NoReturn:
    raise DecodeError(at, f"{width} bytes, found {max(end - at, 0)}")


def _undefined(buffer: bytes, at: int, _end: int, _depth: int) -> NoReturn:
    raise DecodeError(at - 1, f"a constructor that AMQP defines, found 0x{buffer[at - 1]:02x}")


def _empty(value: object) -> _Read:
    def read(_buffer: bytes, at: int, _end: int, _depth: int) -> tuple[object, int]:
        return value, at

    return read


def _empty_list(_buffer: bytes, at: int, _end: int, _depth: int) -> tuple[object, int]:
    return [], at


def _number(layout: str, make: Callable[[int], object] | Callable[[float], object]) -> _Read:
    unpack, width = Struct(layout).unpack_from, Struct(layout).size

    def read(buffer: bytes, at: int, end: int, _depth: int) -> tuple[object, int]:
        if at + width > end:
            _short(at, end, width)
        return make(unpack(buffer, at)[0]), at + width

    return read


def _raw(width: int, make: Callable[[bytes], object]) -> _Read:
    def read(buffer: bytes, at: int, end: int, _depth: int) -> tuple[object, int]:
        if at + width > end:
            _short(at, end, width)
        return make(buffer[at : at + width]), at + width

    return read


def _boolean(buffer: bytes, at: int, end: int, _depth: int) -> tuple[object, int]:
    if at >= end:
        _short(at, end, 1)
    if buffer[at] > 1:
        raise DecodeError(at, f"0 or 1 for a boolean, found {buffer[at]}")
    return buffer[at] == 1, at + 1


def _char(buffer: bytes, at: int, end: int, _depth: int) -> tuple[object, int]:
    if at + 4 > end:
        _short(at, end, 4)
    try:
        return types.Char(buffer[at : at + 4].decode("utf-32-be")), at + 4
    except UnicodeDecodeError:
        raise DecodeError(at, "a Unicode scalar value") from None


def _uuid(raw: bytes) -> UUID:
    return UUID(bytes=raw)


def _size(buffer: bytes, at: int, end: int, width: int) -> int:
    if at + width > end:
        _short(at, end, width)
    return int.from_bytes(buffer[at : at + width], "big")


def _variable(width: int, make: Callable[[bytes], object], expected: str) -> _Read:
    def read(buffer: bytes, at: int, end: int, _depth: int) -> tuple[object, int]:
        start = at + width
        stop = start + _size(buffer, at, end, width)
        if stop > end:
            _short(start, end, stop - start)
        try:
            return make(buffer[start:stop]), stop
        except UnicodeDecodeError as error:
            raise DecodeError(start + error.start, expected) from None

    return read


def _utf8(raw: bytes) -> str:
    return raw.decode()


def _symbol(raw: bytes) -> types.Symbol:
    return types.Symbol(raw.decode("ascii"))


def _frame(buffer: bytes, at: int, end: int, width: int) -> tuple[int, int, int]:
    """Read the size and count of a compound value: the place behind them, its end, the count."""
    start = at + width
    stop = start + _size(buffer, at, end, width)
    if stop > end:
        _short(start, end, stop - start)
    return start + width, stop, _size(buffer, start, stop, width)


def _elements(buffer: bytes, at: int, end: int, depth: int, width: int) -> tuple[list[object], int]:
    if not depth:
        raise DecodeError(at - 1, f"at most {MAX_DEPTH} levels of nesting")
    at, stop, count = _frame(buffer, at, end, width)
    if count > stop - at:  # each element takes a byte or more
        raise DecodeError(at - width, f"at most {stop - at} elements here, found {count}")
    elements = []
    for _ in range(count):
        element, at = _value(buffer, at, stop, depth - 1)
        elements.append(element)
    if at != stop:
        raise DecodeError(at, f"the end of a compound value, found {stop - at} more bytes")
    return elements, stop


def _list(width: int) -> _Read:
    def read(buffer: bytes, at: int, end: int, depth: int) -> tuple[object, int]:
        return _elements(buffer, at, end, depth, width)

    return read


def _map(width: int) -> _Read:
    def read(buffer: bytes, at: int, end: int, depth: int) -> tuple[object, int]:
        elements, stop = _elements(buffer, at, end, depth, width)
        if len(elements) % 2:
            raise DecodeError(at, f"an even count in a map, found {len(elements)}")
        pairs = iter(elements)
        return types.Map(zip(pairs, pairs, strict=True)), stop

    return read


def _array(width: int) -> _Read:
    def read(buffer: bytes, at: int, end: int, depth: int) -> tuple[object, int]:
        if not depth:
            raise DecodeError(at - 1, f"at most {MAX_DEPTH} levels of nesting")
        at, stop, count = _frame(buffer, at, end, width)
        descriptors, at = _array_descriptors(buffer, at, stop, depth)
        if at >= stop:
            _short(at, stop, 1)
        code = buffer[at]
        if code not in TYPE_NAMES:
            _undefined(buffer, at + 1, stop, depth)
        items, at = _array_items(buffer, at + 1, stop, depth - 1, count)
        if at != stop:
            raise DecodeError(at, f"the end of an array, found {stop - at} more bytes")
        return types.Array(TYPE_NAMES[code], items, descriptors), stop

    return read


def _array_descriptors(buffer: bytes, at: int, stop: int, depth: int) -> tuple[tuple[object, ...], int]:
    descriptors: list[object] = []
    while at < stop and not buffer[at]:
        if len(descriptors) == depth:
            raise DecodeError(at, f"at most {MAX_DEPTH} levels of nesting")
        descriptor, at = _value(buffer, at + 1, stop, depth - 1)
        descriptors.append(descriptor)
    return tuple(descriptors), at


def _array_items(buffer: bytes, at: int, stop: int, depth: int, count: int) -> tuple[Sequence[object], int]:
    """Read the elements at `at`, which is behind their constructor."""
    read = _READ[buffer[at - 1]]
    if count and buffer[at - 1] in _COMPLETE:
        return types.Repeated(read(buffer, at, stop, depth)[0], count), at
    if count > stop - at:  # each element takes a byte or more
        raise DecodeError(at, f"at most {stop - at} elements here, found {count}")
    items = []
    for _ in range(count):
        item, at = read(buffer, at, stop, depth)
        items.append(item)
    return tuple(items), at


def _described(buffer: bytes, at: int, end: int, depth: int) -> tuple[object, int]:
    if not depth:
        raise DecodeError(at - 1, f"at most {MAX_DEPTH} levels of nesting")
    descriptor, at = _value(buffer, at, end, depth - 1)
    value, at = _value(buffer, at, end, depth - 1)
    return types.Described(descriptor, value), at


_COMPLETE: Final = frozenset(range(0x40, 0x46))
"""Constructors that are complete in themselves: no bytes follow."""

_CODES: Final[dict[int, _Read]] = {
    0x00: _described,
    0x40: _empty(None),
    0x41: _empty(value=True),
    0x42: _empty(value=False),
    0x43: _empty(types.UInt(0)),
    0x44: _empty(types.ULong(0)),
    0x45: _empty_list,
    0x50: _number(">B", types.UByte),
    0x51: _number(">b", types.Byte),
    0x52: _number(">B", types.UInt),
    0x53: _number(">B", types.ULong),
    0x54: _number(">b", types.Int),
    0x55: _number(">b", types.Long),
    0x56: _boolean,
    0x60: _number(">H", types.UShort),
    0x61: _number(">h", types.Short),
    0x70: _number(">I", types.UInt),
    0x71: _number(">i", types.Int),
    0x72: _number(">f", types.Float),
    0x73: _char,
    0x74: _raw(4, types.Decimal32),
    0x80: _number(">Q", types.ULong),
    0x81: _number(">q", types.Long),
    0x82: _number(">d", float),
    0x83: _number(">q", types.Timestamp),
    0x84: _raw(8, types.Decimal64),
    0x94: _raw(16, types.Decimal128),
    0x98: _raw(16, _uuid),
    0xA0: _variable(1, bytes, ""),
    0xA1: _variable(1, _utf8, "UTF-8"),
    0xA3: _variable(1, _symbol, "ASCII"),
    0xB0: _variable(4, bytes, ""),
    0xB1: _variable(4, _utf8, "UTF-8"),
    0xB3: _variable(4, _symbol, "ASCII"),
    0xC0: _list(1),
    0xC1: _map(1),
    0xD0: _list(4),
    0xD1: _map(4),
    0xE0: _array(1),
    0xF0: _array(4),
}

_READ: Final = tuple(_CODES.get(code, _undefined) for code in range(256))
