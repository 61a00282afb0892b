"""Profile cloudevents: CloudEvents of AMQP as CloudEvents of Kafka, and back.

A message is stored as profile `native` stores it, but for the attributes of an event in binary
mode, which have the names and texts of the Kafka binding. Sources: CloudEvents 1.0.2, its AMQP and
its Kafka protocol binding and the extension partitioning; the separator `_` is of version 1.0.3 of
the AMQP binding.

| AMQP application-property | header |
|---|---|
| `cloudEvents:<name>` | `ce_<name>` |
| `cloudEvents_<name>` | `ce_<name>`, and the header `amqp.cloudevents` with the value `_` before the first |
| any other that begins with `ce_` | its name after `app.` |
| all others | as in `native` |

An attribute's text is the canonical one of CloudEvents: of a timestamp RFC 3339, of binary Base64,
of all other types as in `native`; a long or ulong as the attribute `time` is a time too, in
milliseconds since 1970. `amqp-types` lists those that are no strings, so that they come
back in their types; attributes of records that others wrote come back as strings, which the AMQP
binding allows. `datacontenttype` is the property content-type and the header `content-type`,
the data is the body and the value, in `native` already: so an event in structured mode needs nothing
more, nor does a message that is no event. An event is not judged: whether all attributes are there
that must be, its reader sees.

The key is the attribute `partitionkey`, where no annotation names another; then group-id.

The two laws of `bridge.mapping.native` hold, with its exceptions. What is listed in
`x-opt-kafka-headers` has the names and texts that it has in `native`. A record whose headers could
not come back the same from the attributes is read as `native` reads it, with the property
`amqp.cloudevents`, which says `as-is`. The option `foreign_headers: binary` counts as `auto`, since
attributes are no binary.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from bridge.codec import Symbol
from bridge.mapping import names, to_message, to_record, type_hints
from bridge.mapping.message import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.mapping.options import MappingOptions
    from bridge.mapping.record import Headers, Record

_COLON: Final = "cloudEvents:"
_UNDERSCORE: Final = "cloudEvents_"
_KAFKA: Final = "ce_"
_ESCAPE: Final = "app."
_ESCAPED: Final = "app.ce_"
_MARKER: Final = "amqp.cloudevents"
_WITH_UNDERSCORE: Final = (_MARKER, b"_")
_AS_IS: Final = (_MARKER, b"as-is")
_PARTITION_KEY: Final = "ce_partitionkey"
_GROUP_ID: Final = "group-id"

_CONCERNED: Final = (_COLON, _UNDERSCORE, _KAFKA, _ESCAPED, _MARKER)
_OFFSET: Final = Symbol(names.OFFSET)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def message_to_record(options: MappingOptions) -> Callable[[bytes], Record]:
    """Make the function that maps a whole encoded message to a record, for any number of links.

    The function raises MappingError, as that of `native` does.
    """
    to_native = to_record.message_to_record(replace(options, key_from_group_id=False))

    def to_cloud_event(message: bytes) -> Record:
        record = to_native(message)
        value, key, headers, partition, timestamp_ms = record
        if headers is None:
            return record
        headers = stored(headers)
        if key is None and not _came_from_a_bridge(message):
            key = _key(headers, options)
        return value, key, headers or None, partition, timestamp_ms

    return to_cloud_event


def _came_from_a_bridge(message: bytes) -> bool:
    """Tell whether a bridge delivered the message, so that the record's key is known: it had none."""
    if names.OFFSET.encode() not in message:
        return False
    return parse(message).message_annotations.get(_OFFSET) is not None


def _key(headers: Headers, options: MappingOptions) -> bytes | None:
    present = dict(headers)
    group_id = present.get(_GROUP_ID) if options.key_from_group_id else None
    return present.get(_PARTITION_KEY) or group_id


