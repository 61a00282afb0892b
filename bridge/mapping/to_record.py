"""An AMQP message to a Kafka record, profile native: from the sections to the record.

The sections are looked for in the order in which they must stand (core 3.2), each by the three
bytes of its descriptor. A message that is one data section, bare or behind an empty header and
empty properties, is recognised before that and costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from bridge.codec import DecodeError, Symbol, ULong, decode
from bridge.mapping import hop, names, sections, type_hints
from bridge.mapping.annotations import (
    Annotations,
    AnnotationsReader,
    Hop,
    target_partition,
)
from bridge.mapping.bodies import Body, BodyReader
from bridge.mapping.compiled import FOUND
from bridge.mapping.errors import MappingError
from bridge.mapping.record import ANY_PARTITION, ARRIVAL_TIME, Headers, Record
from bridge.mapping.sections import ApplicationReader, HeaderReader, Hints
from bridge.mapping.shapes import Shape, Shapes
from bridge.mapping.to_text import MALFORMED
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.compiled import Compiled
    from bridge.mapping.options import MappingOptions
    from bridge.mapping.shapes import Learnt, MakeShape

_HEADER: Final = b"\x00Sp"
_DELIVERY_ANNOTATIONS: Final = b"\x00Sq"
_MESSAGE_ANNOTATIONS: Final = b"\x00Sr"
_PROPERTIES: Final = b"\x00Ss"
_APPLICATION_PROPERTIES: Final = b"\x00St"
_FOOTER: Final = b"\x00Sx"

_DATA8: Final = b"\x00Su\xa0"
_EMPTY_THEN_DATA8: Final = b"\x00SpE\x00SsE\x00Su\xa0"
"""What Proton sends when nothing but the body was set: an empty header, empty properties, data."""

_GROWTH: Final = 32
_SLACK: Final = 1024
"""Headers are never larger than this many times the bytes they come from, and this many more.

