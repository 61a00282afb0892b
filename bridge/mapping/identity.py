"""The identity of a message: its message-id (core 3.2.4), as bytes that compare.

Reads no further than the section properties, and copies nothing but the id. Decides nothing about what
a message without one is worth.
"""

from __future__ import annotations

from typing import Final

from bridge.codec import DecodeError, decode, encode
from bridge.mapping.errors import MappingError
from bridge.mapping.message import parse
from bridge.mapping.sections import list_frame, map_frame
from bridge.mapping.to_text import MALFORMED
from bridge.model import conditions

_DESCRIPTOR: Final = b"\x00S"
_HEADER: Final = 0x70
_ANNOTATIONS: Final = (0x71, 0x72)
_PROPERTIES: Final = 0x73
_STRING8: Final = 0xA1


def message_id_identity(message: bytes) -> bytes | None:
    """Give the message-id of a whole encoded message, encoded in its shortest form; None without one.

    Two ids are the same bytes if and only if their AMQP types and values are the same: the ulong 5 in
    any of its three widths is one id, the string "5" is another. Raises MappingError,
    `amqp:decode-error`, for bytes that are no AMQP message up to there.
    """
    try:
        return _identity(message)
    except MALFORMED as error:
        raise MappingError(conditions.DECODE_ERROR, f"the message is not valid AMQP: {error}") from error


def _identity(message: bytes) -> bytes | None:
    at = 0
    while message[at : at + 2] == _DESCRIPTOR:
        section = message[at + 2]
        if section == _PROPERTIES:
            return _message_id(message, at + 3)
        if section == _HEADER:
            at = list_frame(message, at + 3)[1]
        elif section in _ANNOTATIONS:
            at = map_frame(message, at + 3)[1]
        else:
            return None  # the properties would stand before the body
        if at > len(message):
            raise DecodeError(at, "the end of a section within the message")
    if at == len(message):
        return None
    # A descriptor in another form: valid, and rare enough to be read the plain way.
    value = parse(message).properties.get("message-id")
    return None if value is None else encode(value)


def _message_id(message: bytes, at: int) -> bytes | None:
    at, stop, count = list_frame(message, at)
    if stop > len(message):
        raise DecodeError(stop, "the end of the properties within the message")
    if not count:
        return None
    if message[at] == _STRING8:  # what most clients send: the bytes are the shortest form already
        end = at + 2 + message[at + 1]
        encoded = message[at:end]
        encoded[2:].decode()
    else:
        value, end = decode(message, at)
        encoded = b"" if value is None else encode(value)
    if end > stop:
        raise DecodeError(stop, "the message-id within the properties")
    return encoded or None
