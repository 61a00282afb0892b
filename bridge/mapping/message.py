"""A decoded AMQP message (core 3.2): all its sections as values of `bridge.codec`, and back.

The plain way to look at a message, for profiles that do not need the speed of `native`. `parse` is
as strict about types and about the order of sections as `bridge.mapping.to_record`, and has the
same small indulgences: a descriptor may be a symbol, and so may a key of application-properties;
keys of annotations may be strings. It knows nothing of Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.codec import DecodeError, EncodeError, Map, Symbol, UByte, UInt, ULong, decode, encode
from bridge.mapping import names
from bridge.mapping.errors import MappingError
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADER: Final[Mapping[str, type]] = {
    "durable": bool,
    "priority": UByte,
    "ttl": UInt,
    "first-acquirer": bool,
    "delivery-count": UInt,
}
"""The fields of the section header (core 3.2.1), in order, and their types."""

_HEADER: Final = 0x70
_DELIVERY_ANNOTATIONS: Final = 0x71
_MESSAGE_ANNOTATIONS: Final = 0x72
_PROPERTIES: Final = 0x73
_APPLICATION_PROPERTIES: Final = 0x74
_DATA: Final = 0x75
_SEQUENCE: Final = 0x76
_VALUE: Final = 0x77
_FOOTER: Final = 0x78

_SYMBOLS: Final[Mapping[object, int]] = {
    Symbol("amqp:header:list"): _HEADER,
    Symbol("amqp:delivery-annotations:map"): _DELIVERY_ANNOTATIONS,
    Symbol("amqp:message-annotations:map"): _MESSAGE_ANNOTATIONS,
    Symbol("amqp:properties:list"): _PROPERTIES,
    Symbol("amqp:application-properties:map"): _APPLICATION_PROPERTIES,
    Symbol("amqp:data:binary"): _DATA,
    Symbol("amqp:amqp-sequence:list"): _SEQUENCE,
    Symbol("amqp:amqp-value:*"): _VALUE,
    Symbol("amqp:footer:map"): _FOOTER,
}
_NO_PAIRS: Final = Map()


@dataclass(frozen=True, slots=True)
class Data:
    """The contents of one or more data sections (core 3.2.6)."""

    sections: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Sequences:
    """The lists of one or more amqp-sequence sections (core 3.2.7)."""

    sections: tuple[list[object], ...]


@dataclass(frozen=True, slots=True)
class Value:
    """An amqp-value (core 3.2.8), as it is encoded: `parse` keeps the encoding that came."""

    encoded: bytes

    @classmethod
    def of(cls, value: object) -> Value:
        """Encode a value of `bridge.codec.types`; may raise EncodeError."""
        return cls(encode(value))

    @property
    def value(self) -> object:
        """The value, decoded anew each time."""
        return decode(self.encoded)[0]


Body: TypeAlias = Data | Sequences | Value | None
"""None: no body. Core 3.2 does not allow that, some clients send it all the same."""


@dataclass(frozen=True, slots=True)
class Message:
    """The sections of a message. One that is absent is empty: the two mean the same.

    `header` and `properties` hold the fields that are set (not null), by the names of core 3.2.1
    and 3.2.4. Fields of `properties` have the types that they came with, which may be wrong ones.
    The keys of annotations and footer are `Symbol` or `ULong`, those of application-properties
    `str`; pairs keep their order.
    """

    header: Mapping[str, object] = field(default_factory=dict)
    delivery_annotations: Map = _NO_PAIRS
    message_annotations: Map = _NO_PAIRS
    properties: Mapping[str, object] = field(default_factory=dict)
    application_properties: Map = _NO_PAIRS
    body: Body = None
    footer: Map = _NO_PAIRS


def parse(message: bytes) -> Message:
    """Decode a whole message.

    Raises MappingError, `amqp:decode-error`, for bytes that are no AMQP message.
    """
    try:
        return _parse(_Sections(message))
    except DecodeError as error:
        raise MappingError(conditions.DECODE_ERROR, f"the message is not valid AMQP: {error}") from error


def write(message: Message) -> bytes:
    """Encode a message, all but an amqp-value in the shortest form; empty sections are left out.

    Raises EncodeError for values that AMQP does not have.
    """
    return b"".join(
        (
            _section(_HEADER, _list_fields(message.header, HEADER)) if message.header else b"",
            _section(_DELIVERY_ANNOTATIONS, message.delivery_annotations),
            _section(_MESSAGE_ANNOTATIONS, message.message_annotations),
            _section(_PROPERTIES, _list_fields(message.properties, names.PROPERTIES)),
            _section(_APPLICATION_PROPERTIES, message.application_properties),
            write_body(message.body),
            _section(_FOOTER, message.footer),
        )
    )


def write_body(body: Body) -> bytes:
    """Encode the sections of a body; may raise EncodeError."""
    if body is None:
        return b""
    if isinstance(body, Value):
        return b"\x00Sw" + body.encoded
    code = _DATA if isinstance(body, Data) else _SEQUENCE
    return b"".join([_start(code) + encode(section) for section in body.sections])


def _start(code: int) -> bytes:
    return b"\x00S" + bytes((code,))


def _section(code: int, content: Map | list[object]) -> bytes:
    return _start(code) + encode(content) if content else b""


def _list_fields(values: Mapping[str, object], order: Mapping[str, object]) -> list[object]:
    unknown = values.keys() - order.keys()
    if unknown:
        raise EncodeError(f"the section has no field {min(unknown)}")
    fields = [values.get(name) for name in order]
    while fields and fields[-1] is None:
        del fields[-1]
    return fields


class _Sections:
    """The sections of an encoded message, taken one after another."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._at = 0

    def take(self, code: int) -> tuple[object, int] | None:
        """Take the next section if it is of this kind: its content, and where that begins."""
        at = self._at
        if at == len(self._message):
            return None
        if self._message[at]:
            raise DecodeError(at, f"a section, found 0x{self._message[at]:02x}")
        descriptor, start = decode(self._message, at + 1)
        found = int(descriptor) if type(descriptor) is ULong else None
        if type(descriptor) is Symbol:
            found = _SYMBOLS.get(descriptor)
        if found is None or not _HEADER <= found <= _FOOTER:
            raise DecodeError(at, f"a section of a message, found {descriptor!r:.40}")
        if found != code:
            return None
        content, self._at = decode(self._message, start)
        return content, start

    def encoded(self, start: int) -> bytes:
        """Give the bytes from `start` to the end of the section that was taken last."""
        return self._message[start : self._at]

    def end(self) -> None:
        """Raise DecodeError if there is anything more."""
        if self._at != len(self._message):
            raise DecodeError(self._at, "a section in its place, or the end")


