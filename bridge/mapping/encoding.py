"""The few AMQP encodings of which the sink endpoint puts messages together."""

from __future__ import annotations

from struct import Struct
from typing import Final

from bridge.mapping.from_text import binary, string, symbol

_pack_sizes = Struct(">II").pack
_MAX_8: Final = 0xFF

TRUE: Final = b"\x41"
NULL: Final = b"\x40"


def text(value: str) -> bytes:
    """Encode a string."""
    encoded = string(value.encode(errors="replace"))
    assert encoded is not None  # noqa: S101 - it is UTF-8
    return encoded


def name(value: str) -> bytes:
    """Encode a symbol, which must be ASCII."""
    encoded = symbol(value.encode("ascii"))
    assert encoded is not None  # noqa: S101 - it is ASCII
    return encoded


def octets(value: bytes | None) -> bytes:
    """Encode binary, or null."""
    encoded = binary(value)
    return NULL if encoded is None else encoded


def as_list(content: bytes, count: int) -> bytes:
    """Encode a list of `count` elements, encoded one after another in `content`."""
    size = len(content)
    if size < _MAX_8 and count <= _MAX_8:
        return bytes((0xC0, size + 1, count)) + content
    return b"\xd0" + _pack_sizes(size + 4, count) + content


def as_map(content: bytes, count: int) -> bytes:
    """Encode a map: `count` keys and values, encoded one after another in `content`."""
    size = len(content)
    if size < _MAX_8 and count <= _MAX_8:
        return bytes((0xC1, size + 1, count)) + content
    return b"\xd1" + _pack_sizes(size + 4, count) + content
