"""Profile strimzi-json: the JSON that the JSON converter of the Java bridge wrote (EnMasse, Strimzi).

For topics that had it before: new records are the same JSON as the old ones, and both are delivered
alike. Source: its class `AmqpJsonMessageConverter`, versions 0.20 to 0.22, whose own output is in
the tests; older ones padded the Base64 of `section` with `=`, which is read as well.

    {"properties": {"messageId", "to", "subject", "replyTo", "correlationId"},
     "applicationProperties": {...},
     "messageAnnotations": {...},
     "body": {"type": "amqpValue" or "data", "section": ...}}

Members that would be empty are left out. `section` is a string, array, object or null, or the bytes
of the data sections in Base64, twice, one upon the other: so did the Java bridge.
`bridge.mapping.strimzi_json_values` tells how values are written.

Refused with `amqp:not-implemented`, since the Java bridge lost or broke them: a body of another type
or of amqp-sequence sections, decimals, annotations named by numbers. Not stored, as there: the other
properties, the section header, the footer. A null body is no tombstone, as the message has more than
a body; a message that says `x-opt-kafka-tombstone: true` is one.

A record is delivered as the message that its JSON tells, with what `docs/mapping.md` lists as added
by the bridge; members that have no meaning are passed over. A value that is no such JSON is
delivered as it is, as one data section, and counted as damaged. So the laws of
`bridge.mapping.native` become:

1. A message is read back with its five properties, application-properties, message-annotations and
   body, in the types that JSON leaves; several data sections come back as one, an array body as a
   list that holds a list.
2. A record that the bridge wrote is stored again the same, but that values lose their types once
   more (a double whose text is an integer's cannot be: it has a point). Of other records the key
   and headers are the same, the JSON what the bridge would write.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

from bridge.codec import Array, EncodeError, Map, Symbol, ULong
from bridge.mapping import strimzi_json_values as values
from bridge.mapping import value_only
from bridge.mapping.message import Body, Data, Message, Value, write
from bridge.mapping.plain_delivery import PlainRecordToMessage, RecordHeaders, Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.mapping.options import MappingOptions
    from bridge.mapping.record import Record

_NAME: Final = "strimzi-json"

_PROPERTIES: Final = {
    "messageId": "message-id",
    "to": "to",
    "subject": "subject",
    "replyTo": "reply-to",
    "correlationId": "correlation-id",
}
"""The names in JSON, in the order in which they are written, and those of core 3.2.4."""

_IDS: Final = frozenset(("messageId", "correlationId"))
_ULONG_MAX: Final = 2**64 - 1


class _NotOfThisFormError(ValueError):
    """The JSON is not what the Java bridge wrote or read."""


def message_to_record(options: MappingOptions) -> Callable[[bytes], Record]:
    """Make the function that maps a whole encoded message to a record, for any number of links.

    The function raises MappingError: `amqp:decode-error` for bytes that are no AMQP message,
    `amqp:invalid-field` for a key or partition of the wrong type, `amqp:not-implemented` for what
    has no form here, `amqp:not-allowed` for a tombstone that the route denies.
    """
    return value_only.message_to_record(options, _value)


def record_to_message(topic: str, address: str, options: MappingOptions) -> PlainRecordToMessage:
    """Make the function that maps records of `topic` to messages of a link with this address."""
    return PlainRecordToMessage(topic, address, options, _read)


def _value(message: Message) -> bytes:
    fields = message.properties
    members: dict[str, Iterable[tuple[str, object]]] = {
        "properties": [(name, fields[own]) for name, own in _PROPERTIES.items() if own in fields],
        "applicationProperties": [(str(name), value) for name, value in message.application_properties],
        "messageAnnotations": [(_annotation(key), value) for key, value in message.message_annotations],
    }
    try:
        parts = [f'"{name}":{values.write_object(pairs)}' for name, pairs in members.items() if pairs]
        if message.body is not None:
            parts.append(f'"body":{_write_body(message)}')
    except values.NoFormError as error:
        raise value_only.unsupported(_NAME, str(error)) from error
    return f"{{{','.join(parts)}}}".encode()


def _annotation(key: object) -> str:
    if isinstance(key, Symbol):
        return str(key)
    raise value_only.unsupported(_NAME, "an annotation that is named by a number")


def _write_body(message: Message) -> str:
    body = message.body
    if isinstance(body, Data):
        once = b64encode(b"".join(body.sections))
        return f'{{"type":"data","section":"{values.encode_base64(once)}"}}'
    if isinstance(body, Value):
        value = body.value
        if value is None or type(value) is str or isinstance(value, list | Map):
            return f'{{"type":"amqpValue","section":{values.write(value)}}}'
        if isinstance(value, Array):  # in an array of its own: so did the Java bridge
            return f'{{"type":"amqpValue","section":[{values.write(value)}]}}'
    raise value_only.unsupported(_NAME, value_only.kind(message))


def _read(_key: bytes | None, value: bytes | None, headers: RecordHeaders) -> Stored:
    if value is None:
        return Stored(Message(body=value_only.NULL), exact=not headers)
    try:
        message = _read_message(json.loads(value.decode(), parse_constant=_no_number))
        write(message)  # raises for what AMQP does not have: lone surrogates, too many levels
    except (ValueError, EncodeError, RecursionError):
        return Stored(Message(body=Data((value,))), exact=not headers, damaged=True)
    return Stored(message, exact=not headers)


def _no_number(constant: str) -> None:
    raise _NotOfThisFormError(constant)


def _read_message(root: Any) -> Message:  # noqa: ANN401 - whatever JSON has
    annotations = _member(root, "messageAnnotations").items()
    if not all(name.isascii() for name, _ in annotations):
        raise _NotOfThisFormError("an annotation that is no symbol")
    return Message(
        properties=_read_properties(_member(root, "properties")),
        application_properties=Map(
            (name, values.read(value)) for name, value in _member(root, "applicationProperties").items()
        ),
        message_annotations=Map((Symbol(name), values.read(value)) for name, value in annotations),
        body=_read_body(_member(root, "body")),
    )


def _member(root: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON has
    """Give a member that is an object; an empty one for null, and where there is none."""
    member = root.get(name) if isinstance(root, dict) else root
    if member is None and isinstance(root, dict):
        return {}
    if not isinstance(member, dict):
        raise _NotOfThisFormError(f"no object as {name}")
    return member


def _read_properties(member: dict[str, Any]) -> dict[str, object]:
    return {
        own: _read_id(member[name]) if name in _IDS else values.text_of(member[name])
        for name, own in _PROPERTIES.items()
        if member.get(name) is not None
    }


def _read_id(value: Any) -> object:  # noqa: ANN401 - whatever JSON has
    """Read a message-id or correlation-id into a type that it may have (core 3.2.11 to 3.2.14)."""
    octets = values.read_binary(value)
    if octets is not None:
        return octets
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _ULONG_MAX:
        return ULong(value)
    return values.text_of(value)


def _read_body(member: dict[str, Any]) -> Body:
    if "section" not in member and member.get("type") in (None, "amqpValue"):
        return None  # there was none, or the Java bridge has lost it
    section = member.get("section")
    match member.get("type"):
        case "amqpValue":
            return Value.of(values.read(section))
        case "data":
            inner = values.decode_base64(section)
            octets = None if inner is None else values.decode_base64(inner.decode("ascii"))
            if octets is not None:
                return Data((octets,))
    raise _NotOfThisFormError("a body of no known type")
