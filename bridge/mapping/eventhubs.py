"""Profile eventhubs: records as Azure Event Hubs shows AMQP messages to its Kafka clients.

For consumers that were written for Event Hubs and decode its headers. The record has the same parts
as in profile `native` (body, key, the names of headers), but header values are AMQP-encoded, see
`bridge.mapping.eventhubs_values`: each tells its own type, there is no `amqp-types`. Seven
properties are text. Where the sender has not set the application-property `AMQPheaders` itself, a
header of that name is added; a message without headers gets none. What Microsoft does not document
is stored under the names of `native`, encoded like the rest: the section header, annotations, the
kind of a body that is not one data section, and the footer.

`record_to_message` reads every record that `native` reads, and `native` reads what this profile
writes. The two laws of `bridge.mapping.native` hold, with its exceptions and these:

- A message-id that is a ulong, uuid or binary comes back as a string (binary if it is no UTF-8): it
  is one of the seven, whose types are not stored. Likewise a property of the seven that came in a
  type which it may not have.
- Values keep their encoding, except booleans, which take their shortest; a NaN keeps its payload.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.codec import DecodeError, encode
from bridge.mapping import delivery_header, eventhubs_values, names
from bridge.mapping.annotations import Annotations, AnnotationsReader
from bridge.mapping.bodies import BodyReader
from bridge.mapping.errors import MappingError
from bridge.mapping.from_text import string
from bridge.mapping.record import ANY_PARTITION, ARRIVAL_TIME, Headers, Record
from bridge.mapping.sections import (
    REMEMBERED,
    TEXT_CODES,
    HeaderReader,
    Hints,
    annotation_name,
    check_count,
    check_map_end,
    list_frame,
    map_frame,
)
from bridge.mapping.to_message import RecordToMessage
from bridge.mapping.to_record import MessageReader
from bridge.mapping.to_text import MALFORMED, READ
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.options import MappingOptions

_DATA8: Final = b"\x00Su\xa0"
_NULL: Final = 0x40
_STRING8: Final = 0xA1
_LONGEST_REMEMBERED: Final = 512


def message_to_record(options: MappingOptions) -> Callable[[bytes], Record]:
    """Make the function that maps a whole encoded message to a record, for any number of links.

    The function raises MappingError, as that of `native` does.
    """
    read = _EventHubsReader(options).read

    def to_record(message: bytes) -> Record:
        try:
            if message[:4] == _DATA8 and message[4] + 5 == len(message):
                return message[5:], None, None, ANY_PARTITION, ARRIVAL_TIME
            return read(message)
        except MALFORMED as error:
            raise MappingError(conditions.DECODE_ERROR, f"the message is not valid AMQP: {error}") from error

    return to_record


def record_to_message(topic: str, address: str, options: MappingOptions) -> RecordToMessage:
    """Make the function that maps records of `topic` to messages of a link with this address."""
    return RecordToMessage(topic, address, options, event_hubs=True)


class _EventHubsReader(MessageReader):
    """Reads the sections of a message into headers whose values are AMQP-encoded."""

    def __init__(self, options: MappingOptions) -> None:
        super().__init__(options)
        self.missed = _forget
        self.read_header = _header_reader()
        self.read_annotations = _AnnotationsReader(options).read
        self.read_properties = read_properties
        self.read_application = _ApplicationReader(options.headers_max).read
        self.read_body = _body_reader(options)

    @staticmethod
    def _header_value(field: object) -> bytes:
        return encode(field)

    @staticmethod
    def _describe(headers: Headers, hints: Hints) -> None:
        assert not hints  # noqa: S101 - every value tells its type
        if headers and not any(name == names.EVENT_HUBS_MARKER for name, _ in headers):
            headers.append((names.EVENT_HUBS_MARKER, eventhubs_values.MARKER))


def _forget(_message: bytes, _record: Record) -> None:
    """Learn no shape from a message: `bridge.mapping.shapes` gives the headers of `native`."""


def _header_reader() -> Callable[[bytes, int], tuple[Headers, int]]:
    read_texts = HeaderReader().read

    def read(buffer: bytes, at: int) -> tuple[Headers, int]:
        texts, at = read_texts(buffer, at)
        return [(name, delivery_header.encode_field(name, text)) for name, text in texts], at

    return read


def _body_reader(options: MappingOptions) -> Callable[[bytes, int], tuple[bytes | None, bytes | None, int]]:
    read_body = BodyReader(options).read

    def read(buffer: bytes, at: int) -> tuple[bytes | None, bytes | None, int]:
        value, hint, at = read_body(buffer, at)
        return value, string(hint), at

    return read


class _AnnotationsReader:
    """Reads message-annotations: key, partition and passage as `native` does, and the headers."""

    def __init__(self, options: MappingOptions) -> None:
        self._read = AnnotationsReader(options).read
        self._sections: dict[bytes, Annotations] = {}

    def read(self, buffer: bytes, at: int) -> tuple[Annotations, int]:
        """Give what the annotations at `at` say, and the place behind them."""
        (_, _, key, partition, passage, _), stop = self._read(buffer, at)
        section = buffer[at:stop]
        found = self._sections.get(section)
        if found is None:
            found = _annotation_headers(buffer, at), [], key, partition, passage, False
            if len(section) <= _LONGEST_REMEMBERED:
                if len(self._sections) >= REMEMBERED:
                    self._sections.clear()
                self._sections[section] = found
        return found, stop


def _annotation_headers(buffer: bytes, at: int) -> Headers:
    """Read annotations that were checked before."""
    headers: Headers = []
    at, stop, _ = map_frame(buffer, at)
    while at < stop:
        key, middle = annotation_name(buffer, at)
        encoded, at = eventhubs_values.value(buffer, middle)
        if isinstance(key, int) or not names.is_hop(key):
            headers.append((names.check(names.annotation_header(names.ANNOTATION_PREFIX, key)), encoded))
    return headers


def read_properties(
    buffer: bytes,
    at: int,
    headers: Headers,
    hints: Hints,  # noqa: ARG001 - as in `sections`
) -> tuple[int, bytes | None]:
    """Read the section properties (core 3.2.4): seven as text, the others encoded.

    Gives the place behind the section, and group-id as text.
    """
    at, stop, count = list_frame(buffer, at)
    if count > len(names.PROPERTIES):
        raise DecodeError(at, f"at most {len(names.PROPERTIES)} properties, found a count of {count}")
    group_id = None
    for name in _NAMES[:count]:
        code = buffer[at]
        if code == _NULL:
            at += 1
            continue
        text, stop_of_text = READ[code](buffer, at + 1)
        if name in eventhubs_values.TEXTS:
            headers.append((name, text))
        else:
            headers.append((name, eventhubs_values.value(buffer, at)[0]))
            if name == "group-id":
                group_id = text
        at = stop_of_text
    if at != stop:
        raise DecodeError(stop, f"the end of the properties, they end at {at}")
    return at, group_id


_NAMES: Final = tuple(names.PROPERTIES)


class _ApplicationReader:
    """Reads the section application-properties (core 3.2.5)."""

    def __init__(self, headers_max: int) -> None:
        self._headers_max = headers_max
        self._known: dict[bytes, str] = {}

    def read(
        self,
        buffer: bytes,
        at: int,
        headers: Headers,
        hints: Hints,  # noqa: ARG002 - as in `sections`
    ) -> int:
        """Append the properties, give the place behind the section."""
        at, stop, count = map_frame(buffer, at)
        check_count(count, self._headers_max)
        pairs = 0
        while at < stop:
            middle = at + 2 + buffer[at + 1]
            name = self._known.get(buffer[at:middle])
            if name is None:
                name, middle = self._learn(buffer, at)
            encoded, at = eventhubs_values.value(buffer, middle)
            if name == names.EVENT_HUBS_MARKER and encoded == eventhubs_values.MARKER:
                name = names.application_header(name)
            headers.append((name, encoded))
            pairs += 1
        check_map_end(at, stop, pairs, count)
        return at

    def _learn(self, buffer: bytes, at: int) -> tuple[str, int]:
        if buffer[at] not in TEXT_CODES:
            raise DecodeError(at, f"a string for a key, found 0x{buffer[at]:02x}")
        text, middle = READ[buffer[at]](buffer, at + 1)
        assert text is not None  # noqa: S101 - it is text
        key = text.decode()
        name = key if key == names.EVENT_HUBS_MARKER else names.check(names.application_header(key))
        if buffer[at] == _STRING8:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[buffer[at:middle]] = name
        return name, middle
