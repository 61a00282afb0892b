"""What a client has to be able to do for a message: the names that `libraries` knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interop.values import Value, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interop.catalogue import Message

JMS_TYPES: Final = frozenset(
    ("null", "boolean", "byte", "short", "char", "int", "long", "float", "double", "string", "binary")
)
"""What the maps and sequences of Java Message Service may hold."""
_SMALLEST_BYTE: Final = -128
_LARGEST_NANOSECONDS: Final = 2**63 // 1_000_000
_LARGEST_UTF16_UNIT: Final = 0xFFFF


def features(message: Message) -> set[str]:
    """Name all that a client needs to be able to do for a message."""
    found = {name for name in message if name in {"delivery-annotations", "message-annotations", "footer"}}
    found |= {f"header {name}" for name in message.get("header", {})}
    for name, each in message.get("properties", {}).items():
        found |= {f"property {name}", f"property {name} {each['type']}"}
    found |= {f"application-property {each['type']}" for _, each in message.get("application-properties", ())}
    for name in ("delivery-annotations", "message-annotations", "footer"):
        found |= {f"annotation key {key['type']}" for key, _ in message.get(name, ())}
    found |= _body_features(message["body"])
    for each in _values(message):
        for inner in walk(each):
            found |= _value_features(inner)
    return found


def _value_features(found: Value) -> set[str]:
    if found["type"] == "array":
        return {"array", f"array {found['of']}", *_array_features(found)}
    if found["type"] == "map" and any(
        key["type"] != "string" or each["type"] not in JMS_TYPES for key, each in found["value"]
    ):
        return {"map", "map of any type"}
    if found["type"] == "char" and ord(found["value"]) > _LARGEST_UTF16_UNIT:
        return {"char", "char of two UTF-16 units"}
    return {found["type"]}


def _array_features(found: Value) -> Iterator[str]:
    if found["of"] in {"int", "long"}:
        numbers = [int(each["value"]) for each in found["value"]]
        if min(numbers, default=0) < _SMALLEST_BYTE and max(numbers) <= -1 - _SMALLEST_BYTE:
            yield "array of small and very negative numbers"
    if found["of"] == "timestamp" and any(
        int(each["value"]) > _LARGEST_NANOSECONDS for each in found["value"]
    ):
        yield "array of timestamps after 2262"


def _body_features(body: Message) -> set[str]:
    if body["kind"] == "value":
        return {f"body value {body['value']['type']}"}
    names = {f"body {body['kind']}"}
    if len(body.get("sections", ())) > 1:
        names.add(f"body {body['kind']} many")
    if body["kind"] == "sequence" and not JMS_TYPES.issuperset(
        each["type"] for section in body["sections"] for each in section
    ):
        names.add("body sequence of any type")
    return names


def _values(message: Message) -> Iterator[Value]:
    for name in ("delivery-annotations", "message-annotations", "application-properties", "footer"):
        for _, each in message.get(name, ()):
            yield each
    yield from message.get("properties", {}).values()
    body = message["body"]
    if body["kind"] == "value":
        yield body["value"]
    elif body["kind"] == "sequence":
        for section in body["sections"]:
            yield from section
