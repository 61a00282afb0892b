"""The record that a message should become, computed from docs/mapping.md and nothing of the bridge.

`expected` makes it, `found` reads a record of Kafka in the same form. The two can be compared with ==.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote, unquote

from interop import proton_values
from interop.values import Value, canonical, described, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import Message as KafkaMessage
    from interop.catalogue import Message

Stored: TypeAlias = bytes | list[Value] | None
"""Bytes as they are, or what Proton decoded where AMQP's own encoding is expected."""

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
"""The fields of the section properties in order, and the types that go without saying."""
HEADER: Final = {
    "durable": "false",
    "priority": "4",
    "ttl": None,
    "first-acquirer": "false",
    "delivery-count": "0",
}
"""The fields of the section header in order, and their defaults (core 3.2.1)."""

_RESERVED: Final = {*PROPERTIES, "amqp-types", "AMQPheaders"}
_KEYS: Final = ("x-opt-bridge.key", "x-opt-kafka-key", "event-streams-group-key", "x-opt-partition-key")
_ENCODED: Final = ("list", "map", "array", "described")
_TRACES: Final = {"traceparent", "tracestate"}
_SEQUENCE: Final = value("ulong", "118")


@dataclass(frozen=True, slots=True)
class Record:
    """A record: key, value, and the headers in order, with the types that `amqp-types` lists."""

    key: bytes | None
    value: Stored
    headers: tuple[tuple[str, Any], ...]
    types: tuple[tuple[str, str], ...]

    def unordered(self) -> Record:
        """Return it without the order within maps, for languages whose maps have none."""
        return replace(
            self,
            value=unordered(self.value),
            headers=tuple(sorted(((name, unordered(each)) for name, each in self.headers), key=str)),
            types=tuple(sorted(self.types)),
        )

    def ranks(self) -> list[int]:
        """Tell for each header to which part of the message it belongs, as a number in their order."""
        annotations = {name for name, kind in self.types if kind == "annotation"}
        return [1 if name in annotations else _rank(name) for name, _ in self.headers]


def expected(message: Message) -> Record:
    """Return the record of a message. AMQP's own encodings are in it as the values they hold."""
    headers = _Headers()
    for name, default in HEADER.items():
        each = message.get("header", {}).get(name)
        if each is not None and each["value"] != default:
            headers.add(f"amqp.{name}", each, usual=each["type"])
    application = message.get("application-properties", ())
    for key, each in message.get("message-annotations", ()):
        headers.add_annotation(key, each, [name for name, _ in application])
    for name, usual in PROPERTIES.items():
        if name in message.get("properties", {}):
            headers.add(name, message["properties"][name], usual)
    for name, each in application:
        headers.add(application_header(name), each)
    stored, hint = _body(message["body"])
    if hint:
        headers.stored.append(("amqp.body", hint.encode()))
    for key, each in message.get("footer", ()):
        headers.stored.append((f"amqp.ft.{key['value']}", [canonical(each)]))
    return Record(_key(message), stored, tuple(headers.stored), tuple(headers.types))


class _Headers:
    """Headers in order, and their types as far as they do not go without saying."""

    def __init__(self) -> None:
        self.stored: list[tuple[str, Stored]] = []
        self.types: list[tuple[str, str]] = []

    def add(self, name: str, each: Value, usual: str = "string") -> None:
        self.stored.append((name, text(each)))
        kind = "amqp" if each["type"] in _ENCODED else each["type"]
        if kind != usual:
            self.types.append((name, kind))

    def add_annotation(self, key: Value, each: Value, application: Sequence[str]) -> None:
        name = annotation_header(key, application)
        if name in _TRACES:
            self.add(name, value("annotation", each["value"]))
        elif name:
            self.add(name, each)


