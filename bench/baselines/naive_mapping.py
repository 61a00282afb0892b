"""Messages to records and back in the ordinary way: by the attributes of `proton.Message`.

The records are those of the bridge's profile native (docs/mapping.md) for messages with properties and
application-properties of scalar types and a body of one data section; nothing else is provided for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote
from uuid import UUID

from confluent_kafka import TIMESTAMP_CREATE_TIME
from proton import Message, int32, symbol, timestamp, uint, ulong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from confluent_kafka import Message as Record

    Header = tuple[str, str | bytes | None]

PROPERTIES: Final = {
    "message-id": "id",
    "user-id": "user_id",
    "to": "address",
    "subject": "subject",
    "reply-to": "reply_to",
    "correlation-id": "correlation_id",
    "content-type": "content_type",
    "content-encoding": "content_encoding",
    "absolute-expiry-time": "expiry_time",
    "creation-time": "creation_time",
    "group-id": "group_id",
    "group-sequence": "group_sequence",
    "reply-to-group-id": "reply_to_group_id",
}
TIMES: Final = frozenset({"absolute-expiry-time", "creation-time"})
ABSENT: Final = (None, b"", 0, 0.0, "None")
"""What `proton.Message` says of properties that a message does not have."""
TYPES: Final[dict[type, str]] = {
    bool: "boolean",
    int: "long",
    int32: "int",
    uint: "uint",
    ulong: "ulong",
    float: "double",
    UUID: "uuid",
    timestamp: "timestamp",
    symbol: "symbol",
    bytes: "binary",
}
READERS: Final[dict[str, Callable[[bytes], object]]] = {
    "boolean": lambda text: text == b"true",
    "long": int,
    "int": lambda text: int32(int(text)),
    "uint": lambda text: uint(int(text)),
    "ulong": lambda text: ulong(int(text)),
    "double": float,
    "uuid": lambda text: UUID(text.decode()),
    "timestamp": lambda text: timestamp(int(text)),
    "symbol": lambda text: symbol(text.decode()),
    "binary": bytes,
}


PROPERTY_READERS: Final[dict[str, Callable[[bytes], object]]] = {
    "user-id": bytes,
    "absolute-expiry-time": lambda text: int(text) / 1000,
    "creation-time": lambda text: int(text) / 1000,
    "group-sequence": int,
}


def to_headers(message: Message) -> list[Header]:
    """Write a message's properties and application-properties as a record's headers."""
    headers: list[Header] = []
    if message.durable:
        headers.append(("amqp.durable", "true"))
    for name, attribute in PROPERTIES.items():
        value = getattr(message, attribute)
        if value not in ABSENT:
            headers.append((name, str(round(value * 1000)) if name in TIMES else _text(value)))
    hints = ["v1"]
    for name, value in (message.properties or {}).items():
        headers.append((name, _text(value)))
        if type(value) in TYPES:
            hints.append(f"{quote(name, safe='')}={TYPES[type(value)]}")
    if len(hints) > 1:
        headers.append(("amqp-types", ";".join(hints)))
    return headers


def to_message(record: Record, address: str) -> Message:
    """Make the message of a record whose headers `to_headers` wrote, with the annotations of the bridge."""
    headers: dict[str, Any] = dict(record.headers() or ())
    hints = _hints(headers.pop("amqp-types", b""))
    stored = {symbol("creation-time"): True} if "creation-time" in headers else {}
    message = Message(record.value(), inferred=True)
    if headers.pop("amqp.durable", None):
        message.durable = True
        stored[symbol("amqp.durable")] = True
    properties: dict[str, object] = {}
    for name, value in headers.items():
        attribute = PROPERTIES.get(name)
        if attribute is None:
            properties[name] = READERS.get(hints.get(name, ""), bytes.decode)(value)
        else:
            setattr(message, attribute, PROPERTY_READERS.get(name, bytes.decode)(value))
    message.properties = properties  # type: ignore[assignment] # proton's type is that of its initial None
    message.address = message.address or address
    message.annotations = _passage(record) | {symbol("x-opt-bridge.stored"): stored}
    return message


def _passage(record: Record) -> dict[Any, Any]:
    offset = record.offset()
    kind, time_ms = record.timestamp()
    return {
        symbol("x-opt-bridge.topic"): record.topic(),
        symbol("x-opt-bridge.partition"): int32(record.partition() or 0),
        symbol("x-opt-bridge.offset"): offset,
        symbol("x-opt-sequence-number"): offset,
        symbol("x-opt-enqueued-time"): timestamp(time_ms),
        symbol("x-opt-kafka-timestamp-type"): "CreateTime"
        if kind == TIMESTAMP_CREATE_TIME
        else "LogAppendTime",
        symbol("x-opt-offset"): str(offset),
    }


def _text(value: object) -> str | bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value) if isinstance(value, int) else value)


def _hints(text: bytes) -> dict[str, str]:
    pairs: Iterable[list[str]] = (part.split("=") for part in text.decode().split(";")[1:])
    return {unquote(name): code for name, code in pairs}
