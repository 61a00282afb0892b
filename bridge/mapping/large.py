"""Large messages to records without a copy of the body.

A message whose last section is one long data section, which becomes the record's value as it is, is mapped
as if that section were empty; its bytes, where they are, are then the value. For profiles that
store such a body so, whatever else the message has.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from bridge.mapping.record import Headers, Record
    from bridge.model.payloads import LargePayload

LargeRecord: TypeAlias = "tuple[Buffer | None, bytes | None, Headers | None, int, int]"
"""A record whose value may be a part of the message, there for as long as that is."""

_DESCRIPTOR_BYTES: Final = 3
_BEFORE_DATA32: Final = 8
_DATA: Final = 0x75
_BINARY32: Final = 0xB0
_DATA32: Final = b"\x00Su\xb0"
_EMPTY_DATA: Final = b"\x00Su\xa0\x00"
_LIST0: Final = 0x45
_SMALL: Final = frozenset((0xC0, 0xC1))
_LARGE: Final = frozenset((0xD0, 0xD1))
_unpack_size = Struct(">I").unpack_from


def large_message_to_record(to_record: Callable[[bytes], Record]) -> Callable[[LargePayload], LargeRecord]:
    """Make the function that maps large messages as `to_record` maps messages; it raises the same."""

    def large_to_record(payload: LargePayload) -> LargeRecord:
        message = payload.view()
        at = body_place(message)
        if at < 0:
            return to_record(bytes(message))
        head = bytes(message[:at]) + _EMPTY_DATA if at else _EMPTY_DATA
        value, key, headers, partition, timestamp_ms = to_record(head)
        if value != b"":
            # Something else decides what the value is.
            return to_record(bytes(message))
        return payload.rest(at + _BEFORE_DATA32), key, headers, partition, timestamp_ms

    return large_to_record


def body_place(message: memoryview) -> int:
    """Give where the last section of a message begins, if it is one long data section; else -1."""
    at, size = 0, len(message)
    head = bytes(message[:_BEFORE_DATA32])
    if head[:4] == _DATA32:
        # Nothing but the body, which is what most have.
        return 0 if _unpack_size(head, 4)[0] == size - _BEFORE_DATA32 else -1
    while at + _BEFORE_DATA32 <= size and message[at] == 0 and message[at + 1] == ord("S"):
        content = at + _DESCRIPTOR_BYTES
        constructor = message[content]
        if message[at + 2] == _DATA:
            is_last = constructor == _BINARY32 and _unpack_size(message, content + 1)[0] == size - content - 5
            return at if is_last else -1
        if constructor in _SMALL:
            at = content + 2 + message[content + 1]
        elif constructor in _LARGE:
            at = content + 5 + int(_unpack_size(message, content + 1)[0])
        elif constructor == _LIST0:
            at = content + 1
        else:
            return -1
    return -1
