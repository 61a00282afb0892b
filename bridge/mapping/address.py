"""The property `to` of an encoded message, for links whose messages name their own destinations."""

from __future__ import annotations

from typing import Final

from bridge.codec import DecodeError, decode
from bridge.mapping.errors import MappingError
from bridge.mapping.sections import list_frame
from bridge.mapping.to_record import compact
from bridge.mapping.to_text import CODES, MALFORMED, READ
from bridge.model import conditions

_HEADER: Final = 0x70
_PROPERTIES: Final = 0x73
_TO: Final = 2
"""The place of `to` in the list of properties (core 3.2.4)."""


def read_to(message: bytes) -> str | None:
    """Read `to`; None where a message has none. Reads no further than that.

    Raises MappingError (decode-error) for bytes that are no AMQP message.
    """
    try:
        at = 0
        while at < len(message):
            code = message[at + 2] if message[at : at + 2] == b"\x00S" else None
            if code is None:
                # A descriptor of another form than the usual three bytes.
                shortest = compact(message)
                return None if shortest == message else read_to(shortest)
            if not _HEADER <= code <= _PROPERTIES:
                return None
            if code == _PROPERTIES:
                return _to(message, at + 3)
            at = decode(message, at)[1]
    except MALFORMED as error:
        raise MappingError(conditions.DECODE_ERROR, f"the message is not valid AMQP: {error}") from error
    return None


def _to(message: bytes, at: int) -> str | None:
    at, _, count = list_frame(message, at)
    for place in range(min(count, _TO + 1)):
        code = message[at]
        if place == _TO:
            text, _ = READ[code](message, at + 1)
            if text is None:
                return None
            if CODES[code] != "string":
                raise DecodeError(at, f"a string for `to`, found 0x{code:02x}")
            return text.decode()
        at = decode(message, at)[1]
    return None
