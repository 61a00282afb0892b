"""A look at one encoded message: decodes what is asked for, and never the body.

The message is taken as it will be delivered, whichever mapping profile made it. Sections are found by
their sizes, fields by skipping those before them, so that one application-property of a message costs
about as much as it takes to walk over the others. What is malformed counts as absent: nothing here
raises. Defaults are not filled in.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class, whatever its name
from typing import Final

from bridge.codec import DecodeError, Symbol, ULong, decode
from bridge.mapping.message import HEADER
from bridge.mapping.names import PROPERTY_PLACES
from bridge.mapping.sections import list_frame, map_frame

_HEADER: Final = 0x70
_MESSAGE_ANNOTATIONS: Final = 0x72
_PROPERTIES: Final = 0x73
_APPLICATION_PROPERTIES: Final = 0x74
_BODY: Final = 0x75

_HEADER_PLACES: Final = {name: place for place, name in enumerate(HEADER)}
_SYMBOLS: Final = {
    "amqp:header:list": _HEADER,
    "amqp:delivery-annotations:map": 0x71,
    "amqp:message-annotations:map": _MESSAGE_ANNOTATIONS,
    "amqp:properties:list": _PROPERTIES,
    "amqp:application-properties:map": _APPLICATION_PROPERTIES,
}

_SMALL_ULONG: Final = 0x53
_STRING8: Final = 0xA1
_TEXT8: Final = (_STRING8, 0xA3)
_TEXT32: Final = (0xB1, 0xB3)

_SIZED_8: Final = -1
_SIZED_32: Final = -4
_OTHER: Final = 0
_NOTHING: Final = (_OTHER,) * 4
_BY_RANGE: Final = (*_NOTHING, 1, 2, 3, 5, 9, 17, *(_SIZED_8, _SIZED_32) * 3)
_WIDTHS: Final = tuple(_BY_RANGE[code >> 4] for code in range(256))
"""By constructor, the bytes of a value and its constructor (core 1.2), or how its size is told."""

_unpack_size = Struct(">I").unpack_from

_MALFORMED: Final = (DecodeError, IndexError, StructError)

_Index = dict[bytes, int]
"""The names in a map, and where the values begin."""


class View:
    """One encoded message. Values have the types of `bridge.codec`; None is what is absent or null."""

    __slots__ = ("_annotations", "_application", "_payload", "_places")

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._places: dict[int, int] | None = None
        self._application: _Index | None = None
        self._annotations: _Index | None = None

    def header(self, name: str) -> object:
        """Give a field of the header (core 3.2.1) by its name there, as `delivery-count`."""
        return self._field(_HEADER, _HEADER_PLACES[name])

    def properties(self, name: str) -> object:
        """Give a field of the properties (core 3.2.4) by its name there, as `message-id`."""
        return self._field(_PROPERTIES, PROPERTY_PLACES[name])

    def application_property(self, name: str) -> object:
        """Give an application-property (core 3.2.5); the first, should there be two of a name."""
        index = self._application
        if index is None:
            index = self._application = self._index(_APPLICATION_PROPERTIES)
        at = index.get(name.encode())
        return None if at is None else self._value(at)

    def has_application_property(self, name: str) -> bool:
        """Tell whether there is such an application-property, be it null."""
        if self._application is None:
            self._application = self._index(_APPLICATION_PROPERTIES)
        return name.encode() in self._application

    def message_annotation(self, name: str) -> object:
        """Give a message-annotation (core 3.2.3) by its symbol."""
        if self._annotations is None:
            self._annotations = self._index(_MESSAGE_ANNOTATIONS)
        at = self._annotations.get(name.encode())
        return None if at is None else self._value(at)

    def _value(self, at: int) -> object:
        """Decode a value that is known to end within the message."""
        payload = self._payload
        try:
            if payload[at] == _STRING8:  # the common one, without a call
                return payload[at + 2 : at + 2 + payload[at + 1]].decode()
            return decode(payload, at)[0]
        except (DecodeError, UnicodeDecodeError):
            return None

    def _place(self, section: int) -> int | None:
        """Tell where the content of a section begins."""
        places = self._places
        if places is None:
            places = self._places = _locate(self._payload)
        return places.get(section)

    def _field(self, section: int, place: int) -> object:
        at = self._place(section)
        if at is None:
            return None
        payload = self._payload
        try:
            at, stop, count = list_frame(payload, at)
            if place >= count or stop > len(payload):
                return None
            for _ in range(place):
                width = _WIDTHS[payload[at]]
                at = at + width if width > 0 else _skip(payload, at)
            value, end = decode(payload, at)
        except _MALFORMED:
            return None
        return value if end <= stop else None

    def _index(self, section: int) -> _Index:
        at = self._place(section)
        if at is None:
            return {}
        try:
            return _names(self._payload, at)
        except _MALFORMED:
            return {}


def _locate(payload: bytes) -> dict[int, int]:
    """Find the sections before the body: by their codes, where their contents begin."""
    places: dict[int, int] = {}
    at, end = 0, len(payload)
    try:
        while at < end and not payload[at]:
            if payload[at + 1] == _SMALL_ULONG:
                section, at = payload[at + 2], at + 3
            else:
                descriptor, at = decode(payload, at + 1)
                section = _code(descriptor)
            if not _HEADER <= section < _BODY:
                break
            places[section] = at
            width = _WIDTHS[payload[at]]
            # The common case without a call.
            at = at + 2 + payload[at + 1] if width == _SIZED_8 else _skip(payload, at)
    except _MALFORMED:
        pass  # what was found before is good
    return places


def _code(descriptor: object) -> int:
    """Tell the code of a section; 0 for what is none that is looked into."""
    if type(descriptor) is ULong:
        return int(descriptor)
    return _SYMBOLS.get(descriptor, 0) if type(descriptor) is Symbol else 0


def _skip(buffer: bytes, at: int) -> int:
    """Give the place behind the value at `at`; may raise one of `_MALFORMED`."""
    width = _WIDTHS[buffer[at]]
    if width > 0:
        return at + width
    if width == _SIZED_8:
        return at + 2 + buffer[at + 1]
    if width == _SIZED_32:
        return at + 5 + int(_unpack_size(buffer, at + 1)[0])
    return decode(buffer, at)[1]


def _names(buffer: bytes, at: int) -> _Index:
    """Find the values in a map by their names; keys that are no text are passed over."""
    at, stop, _ = map_frame(buffer, at)
    if stop > len(buffer):
        raise DecodeError(at, "a map within the message")
    index: _Index = {}
    while at < stop:
        code = buffer[at]
        if code in _TEXT8:
            middle = at + 2 + buffer[at + 1]
            name = buffer[at + 2 : middle]
        elif code in _TEXT32:
            middle = at + 5 + _unpack_size(buffer, at + 1)[0]
            name = buffer[at + 5 : middle]
        else:
            name, middle = None, _skip(buffer, at)
        if name is not None and name not in index:
            index[name] = middle
        width = _WIDTHS[buffer[middle]]
        if width > 0:  # the common ones, without a call
            at = middle + width
        elif width == _SIZED_8:
            at = middle + 2 + buffer[middle + 1]
        else:
            at = _skip(buffer, middle)
    if at != stop:
        raise DecodeError(stop, f"the end of a map, its pairs end at {at}")
    return index
