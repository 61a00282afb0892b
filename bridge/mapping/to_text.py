"""AMQP values to the bytes of Kafka headers, straight from their encoding.

One reader for each constructor code: `READ[code](buffer, at)` gives the header's bytes and the
place behind the value, where `at` is the place behind the constructor. The text of each type is
told in `docs/mapping.md`. `bridge.mapping.from_text` goes the other way.

A reader may read past the end of the section that it is in, never past the buffer's: whoever calls
it checks that the values of a section end where the section ends. What a reader finds malformed it
raises as one of `MALFORMED`.
"""

from __future__ import annotations

import struct
from binascii import hexlify
from collections.abc import Callable
from math import isfinite, isnan
from struct import Struct
from typing import Final, TypeAlias

from bridge.codec import DecodeError, decode
from bridge.codec.names import TYPE_NAMES
from bridge.mapping.type_hints import AMQP

Reader: TypeAlias = Callable[[bytes, int], tuple[bytes | None, int]]

MALFORMED: Final = (DecodeError, IndexError, UnicodeDecodeError, struct.error)
"""What reading malformed bytes may raise."""

_unpack_uuid = Struct(">8s4s4s4s12s").unpack
_unpack_float = Struct(">f").unpack_from
_pack_float = Struct(">f").pack
_unpack_double = Struct(">d").unpack_from
_unpack_size = Struct(">I").unpack_from

_SMALLEST_NORMAL_FLOAT: Final = 2.0**-126


def _constant(text: bytes | None) -> Reader:
    def read(_buffer: bytes, at: int) -> tuple[bytes | None, int]:
        return text, at

    return read


def _integer(layout: str) -> Reader:
    unpack, width = Struct(layout).unpack_from, Struct(layout).size

    def read(buffer: bytes, at: int) -> tuple[bytes, int]:
        return b"%d" % unpack(buffer, at)[0], at + width

    return read


_BYTES: Final = tuple(b"%d" % value for value in range(256))
_SIGNED_BYTES: Final = tuple(b"%d" % (value - 256 * (value > 127)) for value in range(256))  # noqa: PLR2004


def _byte(buffer: bytes, at: int) -> tuple[bytes, int]:
    return _BYTES[buffer[at]], at + 1


def _signed_byte(buffer: bytes, at: int) -> tuple[bytes, int]:
    return _SIGNED_BYTES[buffer[at]], at + 1


def _boolean(buffer: bytes, at: int) -> tuple[bytes, int]:
    return (b"false", b"true")[buffer[at]], at + 1


def double_text(value: float) -> bytes:
    """Write the shortest text that reads back to the same double, here and in Java."""
    if isfinite(value):
        return repr(value).encode()
    if isnan(value):
        return b"NaN"
    return b"Infinity" if value > 0 else b"-Infinity"


def float_text(value: float) -> bytes:
    """Write the shortest text that reads back to the same 32-bit float."""
    if not isfinite(value):
        return double_text(value)
    # Six digits tell every text of up to six digits from the next; subnormal numbers have fewer.
    for digits in range(6 if abs(value) >= _SMALLEST_NORMAL_FLOAT else 1, 9):
        candidate = float(f"{value:.{digits}g}")
        try:
            if _pack_float(candidate) == _pack_float(value):
                return repr(candidate).encode()
        except OverflowError:  # the candidate was rounded up, past the largest float
            continue
    return repr(float(f"{value:.9g}")).encode()


def _float(buffer: bytes, at: int) -> tuple[bytes, int]:
    return float_text(_unpack_float(buffer, at)[0]), at + 4


def _double(buffer: bytes, at: int) -> tuple[bytes, int]:
    return double_text(_unpack_double(buffer, at)[0]), at + 8


def _hexadecimal(width: int) -> Reader:
    def read(buffer: bytes, at: int) -> tuple[bytes, int]:
        return hexlify(buffer[at : at + width]), at + width

    return read


