"""The names on both sides: which Kafka header carries which part of an AMQP message.

Every rule here can be undone: what `..._header` writes, `..._key` reads back, and `..._key` refuses
a header name that `..._header` would never have written.
"""

from __future__ import annotations

from typing import Final

from bridge.mapping.errors import MappingError
from bridge.model import conditions

TYPES_HEADER: Final = "amqp-types"
BODY_HEADER: Final = "amqp.body"
RAW_HEADER: Final = "amqp.raw"
"""Marks the records of profile raw."""
EVENT_HUBS_MARKER: Final = "AMQPheaders"
"""Azure Event Hubs adds this header to records whose header values are AMQP-encoded."""

HEADER_FIELDS: Final = (
    "amqp.durable",
    "amqp.priority",
    "amqp.ttl",
    "amqp.first-acquirer",
    "amqp.delivery-count",
)
"""The fields of the section header (core 3.2.1), in order."""

PROPERTIES: Final = {
    "message-id": "string",
    "user-id": "binary",
    "to": "string",
    "subject": "string",
    "reply-to": "string",
    "correlation-id": "string",
    "content-type": "symbol",
    "content-encoding": "symbol",
    "absolute-expiry-time": "timestamp",
    "creation-time": "timestamp",
    "group-id": "string",
    "group-sequence": "uint",
    "reply-to-group-id": "string",
}
"""The fields of the section properties (core 3.2.4), in order, and the type that goes without
saying."""

PROPERTY_PLACES: Final = {name: place for place, name in enumerate(PROPERTIES)}

BRIDGE_PREFIX: Final = "amqp."
ANNOTATION_PREFIX: Final = "amqp.ma."
DELIVERY_ANNOTATION_PREFIX: Final = "amqp.da."
FOOTER_PREFIX: Final = "amqp.ft."
DEAD_LETTER_PREFIX: Final = "amqp.dlt."
"""What became of the record that is a dead letter: `bridge.mapping.dead_letter`."""
DEAD_LETTER_ANNOTATIONS: Final = "amqp.dlt.annotations"
OPTIONAL_PREFIX: Final = "x-opt-"
"""Annotations whose names begin so may be ignored by who does not know them (core 3.2.10)."""

_ESCAPE: Final = "app."
_RESERVED: Final = frozenset((*PROPERTIES, TYPES_HEADER, EVENT_HUBS_MARKER))
_RESERVED_PREFIXES: Final = (BRIDGE_PREFIX, _ESCAPE, OPTIONAL_PREFIX)

DEAD_LETTER: Final = "amqp.dlt"
"""In `x-opt-bridge.stored`: application-properties that begin so are the record's own headers."""

TRACE_CONTEXT: Final = frozenset(("traceparent", "tracestate"))
"""W3C Trace Context: headers of these names are what Kafka instrumentation reads, wherever AMQP had
them."""

TOPIC: Final = "x-opt-bridge.topic"
PARTITION: Final = "x-opt-bridge.partition"
OFFSET: Final = "x-opt-bridge.offset"
KEY: Final = "x-opt-bridge.key"
STORED: Final = "x-opt-bridge.stored"
KAFKA_KEY: Final = "x-opt-kafka-key"
KAFKA_HEADERS: Final = "x-opt-kafka-headers"
KAFKA_TOMBSTONE: Final = "x-opt-kafka-tombstone"
KAFKA_TIMESTAMP_TYPE: Final = "x-opt-kafka-timestamp-type"
PARTITION_KEY: Final = "x-opt-partition-key"
EVENT_HUBS_OFFSET: Final = "x-opt-offset"
SEQUENCE_NUMBER: Final = "x-opt-sequence-number"
ENQUEUED_TIME: Final = "x-opt-enqueued-time"
GROUP_KEY: Final = "event-streams-group-key"
TARGET_PARTITION: Final = "event-streams-target-partition"

_HOP: Final = frozenset((EVENT_HUBS_OFFSET, SEQUENCE_NUMBER, ENQUEUED_TIME))
_HOP_PREFIXES: Final = ("x-opt-bridge.", "x-opt-kafka-")

_ULONG_MAX: Final = 2**64 - 1
_ULONG_DIGITS: Final = 20


def is_hop(annotation: str) -> bool:
    """Tell whether a message-annotation describes one passage through the bridge: never stored."""
    return annotation.startswith(_HOP_PREFIXES) or annotation in _HOP


def application_header(key: str) -> str:
    """Name the header of an application-property: its name, after `app.` where that means more."""
    if key in _RESERVED or key.startswith(_RESERVED_PREFIXES):
        return _ESCAPE + key
    return key


def application_key(header: str) -> str | None:
    """Undo `application_header`; None for a name that it does not give."""
    if header.startswith(_ESCAPE):
        key = header.removeprefix(_ESCAPE)
        return key if application_header(key) == header else None
    return header if application_header(header) == header else None


def is_dead_letter(header: str) -> bool:
    """Tell whether a header says what became of a dead letter, which is delivered under the same name.

    Receivers' annotations are none of these: they are merged into the message's.
    """
    return header.startswith(DEAD_LETTER_PREFIX) and header != DEAD_LETTER_ANNOTATIONS


def is_escaped_dead_letter(header: str) -> bool:
    """Tell whether a header is the application-property of a sender that is named like one of those."""
    return header.startswith(_ESCAPE + DEAD_LETTER_PREFIX)


def dead_letter_header(header: str) -> str:
    """Give the header of a dead letter from that which its application-property would have made."""
    return header.removeprefix(_ESCAPE)


def annotation_header(prefix: str, key: str | int) -> str:
    """Name the header of an annotation or footer: `key` is a symbol's text or a ulong.

    A message-annotation that begins with `x-opt-` keeps its name. Others get `prefix`, ulongs as
    `#<n>`, and a symbol that itself begins with `#` or `%` has that character percent-encoded.
    """
    if isinstance(key, int):
        return f"{prefix}#{key}"
    if prefix == ANNOTATION_PREFIX and key.startswith(OPTIONAL_PREFIX):
        return key
    if key.startswith(("#", "%")):
        return f"{prefix}%{ord(key[0]):X}{key[1:]}"
    return prefix + key


def annotation_key(prefix: str, header: str) -> str | int | None:
    """Undo `annotation_header`; None for a name that it does not give."""
    key: str | int
    if prefix == ANNOTATION_PREFIX and header.startswith(OPTIONAL_PREFIX):
        key = header
    elif not header.startswith(prefix):
        return None
    else:
        rest = header.removeprefix(prefix)
        if rest.startswith("#"):
            if not _is_ulong(rest[1:]):
                return None
            key = int(rest[1:])
        elif rest.startswith(("%23", "%25")):
            key = chr(int(rest[1:3], 16)) + rest[3:]
        else:
            key = rest
    if isinstance(key, str) and not key.isascii():
        return None
    return key if annotation_header(prefix, key) == header else None


def _is_ulong(digits: str) -> bool:
    if not digits.isascii() or not digits.isdecimal() or len(digits) > _ULONG_DIGITS:
        return False
    return int(digits) <= _ULONG_MAX


def check(header: str) -> str:
    """Give back a header name that Kafka's client library can carry.

    Raises MappingError for one that holds NUL: librdkafka's binding ends the name there, silently.
    """
    if "\0" in header:
        raise MappingError(
            conditions.INVALID_FIELD, f"the name {header!r} holds a NUL, which no Kafka header can"
        )
    return header