def found(record: KafkaMessage) -> Record:
    """Return a record of Kafka; what its headers say is AMQP's own encoding is decoded."""
    pairs: Any = record.headers() or ()  # confluent_kafka's annotation is of no pairs
    headers = [(str(name), _bytes(each)) for name, each in pairs]
    types: list[tuple[str, str]] = []
    if headers and headers[-1][0] == "amqp-types":
        written = (headers.pop()[1] or b"").decode("ascii").split(";")
        assert written[0] == "v1"
        types = [_entry(each) for each in written[1:]]
    encoded = {name for name, kind in types if kind == "amqp"}
    body = (dict(headers).get("amqp.body") or b"").decode()
    stored: Stored = _bytes(record.value())
    if isinstance(stored, bytes) and (body == "value;amqp" or body.startswith("sequence;")):
        stored = proton_values.decode(stored)
    return Record(
        _bytes(record.key()),
        stored,
        tuple(
            (name, proton_values.decode(each) if each and (name in encoded or _is_footer(name)) else each)
            for name, each in headers
        ),
        tuple(types),
    )


def _bytes(each: bytes | str | None) -> bytes | None:
    assert not isinstance(each, str)
    return each


def text(found: Value) -> Stored:
    """Return what a header holds, or a body that is a value."""
    kind, inner = found["type"], found["value"]
    if kind == "null":
        return None
    if kind == "binary":
        return bytes.fromhex(inner)
    if kind in _ENCODED:
        return [canonical(found)]
    return str(canonical(found)["value"]).encode()


def application_header(name: str) -> str:
    """Return the name of an application-property's header."""
    escaped = name in _RESERVED or name.startswith(("amqp.", "app.", "x-opt-"))
    return f"app.{name}" if escaped else name


def annotation_header(key: Value, application: Sequence[str]) -> str:
    """Return the name of a message-annotation's header; empty if it is not stored."""
    name = key["value"]
    if key["type"] == "ulong":
        return f"amqp.ma.#{name}"
    if name.startswith(("x-opt-bridge.", "x-opt-kafka-")):
        return ""
    if name.startswith("x-opt-") or (name in _TRACES and name not in application):
        return str(name)
    if name[:1] in {"#", "%"}:
        name = quote(name[0], safe="") + name[1:]
    return f"amqp.ma.{name}"


def _body(body: Message) -> tuple[Stored, str]:
    """Return a record's value, and the header `amqp.body`."""
    if body["kind"] == "none":
        return b"", "none"
    if body["kind"] == "data":
        parts = [bytes.fromhex(section) for section in body["sections"]]
        return b"".join(parts), f"data;{','.join(str(len(part)) for part in parts)}" if parts[1:] else ""
    if body["kind"] == "sequence":
        sections = [described(_SEQUENCE, canonical(value("list", each))) for each in body["sections"]]
        return sections, f"sequence;{len(sections)}"
    kind = body["value"]["type"]
    return text(body["value"]), f"value;{'amqp' if kind in _ENCODED else kind}"


def _key(message: Message) -> bytes | None:
    annotations = {key["value"]: found for key, found in message.get("message-annotations", ())}
    candidates = [annotations.get(name) for name in _KEYS]
    candidates.append(message.get("properties", {}).get("group-id"))
    for candidate in candidates:
        if candidate is not None:
            key = text(candidate)
            assert isinstance(key, bytes)
            return key
    return None


def _is_footer(name: str) -> bool:
    return name.startswith("amqp.ft.")


def _entry(written: str) -> tuple[str, str]:
    name, _, kind = written.partition("=")
    return unquote(name), kind


def _rank(name: str) -> int:
    if name.startswith("amqp.") and name.removeprefix("amqp.") in HEADER:
        return 0
    if name.startswith(("amqp.ma.", "x-opt-")):
        return 1
    if name in PROPERTIES:
        return 2
    return 4 if name == "amqp.body" else 5 if _is_footer(name) else 3


def unordered(stored: Any) -> Any:  # noqa: ANN401 - any part of a typed value
    """Return a typed value, or any part of one, with its maps in order."""
    if isinstance(stored, dict):
        inner = {name: unordered(each) for name, each in stored.items()}
        if stored.get("type") == "map":
            inner["value"] = sorted(inner["value"], key=str)
        return inner
    return [unordered(each) for each in stored] if isinstance(stored, list) else stored
