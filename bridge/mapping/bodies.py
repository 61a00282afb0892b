"""The body of an AMQP message and the value of a Kafka record, both ways.

A single data section is a record's value without more words; for every other body the header
`amqp.body` says what it was. `BodyReader` makes value and hint from a message, `write` makes the
body's sections from value and hint, and refuses a hint that `BodyReader` would not have written for
that value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.codec import DecodeError, Described, ULong, decode
from bridge.mapping import json_values
from bridge.mapping.errors import MappingError
from bridge.mapping.from_text import WRITE, binary
from bridge.mapping.to_text import CODES, READ
from bridge.mapping.type_hints import AMQP, ANNOTATION
from bridge.model import conditions

if TYPE_CHECKING:
    from bridge.mapping.options import MappingOptions

DATA: Final = b"\x00Su"
SEQUENCE: Final = b"\x00Sv"
VALUE: Final = b"\x00Sw"
NULL_VALUE: Final = b"\x00Sw\x40"

_NONE: Final = b"none"
_DATA_HINT: Final = b"data;"
_VALUE_HINT: Final = b"value;"
_SEQUENCE_HINT: Final = b"sequence;"
_NULL_HINT: Final = b"value;null"
_JSON_HINT: Final = b"value;json"
_SEQUENCE_CODE: Final = ULong(0x76)
_LONGEST_COUNT: Final = 10


_BINARY8: Final = 0xA0
_BINARY32: Final = 0xB0

_VALUE_HINTS: Final = tuple(_VALUE_HINT + code.encode() for code in CODES)

Body = tuple[bytes | None, bytes | None, int]
"""The record's value, what `amqp.body` says (None: no such header), the place behind the body."""


class BodyReader:
    """Reads the body of a message, whatever its kind (core 3.2.6 to 3.2.8).

    May raise `to_text.MALFORMED`, and MappingError for a null value where none is allowed.
    """

    def __init__(self, options: MappingOptions) -> None:
        self._tombstones = options.tombstones
        self._json = options.value_as_json

    def read(self, buffer: bytes, at: int) -> Body:
        """Read the body at `at`, which may be the end, or a footer."""
        section = buffer[at : at + 3]
        if section == DATA:
            return _read_data(buffer, at)
        if section == VALUE:
            return self._read_value(buffer, at + 3)
        if section == SEQUENCE:
            return _read_sequences(buffer, at)
        return b"", _NONE, at

    def _read_value(self, buffer: bytes, at: int) -> Body:
        code = buffer[at]
        value, stop = READ[code](buffer, at + 1)
        if value is None and not self._tombstones:
            raise MappingError(
                conditions.NOT_ALLOWED, "a null body would be a tombstone, which this topic denies"
            )
        if self._json and CODES[code] == AMQP:
            text = json_values.write(decode(buffer, at)[0])
            if text is not None:
                return text, _JSON_HINT, stop
        return value, _VALUE_HINTS[code], stop


def _read_data(buffer: bytes, at: int) -> Body:
    parts = []
    while buffer[at : at + 3] == DATA:
        code = buffer[at + 3]
        if code not in (_BINARY8, _BINARY32):
            raise DecodeError(at + 3, f"binary in a data section, found 0x{code:02x}")
        part, at = READ[code](buffer, at + 4)
        assert part is not None  # noqa: S101 - it is binary
        parts.append(part)
    if len(parts) == 1:
        return parts[0], None, at
    return b"".join(parts), _DATA_HINT + b",".join([b"%d" % len(part) for part in parts]), at


def _read_sequences(buffer: bytes, at: int) -> Body:
    start, count = at, 0
    while buffer[at : at + 3] == SEQUENCE:
        value, stop = decode(buffer, at + 3)
        if not isinstance(value, list):
            raise DecodeError(at + 3, f"a list in a sequence, found 0x{buffer[at + 3]:02x}")
        at = stop
        count += 1
    return buffer[start:at], _SEQUENCE_HINT + b"%d" % count, at


def write(value: bytes | None, hint: bytes | None) -> bytes | None:
    """Write the body's sections, or None where the hint is damaged or does not fit the value."""
    if hint is None:
        return None
    if hint.startswith(_VALUE_HINT):
        return _write_value(value, hint)
    if value is None:
        return None
    if hint.startswith(_DATA_HINT):
        return _write_data(value, hint)
    if hint.startswith(_SEQUENCE_HINT):
        count = _sequences(value)
        return value if count and hint == _SEQUENCE_HINT + b"%d" % count else None
    return b"" if hint == _NONE and not value else None


def _write_value(value: bytes | None, hint: bytes) -> bytes | None:
    if hint == _JSON_HINT:
        encoded = json_values.read(value)
    else:
        code = hint.removeprefix(_VALUE_HINT).decode(errors="replace")
        writer = None if code == ANNOTATION else WRITE.get(code)
        encoded = None if writer is None else writer(value)
    return None if encoded is None else VALUE + encoded


def _write_data(value: bytes, hint: bytes) -> bytes | None:
    sizes = []
    for text in hint.removeprefix(_DATA_HINT).split(b","):
        if not text.isdigit() or len(text) > _LONGEST_COUNT or text != b"%d" % int(text):
            return None
        sizes.append(int(text))
    if len(sizes) == 1 or sum(sizes) != len(value):
        return None
    sections: list[bytes] = []
    at = 0
    for size in sizes:
        section = binary(value[at : at + size])
        assert section is not None  # noqa: S101 - it is no null
        sections += (DATA, section)
        at += size
    return b"".join(sections)


def _sequences(value: bytes) -> int:
    """Count the amqp-sequence sections that these bytes are; 0 if they are anything else."""
    at, count = 0, 0
    try:
        while at < len(value):
            section, stop = decode(value, at)
            if (
                not isinstance(section, Described)
                or section.descriptor != _SEQUENCE_CODE
                or not isinstance(section.value, list)
                or value[at : at + 3] != SEQUENCE
            ):
                return 0
            at, count = stop, count + 1
    except DecodeError:
        return 0
    return count
