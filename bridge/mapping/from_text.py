"""The bytes of Kafka headers back to AMQP values, in AMQP's encoding.

One writer for each type: `WRITE[type](text)` gives the encoded value, its constructor first, or
None when the text is not exactly what `bridge.mapping.to_text` writes for a value of that type.
"05" is no int here: it would go back to Kafka as "5", and the record would not be the same.
"""

from __future__ import annotations

import struct
from binascii import Error as HexError
from binascii import unhexlify
from collections.abc import Callable
from math import isfinite
from struct import Struct
from typing import Final, TypeAlias

from bridge.codec import DecodeError, decode
from bridge.mapping import to_text
from bridge.mapping.type_hints import AMQP, ANNOTATION

Writer: TypeAlias = Callable[[bytes | None], bytes | None]

_pack_size = Struct(">I").pack
_STRING8: Final = tuple(bytes((0xA1, size)) for size in range(256))
_SYMBOL8: Final = tuple(bytes((0xA3, size)) for size in range(256))
_BINARY8: Final = tuple(bytes((0xA0, size)) for size in range(256))
_MAX_8: Final = 0xFF
_LONGEST_INTEGER: Final = 20
_LONGEST_SMALL: Final = 4
_MINUS: Final = 0x2D
_ZERO: Final = 0x30
_UUID_LENGTH: Final = 36
_UUID_BYTES: Final = 16
_CODE_POINT_BYTES: Final = 4
_pack_float = Struct(">Bf").pack
_pack_double = Struct(">Bd").pack


def string(text: bytes | None) -> bytes | None:
    """Encode UTF-8 as a string."""
    if text is None:
        return None
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            return None
    size = len(text)
    return _STRING8[size] + text if size <= _MAX_8 else b"\xb1" + _pack_size(size) + text


def symbol(text: bytes | None) -> bytes | None:
    """Encode ASCII as a symbol."""
    if text is None or not text.isascii():
        return None
    size = len(text)
    return _SYMBOL8[size] + text if size <= _MAX_8 else b"\xb3" + _pack_size(size) + text


def binary(text: bytes | None) -> bytes | None:
    """Encode any bytes as binary."""
    if text is None:
        return None
    size = len(text)
    return _BINARY8[size] + text if size <= _MAX_8 else b"\xb0" + _pack_size(size) + text


def null(text: bytes | None) -> bytes | None:
    """Encode a null header value as null."""
    return b"\x40" if text is None else None


def _listed(values: dict[bytes, bytes]) -> Writer:
    get = values.get

    def write(text: bytes | None) -> bytes | None:
        return get(text)  # type: ignore[arg-type]  # None is in no table, and is quickly not found

    return write


def _integer(code: int, layout: str, small: dict[bytes, bytes]) -> Writer:
    pack, get = Struct(">B" + layout).pack, small.get

    def write(text: bytes | None) -> bytes | None:
        if not text or len(text) > _LONGEST_INTEGER:
            return None
        if len(text) <= _LONGEST_SMALL and (encoded := get(text)) is not None:
            return encoded
        digits = text[1:] if text[0] == _MINUS else text
        if not digits.isdigit() or (digits[0] == _ZERO and text != b"0"):
            return None
        try:
            return pack(code, int(text))
        except struct.error:
            return None

    return write


def _signed(code: int) -> dict[bytes, bytes]:
    pack = Struct(">Bb").pack
    return {b"%d" % value: pack(code, value) for value in range(-128, 128)}


def _unsigned(code: int, zero: bytes | None = None) -> dict[bytes, bytes]:
    values = {b"%d" % value: bytes((code, value)) for value in range(256)}
    return values if zero is None else {**values, b"0": zero}


def _double(text: bytes | None) -> bytes | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    written = b"%r" % value if isfinite(value) else to_text.double_text(value)
    return _pack_double(0x82, value) if written == text else None


def _float(text: bytes | None) -> bytes | None:
    if text is None:
        return None
    try:
        encoded = _pack_float(0x72, float(text))
    except (ValueError, OverflowError):
        return None
    return encoded if to_text.READ[0x72](encoded, 1)[0] == text else None


def _hexadecimal(code: int, width: int) -> Writer:
    constructor = bytes((code,))

    def write(text: bytes | None) -> bytes | None:
        if text is None or len(text) != 2 * width or text != text.lower():
            return None
        try:
            return constructor + unhexlify(text)
        except HexError:
            return None

    return write


def _uuid(text: bytes | None) -> bytes | None:
    if text is None or len(text) != _UUID_LENGTH or text != text.lower():
        return None
    if not text[8] == text[13] == text[18] == text[23] == _MINUS:
        return None
    try:
        encoded = unhexlify(text.replace(b"-", b""))
    except HexError:
        return None
    return b"\x98" + encoded if len(encoded) == _UUID_BYTES else None


def _char(text: bytes | None) -> bytes | None:
    if text is None:
        return None
    try:
        encoded = text.decode().encode("utf-32-be")
    except UnicodeDecodeError:
        return None
    return b"\x73" + encoded if len(encoded) == _CODE_POINT_BYTES else None


def amqp(text: bytes | None) -> bytes | None:
    """Take AMQP's own encoding of one list, map, array or described value."""
    if not text or to_text.CODES[text[0]] != AMQP:
        return None
    try:
        return text if decode(text)[1] == len(text) else None
    except DecodeError:
        return None


WRITE: Final[dict[str, Writer]] = {
    "null": null,
    "boolean": _listed({b"true": b"\x41", b"false": b"\x42"}),
    "ubyte": _listed(_unsigned(0x50)),
    "ushort": _integer(0x60, "H", {}),
    "uint": _integer(0x70, "I", _unsigned(0x52, zero=b"\x43")),
    "ulong": _integer(0x80, "Q", _unsigned(0x53, zero=b"\x44")),
    "byte": _listed(_signed(0x51)),
    "short": _integer(0x61, "h", {}),
    "int": _integer(0x71, "i", _signed(0x54)),
    "long": _integer(0x81, "q", _signed(0x55)),
    "float": _float,
    "double": _double,
    "decimal32": _hexadecimal(0x74, 4),
    "decimal64": _hexadecimal(0x84, 8),
    "decimal128": _hexadecimal(0x94, 16),
    "char": _char,
    "timestamp": _integer(0x83, "q", {}),
    "uuid": _uuid,
    "binary": binary,
    "string": string,
    "symbol": symbol,
    AMQP: amqp,
    ANNOTATION: string,
}
"""A writer for each code of `amqp-types`."""
