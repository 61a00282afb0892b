"""Sections of an AMQP message to Kafka headers: header, properties, application-properties, footer.

Each reader takes the buffer and the place behind the section's descriptor, appends headers and
entries of `amqp-types`, and gives the place behind the section. This is the hot path of the source
endpoint: the text of a value is cut out of the message or made from its bytes at once, and what
repeats from message to message (names, types, whole header sections) is looked up by its bytes. The
tables are bounded.

May raise `to_text.MALFORMED`, and MappingError.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.codec import DecodeError, UByte, UInt, ULong, decode
from bridge.mapping import names, type_hints
from bridge.mapping.errors import MappingError
from bridge.mapping.to_text import CODES, READ, Reader
from bridge.model import conditions

if TYPE_CHECKING:
    from bridge.mapping.record import Headers

Hints: TypeAlias = list[bytes]

REMEMBERED: Final = 2048
"""How many names, or sections, a table remembers; it is emptied when it is full."""

_unpack_size = Struct(">I").unpack_from
_unpack_sizes = Struct(">II").unpack_from

_NULL: Final = 0x40
_LIST0: Final = 0x45
_STRING8: Final = 0xA1
_SYMBOL8: Final = 0xA3
_LIST8: Final = 0xC0
_MAP8: Final = 0xC1
_LIST32: Final = 0xD0
_MAP32: Final = 0xD1
TEXT_CODES: Final = frozenset((0xA1, 0xA3, 0xB1, 0xB3))
"""The constructors of strings and symbols."""

_DEFAULT_PRIORITY: Final = 4


def map_frame(buffer: bytes, at: int) -> tuple[int, int, int]:
    """Read the head of a map at `at`: the place of its first key, its end, its count."""
    code = buffer[at]
    if code == _MAP8:
        return at + 3, at + 2 + buffer[at + 1], buffer[at + 2]
    if code == _MAP32:
        size, count = _unpack_sizes(buffer, at + 1)
        return at + 9, at + 5 + size, count
    raise DecodeError(at, f"a map, found 0x{code:02x}")


def list_frame(buffer: bytes, at: int) -> tuple[int, int, int]:
    """Read the head of a list at `at`: the place of its first element, its end, its count."""
    code = buffer[at]
    if code == _LIST8:
        return at + 3, at + 2 + buffer[at + 1], buffer[at + 2]
    if code == _LIST0:
        return at + 1, at + 1, 0
    if code == _LIST32:
        size, count = _unpack_sizes(buffer, at + 1)
        return at + 9, at + 5 + size, count
    raise DecodeError(at, f"a list, found 0x{code:02x}")


def check_count(count: int, headers_max: int) -> None:
    """Raise MappingError for a map that makes too many headers, before they are made."""
    if count > 2 * headers_max:
        raise MappingError(
            conditions.RESOURCE_LIMIT_EXCEEDED,
            f"the message makes {count // 2} headers, {headers_max} are allowed",
        )


def check_map_end(at: int, stop: int, pairs: int, count: int) -> None:
    """Raise DecodeError where a map's pairs do not agree with its size or its count."""
    if at != stop:
        raise DecodeError(stop, f"the end of a map, its pairs end at {at}")
    if 2 * pairs != count:
        raise DecodeError(stop, f"a map with a count of {2 * pairs}, found {count}")


class HeaderReader:
    """Reads the section header (core 3.2.1); only what is not the default is stored."""

    def __init__(self) -> None:
        self._known: dict[bytes, Headers] = {}

    def read(self, buffer: bytes, at: int) -> tuple[Headers, int]:
        """Give the headers, not to be modified, and the place behind the section."""
        stop = list_frame(buffer, at)[1]
        section = buffer[at:stop]
        headers = self._known.get(section)
        if headers is None:
            headers = _header_fields(section)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[section] = headers
        return headers, stop


def _header_fields(section: bytes) -> Headers:
    fields, stop = decode(section)
    assert isinstance(fields, list)  # noqa: S101 - its constructor was seen
    if stop != len(section) or len(fields) > len(names.HEADER_FIELDS):
        raise DecodeError(stop, f"a header of at most {len(names.HEADER_FIELDS)} fields")
    headers: Headers = []
    for name, kind, value in zip(names.HEADER_FIELDS, _HEADER_TYPES, fields, strict=False):
        if value is None or value == _HEADER_DEFAULTS.get(name):
            continue
        if type(value) is not kind:
            raise DecodeError(0, f"a {kind.__name__} for {name}, found a {type(value).__name__}")
        headers.append((name, b"true" if value is True else str(value).encode()))
    return headers


_HEADER_TYPES: Final = (bool, UByte, UInt, bool, UInt)
_HEADER_DEFAULTS: Final = {
    "amqp.durable": False,
    "amqp.priority": _DEFAULT_PRIORITY,
    "amqp.first-acquirer": False,
    "amqp.delivery-count": 0,
}