class CloudEventsRecordToMessage:
    """Maps records to whole encoded messages."""

    def __init__(self, topic: str, address: str, options: MappingOptions) -> None:
        if options.foreign_headers == "binary":
            options = replace(options, foreign_headers="auto")
        self._native = to_message.record_to_message(topic, address, options)
        self.plain: None = None

    @property
    def damaged(self) -> int:
        """Count the records with a hint that could not be read or did not fit its value."""
        return self._native.damaged

    def __call__(  # noqa: PLR0913, PLR0917 - the call of every profile: see RecordToMessage
        self,
        partition: int,
        offset: int,
        timestamp_type: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
        delivery_count: int,
        again: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> bytes:
        """Encode the message for one delivery of a record, as `native` does."""
        if headers:
            headers = sent(headers)
        return self._native(
            partition, offset, timestamp_type, timestamp_ms, key, value, headers, delivery_count, again
        )


def record_to_message(topic: str, address: str, options: MappingOptions) -> CloudEventsRecordToMessage:
    """Make the function that maps records of `topic` to messages of a link with this address."""
    return CloudEventsRecordToMessage(topic, address, options)


def stored(headers: Headers) -> Headers:
    """Give the headers of a record from those that `native` makes of its message."""
    if not _concerns(headers):
        return headers
    if headers[0] == _AS_IS:
        return headers[1:]
    prefix = _COLON if any(name.startswith(_COLON) for name, _ in headers) else _UNDERSCORE
    codes = _codes(headers)
    renamed: Headers = []
    for name, value in headers:
        if name.startswith(prefix):
            if prefix == _UNDERSCORE and _WITH_UNDERSCORE not in renamed:
                renamed.append(_WITH_UNDERSCORE)
            attribute = name.removeprefix(prefix)
            renamed.append((_KAFKA + attribute, _to_canonical(value, _type(attribute, codes.get(name)))))
        elif name == names.TYPES_HEADER:
            renamed.append((name, _rename_types(value, lambda each: _stored_name(each, prefix))))
        else:
            renamed.append((_stored_name(name, prefix), value))
    return renamed


def sent(headers: Sequence[tuple[str, bytes | None]]) -> Sequence[tuple[str, bytes | None]]:
    """Give the headers of which `native` makes a message: `stored` undoes that, always."""
    if not _concerns(headers):
        return headers
    record = list(headers)
    attributes = _attributes(record)
    return attributes if stored(attributes) == record else [_AS_IS, *record]


def _concerns(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    return any(name.startswith(_CONCERNED) for name, _ in headers)


def _attributes(headers: Headers) -> Headers:
    prefix = _UNDERSCORE if _WITH_UNDERSCORE in headers else _COLON
    codes = _codes(headers)
    renamed: Headers = []
    for name, value in headers:
        if name.startswith(_KAFKA):
            attribute = name.removeprefix(_KAFKA)
            renamed.append((prefix + attribute, _from_canonical(value, _type(attribute, codes.get(name)))))
        elif name == names.TYPES_HEADER:
            renamed.append((name, _rename_types(value, lambda each: _sent_name(each, prefix))))
        elif (name, value) != _WITH_UNDERSCORE:
            renamed.append((_sent_name(name, prefix), value))
    return renamed


def _stored_name(name: str, prefix: str) -> str:
    if name.startswith(prefix):
        return _KAFKA + name.removeprefix(prefix)
    return _ESCAPE + name if name.startswith(_KAFKA) else name


def _sent_name(name: str, prefix: str) -> str:
    if name.startswith(_KAFKA):
        return prefix + name.removeprefix(_KAFKA)
    return name.removeprefix(_ESCAPE) if name.startswith(_ESCAPED) else name


def _codes(headers: Headers) -> dict[str, str]:
    types = dict(headers).get(names.TYPES_HEADER)
    return dict(type_hints.read(types) or {})


def _rename_types(types: bytes | None, rename: Callable[[str], str]) -> bytes | None:
    codes = type_hints.read(types)
    if codes is None:
        return types
    return type_hints.write(type_hints.entry(rename(name), code) for name, code in codes.items())


def _type(attribute: str, code: str | None) -> str | None:
    """Tell an attribute's type: a number as the time is one too, as clients without timestamps send it."""
    return "timestamp" if attribute == "time" and code in {"long", "ulong"} else code


def _to_canonical(text: bytes | None, code: str | None) -> bytes | None:
    """Write the text of an attribute of this type as CloudEvents has it."""
    if text is None:
        return None
    if code == "binary":
        return b64encode(text)
    if code == "timestamp":
        return _rfc3339(text) or text
    return text


def _from_canonical(text: bytes | None, code: str | None) -> bytes | None:
    """Undo `_to_canonical`; of a text that it does not write, give that or any other."""
    if text is None:
        return None
    try:
        if code == "binary":
            return b64decode(text, validate=True)
        if code == "timestamp":
            return b"%d" % ((datetime.fromisoformat(text.decode()) - _EPOCH) // timedelta(milliseconds=1))
    except (Base64Error, ValueError, TypeError, OverflowError):
        return text
    return text


def _rfc3339(milliseconds: bytes) -> bytes | None:
    """Write a time; None for one before the year 1 or after 9999, or for what is no time."""
    try:
        time = _EPOCH + timedelta(milliseconds=int(milliseconds))
    except (ValueError, OverflowError):
        return None
    text = time.isoformat(timespec="milliseconds" if time.microsecond else "seconds")
    return text.replace("+00:00", "Z").encode()