def _parse(sections: _Sections) -> Message:
    header = _header(sections)
    delivery_annotations = _annotations(sections, _DELIVERY_ANNOTATIONS)
    message_annotations = _annotations(sections, _MESSAGE_ANNOTATIONS)
    properties = _fields(sections, _PROPERTIES, names.PROPERTIES)
    application_properties = _application_properties(sections)
    body = _body(sections)
    footer = _annotations(sections, _FOOTER)
    sections.end()
    return Message(
        header,
        delivery_annotations,
        message_annotations,
        properties,
        application_properties,
        body,
        footer,
    )


def _fields(sections: _Sections, code: int, order: Mapping[str, object]) -> dict[str, object]:
    taken = sections.take(code)
    if taken is None:
        return {}
    content, start = taken
    if not isinstance(content, list):
        raise DecodeError(start, "a list")
    if len(content) > len(order):
        raise DecodeError(start, f"at most {len(order)} fields, found {len(content)}")
    named = zip(order, content, strict=False)
    return {name: value for name, value in named if value is not None}


def _header(sections: _Sections) -> dict[str, object]:
    fields = _fields(sections, _HEADER, HEADER)
    for name, value in fields.items():
        if type(value) is not HEADER[name]:
            raise DecodeError(0, f"a {HEADER[name].__name__} for {name}, found a {type(value).__name__}")
    return fields


def _pairs(sections: _Sections, code: int) -> tuple[Map, int]:
    taken = sections.take(code)
    if taken is None:
        return _NO_PAIRS, 0
    content, start = taken
    if not isinstance(content, Map):
        raise DecodeError(start, "a map")
    return content, start


def _annotations(sections: _Sections, code: int) -> Map:
    pairs, start = _pairs(sections, code)
    return Map([(_annotation_key(key, start), value) for key, value in pairs])


def _annotation_key(key: object, start: int) -> object:
    if isinstance(key, Symbol | ULong):
        return key
    if type(key) is str and key.isascii():
        return Symbol(key)
    raise DecodeError(start, f"a symbol or ulong for each key, found {key!r:.40}")


def _application_properties(sections: _Sections) -> Map:
    pairs, start = _pairs(sections, _APPLICATION_PROPERTIES)
    for key, _ in pairs:
        if type(key) is not str and type(key) is not Symbol:
            raise DecodeError(start, f"a string for each key, found {key!r:.40}")
    return Map([(str(key), value) for key, value in pairs])


def _body(sections: _Sections) -> Body:
    value = sections.take(_VALUE)
    if value is not None:
        return Value(sections.encoded(value[1]))
    data: list[bytes] = []
    while (taken := sections.take(_DATA)) is not None:
        content, start = taken
        if type(content) is not bytes:
            raise DecodeError(start, "binary in a data section")
        data.append(content)
    if data:
        return Data(tuple(data))
    lists: list[list[object]] = []
    while (taken := sections.take(_SEQUENCE)) is not None:
        content, start = taken
        if not isinstance(content, list):
            raise DecodeError(start, "a list in a sequence")
        lists.append(content)
    return Sequences(tuple(lists)) if lists else None