The worst is an annotation named by the ulong 0: two bytes, whose name and type take thirty-five.
"""

_WORTH_A_SHAPE: Final = 4
"""From so many headers on, comparing is faster than reading. In C it always is."""

_SECTIONS: Final = {
    ULong(0x70): b"p",
    ULong(0x71): b"q",
    ULong(0x72): b"r",
    ULong(0x73): b"s",
    ULong(0x74): b"t",
    ULong(0x75): b"u",
    ULong(0x76): b"v",
    ULong(0x77): b"w",
    ULong(0x78): b"x",
    Symbol("amqp:header:list"): b"p",
    Symbol("amqp:delivery-annotations:map"): b"q",
    Symbol("amqp:message-annotations:map"): b"r",
    Symbol("amqp:properties:list"): b"s",
    Symbol("amqp:application-properties:map"): b"t",
    Symbol("amqp:data:binary"): b"u",
    Symbol("amqp:amqp-sequence:list"): b"v",
    Symbol("amqp:amqp-value:*"): b"w",
    Symbol("amqp:footer:map"): b"x",
}


def message_to_record(options: MappingOptions, way: Compiled | None = FOUND) -> Callable[[bytes], Record]:
    """Make the function that maps a whole encoded message to a record, for any number of links.

    `way` is what is compiled, if that is to be used.

    The function raises MappingError: `amqp:decode-error` for bytes that are no AMQP message,
    `amqp:invalid-field` for a key or partition of the wrong type, `amqp:not-allowed` for a
    tombstone that the route denies, `amqp:resource-limit-exceeded` for too many or too large
    headers.
    """
    if way is None:
        return _in_python(options)

    def more() -> tuple[dict[bytes, Learnt | None], Callable[[bytes], Record]]:
        reader = MessageReader(options, way.shape)
        read = reader.read

        def otherwise(message: bytes) -> Record:
            try:
                return read(message)
            except MALFORMED as error:
                raise _refusal(error) from error

        return reader.shapes.known, otherwise

    return way.to_record(more)


def _in_python(options: MappingOptions) -> Callable[[bytes], Record]:
    read: Callable[[bytes], Record]

    def alike(message: bytes) -> Record | None:
        # The first message that is more than a body: many a link never has one, and there are thousands.
        nonlocal alike, read
        reader = MessageReader(options)
        read, alike = reader.read, reader.shapes.record
        return alike(message)

    def to_record(message: bytes) -> Record:
        try:
            if message[:4] == _DATA8:
                if message[4] + 5 == len(message):
                    return message[5:], None, None, ANY_PARTITION, ARRIVAL_TIME
            elif message[:12] == _EMPTY_THEN_DATA8 and message[12] + 13 == len(message):
                return message[13:], None, None, ANY_PARTITION, ARRIVAL_TIME
            return alike(message) or read(message)
        except MALFORMED as error:
            raise _refusal(error) from error

    return to_record


def _refusal(error: Exception) -> MappingError:
    return MappingError(conditions.DECODE_ERROR, f"the message is not valid AMQP: {error}")


More: TypeAlias = "Callable[[], tuple[dict[bytes, Learnt | None], Callable[[bytes], Record]]]"
"""Gives the shapes that are known, by how messages begin, and what reads messages of all kinds."""

T = TypeVar("T")

ReadKept: TypeAlias = "Callable[[bytes, int], tuple[T, int]]"
"""The message and a place in it to what is there, not to be modified, and the place behind it."""

ReadProperties: TypeAlias = "Callable[[bytes, int, Headers, Hints], tuple[int, bytes | None]]"
"""Appends headers and hints; gives the place behind the section, and group-id as text."""

ReadApplication: TypeAlias = "Callable[[bytes, int, Headers, Hints], int]"
"""Appends headers and hints; gives the place behind the section."""


class MessageReader:
    """Reads messages of all forms, and remembers what repeats in them.

    Another profile that stores the same parts of a message as headers, by other readers, puts its
    readers in the place of these.
    """

    def __init__(self, options: MappingOptions, make_shape: MakeShape = Shape) -> None:
        self._options = options
        self.shapes = Shapes(make_shape)
        self._worth_a_shape = _WORTH_A_SHAPE if make_shape is Shape else 0
        self.missed: Callable[[bytes, Record], None] = self.shapes.missed
        self.read_header: ReadKept[Headers] = HeaderReader().read
        self.read_annotations: ReadKept[Annotations] = AnnotationsReader(options).read
        self.read_properties: ReadProperties = sections.read_properties
        self.read_application: ReadApplication = ApplicationReader(options.headers_max).read
        self.read_body: Callable[[bytes, int], Body] = BodyReader(options).read
        self._headers_max = options.headers_max
        self._certain_bytes = (options.header_bytes_max - _SLACK) // _GROWTH

    def read(self, message: bytes) -> Record:
        """Read one message; raises `to_text.MALFORMED` or MappingError."""
        headers: Headers = []
        hints: Hints = []
        key, partition, annotated, at = self._read_head(message, headers, hints)
        size = len(message)
        head_bytes = at
        value: bytes | None
        if message[at : at + 4] == _DATA8 and at + 4 < size and message[at + 4] + at + 5 == size:
            value, hint = message[at + 5 :], None
        else:
            value, hint, at = self.read_body(message, at)
            head_bytes += size - at
            if hint is not None:
                headers.append((names.BODY_HEADER, hint))
                head_bytes += len(hint)
            if message[at : at + 3] == _FOOTER:
                at = sections.read_encoded(message, at + 3, names.FOOTER_PREFIX, headers)
            if at != size:
                return self._read_otherwise(message, at)
        if annotated is not None and annotated[4] is not None:
            return self._come_back(value, (headers, hints, key, partition), annotated[4])
        self._describe(headers, hints)
        record = value, key, headers or None, partition, ARRIVAL_TIME
        count = len(headers)
        if head_bytes > self._certain_bytes or count > self._headers_max:
            self._check_limits(headers)
        elif hint is None and (annotated is not None or count >= self._worth_a_shape):
            self.missed(message, record)
        return record

    def _read_head(
        self, message: bytes, headers: Headers, hints: Hints
    ) -> tuple[bytes | None, int, Annotations | None, int]:
        """Read what comes before the body: key, partition, annotations, the place of the body."""
        key: bytes | None = None
        partition = ANY_PARTITION
        annotated: Annotations | None = None
        at = 0
        tag = message[0:3]
        if tag == _HEADER:
            found, at = self.read_header(message, 3)
            headers += found
            tag = message[at : at + 3]
        if tag == _DELIVERY_ANNOTATIONS:
            partition, at = self._read_delivery_annotations(message, at + 3, headers)
            tag = message[at : at + 3]
        if tag == _MESSAGE_ANNOTATIONS:
            annotated, at = self.read_annotations(message, at + 3)
            headers += annotated[0]
            hints += annotated[1]
            key = annotated[2]
            if annotated[3] != ANY_PARTITION:
                partition = annotated[3]
            tag = message[at : at + 3]
        if tag == _PROPERTIES:
            at, group_id = self.read_properties(message, at + 3, headers, hints)
            if key is None and self._options.key_from_group_id:
                key = group_id
            tag = message[at : at + 3]
        if tag == _APPLICATION_PROPERTIES:
            at = self.read_application(message, at + 3, headers, hints)
        if annotated is not None and annotated[5]:
            _part_traces(headers, hints)
        return key, partition, annotated, at

    def _read_delivery_annotations(self, message: bytes, at: int, headers: Headers) -> tuple[int, int]:
        if self._options.keep_delivery_annotations:
            sections.read_encoded(message, at, names.DELIVERY_ANNOTATION_PREFIX, headers)
        return target_partition(message, at)

    def _read_otherwise(self, message: bytes, at: int) -> Record:
        """Read a message whose descriptors are not all of the usual three bytes."""
        shortest = compact(message)
        if shortest == message:
            raise DecodeError(at, "a section in its place, or the end")
        return self.read(shortest)

    def _come_back(
        self,
        value: bytes | None,
        found: tuple[Headers, Hints, bytes | None, int],
        passage: Hop,
    ) -> Record:
        """Make the record of a message that the bridge itself delivered before."""
        headers, hints, key = hop.restore(*found[:3], passage, self._header_value)
        listed = hop.verbatim(passage)
        if listed is None:
            headers, letter = hop.part_dead_letter(headers, passage)
            self._describe(headers, hints)
            headers += letter
        else:
            headers = listed
        self._check_limits(headers)
        return value, key, headers or None, found[3], ARRIVAL_TIME

    @staticmethod
    def _header_value(field: object) -> bytes:
        """Write a field of the section header, as `_read_header` does."""
        return hop.header_text(field)

    @staticmethod
    def _describe(headers: Headers, hints: Hints) -> None:
        """Add the header that tells how the others are to be read, where there is need of it."""
        if hints:
            headers.append((names.TYPES_HEADER, type_hints.write(hints)))

    def _check_limits(self, headers: Headers) -> None:
        limit = self._options.header_bytes_max
        size = sum(len(name.encode()) + len(value or b"") for name, value in headers)
        if len(headers) > self._headers_max:
            raise MappingError(
                conditions.RESOURCE_LIMIT_EXCEEDED,
                f"the message makes {len(headers)} headers, {self._headers_max} are allowed",
            )
        if size > limit:
            raise MappingError(
                conditions.RESOURCE_LIMIT_EXCEEDED,
                f"the message makes {size} bytes of headers, {limit} are allowed",
            )


def _part_traces(headers: Headers, hints: Hints) -> None:
    """Where application-properties have trace context too, theirs takes the plain name."""
    for name in names.TRACE_CONTEXT:
        places = [place for place, header in enumerate(headers) if header[0] == name]
        if len(places) > 1:
            # Annotations come before application-properties, so the first one is the annotation.
            headers[places[0]] = (names.ANNOTATION_PREFIX + name, headers[places[0]][1])
            hints.remove(type_hints.entry(name, type_hints.ANNOTATION))


def compact(message: bytes) -> bytes:
    """Write each section's descriptor in its shortest form. Descriptors may also be symbols."""
    parts = []
    at = 0
    while at < len(message):
        code, content = section_code(message, at)
        stop = decode(message, content)[1]
        parts.append(b"\x00S" + bytes((code,)) + message[content:stop])
        at = stop
    return b"".join(parts)


def section_code(message: bytes, at: int) -> tuple[int, int]:
    """Read the descriptor of the section at `at`: its code in one byte, and the place of its content.

    Raises DecodeError where there is none.
    """
    if message[at : at + 1] != b"\x00":
        raise DecodeError(at, "a section")
    descriptor, content = decode(message, at + 1)
    code = _SECTIONS.get(descriptor) if isinstance(descriptor, ULong | Symbol) else None
    if code is None:
        raise DecodeError(at, f"a section of a message, found {descriptor!r:.40}")
    return code[0], content