def _hints_by_code(name: str, default: str) -> tuple[bytes | None, ...]:
    return tuple(None if code == default else type_hints.entry(name, code) for code in CODES)


_GROUP_ID: Final = names.PROPERTY_PLACES["group-id"]
_PROPERTIES: Final = tuple(
    (name, _hints_by_code(name, default)) for name, default in names.PROPERTIES.items()
)


def read_properties(buffer: bytes, at: int, headers: Headers, hints: Hints) -> tuple[int, bytes | None]:
    """Read the section properties (core 3.2.4); a field of an unusual type keeps it, by a hint.

    Gives the place behind the section, and group-id.
    """
    at, stop, count = list_frame(buffer, at)
    if count > len(_PROPERTIES):
        raise DecodeError(at, f"at most {len(_PROPERTIES)} properties, found a count of {count}")
    for name, hint_by_code in _PROPERTIES[:count]:
        code = buffer[at]
        at += 1
        if code == _NULL:
            continue
        if code in (_STRING8, _SYMBOL8):  # the common ones, without a call
            start = at + 1
            at = start + buffer[at]
            string = buffer[start:at]
            if not string.isascii():
                READ[code](buffer, start - 1)
            headers.append((name, string))
        else:
            text, at = READ[code](buffer, at)
            headers.append((name, text))
        hint = hint_by_code[code]
        if hint is not None:
            hints.append(hint)
    if at != stop:
        raise DecodeError(stop, f"the end of the properties, they end at {at}")
    return at, dict(headers).get("group-id") if count > _GROUP_ID else None


_Entry: TypeAlias = tuple[str, Reader | None, bytes | None]
"""A header's name, the reader of its value (None: a string of up to 255 bytes), its hint."""


class ApplicationReader:
    """Reads the section application-properties (core 3.2.5)."""

    def __init__(self, headers_max: int) -> None:
        self._headers_max = headers_max
        self._known: dict[bytes, _Entry] = {}

    def read(self, buffer: bytes, at: int, headers: Headers, hints: Hints) -> int:
        """Append the properties, give the place behind the section."""
        at, stop, count = map_frame(buffer, at)
        check_count(count, self._headers_max)
        entry_of = self._known.get
        pairs = 0
        while at < stop:
            # A key and the constructor behind it, in one piece of bytes, tell all but the value.
            middle = at + 2 + buffer[at + 1]
            entry = entry_of(buffer[at : middle + 1])
            if entry is None:
                entry, middle = self._learn(buffer, at)
            name, reader, hint = entry
            if reader is None:
                start = middle + 2
                at = start + buffer[middle + 1]
                string = buffer[start:at]
                if not string.isascii():
                    string.decode()
                headers.append((name, string))
            else:
                text, at = reader(buffer, middle + 1)
                headers.append((name, text))
                if hint is not None:
                    hints.append(hint)
            pairs += 1
        check_map_end(at, stop, pairs, count)
        return at

    def _learn(self, buffer: bytes, at: int) -> tuple[_Entry, int]:
        if buffer[at] not in TEXT_CODES:
            raise DecodeError(at, f"a string for a key, found 0x{buffer[at]:02x}")
        key, middle = READ[buffer[at]](buffer, at + 1)
        assert key is not None  # noqa: S101 - it is text
        name = names.check(names.application_header(key.decode()))
        code = buffer[middle]
        hint = None if CODES[code] == "string" else type_hints.entry(name, CODES[code])
        entry = name, None if code == _STRING8 else READ[code], hint
        if buffer[at] == _STRING8:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[buffer[at : middle + 1]] = entry
        return entry, middle


def annotation_name(buffer: bytes, at: int) -> tuple[str | int, int]:
    """Read the key of an annotation or footer: a symbol or ulong, and the place behind it.

    A string is taken for a symbol, as some clients send it.
    """
    if buffer[at] not in TEXT_CODES:
        number, middle = decode(buffer, at)
        if not isinstance(number, ULong):
            raise DecodeError(at, f"a symbol or ulong for a key, found 0x{buffer[at]:02x}")
        return int(number), middle
    text, middle = READ[buffer[at]](buffer, at + 1)
    assert text is not None  # noqa: S101 - it is text
    return text.decode("ascii"), middle


def read_encoded(buffer: bytes, at: int, prefix: str, headers: Headers) -> int:
    """Read delivery-annotations or a footer, each value as AMQP has it."""
    at, stop, count = map_frame(buffer, at)
    pairs = 0
    while at < stop:
        key, middle = annotation_name(buffer, at)
        at = decode(buffer, middle)[1]
        headers.append((names.check(names.annotation_header(prefix, key)), buffer[middle:at]))
        pairs += 1
    check_map_end(at, stop, pairs, count)
    return at