def _char(buffer: bytes, at: int) -> tuple[bytes, int]:
    return buffer[at : at + 4].decode("utf-32-be").encode(), at + 4


def _uuid(buffer: bytes, at: int) -> tuple[bytes, int]:
    return b"-".join(_unpack_uuid(hexlify(buffer[at : at + 16]))), at + 16


def _binary8(buffer: bytes, at: int) -> tuple[bytes, int]:
    stop = at + 1 + buffer[at]
    return buffer[at + 1 : stop], stop


def _binary32(buffer: bytes, at: int) -> tuple[bytes, int]:
    stop = at + 4 + _unpack_size(buffer, at)[0]
    return buffer[at + 4 : stop], stop


def _string8(buffer: bytes, at: int) -> tuple[bytes, int]:
    stop = at + 1 + buffer[at]
    text = buffer[at + 1 : stop]
    if not text.isascii():
        text.decode()
    return text, stop


def _string32(buffer: bytes, at: int) -> tuple[bytes, int]:
    stop = at + 4 + _unpack_size(buffer, at)[0]
    text = buffer[at + 4 : stop]
    if not text.isascii():
        text.decode()
    return text, stop


def _symbol8(buffer: bytes, at: int) -> tuple[bytes, int]:
    stop = at + 1 + buffer[at]
    text = buffer[at + 1 : stop]
    if not text.isascii():
        text.decode("ascii")
    return text, stop


def _symbol32(buffer: bytes, at: int) -> tuple[bytes, int]:
    stop = at + 4 + _unpack_size(buffer, at)[0]
    text = buffer[at + 4 : stop]
    if not text.isascii():
        text.decode("ascii")
    return text, stop


def as_it_is(text: bytes, _at: int) -> tuple[bytes, int]:
    """Give the bytes of a binary that has been cut out already."""
    return text, len(text)


def _encoded(buffer: bytes, at: int) -> tuple[bytes, int]:
    """Keep a list, map, array or described value as it is; its bytes are checked all the same."""
    stop = decode(buffer, at - 1)[1]
    return buffer[at - 1 : stop], stop


def _undefined(buffer: bytes, at: int) -> tuple[bytes, int]:
    raise DecodeError(at - 1, f"a constructor that AMQP defines, found 0x{buffer[at - 1]:02x}")


_READERS: Final[dict[int, Reader]] = {
    **dict.fromkeys((0x00, 0x45, 0xC0, 0xC1, 0xD0, 0xD1, 0xE0, 0xF0), _encoded),
    0x40: _constant(None),
    0x41: _constant(b"true"),
    0x42: _constant(b"false"),
    0x43: _constant(b"0"),
    0x44: _constant(b"0"),
    0x50: _byte,
    0x51: _signed_byte,
    0x52: _byte,
    0x53: _byte,
    0x54: _signed_byte,
    0x55: _signed_byte,
    0x56: _boolean,
    0x60: _integer(">H"),
    0x61: _integer(">h"),
    0x70: _integer(">I"),
    0x71: _integer(">i"),
    0x72: _float,
    0x73: _char,
    0x74: _hexadecimal(4),
    0x80: _integer(">Q"),
    0x81: _integer(">q"),
    0x82: _double,
    0x83: _integer(">q"),
    0x84: _hexadecimal(8),
    0x94: _hexadecimal(16),
    0x98: _uuid,
    0xA0: _binary8,
    0xA1: _string8,
    0xA3: _symbol8,
    0xB0: _binary32,
    0xB1: _string32,
    0xB3: _symbol32,
}

READ: Final = tuple(_READERS.get(code, _undefined) for code in range(256))
"""A reader for each constructor code."""

_ENCODED_TYPES: Final = frozenset(("list", "map", "array"))

CODES: Final = tuple(
    AMQP if TYPE_NAMES.get(code, "list") in _ENCODED_TYPES else TYPE_NAMES[code] for code in range(256)
)
"""The type of each constructor code as `amqp-types` names it; meaningless for undefined ones."""
