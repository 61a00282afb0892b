"""Profile strimzi: the value that the default converter of the Java bridge wrote (EnMasse, Strimzi).

For topics that had it before: new records have the same values and keys as the old ones, and both
are delivered alike. Source: its class `AmqpDefaultMessageConverter`, versions 0.12 to 0.22, whose
own output is in the tests.

| body | value |
|---|---|
| data | its bytes; of several sections, one after another (the Java bridge took the first alone) |
| amqp-value: string | UTF-8 |
| amqp-value: list, map, array | a Java serialised object, see `bridge.mapping.java_objects` |
| amqp-value: null | null, a tombstone (the Java bridge failed) |
| anything else, or none | refused, `amqp:not-implemented` (the Java bridge wrote a tombstone, or failed) |

Nothing else of a message is stored: no properties, no application-properties, no annotations.

A record is delivered as one data section with its value; a null value as null. Beside it, every
message has what `docs/mapping.md` lists as added by the bridge, four annotations of which the Java
bridge added as well. So the laws of `bridge.mapping.native` become:

1. A message is read back as a body of one data section, and its key. The bytes are those of its
   data sections or its string; a null body comes back as null.
2. A record that is read and stored again has the same key, value and headers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.codec import Array, Map
from bridge.mapping import java_objects, value_only
from bridge.mapping.java_classes import NotSerializableError
from bridge.mapping.message import Data, Message, Value
from bridge.mapping.plain_delivery import PlainRecordToMessage, RecordHeaders, Stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.options import MappingOptions
    from bridge.mapping.record import Record

_NAME: Final = "strimzi"


def message_to_record(options: MappingOptions) -> Callable[[bytes], Record]:
    """Make the function that maps a whole encoded message to a record, for any number of links.

    The function raises MappingError: `amqp:decode-error` for bytes that are no AMQP message,
    `amqp:invalid-field` for a key or partition of the wrong type, `amqp:not-implemented` for a body
    that has no bytes here, `amqp:not-allowed` for a tombstone that the route denies.
    """

    def value(message: Message) -> bytes | None:
        if message.body == value_only.NULL:
            value_only.check_tombstone(options)
            return None
        return _value(message)

    return value_only.message_to_record(options, value)


def record_to_message(topic: str, address: str, options: MappingOptions) -> PlainRecordToMessage:
    """Make the function that maps records of `topic` to messages of a link with this address."""
    return PlainRecordToMessage(topic, address, options, _read)


def _value(message: Message) -> bytes:
    body = message.body
    if isinstance(body, Data):
        return b"".join(body.sections)
    if isinstance(body, Value):
        value = body.value
        if type(value) is str:
            return value.encode()
        if isinstance(value, list | Map | Array):
            try:
                return java_objects.write(value)
            except NotSerializableError as error:
                what = f"{value_only.kind(message)} that holds {error}"
                raise value_only.unsupported(_NAME, what) from error
    raise value_only.unsupported(_NAME, value_only.kind(message))


def _read(_key: bytes | None, value: bytes | None, headers: RecordHeaders) -> Stored:
    return Stored(Message(body=value_only.NULL if value is None else Data((value,))), exact=not headers)
